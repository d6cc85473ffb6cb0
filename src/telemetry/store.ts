/** The work of a database in traces, and the trace of what caused an event, which goes with the event. */
import type { TraceContext } from '../codec/trace-context.ts'
import { traceHeadersOf } from '../codec/trace-context.ts'
import type { Change, Store } from '../store/store.ts'
import type { Tracer } from './tracer.ts'

/** Wraps a store so that its reads and its batches are steps of the request that they are for. */
export function traceStore<C>(store: Store<C>, tracer: Tracer, system: 'sqlite' | 'postgresql'): Store<C> {
  const attributes = { 'db.system.name': system }
  const read = <T>(operation: string, collection: string, work: () => Promise<T>): Promise<T> =>
    tracer.step({ name: `${operation} ${collection}`, kind: 'client', attributes }, work)
  return {
    ...store,
    get: (collection, id) => read('get', collection, () => store.get(collection, id)),
    list: (collection) => read('list', collection, () => store.list(collection)),
    newest: (collection, limit, after) => read('newest', collection, () => store.newest(collection, limit, after)),
    commit: (changes) =>
      tracer.step({ name: 'commit', kind: 'client', attributes }, async () => {
        const traced = addTrace(changes, tracer.current())
        const conflict = await store.commit(traced)
        // A conflict is the very object that was given.
        return conflict && changes[traced.indexOf(conflict)]
      }),
  }
}

/** Adds the trace to the events of a batch, for the callback that reports them later. */
function addTrace<C>(changes: readonly Change<C>[], context: TraceContext | undefined): readonly Change<C>[] {
  if (context === undefined) return changes
  return changes.map((change) => {
    if (!('insert' in change) || change.insert !== ('event' as string)) return change
    return { ...change, value: { ...(change.value as object), trace: traceHeadersOf(context) } } as Change<C>
  })
}
