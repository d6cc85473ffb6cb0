/** What runs by itself for each contract, started when it is time: its component is made ready, its hook and its timers are run. */
import { targetOf } from './call-target.ts'
import type { EngineContext } from './context.ts'
import type { Entry } from './contract-entry.ts'
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

export function createBackground(context: EngineContext): Background {
  const { watcher, timers, now, log } = context
  const running = new Set<Promise<void>>()
  const preparing = new WeakSet<object>()
  let isStopped = false
  const start = (what: string, entry: Entry, work: () => Promise<void>): void => {
    const promise = work()
      .catch((err: unknown) => {
        log.error({ event: 'background_failed', what, contract: entry.address, err }, 'tried again later')
      })
      .finally(() => running.delete(promise))
    running.add(promise)
  }
  return {
    round: async () => {
      const due = await timers.due(now())
      if (isStopped) return
      const at = now().getTime()
      for (const entry of watcher.entries()) {
        if (mustPrepare(entry, at) && !preparing.has(entry)) {
          preparing.add(entry)
          start('component', entry, () => prepare(context, entry).finally(() => preparing.delete(entry)))
        }
        if (mustRunHook(entry, at)) start('state change', entry, () => runHook(context, entry))
      }
      for (const { contract, id } of due) {
        const entry = watcher.get(contract)
        if (entry === undefined || targetOf(context, entry) === undefined) continue
        timers.running(contract, id, true)
        start('timer', entry, () => runTimer(context, entry, id).finally(() => timers.running(contract, id, false)))
      }
    },
    settled: async () => {
      while (running.size > 0) await Promise.all(running)
    },
    stop: () => {
      isStopped = true
    },
  }
}
