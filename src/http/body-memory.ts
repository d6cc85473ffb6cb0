/**
 * Limits the memory for the bodies of all requests, and for those of each sender. When the limit is reached, stalled
 * bodies are dropped first, then the oldest bodies of the sender with the most bytes. A body in many tiny parts is
 * refused.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ProtocolError } from '../protocol/error.ts'
import { apiKeyDigest } from './api-key.ts'
import type { App } from './app-type.ts'
import { createPartCheck, SMALL_PARTS, weighPart } from './body-parts.ts'
import { networkOf } from './rate-limit.ts'

/** The maximum number of bytes in memory. */
export interface MemoryBounds {
  readonly total: number
  readonly perOwner: number
}

/** Counts the bytes in memory by owner: an API key or a network. */
export interface BodyMemory {
  /**
   * Tests whether `bytes` more fit. If they do not, drops stalled bodies, and bodies of owners with more bytes, to make
   * them fit.
   */
  readonly hasRoom: (owner: string, bytes: number) => boolean
  readonly add: (owner: string, bytes: number) => void
  readonly countBytes: () => number
  /** The bodies that are being received. */
  readonly incomingBodies: Set<IncomingBody>
}

export interface IncomingBody {
  /** The owner that the body counts for. */
  readonly owner: string
  /** When the last part of the body arrived, in milliseconds since the epoch. */
  lastPartAt: number
  readonly drop: () => void
}

const MIB = 1024 * 1024
/** The limits of a service, for all bodies and for each owner. */
const BOUNDS = { total: 64 * MIB, perOwner: 32 * MIB }
/** The time without a new part after which a body is stalled. */
const STALLED_MS = 2000

/** Creates the counter of bytes with its limits. */
export function createBodyMemory({ total: maxTotal, perOwner }: MemoryBounds, now: () => Date): BodyMemory {
  const byOwner = new Map<string, number>()
  const incomingBodies = new Set<IncomingBody>()
  let total = 0
  const bytesOf = (owner: string): number => byOwner.get(owner) ?? 0
  const canFit = (owner: string, bytes: number): boolean =>
    total + bytes <= maxTotal && bytesOf(owner) + bytes <= perOwner
  return {
    incomingBodies,
    countBytes: () => total,
    add: (owner, bytes) => {
      const sum = bytesOf(owner) + bytes
      total += bytes
      if (sum === 0) byOwner.delete(owner)
      else byOwner.set(owner, sum)
    },
    hasRoom: (owner, bytes) => {
      if (canFit(owner, bytes)) return true
      const stalledBefore = now().getTime() - STALLED_MS
      const isOverShare = bytesOf(owner) + bytes > perOwner
      for (const body of [...incomingBodies])
        if (body.lastPartAt < stalledBefore && (!isOverShare || body.owner === owner)) body.drop()
      const sum = bytesOf(owner) + bytes
      for (
        let body = findBodyToDrop(incomingBodies, bytesOf);
        !canFit(owner, bytes);
        body = findBodyToDrop(incomingBodies, bytesOf)
      ) {
        if (sum > perOwner || body === undefined || bytesOf(body.owner) <= sum) return false
        body.drop()
      }
      return true
    },
  }
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
 * Adds the hook that refuses bodies with `temporarily_unavailable` when the limit is reached. A body counts until its
 * response is sent, for the API key of the request or else for the network of the sender.
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
      countBody(memory, { request: raw, response: reply.raw, owner, now })
    }
    done()
  })
}

interface CountedRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly owner: string
  readonly now: () => Date
}

/**
 * Counts the parts of a body. Starts with the first listener of the parser, since listening earlier would start the
 * stream too early.
 */
function countBody(memory: BodyMemory, { request, response, owner, now }: CountedRequest): void {
  let size = 0
  const release = (): void => {
    memory.incomingBodies.delete(body)
    memory.add(owner, -size)
    size = 0
  }
  const refuse = (error: Error): void => {
    request.off('data', countPart)
    release()
    if (request.listenerCount('error') > 0) request.emit('error', error)
  }
  const drop = (): void => refuse(memoryFullError())
  const isTooSmall = createPartCheck()
  const body: IncomingBody = { owner, lastPartAt: now().getTime(), drop }
  const countPart = (part: Uint8Array): void => {
    body.lastPartAt = now().getTime()
    const weight = weighPart(part)
    const hasRoom = memory.hasRoom(owner, weight)
    size += weight
    memory.add(owner, weight)
    if (!hasRoom) drop()
    else if (isTooSmall(part)) {
      // The rest of the body is not read.
      response.shouldKeepAlive = false
      refuse(Object.assign(new Error(SMALL_PARTS), { statusCode: 400 }))
    }
  }
  const beginAtFirstListener = (event: string): void => {
    if (event !== 'data') return
    request.off('newListener', beginAtFirstListener)
    memory.incomingBodies.add(body)
    request.on('data', countPart).once('end', () => memory.incomingBodies.delete(body))
  }
  request.on('newListener', beginAtFirstListener)
  response.once('close', release)
}

function memoryFullError(): ProtocolError {
  return new ProtocolError('temporarily_unavailable', 'too many requests are being sent at once; try again in a moment')
}
