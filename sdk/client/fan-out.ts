/** Asks many engines the same question at once, until enough of them have answered. */
import type { ListedEngine } from '../../src/chain/chain.ts'
import { EngineError } from './errors.ts'

export interface FanOut<T> {
  /** The answers of the engines that succeeded, in the order of arrival. */
  readonly answers: readonly T[]
  readonly errors: readonly EngineError[]
}

/**
 * Asks all engines at once. As soon as `enough` have answered, the calls of the others are aborted, and they are in
 * neither list. An engine that is listed twice, with another endpoint, counts once. `ask` rejects with an
 * {@link EngineError} for a fault of an engine; any other error aborts all calls, and is thrown.
 */
export async function fanOut<T>(
  engines: readonly ListedEngine[],
  enough: number,
  ask: (engine: ListedEngine, signal: AbortSignal, index: number) => Promise<T>,
): Promise<FanOut<T>> {
  const stop = new AbortController()
  const answers = new Map<ListedEngine['address'], T>()
  const errors = new Map<ListedEngine['address'], EngineError>()
  const one = async (engine: ListedEngine, index: number): Promise<void> => {
    try {
      const answer = await ask(engine, stop.signal, index)
      if (stop.signal.aborted || answers.has(engine.address)) return
      answers.set(engine.address, answer)
      if (answers.size >= enough) stop.abort()
    } catch (error) {
      if (stop.signal.aborted) return
      if (!(error instanceof EngineError)) {
        stop.abort()
        throw error
      }
      errors.set(engine.address, error)
    }
  }
  const ended = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve(), { once: true }))
  const all = Promise.all(engines.map(one))
  // Work that ignores the signal is not waited for.
  await Promise.race([all, ended])
  if (answers.size < enough) await all
  const failed = [...errors].filter(([address]) => !answers.has(address))
  return { answers: [...answers.values()], errors: failed.map(([, error]) => error) }
}
