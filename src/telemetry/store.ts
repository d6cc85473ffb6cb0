/** Spans for the reads and commits of a store, and trace headers in the events that a request causes. */
import type { TraceContext } from '../codec/trace-context.ts'
import { traceHeadersOf } from '../codec/trace-context.ts'
import { type Change, commitCopies, type Store } from '../store/store.ts'
import type { Tracer } from './tracer.ts'

/** Wraps a store so that each read and each commit is a span below the current request's span. */
export function traceStore<C>(store: Store<C>, tracer: Tracer, system: 'sqlite' | 'postgresql'): Store<C> {
  const attributes = { 'db.system.name': system }
  const runRead = <T>(operation: string, collection: string, work: () => Promise<T>): Promise<T> =>
    tracer.runStep({ name: `${operation} ${collection}`, kind: 'client', attributes }, work)
  return {
    ...store,
    get: (collection, id) => runRead('get', collection, () => store.get(collection, id)),
    list: (collection) => runRead('list', collection, () => store.list(collection)),
    listNewest: (collection, limit, after) =>
      runRead('newest', collection, () => store.listNewest(collection, limit, after)),
    commit: (changes) =>
      tracer.runStep({ name: 'commit', kind: 'client', attributes }, () => {
        const context = tracer.getCurrentContext()
        return commitCopies(store, changes, (change) => addTrace(change, context))
      }),
  }
}

/** Adds the trace headers to a change that inserts an event, for the callback that later reports the event. */
function addTrace<C>(change: Change<C>, context: TraceContext | undefined): Change<C> {
  if (context === undefined || !('insert' in change) || change.insert !== ('event' as string)) return change
  return { ...change, value: { ...(change.value as object), trace: traceHeadersOf(context) } } as Change<C>
}
