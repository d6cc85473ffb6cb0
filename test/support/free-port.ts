/**
 * Ports without a listener, on any address of the machine. They lie below those that systems give to outgoing
 * connections, and each process of tests takes its own twenty: between the choice and the use of a port no other
 * program gets it.
 */
import { createServer } from 'node:net'

const [FIRST, EACH, PROCESSES] = [10_000, 20, 1000]
const own = FIRST + EACH * (process.pid % PROCESSES)
let next = 0

/** Returns the first of `count` free ports in a row. */
export async function freePort(count = 1): Promise<number> {
  for (let tried = 0; tried < EACH; tried++) {
    if (next + count > EACH) next = 0
    const port = own + next
    const row = Array.from({ length: count }, (_, index) => port + index)
    const free = await Promise.all(row.map(isFree))
    next += free.lastIndexOf(false) + 1 || count
    if (!free.includes(false)) return port
  }
  throw new Error(`none of the ports ${own} to ${own + EACH - 1} is free, or not ${count} of them in a row`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, () => server.close(() => resolve(true)))
  })
}
