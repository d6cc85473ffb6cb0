/**
 * The memory of request bodies, over all connections: bounded, with half of it for each sender at most. Where it is full, bodies of
 * which nothing has come for a while make room, and then the oldest bodies of the sender that has the most.
 */
import { ProtocolError } from '../protocol/error.ts'
import type { App } from './app-type.ts'
import { networkOf } from './rate-limit.ts'

/** How many bytes may be in memory at once. */
export interface MemoryBounds {
  readonly all: number
  readonly each: number
}

/** The bytes that are in memory now, by whom they are counted for. */
export interface BodyMemory {
  /** Whether there is room for so many bytes more; drops stalled bodies where there is none, and those of a sender that has more. */
  readonly hasRoom: (owner: string, bytes: number) => boolean
  readonly add: (owner: string, bytes: number) => void
  readonly bytes: () => number
  /** The bodies that are still coming. */
  readonly coming: Set<ComingBody>
}

export interface ComingBody {
  /** For whom the body is counted. */
  readonly owner: string
  /** When something of it came last, in milliseconds. */
  at: number
  readonly drop: () => void
}

const MIB = 1024 * 1024
/** The bytes that a service has for bodies. Each API key and each network may have half of them. */
const BOUNDS = { all: 64 * MIB, each: 32 * MIB }
/** A body of which nothing came for so long may have to make room. */
const STALLED_MS = 2000

export function bodyMemory({ all, each }: MemoryBounds, now: () => Date): BodyMemory {
  const byOwner = new Map<string, number>()
  const coming = new Set<ComingBody>()
  let total = 0
  const bytesOf = (owner: string): number => byOwner.get(owner) ?? 0
  const fits = (owner: string, bytes: number): boolean => total + bytes <= all && bytesOf(owner) + bytes <= each
  return {
    coming,
    bytes: () => total,
    add: (owner, bytes) => {
      const sum = bytesOf(owner) + bytes
      total += bytes
      if (sum === 0) byOwner.delete(owner)
      else byOwner.set(owner, sum)
    },
    hasRoom: (owner, bytes) => {
      if (fits(owner, bytes)) return true
      const before = now().getTime() - STALLED_MS
      const isOverShare = bytesOf(owner) + bytes > each
      for (const body of [...coming]) if (body.at < before && (!isOverShare || body.owner === owner)) body.drop()
      const sum = bytesOf(owner) + bytes
      for (let body = largest(coming, bytesOf); !fits(owner, bytes); body = largest(coming, bytesOf)) {
        if (sum > each || body === undefined || bytesOf(body.owner) <= sum) return false
        body.drop()
      }
      return true
    },
  }
}

/** The oldest body that still comes, of the owner of such bodies who has the most in memory. */
function largest(coming: Iterable<ComingBody>, bytesOf: (owner: string) => number): ComingBody | undefined {
  let found: ComingBody | undefined
  for (const body of coming) if (found === undefined || bytesOf(body.owner) > bytesOf(found.owner)) found = body
  return found
}

/**
 * Refuses bodies with `temporarily_unavailable` while the memory for them is full. A body counts until its answer is sent, for
 * the API key of its request, or else for the network of its sender.
 */
export function limitBodyMemory(app: App, now: () => Date, memory = bodyMemory(BOUNDS, now)): void {
  app.addHook('preParsing', (request, reply, _payload, done) => {
    // The sender went away while something was looked up: the response has closed, and would release nothing.
    if (request.raw.destroyed) {
      reply.hijack()
      return
    }
    if (request.method !== 'GET') {
      const owner = request.apiKeyLabel === '' ? networkOf(request.ip) : `key ${request.apiKeyLabel}`
      countBody(memory, { request: request.raw, response: reply.raw, owner, now })
    }
    done()
  })
}

interface CountedRequest {
  readonly request: NodeJS.EventEmitter
  readonly response: NodeJS.EventEmitter
  readonly owner: string
  readonly now: () => Date
}

/** Counts from when the body is first read: a listener before would set it flowing while nobody takes it. */
function countBody(memory: BodyMemory, { request, response, owner, now }: CountedRequest): void {
  let size = 0
  const release = (): void => {
    memory.coming.delete(body)
    memory.add(owner, -size)
    size = 0
  }
  const drop = (): void => {
    request.off('data', count)
    release()
    if (request.listenerCount('error') > 0) request.emit('error', fullMemory())
  }
  const body: ComingBody = { owner, at: now().getTime(), drop }
  const count = (part: Uint8Array): void => {
    body.at = now().getTime()
    const hasRoom = memory.hasRoom(owner, part.length)
    size += part.length
    memory.add(owner, part.length)
    if (!hasRoom) drop()
  }
  const begin = (event: string): void => {
    if (event !== 'data') return
    request.off('newListener', begin)
    memory.coming.add(body)
    request.on('data', count).once('end', () => memory.coming.delete(body))
  }
  request.on('newListener', begin)
  response.once('close', release)
}

function fullMemory(): ProtocolError {
  return new ProtocolError('temporarily_unavailable', 'too many requests are being sent at once; try again in a moment')
}
