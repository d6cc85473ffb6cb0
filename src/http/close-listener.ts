/** How a server stops listening without losing a connection that the system has made for it already. */
import { Server as NetServer } from 'node:net'
import { setImmediate as nextPass } from 'node:timers/promises'

/** The longest time for which a moment is looked for in which no connection waits. */
const LONGEST_SEARCH_MS = 200
/** A pass of the event loop that has nothing to do takes less. */
const IDLE_PASS_MS = 0.2

/**
 * Stops listening while no connection waits to be taken in, since the system resets those that wait; open connections
 * stay. Each pass of the event loop takes in what has arrived: this waits until passes have taken in nothing for
 * `quietMs`, and done nothing else for long, or until connections have never stopped arriving for 200 ms.
 */
export async function closeListener(server: NetServer, quietMs: number): Promise<void> {
  let arrived = 0
  const count = (): void => {
    arrived += 1
  }
  server.on('connection', count)
  const start = performance.now()
  for (let passStart = start, quietStart = start; passStart - start < LONGEST_SEARCH_MS; ) {
    const arrivedBefore = arrived
    await nextPass()
    const passEnd = performance.now()
    if (arrived > arrivedBefore || passEnd - passStart > IDLE_PASS_MS) quietStart = passEnd
    else if (passEnd - quietStart > quietMs) break
    passStart = passEnd
  }
  server.off('connection', count)
  // The method of `node:http` would close idle connections too, on which a request may be on its way.
  NetServer.prototype.close.call(server)
}
