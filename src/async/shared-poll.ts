/** Polling for several listeners: each round reads each id once, for all its listeners. */
import { setImmediate } from 'node:timers/promises'

export interface PollListener<T> {
  /** Receives a value that was read after the listener was added. */
  readonly take: (value: T) => void
  readonly fail: (error: unknown) => void
}

/** Adds a listener for an id, and returns a function that removes the listener. */
export type Poll<T> = (id: string, listener: PollListener<T>) => () => void

/** The number of ids that are read at once; other work runs between two of these groups. */
const READ_AT_ONCE = 100

/** Makes a poll that calls `read` with the id of each listener, and pauses for `pauseMs` after each round. */
export function sharedPoll<T>(read: (id: string) => Promise<T>, pauseMs: number): Poll<T> {
  const listeners = new Map<string, Set<PollListener<T>>>()
  let isRunning = false

  const readFor = async (id: string): Promise<void> => {
    const presentListeners = [...(listeners.get(id) ?? [])]
    if (presentListeners.length === 0) return
    const [result] = await Promise.allSettled([Promise.resolve(id).then(read)])
    for (const listener of presentListeners) {
      if (listeners.get(id)?.has(listener) !== true) continue
      if (result.status === 'fulfilled') listener.take(result.value)
      else listener.fail(result.reason)
    }
  }
  const runRound = async (): Promise<void> => {
    const ids = [...listeners.keys()]
    for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
      await Promise.all(ids.slice(at, at + READ_AT_ONCE).map(readFor))
      await setImmediate()
    }
    scheduleRound()
  }
  const scheduleRound = (): void => {
    isRunning = listeners.size > 0
    if (isRunning) setTimeout(() => void runRound(), pauseMs).unref()
  }

  return (id, listener) => {
    const idListeners = listeners.get(id) ?? new Set()
    listeners.set(id, idListeners.add(listener))
    if (!isRunning) scheduleRound()
    return () => {
      idListeners.delete(listener)
      if (idListeners.size === 0 && listeners.get(id) === idListeners) listeners.delete(id)
    }
  }
}
