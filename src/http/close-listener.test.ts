import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { closeListener } from './close-listener.ts'

it('listens until no connection has arrived for a while, since a proxy may just open one', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let passes = 0
  let lastArrival = 0
  const acceptArrived = async () => {
    passes += 1
    if (passes % 2 === 1 && passes < 6) {
      const client = connect(port, '127.0.0.1')
      await once(server, 'connection')
      lastArrival = performance.now()
      client.destroy()
    } else {
      await pause(1)
    }
    return { mayHaveMore: false }
  }
  await closeListener(server, acceptArrived)
  expect(passes).toBeGreaterThan(6)
  expect(performance.now() - lastArrival).toBeGreaterThan(20)
  expect(server.listening).toBe(false)
})
