/** Stops listening without losing connections that the kernel has accepted and the process has not. */
import { Server as NetServer } from 'node:net'
import { setImmediate as nextPass } from 'node:timers/promises'

/** The time limit for waiting until no more connections arrive. */
const MAX_SEARCH_MS = 500
/** An event loop iteration without work takes less time. */
const IDLE_PASS_MS = 0.2

/** Accepts the connections that have arrived. Returns whether more may have arrived meanwhile. */
export type TakeIn = () => Promise<{ readonly mayHaveMore: boolean }>

/** Accepts arrived connections in one event loop iteration. */
export const takeInByPass: TakeIn = async () => {
  const start = performance.now()
  await nextPass()
  return { mayHaveMore: performance.now() - start > IDLE_PASS_MS }
}

/**
 * Stops listening when no connection waits to be accepted, since the kernel resets waiting ones. Repeats `takeIn` until
 * no connection was accepted, or for at most 500 ms. Open connections stay open.
 */
export async function closeListener(server: NetServer, takeIn: TakeIn): Promise<void> {
  let arrived = 0
  const count = (): void => {
    arrived += 1
  }
  server.on('connection', count)
  const endTime = performance.now() + MAX_SEARCH_MS
  for (let isQuiet = false; !isQuiet && performance.now() < endTime; ) {
    const arrivedBefore = arrived
    const { mayHaveMore } = await takeIn()
    isQuiet = arrived === arrivedBefore && !mayHaveMore
  }
  server.off('connection', count)
  // `close` of `node:http` would also close idle connections, on which a request may be arriving.
  NetServer.prototype.close.call(server)
}
