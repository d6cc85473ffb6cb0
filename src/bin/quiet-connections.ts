/**
 * Connections on which no request runs, so that stopping waits for requests and for nothing else: a browser opens
 * connections before it needs them, and every client keeps them after.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { App } from '../http/app-type.ts'

const SWEEP_INTERVAL_MS = 50

/** Watches the connections of a server that does not listen yet; the function it gives closes the quiet ones from then on. */
export function watchConnections({ server }: App): () => void {
  const unused = new Set<Socket>()
  // The socket that a request names: under TLS it is there after the handshake.
  server.on('setSecureContext' in server ? 'secureConnection' : 'connection', (socket: Socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  server.on('request', ({ socket }: IncomingMessage) => unused.delete(socket))
  return () => {
    for (const socket of unused) socket.destroy()
    // What has a request now is kept alive after it, and closed as soon as it has nothing to do.
    setInterval(() => server.closeIdleConnections(), SWEEP_INTERVAL_MS)
  }
}
