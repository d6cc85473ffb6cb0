/**
 * The connections of a server. Requests of one connection are answered one after another, so that a client that does
 * not read holds one response in memory. When the service stops, each connection ends after a response, or when it is
 * idle.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { App, ServerConnections } from './app-type.ts'
import { closeListener, type TakeIn } from './close-listener.ts'

/** The most unanswered requests on one connection; browsers and proxies send one at a time. */
const MAX_PIPELINED = 16
/** The time for which a connection may still begin a request after the server has stopped listening. */
const LAST_REQUEST_MS = 50

/** An unanswered request, or bytes that are not a request, in the order of a connection. */
interface Turn {
  /** Absent for bytes that are not a request. */
  readonly response?: ServerResponse
  /** Starts the work when the earlier requests of the connection are answered. */
  begin?: () => void
}

/** The requests that are held while a server stops listening. */
interface Waiting {
  /** The functions that start the held requests, in order; absent unless the server is about to stop listening. */
  begins?: (() => void)[]
}

/** A request whose bytes may still arrive. */
interface LatestRequest {
  readonly request: IncomingMessage
  readonly turn: Turn & { readonly response: ServerResponse }
}

interface Connection {
  readonly turns: Turn[]
  latest?: LatestRequest
  /** Whether the parser of the connection has failed, so that no later bytes are a request. */
  isBroken?: true
}

/**
 * Makes a server that does not listen yet answer the requests of a connection in turn, and close a connection that
 * sends requests and never reads. Must be called before other hooks are added; sets `app.connections`.
 */
export function watchConnections(app: App): void {
  const connections = new Map<Socket, Connection>()
  const endListeners: (() => void)[] = []
  const waiting: Waiting = {}
  let isEnding = false
  // The event gives the same socket as a request: under TLS, it comes after the handshake.
  app.server.on('setSecureContext' in app.server ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections.set(socket, { turns: [] })
    socket.once('close', () => connections.delete(socket))
  })
  // This listener runs before that of Fastify, which runs the hooks.
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
    answerUnreadableBytes: (socket, answer) => {
      const connection = connections.get(socket)
      if (connection === undefined) answer()
      else if (connection.isBroken !== true) endInTurn(connection, socket, answer)
    },
    closeListener: (takeIn) => holdAndCloseListener(app, takeIn, waiting),
    closeIdle: () => closeIdleConnections(connections),
  } satisfies ServerConnections)
}

/** Makes each request wait for its turn on its connection, and while the server stops listening. */
function addTurns(app: App, connections: ReadonlyMap<Socket, Connection>, waiting: Waiting): void {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const { turns = [] } = connections.get(raw.socket) ?? {}
    const begin = (): void => {
      if (waiting.begins !== undefined) waiting.begins.push(begin)
      // Requests that were read together with the one for which the connection was ended are not answered.
      else if (raw.socket.destroyed) reply.hijack()
      else done()
    }
    const turn = turns.find(({ response }) => response === reply.raw)
    if (turn === undefined || turn === turns[0]) begin()
    else turn.begin = begin
  })
}

/** Stops listening, and holds requests meanwhile, since their answers would bring more connections. */
async function holdAndCloseListener({ server }: App, takeIn: TakeIn, waiting: Waiting): Promise<void> {
  const begins: (() => void)[] = []
  waiting.begins = begins
  await closeListener(server, takeIn)
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
    // An idle connection keeps nothing of its requests.
    if (request.complete && connection.latest?.turn === turn) delete connection.latest
    const [next] = turns
    next?.begin?.()
    delete next?.begin
  })
}

/**
 * Ends a connection whose bytes cannot be read any more, when the earlier requests are answered. `answer` answers bytes
 * that are not a request, or a request that breaks off in its body; such a request that is already answered gets no
 * second answer.
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
