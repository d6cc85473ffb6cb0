/**
 * Rate limits by the address of the caller, where the configuration sets any: requests to wallet-facing endpoints, and API keys
 * that are not ours. Kept in the memory of the process, so that each process counts for itself.
 */
import { isIP } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createLru } from '../async/lru.ts'
import { refuse } from '../protocol/error.ts'

/** As in `rateLimits` of the configuration; what is absent is not limited. */
export interface RateLimits {
  readonly walletRequestsPerMinute?: number
  readonly failedApiKeysPerMinute?: number
  /** Addresses and networks that are believed when they say, in X-Forwarded-For, from where they were called. */
  readonly trustedProxies?: readonly string[]
}

/** Counts for one kind of request. */
export interface Allowance {
  /** Uses one up. The seconds to wait, or 0 when it was allowed. */
  take(address: string): number
  /** The seconds until one is to be had, without using it up. */
  wait(address: string): number
}

const REMEMBERED_ADDRESSES = 10_000

/** So many at once, and as many again in the course of a minute. */
export function allowance(perMinute: number, now: () => Date): Allowance {
  return refilled(perMinute, perMinute / 60_000, now)
}

/** `burst` at once, and so many again with every millisecond. */
export function refilled(burst: number, perMs: number, now: () => Date): Allowance {
  const left = createLru<string, { readonly count: number; readonly at: number }>(REMEMBERED_ADDRESSES)
  const countOf = (address: string, at: number): number => {
    const before = left.get(address)
    return before === undefined ? burst : Math.min(burst, before.count + Math.max(0, at - before.at) * perMs)
  }
  const secondsUntilOne = (count: number): number => (count >= 1 ? 0 : Math.ceil((1 - count) / perMs / 1000))
  return {
    wait: (address) => secondsUntilOne(countOf(networkOf(address), now().getTime())),
    take: (address) => {
      const [network, at] = [networkOf(address), now().getTime()]
      const count = countOf(network, at)
      if (count >= 1) left.set(network, { count: count - 1, at })
      return secondsUntilOne(count)
    },
  }
}

/** Refuses with `too_many_requests` and `Retry-After` unless there is nothing to wait for. */
export function refuseWhileWaiting(seconds: number, reply: FastifyReply): void {
  if (seconds === 0) return
  reply.header('retry-after', String(seconds))
  refuse('too_many_requests', `too many requests from this address; try again in ${seconds} seconds`)
}

/**
 * `authenticate`, with guesses limited: whose keys were wrong too often is not listened to for a while, right or wrong, since
 * otherwise the answer would tell.
 */
export function limitGuesses(
  authenticate: (authorization: string | undefined) => string,
  guesses: Allowance | undefined,
): (request: FastifyRequest, reply: FastifyReply) => string {
  return (request, reply) => {
    refuseWhileWaiting(guesses?.wait(request.ip) ?? 0, reply)
    try {
      return authenticate(request.headers.authorization)
    } catch (error) {
      guesses?.take(request.ip)
      throw error
    }
  }
}

/**
 * Whoever has one IPv6 address has 2^64 of them. Some proxies write the port along with the address; whatever else is no
 * address counts as one caller.
 */
export function networkOf(text: string): string {
  const [, bracketed, plain] = /^(?:\[(.*)\](?::\d+)?|([^:]+):\d+)$/.exec(text) ?? []
  const address = (bracketed ?? plain ?? text).toLowerCase()
  const family = isIP(address)
  if (family === 0) return ''
  if (family === 4 || address.startsWith('::ffff:')) return address.replace('::ffff:', '')
  const [head = '', tail = ''] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const after = tail === '' ? [] : tail.split(':')
  const zeros = address.includes('::') ? Array<string>(Math.max(0, 8 - groups.length - after.length)).fill('0') : []
  const all = [...groups, ...zeros, ...after].slice(0, 4)
  return all.map((group) => group.replace(/^0+(?=.)/, '')).join(':')
}
