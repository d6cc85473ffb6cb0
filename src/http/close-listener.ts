/** Stops listening without losing connections that the kernel has accepted and the process has not. */
import { Server as NetServer } from 'node:net'
import { setImmediate as nextPass } from 'node:timers/promises'

/** The time limit for waiting until no more connections arrive. */
const MAX_WAIT_MS = 500
/**
 * How long no connection must have arrived. A proxy opens one for each request that it has, and each that it has is
 * held here meanwhile, so that a pause means that none is on its way.
 */
const QUIET_MS = 20
/** An event loop iteration without work takes less time. */
const IDLE_PASS_MS = 0.2

/** Accepts the connections that have arrived. Returns whether more may have arrived meanwhile. */
export type AcceptArrived = () => Promise<{ readonly mayHaveMore: boolean }>

/** Accepts arrived connections in one event loop iteration. */
export const acceptInOnePass: AcceptArrived = async () => {
  const start = performance.now()
  await nextPass()
  return { mayHaveMore: performance.now() - start > IDLE_PASS_MS }
}

/**
 * Stops listening when no connection waits to be accepted, since the kernel resets waiting ones. Repeats
 * `acceptArrived` until no connection was accepted for 20 ms, or for at most 500 ms, by the clock `monotonicMs`. Open
 * connections stay open.
 */
export async function closeListener(
  server: NetServer,
  acceptArrived: AcceptArrived,
  monotonicMs: () => number = () => performance.now(),
): Promise<void> {
  let lastArrival = monotonicMs()
  const noteArrival = (): void => {
    lastArrival = monotonicMs()
  }
  server.on('connection', noteArrival)
  const endTime = monotonicMs() + MAX_WAIT_MS
  for (let isQuiet = false; !isQuiet && monotonicMs() < endTime; ) {
    const { mayHaveMore } = await acceptArrived()
    isQuiet = monotonicMs() - lastArrival > QUIET_MS && !mayHaveMore
  }
  server.off('connection', noteArrival)
  // `close` of `node:http` would also close idle connections, on which a request may be arriving.
  NetServer.prototype.close.call(server)
}
