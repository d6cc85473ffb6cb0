/**
 * Limits introspection requests (RFC 7662). A response is cached for some seconds, and the number of concurrent
 * requests is limited, also for each network. Some requests are reserved for tokens that were active at their last
 * introspection.
 */
import { createLru, isFresh } from '../../async/cache.ts'
import { digestOf } from '../../codec/digest.ts'
import { type JsonObject, memberOf } from '../../codec/json.ts'
import { createUnavailableRefusal, type RefuseUnavailable } from '../../http/fetch-json.ts'
import { refuse } from '../../protocol/error.ts'

const CACHED_MS = 5000
/** The maximum number of cached responses, for active tokens and for other tokens each. */
const MAX_CACHED_ANSWERS = 1000
/**
 * The maximum number of concurrent introspections: of all tokens, of tokens that are not known to be active, and of
 * such tokens from one network.
 */
const PLACES = { all: 50, unknown: 40, network: 10 }
const refuseUnavailable: RefuseUnavailable = createUnavailableRefusal('the authorization server')

/** Refuses a client that asks too much at once. This is no 5xx error, since it says nothing about the service. */
function refuseNetwork(): never {
  refuse('too_many_requests', 'too many unknown access tokens come from this network at once; try again in a moment', {
    retryAfterSeconds: 1,
  })
}

interface CachedAnswer {
  readonly answer: Promise<JsonObject>
  readonly askedAt: number
}

/**
 * Wraps `introspect` with the cache and the limits. The wrapper refuses with `too_many_requests` when the limit for a
 * network is reached, and with `temporarily_unavailable` when another one is.
 */
export function limitIntrospections(
  now: () => Date,
  introspect: (token: string) => Promise<JsonObject>,
): (token: string, network: string) => Promise<JsonObject> {
  // Separate caches, so that random tokens do not evict active ones.
  const goodAnswers = createLru<string, CachedAnswer>(MAX_CACHED_ANSWERS)
  const otherAnswers = createLru<string, CachedAnswer>(MAX_CACHED_ANSWERS)
  const places = createPlaces()
  return async (token, network) => {
    const digest = digestOf(token)
    const goodAnswer = goodAnswers.get(digest)
    const cachedAnswer = goodAnswer ?? otherAnswers.get(digest)
    if (cachedAnswer !== undefined && isFresh(now().getTime() - cachedAnswer.askedAt, CACHED_MS))
      return cachedAnswer.answer
    const releasePlace = places.takePlace(goodAnswer === undefined ? network : undefined)
    const answer = introspect(token).finally(releasePlace)
    const entry = { answer, askedAt: now().getTime() }
    const cache = goodAnswer === undefined ? otherAnswers : goodAnswers
    cache.set(digest, entry)
    const claims = await answer
    const isGood = memberOf(claims, 'active') === true
    if (isGood) goodAnswers.set(digest, entry)
    else if (goodAnswer !== undefined) {
      goodAnswers.delete(digest)
      otherAnswers.set(digest, entry)
    }
    return claims
  }
}

/**
 * Counts the running introspections. `takePlace` returns the function that ends one, and refuses when a limit is
 * reached. Its `network` is undefined for a token that was active before, to which only the limit for all applies.
 */
function createPlaces() {
  const networks = new Map<string, number>()
  let [allCount, unknownCount] = [0, 0]
  return {
    takePlace: (network: string | undefined): (() => void) => {
      const networkCount = network === undefined ? 0 : (networks.get(network) ?? 0)
      if (networkCount >= PLACES.network) refuseNetwork()
      if (allCount >= PLACES.all || (network !== undefined && unknownCount >= PLACES.unknown))
        return refuseUnavailable('too many introspections run already')
      const changeCounts = (count: 1 | -1): void => {
        allCount += count
        if (network === undefined) return
        unknownCount += count
        const remaining = (networks.get(network) ?? 0) + count
        if (remaining === 0) networks.delete(network)
        else networks.set(network, remaining)
      }
      changeCounts(1)
      return () => changeCounts(-1)
    },
  }
}
