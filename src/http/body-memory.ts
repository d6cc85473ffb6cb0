/**
 * Limits the memory for the bodies of all requests, and for those of each sender. When the limit is reached, stalled
 * bodies are dropped first, then the oldest bodies of the sender with the most bytes. A sender may make a part of each
 * byte, by chunks (RFC 9112 section 7.1) or by segments, and each part costs memory and time however few bytes it has:
 * a body in many tiny parts is refused.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ProtocolError } from '../protocol/error.ts'
import { apiKeyDigest } from './api-key.ts'
import type { App } from './app-type.ts'
import { networkOf } from './rate-limit.ts'

/** The maximum number of bytes in memory. */
export interface MemoryBounds {
  readonly total: number
  readonly perOwner: number
}

/** Counts the bytes in memory by owner: an API key, a network or a contract. */
export interface BodyMemory {
  /** Begins a body. When it has to make room for another, its bytes are released, and `drop` gets the reason. */
  readonly begin: (owner: string, drop: (reason: NoRoom) => void) => CountedBody
  readonly countBytes: () => number
}

/** Why there is no room for a body: its owner has much of the memory, or all of the memory is in use. */
type NoRoom = 'share' | 'full'

/** A body that is being received, or of which all has come. */
export interface CountedBody {
  /**
   * Counts a part, for which stalled bodies, and bodies of owners with more bytes, are dropped if there is no room.
   * Returns the reason if there is none even so, and `tiny` if the parts of the body are too small and too many.
   */
  readonly addPart: (part: Uint8Array) => NoRoom | 'tiny' | undefined
  /** Tells that all of the body has come, so that it is not dropped any more. */
  readonly complete: () => void
  /** Frees the bytes of the body, whose later parts are not counted. */
  readonly release: () => void
}

interface IncomingBody {
  readonly owner: string
  /** When the last part of the body arrived, in milliseconds since the epoch. */
  lastPartAt: number
  readonly drop: (reason: NoRoom) => void
}

const MIB = 1024 * 1024
/** The limits of a service, for all bodies and for each owner. */
const BOUNDS = { total: 64 * MIB, perOwner: 32 * MIB }
/** The time without a new part after which a body is stalled. */
const STALLED_MS = 2000
/** The memory that a part takes at least, in bytes. */
export const MIN_PART_WEIGHT = 512
/** The number of parts up to which they may have any size. */
const MAX_SMALL_PARTS = 2000
/** The mean number of bytes of more parts. Segments and the chunks of clients and proxies have more. */
const MIN_MEAN_BYTES = 64

export const SMALL_PARTS = `the body came in more than ${MAX_SMALL_PARTS} parts of fewer than ${MIN_MEAN_BYTES} bytes; send larger chunks`

/** Creates the counter of bytes with its limits. */
export function createBodyMemory({ total: maxTotal, perOwner }: MemoryBounds, now: () => Date): BodyMemory {
  const byOwner = new Map<string, number>()
  const incomingBodies = new Set<IncomingBody>()
  let total = 0
  const bytesOf = (owner: string): number => byOwner.get(owner) ?? 0
  const canFit = (owner: string, bytes: number): boolean =>
    total + bytes <= maxTotal && bytesOf(owner) + bytes <= perOwner
  const add = (owner: string, bytes: number): void => {
    const sum = bytesOf(owner) + bytes
    total += bytes
    if (sum === 0) byOwner.delete(owner)
    else byOwner.set(owner, sum)
  }
  const reasonFor = (owner: string): NoRoom => (bytesOf(owner) > perOwner / 2 ? 'share' : 'full')
  const makeRoom = (owner: string, bytes: number): boolean => {
    if (canFit(owner, bytes)) return true
    const reasons = new Map([...byOwner.keys()].map((each) => [each, reasonFor(each)]))
    const stalledBefore = now().getTime() - STALLED_MS
    const isOverShare = bytesOf(owner) + bytes > perOwner
    for (const body of [...incomingBodies])
      if (body.lastPartAt < stalledBefore && (!isOverShare || body.owner === owner))
        body.drop(reasons.get(body.owner) ?? 'full')
    const sum = bytesOf(owner) + bytes
    while (!canFit(owner, bytes)) {
      const body = findBodyToDrop(incomingBodies, bytesOf)
      if (sum > perOwner || body === undefined || bytesOf(body.owner) <= sum) return false
      body.drop(reasonFor(body.owner))
    }
    return true
  }
  return {
    begin: (owner, drop) => beginBody({ owner, drop, incomingBodies, makeRoom, reasonFor, add, now }),
    countBytes: () => total,
  }
}

interface NewBody {
  readonly owner: string
  readonly drop: (reason: NoRoom) => void
  readonly incomingBodies: Set<IncomingBody>
  /** Drops bodies until `bytes` more fit, and tests whether they do. */
  readonly makeRoom: (owner: string, bytes: number) => boolean
  readonly reasonFor: (owner: string) => NoRoom
  readonly add: (owner: string, bytes: number) => void
  readonly now: () => Date
}

function beginBody({ owner, drop, incomingBodies, makeRoom, reasonFor, add, now }: NewBody): CountedBody {
  let [parts, bytes, weight] = [0, 0, 0]
  let isReleased = false
  const complete = (): void => void incomingBodies.delete(body)
  const release = (): void => {
    isReleased = true
    complete()
    add(owner, -weight)
    weight = 0
  }
  const releaseAndDrop = (reason: NoRoom): void => {
    release()
    drop(reason)
  }
  const body: IncomingBody = { owner, lastPartAt: now().getTime(), drop: releaseAndDrop }
  incomingBodies.add(body)
  const addPart = ({ length }: Uint8Array): NoRoom | 'tiny' | undefined => {
    // After a refusal, such as of a body over the limit of the route, the rest of the body still comes.
    if (isReleased) return undefined
    body.lastPartAt = now().getTime()
    const partWeight = Math.max(length, MIN_PART_WEIGHT)
    const hasRoom = makeRoom(owner, partWeight)
    parts++
    bytes += length
    weight += partWeight
    add(owner, partWeight)
    if (!hasRoom) return reasonFor(owner)
    return parts > MAX_SMALL_PARTS && bytes < parts * MIN_MEAN_BYTES ? 'tiny' : undefined
  }
  return { addPart, complete, release }
}

/** Returns the oldest body of the owner with the most bytes in memory. */
function findBodyToDrop(
  incomingBodies: Iterable<IncomingBody>,
  bytesOf: (owner: string) => number,
): IncomingBody | undefined {
  let oldest: IncomingBody | undefined
  for (const body of incomingBodies)
    if (oldest === undefined || bytesOf(body.owner) > bytesOf(oldest.owner)) oldest = body
  return oldest
}

/**
 * Adds the hook that refuses bodies when the limit is reached: with `too_many_requests` those of a sender that has much
 * of the memory, and others with `temporarily_unavailable`, by which operators see that the service lacks memory. A
 * body counts until its response is sent, for the API key of the request or else for the network of the sender.
 */
export function limitBodyMemory(app: App, now: () => Date, memory = createBodyMemory(BOUNDS, now)): void {
  app.addHook('preParsing', (request, reply, _payload, done) => {
    // The sender has disconnected meanwhile, so no event would release the bytes.
    if (request.raw.destroyed) {
      reply.hijack()
      return
    }
    if (request.method !== 'GET') {
      const { apiKeyLabel, ip, raw } = request
      const owner = apiKeyLabel === '' ? networkOf(ip) : `key ${apiKeyDigest(raw.headers.authorization)}`
      countBody(memory, { request: raw, response: reply.raw, owner })
    }
    done()
  })
}

interface CountedRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly owner: string
}

/**
 * Counts the parts of a body. Starts with the first listener of the parser, since listening earlier would start the
 * stream too early.
 */
function countBody(memory: BodyMemory, { request, response, owner }: CountedRequest): void {
  const beginAtFirstListener = (event: string): void => {
    if (event !== 'data') return
    request.off('newListener', beginAtFirstListener)
    const refuse = (error: Error): void => {
      request.off('data', countPart)
      body.release()
      if (request.listenerCount('error') > 0) request.emit('error', error)
    }
    const body = memory.begin(owner, (reason) => refuse(noRoomError(reason)))
    const countPart = (part: Uint8Array): void => {
      const problem = body.addPart(part)
      if (problem === undefined) return
      if (problem !== 'tiny') {
        refuse(noRoomError(problem))
        return
      }
      // The rest of the body is not read.
      response.shouldKeepAlive = false
      refuse(Object.assign(new Error(SMALL_PARTS), { statusCode: 400 }))
    }
    request.on('data', countPart).once('end', body.complete)
    response.once('close', body.release)
  }
  request.on('newListener', beginAtFirstListener)
}

function noRoomError(reason: NoRoom): ProtocolError {
  const text = 'too many requests are being sent at once; try again in a moment'
  return reason === 'full'
    ? new ProtocolError('temporarily_unavailable', text)
    : new ProtocolError('too_many_requests', text, { retryAfterSeconds: 1 })
}
