/** Signals of a process that is the first one of a container. */
import { constants } from 'node:os'

/** The part of a process that its signals are about. */
type SignalledProcess = Pick<NodeJS.Process, 'pid'> & {
  on(signal: NodeJS.Signals, act: (signal: NodeJS.Signals) => void): unknown
  listenerCount(signal: NodeJS.Signals): number
  exit(status: number): void
}

/**
 * Makes SIGTERM and SIGINT end the first process of a container, unless it listens to them by itself: the kernel drops
 * a signal that process 1 does not listen to. The status is the one that a shell gives for the signal.
 * pid_namespaces(7).
 */
export function endFirstProcessOnSignal(started: SignalledProcess): void {
  if (started.pid !== 1) return
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    started.on(signal, () => {
      if (started.listenerCount(signal) === 1) started.exit(128 + constants.signals[signal])
    })
  }
}
