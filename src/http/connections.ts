/**
 * The connections of a server: requests of one are answered one after another, so that a client which does not read has one
 * answer in our memory and no more.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { App } from './app-type.ts'

/** Requests on one connection that are not answered yet; browsers and proxies send one at a time. */
const MAX_PIPELINED = 16

/** A request that is not answered yet, and what begins its work once those before it on its connection are. */
interface UnfinishedRequest {
  readonly response: ServerResponse
  begin?: () => void
}

/**
 * Has a server that does not listen yet take the requests of a connection in turn, and end a connection that asks and asks and
 * does not read. To be called before other hooks are added.
 */
export function answerInTurn(app: App): void {
  const unfinished = new WeakMap<Socket, UnfinishedRequest[]>()
  // Before the listener of Fastify, which runs the hooks.
  app.server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const requests = unfinished.get(socket) ?? []
    unfinished.set(socket, requests)
    requests.push({ response })
    if (requests.length > MAX_PIPELINED) socket.destroy()
    response.once('close', () => {
      requests.splice(
        requests.findIndex((request) => request.response === response),
        1,
      )
      requests[0]?.begin?.()
    })
  })
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const requests = unfinished.get(raw.socket) ?? []
    const request = requests.find(({ response }) => response === reply.raw)
    if (request === undefined || request === requests[0]) done()
    else request.begin = done
  })
}
