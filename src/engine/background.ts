/**
 * What runs by itself for each contract: its component is made ready, its state change hook is run when the contract may have
 * changed (once for many changes, and once at the start), and its timers when they are due.
 */
import { ComponentError } from '../component/runtime.ts'
import { addressOf } from '../offchain/address.ts'
import { reader } from '../offchain/rpc.ts'
import { findComponent, SourceError } from './component-source.ts'
import type { EngineContext } from './context.ts'
import { backOff, type CallTarget, type Entry } from './contract-entry.ts'
import { perform } from './perform.ts'
import { over } from './timer-book.ts'

/** A call that fails so often is given up: a hook until its contract changes again, a timer for good. */
export const MOST_ATTEMPTS = 8

export interface Background {
  /** Starts what is to be started. Comes back at once. */
  readonly round: () => Promise<void>
  /** When nothing of it runs any more. */
  readonly settled: () => Promise<void>
  stop(): void
}

export function createBackground(context: EngineContext): Background {
  const running = new Set<Promise<void>>()
  const preparing = new WeakSet<object>()
  let isStopped = false
  const start = (what: string, entry: Entry, work: () => Promise<void>): void => {
    const promise = work()
      .catch((err: unknown) => {
        context.log.error({ event: 'background_failed', what, contract: entry.address, err }, 'tried again later')
      })
      .finally(() => running.delete(promise))
    running.add(promise)
  }
  return {
    round: () => {
      if (isStopped) return Promise.resolve()
      const at = context.now().getTime()
      for (const entry of context.watcher.entries()) {
        if (mustPrepare(entry, at) && !preparing.has(entry)) {
          preparing.add(entry)
          start('component', entry, () => prepare(context, entry).finally(() => preparing.delete(entry)))
        }
        if (mustRunHook(entry, at)) start('state change', entry, () => runHook(context, entry))
      }
      startTimers(context, start)
      return Promise.resolve()
    },
    settled: async () => {
      while (running.size > 0) await Promise.all(running)
    },
    stop: () => {
      isStopped = true
    },
  }
}

/** What a call of the contract would be about now; undefined when it cannot be called. */
export function targetOf({ watcher }: EngineContext, entry: Entry): CallTarget | undefined {
  const block = watcher.block()
  const { state, contract } = entry
  if (state.kind !== 'ready' || entry.isOurs !== true || block === undefined) return undefined
  return watcher.get(entry.address) === entry ? { entry, contract, component: state.component, block } : undefined
}

function mustPrepare(entry: Entry, at: number): boolean {
  const { state, retry, isOurs, contract } = entry
  if (isOurs === false && contract.engines !== undefined) return false
  if (state.kind === 'ready') return contract.engines === undefined && entry.askedOf !== contract && retry.at <= at
  return retry.at <= at
}

async function prepare(context: EngineContext, entry: Entry): Promise<void> {
  const { contract } = entry
  const isCurrent = (): boolean => entry.contract.component?.sha256 === contract.component?.sha256
  try {
    if (entry.state.kind !== 'ready') {
      const state = await load(context, contract.component)
      if (!isCurrent()) return
      entry.state = state
      context.log.info({ event: 'component_ready', contract: entry.address, hooks: state.hooks }, 'it can be called')
    }
    if (contract.engines === undefined) await askEngines(context, entry)
    entry.retry = { at: 0, attempts: 0 }
  } catch (error) {
    if (!(error instanceof SourceError) && !(error instanceof ComponentError)) throw error
    if (isCurrent()) fail(context, entry, error.message)
  }
}

async function load(context: EngineContext, named: { readonly sha256: string; readonly uri: string } | undefined) {
  if (named === undefined) {
    throw new SourceError('its contract names no component; name one in `components` of the configuration')
  }
  const component = await findComponent(context, named)
  const { hooks } = await context.runtime.describe(component)
  return { kind: 'ready', component, hooks } as const
}

function fail({ log, now }: EngineContext, entry: Entry, why: string): void {
  const attempts = entry.retry.attempts + 1
  const isNews = entry.state.kind !== 'failed' || entry.state.why !== why
  entry.state = { kind: 'failed', why }
  entry.retry = { at: now().getTime() + backOff(attempts), attempts }
  if (isNews) log.error({ event: 'component_unavailable', contract: entry.address, why }, 'its component cannot be run')
}

/** Who the engines are, as the component reads it from the state of its contract; the operator decides where it does not say. */
async function askEngines(context: EngineContext, entry: Entry): Promise<void> {
  const { contract, state } = entry
  const block = context.watcher.block()
  if (state.kind !== 'ready' || block === undefined) return
  if (!state.hooks.includes('off_chain_engines')) {
    entry.isOurs = true
  } else {
    const target = { entry, contract, component: state.component, block }
    const performed = await perform(context, entry, () => target, { hook: { kind: 'engines' }, mode: 'shared' })
    if (performed.kind !== 'done') throw new SourceError('its component cannot say who its engines are')
    entry.isOurs = readEngines(performed.result).includes(context.engine)
  }
  entry.askedOf = contract
}

function readEngines(result: Uint8Array): readonly string[] {
  const from = reader(result)
  return from.list((each) => {
    const address = addressOf(each.raw(21))
    each.text()
    return address
  })
}

function mustRunHook({ hook, state, isOurs }: Entry, at: number): boolean {
  return (
    hook.pending && !hook.running && !hook.dead && hook.notBefore <= at && state.kind === 'ready' && isOurs === true
  )
}

async function runHook(context: EngineContext, entry: Entry): Promise<void> {
  const { hook, state } = entry
  const target = targetOf(context, entry)
  if (target === undefined || state.kind !== 'ready') return
  hook.pending = false
  if (!state.hooks.includes('off_chain_on_state_change')) return
  hook.running = true
  try {
    const asked = { hook: { kind: 'state-change' }, mode: 'serial' } as const
    const performed = await perform(context, entry, () => targetOf(context, entry), asked)
    if (performed.kind === 'done') Object.assign(hook, { attempts: 0, dead: false, notBefore: 0 })
    else if (performed.kind === 'unavailable') hook.pending = true
    else retryHook(context, entry)
  } catch (error) {
    retryHook(context, entry)
    throw error
  } finally {
    hook.running = false
  }
}

function retryHook({ log, now }: EngineContext, { address, hook }: Entry): void {
  hook.attempts++
  hook.pending = true
  hook.notBefore = now().getTime() + backOff(hook.attempts)
  if (hook.attempts < MOST_ATTEMPTS) return
  hook.dead = true
  log.error(
    { event: 'state_change_dead', contract: address, attempts: hook.attempts },
    'given up until it changes again',
  )
}

function startTimers(
  context: EngineContext,
  start: (what: string, entry: Entry, work: () => Promise<void>) => void,
): void {
  const { timers, watcher, now } = context
  for (const { contract, id } of timers.due(now())) {
    const entry = watcher.get(contract)
    if (entry === undefined || targetOf(context, entry) === undefined) continue
    timers.running(contract, id, true)
    start('timer', entry, () => runTimer(context, entry, id).finally(() => timers.running(contract, id, false)))
  }
}

async function runTimer(context: EngineContext, entry: Entry, id: number): Promise<void> {
  const { timers, now, log } = context
  const row = timers.get(entry.address, id)
  if (row?.status !== 'scheduled' || row.at > now().getTime()) return
  const hook = { kind: 'timer', id, payload: new Uint8Array(Buffer.from(row.payload, 'base64')) } as const
  // Where it was cancelled or scheduled anew while this waited, it is another timer.
  const target = (): CallTarget | undefined =>
    timers.get(entry.address, id) === row ? targetOf(context, entry) : undefined
  const ended = { id, row: over(row, 'done', now()) }
  const performed = await perform(context, entry, target, { hook, mode: 'serial', ended })
  if (performed.kind === 'done' || performed.kind === 'unavailable') return
  const attempts = row.attempts + 1
  const next =
    attempts < MOST_ATTEMPTS
      ? { ...row, attempts, at: now().getTime() + backOff(attempts) }
      : over({ ...row, attempts }, 'failed', now())
  if (timers.get(entry.address, id) !== row) return
  const plan = timers.plan(entry.address, [], now(), { id, row: next })
  if ((await context.store.commit(plan.changes)) === undefined) plan.apply()
  if (next.status === 'failed') log.error({ event: 'timer_failed', contract: entry.address, timer: id }, 'given up')
}
