/** Waiting for the end of a session. */
import { isTemporary, waitUnlessAborted } from './call-service.ts'
import { ServiceError } from './service-error.ts'

export interface WaitOptions {
  /**
   * The time after which the wait rejects with the code `deadline` when the session has no end; eleven minutes when
   * absent.
   */
  readonly timeoutMilliseconds?: number
  /** The time between two looks at the session; one second when absent. */
  readonly everyMilliseconds?: number
  readonly signal?: AbortSignal
}

/** A minute more than the lifetime that a session has unless its application sets another. */
const TIMEOUT_MS = 660_000
const EVERY_MS = 1000

/**
 * Reads the session until `isOver` holds, also while the service cannot answer for a while; the signal that `read` gets
 * ends with the wait. Rejects with a {@link ServiceError}, or with the reason of the signal.
 */
export async function waitForEnd<Session>(
  read: (signal: AbortSignal) => Promise<Session>,
  isOver: (session: Session) => boolean,
  { timeoutMilliseconds = TIMEOUT_MS, everyMilliseconds = EVERY_MS, signal }: WaitOptions,
): Promise<Session> {
  const end = AbortSignal.timeout(timeoutMilliseconds)
  const stop = signal === undefined ? end : AbortSignal.any([signal, end])
  while (!stop.aborted) {
    const session = await read(stop).catch((error: unknown) => {
      if (!stop.aborted && !isTemporary(error as ServiceError)) throw error
    })
    if (session !== undefined && isOver(session)) return session
    await waitUnlessAborted(everyMilliseconds, stop)
  }
  signal?.throwIfAborted()
  throw new ServiceError('deadline', 'the session has not ended within the time; a wallet may still answer')
}
