/**
 * The connections of a server. Pipelined requests of a connection are answered one after another, so that a client that
 * does not read has only one response in memory. When the service stops, each connection is closed after a response, or
 * when it is idle.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { App, ServerConnections } from './app-type.ts'
import { type AcceptArrived, closeListener } from './close-listener.ts'

/** The maximum number of unanswered requests on one connection. Browsers and proxies do not pipeline. */
const MAX_PIPELINED = 16
/** How long an idle connection may still start a request after the server has stopped listening. */
const LAST_REQUEST_MS = 50

/** An unanswered request of a connection, or bytes that are not a request. */
interface Turn {
  /** The response; absent for bytes that are not a request. */
  readonly response?: ServerResponse
  /** Starts processing, after the earlier requests of the connection are answered. */
  begin?: () => void
}

/** The requests that wait while the server stops listening. */
interface Waiting {
  /** The functions that start the waiting requests, in order; absent while no request has to wait. */
  begins?: (() => void)[]
}

/** The last request of a connection, whose body may still be arriving. */
interface LatestRequest {
  readonly request: IncomingMessage
  readonly turn: Turn & { readonly response: ServerResponse }
}

interface Connection {
  readonly turns: Turn[]
  latest?: LatestRequest
  /** Whether parsing has failed on the connection, so that later bytes are ignored. */
  isBroken?: true
}

/**
 * Makes a server answer the requests of each connection in turn, and close a connection with too many unanswered
 * requests. Must be called before the server listens and before other hooks are added. Adds `app.connections`.
 */
export function watchConnections(app: App): void {
  const connections = new Map<Socket, Connection>()
  const endListeners: (() => void)[] = []
  const waiting: Waiting = {}
  let isEnding = false
  // With TLS, `secureConnection` has the socket that requests have; it comes after the handshake.
  app.server.on('setSecureContext' in app.server ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections.set(socket, { turns: [] })
    socket.once('close', () => connections.delete(socket))
  })
  // This listener runs before Fastify's, which runs the hooks.
  app.server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    if (isEnding) response.shouldKeepAlive = false
    const connection = connections.get(request.socket)
    if (connection !== undefined) addRequest(connection, request, response)
  })
  addTurns(app, connections, waiting)
  app.decorate('connections', {
    countOpen: () => connections.size,
    isEnding: () => isEnding,
    endAfterAnswers: () => {
      isEnding = true
      for (const { turns } of connections.values()) closeAfterResponses(turns)
      for (const listener of endListeners) listener()
    },
    onEnding: (listener) => void endListeners.push(listener),
    answerBrokenRequest: (socket, answer) => {
      const connection = connections.get(socket)
      if (connection === undefined) answer()
      else if (connection.isBroken !== true) endInTurn(connection, socket, answer)
    },
    closeListener: (acceptArrived) => holdAndCloseListener(app, acceptArrived, waiting),
    closeIdle: () => closeIdleConnections(connections),
  } satisfies ServerConnections)
}

/** Adds the hook in which a request waits for its turn on its connection, and while the server stops listening. */
function addTurns(app: App, connections: ReadonlyMap<Socket, Connection>, waiting: Waiting): void {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const { turns = [] } = connections.get(raw.socket) ?? {}
    const begin = (): void => {
      if (waiting.begins !== undefined) waiting.begins.push(begin)
      // Pipelined requests behind the one for which the connection was closed are not answered.
      else if (raw.socket.destroyed) reply.hijack()
      else done()
    }
    const turn = turns.find(({ response }) => response === reply.raw)
    if (turn === undefined || turn === turns[0]) begin()
    else turn.begin = begin
  })
}

/** Stops listening. Requests wait meanwhile, since answering them would cause new connections. */
async function holdAndCloseListener({ server }: App, acceptArrived: AcceptArrived, waiting: Waiting): Promise<void> {
  const begins: (() => void)[] = []
  waiting.begins = begins
  await closeListener(server, acceptArrived)
  delete waiting.begins
  for (const begin of begins) begin()
}

function closeAfterResponses(turns: readonly Turn[]): void {
  for (const { response } of turns) if (response !== undefined) response.shouldKeepAlive = false
}

function closeIdleConnections(connections: ReadonlyMap<Socket, Connection>): void {
  let previouslyIdle = new Set<Socket>()
  setInterval(() => {
    const idle = [...connections].flatMap(([socket, { turns }]) => (turns.length === 0 ? [socket] : []))
    for (const socket of idle) if (previouslyIdle.has(socket)) socket.destroy()
    previouslyIdle = new Set(idle)
  }, LAST_REQUEST_MS)
}

function addRequest(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
  const { turns } = connection
  const turn = { response }
  turns.push(turn)
  connection.latest = { request, turn }
  if (turns.length > MAX_PIPELINED) request.socket.destroy()
  response.once('close', () => {
    turns.splice(turns.indexOf(turn), 1)
    // Frees the request of an idle connection.
    if (request.complete && connection.latest?.turn === turn) delete connection.latest
    const [next] = turns
    next?.begin?.()
    delete next?.begin
  })
}

/**
 * Closes a connection after a parse error, when its earlier requests are answered. `answer` responds to bytes that are
 * not a request, or to a request with an incomplete body. If the latter is answered already, the connection is only
 * closed.
 */
function endInTurn(connection: Connection, socket: Socket, answer: () => void): void {
  connection.isBroken = true
  const { turns, latest } = connection
  const interruptedTurn = latest?.request.complete === false ? latest.turn : undefined
  const isAnswered = interruptedTurn?.response.headersSent === true
  const end = isAnswered ? () => socket.destroySoon() : answer
  const turn: Turn = interruptedTurn === undefined || isAnswered ? {} : interruptedTurn
  if (turn !== interruptedTurn) turns.push(turn)
  if (turn === turns[0]) end()
  else turn.begin = end
}
