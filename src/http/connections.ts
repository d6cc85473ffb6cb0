/**
 * The connections of a server: requests of one are answered one after another, so that a client which does not read has one
 * answer in our memory and no more; and when the service stops, each ends after an answer, or when it has nothing to ask.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { App, ServerConnections } from './app-type.ts'

/** Requests on one connection that are not answered yet; browsers and proxies send one at a time. */
const MAX_PIPELINED = 16
/** How long a connection may still begin a request after the server has stopped listening. */
const LAST_REQUEST_MS = 50

/** A request that is not answered yet, and what begins its work once those before it on its connection are. */
interface UnfinishedRequest {
  readonly response: ServerResponse
  begin?: () => void
}

/**
 * Has a server that does not listen yet take the requests of a connection in turn, and end a connection that asks and asks and
 * does not read. To be called before other hooks are added; `app.connections` is what it gives.
 */
export function watchConnections(app: App): void {
  const connections = new Map<Socket, UnfinishedRequest[]>()
  let isEnding = false
  // The socket that a request names: under TLS it is there after the handshake.
  app.server.on('setSecureContext' in app.server ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections.set(socket, [])
    socket.once('close', () => connections.delete(socket))
  })
  // Before the listener of Fastify, which runs the hooks.
  app.server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (isEnding) response.shouldKeepAlive = false
    takeRequest(connections.get(socket) ?? [], socket, response)
  })
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const requests = connections.get(raw.socket) ?? []
    const request = requests.find(({ response }) => response === reply.raw)
    if (request === undefined || request === requests[0]) done()
    else request.begin = done
  })
  app.decorate('connections', {
    open: () => connections.size,
    areEnding: () => isEnding,
    endAfterAnswers: () => {
      isEnding = true
      for (const { response } of [...connections.values()].flat()) response.shouldKeepAlive = false
    },
    closeQuiet: () => {
      let before = new Set<Socket>()
      setInterval(() => {
        const quiet = [...connections].flatMap(([socket, requests]) => (requests.length === 0 ? [socket] : []))
        for (const socket of quiet) if (before.has(socket)) socket.destroy()
        before = new Set(quiet)
      }, LAST_REQUEST_MS)
    },
  } satisfies ServerConnections)
}

function takeRequest(requests: UnfinishedRequest[], socket: Socket, response: ServerResponse): void {
  requests.push({ response })
  if (requests.length > MAX_PIPELINED) socket.destroy()
  response.once('close', () => {
    requests.splice(
      requests.findIndex((request) => request.response === response),
      1,
    )
    const [next] = requests
    next?.begin?.()
    delete next?.begin
  })
}
