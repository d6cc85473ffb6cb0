/**
 * The connections of a server. Requests of one connection are answered one after another, so that a client that does
 * not read holds one response in memory. When the service stops, each connection ends after a response, or when it is
 * idle.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { App, ServerConnections } from './app-type.ts'

/** The most unanswered requests on one connection; browsers and proxies send one at a time. */
const MAX_PIPELINED = 16
/** The time for which a connection may still begin a request after the server has stopped listening. */
const LAST_REQUEST_MS = 50

/**
 * An unanswered request, and the function that starts its work when the earlier requests of its connection are
 * answered.
 */
interface UnfinishedRequest {
  readonly response: ServerResponse
  begin?: () => void
}

/**
 * Makes a server that does not listen yet answer the requests of a connection in turn, and close a connection that
 * sends requests and never reads. Must be called before other hooks are added; sets `app.connections`.
 */
export function watchConnections(app: App): void {
  const connections = new Map<Socket, UnfinishedRequest[]>()
  let isEnding = false
  // The event gives the same socket as a request: under TLS, it comes after the handshake.
  app.server.on('setSecureContext' in app.server ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections.set(socket, [])
    socket.once('close', () => connections.delete(socket))
  })
  // This listener runs before that of Fastify, which runs the hooks.
  app.server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (isEnding) response.shouldKeepAlive = false
    takeRequest(connections.get(socket) ?? [], socket, response)
  })
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const requests = connections.get(raw.socket) ?? []
    const begin = (): void => {
      // Requests that were read together with the one for which the connection was ended are not answered.
      if (raw.socket.destroyed) reply.hijack()
      else done()
    }
    const request = requests.find(({ response }) => response === reply.raw)
    if (request === undefined || request === requests[0]) begin()
    else request.begin = begin
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
