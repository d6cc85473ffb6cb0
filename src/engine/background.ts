/** What runs by itself for each contract, started when it is time: its component is made ready, its hook and its timers are run. */
import { targetOf } from './call-target.ts'
import type { EngineContext } from './context.ts'
import type { Entry } from './contract-entry.ts'
import { fewAtOnce } from './few-at-once.ts'
import { mustPrepare, prepare } from './prepare.ts'
import { mustRunHook, runHook } from './state-change.ts'
import { runTimer } from './timers.ts'

export interface Background {
  /** Starts what is to be started, and does not wait for it. */
  readonly round: () => Promise<void>
  /** When nothing of it runs any more. */
  readonly settled: () => Promise<void>
  stop(): void
}

/** What many contracts have to do at the same time is done bit by bit: requests pass in between. */
const CALLS_AT_ONCE = 2
const LONG_CALL_MS = 50

export function createBackground(context: EngineContext): Background {
  const { watcher, timers, now } = context
  const started = startedWork(context)
  const preparing = new WeakSet<Entry>()
  const startPreparing = (entry: Entry): void => {
    preparing.add(entry)
    const ended = (): unknown => preparing.delete(entry)
    started.add({ what: 'component', entry, run: () => prepare(context, entry), ended })
  }
  const startHook = (entry: Entry): void => {
    entry.hook.running = true
    const ended = (): void => {
      entry.hook.running = false
    }
    started.addCall({ what: 'state change', entry, run: () => runHook(context, entry), ended })
  }
  const startTimer = (entry: Entry, id: number): void => {
    timers.running(entry.address, id, true)
    const ended = (): void => timers.running(entry.address, id, false)
    started.addCall({ what: 'timer', entry, run: () => runTimer(context, entry, id), ended })
  }
  return {
    round: async () => {
      const due = await timers.due(now())
      if (started.isStopped()) return
      const at = now().getTime()
      for (const entry of watcher.entries()) {
        if (mustPrepare(entry, at) && !preparing.has(entry)) startPreparing(entry)
        if (mustRunHook(entry, at)) startHook(entry)
      }
      for (const { contract, id } of due) {
        const entry = watcher.get(contract)
        if (entry !== undefined && targetOf(context, entry) !== undefined) startTimer(entry, id)
      }
    },
    settled: started.settled,
    stop: started.stop,
  }
}

interface Work {
  readonly what: string
  readonly entry: Entry
  readonly run: () => Promise<void>
  /** However it ended. */
  readonly ended: () => unknown
}

/** What was started and nobody waits for. */
function startedWork({ log }: EngineContext) {
  const running = new Set<Promise<void>>()
  const inPassing = fewAtOnce(CALLS_AT_ONCE, LONG_CALL_MS)
  const lastOf = new WeakMap<Entry, Promise<void>>()
  let isStopped = false
  const add = ({ what, entry, run, ended }: Work): void => {
    const promise = run()
      .catch((err: unknown) => {
        log.error({ event: 'background_failed', what, contract: entry.address, err }, 'tried again later')
      })
      .finally(() => {
        ended()
        running.delete(promise)
      })
    running.add(promise)
  }
  /** A call of a component. One whose turn comes after the stop is not made. */
  const call = ({ run }: Work): Promise<void> => inPassing(() => (isStopped ? Promise.resolve() : run()))
  return {
    add,
    /** Of one contract one waits for its turn at a time: however many it has, they keep those of no other waiting. */
    addCall: (work: Work) => {
      const { entry } = work
      const before = lastOf.get(entry) ?? Promise.resolve()
      const promise = before.then(() => call(work))
      lastOf.set(
        entry,
        promise.catch(() => undefined),
      )
      add({ ...work, run: () => promise })
    },
    settled: async () => {
      while (running.size > 0) await Promise.all(running)
    },
    isStopped: () => isStopped,
    stop: () => {
      isStopped = true
    },
  }
}
