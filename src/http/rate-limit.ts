/**
 * Rate limits by the address of the caller, where configured: for requests to wallet endpoints, and for unknown API
 * keys. Each process counts for itself, in memory.
 */
import { isIP } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createLru } from '../async/lru.ts'
import { refuse } from '../protocol/error.ts'

/** The setting `rateLimits`; an absent member means no limit. */
export interface RateLimits {
  readonly walletRequestsPerMinute?: number
  readonly failedApiKeysPerMinute?: number
  /** The proxies whose X-Forwarded-For is trusted: addresses and networks. */
  readonly trustedProxies?: readonly string[]
}

/** The counts for one kind of request. */
export interface Allowance {
  /** Counts a request. Returns the seconds to wait, or 0 when the request is allowed. */
  countRequest(address: string): number
  /** Returns the seconds until a request is allowed, without counting one. */
  getWaitSeconds(address: string): number
}

const REMEMBERED_ADDRESSES = 10_000

/** Makes an allowance of `perMinute` requests at once, and as many again in the course of a minute. */
export function createAllowance(perMinute: number, now: () => Date): Allowance {
  return createTokenBucket(perMinute, perMinute / 60_000, now)
}

/** Makes a token bucket: an allowance of `burst` requests at once, and of `perMs` more with every millisecond. */
export function createTokenBucket(burst: number, perMs: number, now: () => Date): Allowance {
  const buckets = createLru<string, { readonly count: number; at: number }>(REMEMBERED_ADDRESSES)
  const countOf = (address: string, at: number): number => {
    const bucket = buckets.get(address)
    if (bucket === undefined) return burst
    // Where the clock was set back, the bucket fills from the time that the clock shows now.
    bucket.at = Math.min(bucket.at, at)
    return Math.min(burst, bucket.count + (at - bucket.at) * perMs)
  }
  const secondsUntilOne = (count: number): number => (count >= 1 ? 0 : Math.ceil((1 - count) / perMs / 1000))
  return {
    getWaitSeconds: (address) => secondsUntilOne(countOf(networkOf(address), now().getTime())),
    countRequest: (address) => {
      const [network, at] = [networkOf(address), now().getTime()]
      const count = countOf(network, at)
      if (count >= 1) buckets.set(network, { count: count - 1, at })
      return secondsUntilOne(count)
    },
  }
}

/** Refuses with `too_many_requests` and `Retry-After` unless `seconds` is 0. */
export function refuseWhileWaiting(seconds: number, reply: FastifyReply): void {
  if (seconds === 0) return
  reply.header('retry-after', String(seconds))
  refuse('too_many_requests', `too many requests from this address; try again in ${seconds} seconds`)
}

/**
 * Limits guesses of API keys: an address with too many wrong keys is refused for a while, with right keys as well,
 * since the response would tell otherwise.
 */
export function limitGuesses(
  authenticate: (authorization: string | undefined) => string,
  guesses: Allowance | undefined,
): (request: FastifyRequest, reply: FastifyReply) => string {
  return (request, reply) => {
    refuseWhileWaiting(guesses?.getWaitSeconds(request.ip) ?? 0, reply)
    try {
      return authenticate(request.headers.authorization)
    } catch (error) {
      guesses?.countRequest(request.ip)
      throw error
    }
  }
}

/**
 * Returns the network that counts as one caller: an IPv4 address, or the /64 of an IPv6 address. Some proxies add the
 * port; everything that is not an address counts as one caller.
 */
export function networkOf(text: string): string {
  const [, bracketedAddress, addressWithPort] = /^(?:\[(.*)\](?::\d+)?|([^:]+):\d+)$/.exec(text) ?? []
  const address = (bracketedAddress ?? addressWithPort ?? text).toLowerCase()
  const family = isIP(address)
  if (family === 0) return ''
  if (family === 4 || address.startsWith('::ffff:')) return address.replace('::ffff:', '')
  const [head = '', tail = ''] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const tailGroups = tail === '' ? [] : tail.split(':')
  const zeros = address.includes('::')
    ? Array<string>(Math.max(0, 8 - groups.length - tailGroups.length)).fill('0')
    : []
  const all = [...groups, ...zeros, ...tailGroups].slice(0, 4)
  return all.map((group) => group.replace(/^0+(?=.)/, '')).join(':')
}
