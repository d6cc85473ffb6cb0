/** Servers of a test. */
import type { Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** Has the server listen on a port of this machine until the test is over, and returns the port. */
export async function listenInTest(server: Server | TlsServer): Promise<number> {
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}
