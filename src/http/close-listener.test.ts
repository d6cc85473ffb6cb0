import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, it } from 'vitest'
import { closeListener } from './close-listener.ts'

const PASS_MS = 10

/** Closes a listener at which a client connects in some passes. Returns how many passes it took. */
async function countPassesUntilClosed(hasClient: (pass: number) => boolean): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let passes = 0
  const acceptArrived = async () => {
    if (hasClient(passes)) {
      const client = connect(port, '127.0.0.1')
      await once(server, 'connection')
      client.destroy()
    }
    passes += 1
    return { mayHaveMore: false }
  }
  await closeListener(server, acceptArrived, () => passes * PASS_MS)
  expect(server.listening).toBe(false)
  return passes
}

it('listens until no connection has arrived for more than 20 ms, since a proxy may just open one', async () => {
  expect(await countPassesUntilClosed((pass) => [0, 2, 4].includes(pass))).toBe(4 + 3)
})

it('listens for half a second at most, however many connections arrive', async () => {
  expect(await countPassesUntilClosed(() => true)).toBe(500 / PASS_MS)
})
