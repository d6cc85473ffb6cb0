/**
 * Optional rate limits by client address: for requests to wallet endpoints, and for wrong API keys. Each process counts
 * separately, in memory.
 */
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { createLru } from '../async/cache.ts'
import { refuse } from '../protocol/error.ts'

/** The setting `rateLimits`; an absent member means no limit. */
export interface RateLimits {
  readonly walletRequestsPerMinute?: number
  readonly failedApiKeysPerMinute?: number
  /** The addresses and networks of proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies?: readonly string[]
}

/** Counts one kind of request by address, which is undefined for a client that has reset its connection. */
export interface RateLimiter {
  /** Counts a request. Returns the seconds to wait, or 0 if it is allowed. */
  countRequest(address: string | undefined): number
  /** Returns the seconds until a request is allowed. Does not count. */
  getWaitSeconds(address: string | undefined): number
}

const REMEMBERED_ADDRESSES = 10_000

/** Creates a token bucket for bursts of `perMinute` requests, refilled within a minute. */
export function createRateLimiter(perMinute: number, now: () => Date): RateLimiter {
  return createTokenBucket(perMinute, perMinute / 60_000, now)
}

/** Creates a token bucket for bursts of `burst` requests, refilled by `perMs` each millisecond. */
export function createTokenBucket(burst: number, perMs: number, now: () => Date): RateLimiter {
  const buckets = createLru<string, { readonly count: number; at: number }>(REMEMBERED_ADDRESSES)
  const countOf = (address: string, at: number): number => {
    const bucket = buckets.get(address)
    if (bucket === undefined) return burst
    // If the clock was set back, the bucket is refilled from the new time.
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
export function refuseWhileWaiting(seconds: number): void {
  if (seconds === 0) return
  refuse('too_many_requests', `too many requests from this address; try again in ${seconds} seconds`, {
    retryAfterSeconds: seconds,
  })
}

/**
 * Limits guessing of API keys. After too many wrong keys, requests from an address are refused for a while, even with a
 * right key, since the response would otherwise reveal it.
 */
export function limitGuesses(
  authenticate: (authorization: string | undefined) => string,
  guesses: RateLimiter | undefined,
): (request: FastifyRequest) => string {
  return (request) => {
    refuseWhileWaiting(guesses?.getWaitSeconds(request.ip) ?? 0)
    try {
      return authenticate(request.headers.authorization)
    } catch (error) {
      // A request without a key is not a guess: browsers send such requests for any page, and probes do.
      if (request.headers.authorization !== undefined) guesses?.countRequest(request.ip)
      throw error
    }
  }
}

/**
 * Returns the network of an address, by which clients are counted: the IPv4 address or the IPv6 /64. Accepts an
 * appended port. All other texts count as one client, and so do clients that have reset their connections, whose
 * address Node no longer knows.
 */
export function networkOf(text = ''): string {
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
