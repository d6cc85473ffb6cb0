/** How a server stops listening, so that no connection is lost that the system has made for it already. */
import { Server as NetServer } from 'node:net'
import { setImmediate as nextPass } from 'node:timers/promises'

/** The time after which a server stops listening even though connections still arrive. */
const MAX_SEARCH_MS = 500
/** A pass of the event loop that has nothing to do takes less. */
const IDLE_PASS_MS = 0.2

/** Takes in the connections that have arrived, and tells whether more may have arrived meanwhile. */
export type TakeIn = () => Promise<{ readonly mayHaveMore: boolean }>

/** Takes in what has arrived by a pass of the event loop. */
export const takeInByPass: TakeIn = async () => {
  const start = performance.now()
  await nextPass()
  return { mayHaveMore: performance.now() - start > IDLE_PASS_MS }
}

/**
 * Stops listening while no connection waits to be taken in, since the system resets those that wait; open connections
 * stay. Repeats `takeIn` until it has taken in nothing, or until connections have not stopped arriving for 500 ms.
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
  // The method of `node:http` would close idle connections too, on which a request may be on its way.
  NetServer.prototype.close.call(server)
}
