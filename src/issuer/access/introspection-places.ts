/**
 * Introspection within limits (RFC 7662): an answer counts for some seconds, and only so many tokens are asked about at
 * once. Tokens that were good when they were asked about last have places that no others take; of the others each
 * network has some.
 */
import { createLru } from '../../async/lru.ts'
import { digestOf } from '../../codec/digest.ts'
import { type JsonObject, own } from '../../codec/json.ts'
import { refuse } from '../../protocol/error.ts'

const CACHED_MS = 5000
/** The most answers that are kept of good tokens, and of others. */
const MAX_CACHED_ANSWERS = 1000
/**
 * Questions that may run at once: all, those about tokens that were not good before, and those of one network among
 * them.
 */
const PLACES = { all: 50, unknown: 40, network: 10 }

interface CachedAnswer {
  readonly answer: Promise<JsonObject>
  readonly askedAt: number
}

/**
 * Asks as `introspect` does about a token that came from a network. Refuses with `temporarily_unavailable` when too
 * many questions from that network wait.
 */
export function limitIntrospections(
  now: () => Date,
  introspect: (token: string) => Promise<JsonObject>,
): (token: string, network: string) => Promise<JsonObject> {
  // The two caches are apart, so that random tokens do not evict good ones.
  const goodAnswers = createLru<string, CachedAnswer>(MAX_CACHED_ANSWERS)
  const otherAnswers = createLru<string, CachedAnswer>(MAX_CACHED_ANSWERS)
  const places = createPlaces()
  // The age is negative when the clock was set back.
  const isFresh = (age: number): boolean => age >= 0 && age < CACHED_MS
  return async (token, network) => {
    const digest = digestOf(token)
    const goodAnswer = goodAnswers.get(digest)
    const cachedAnswer = goodAnswer ?? otherAnswers.get(digest)
    if (cachedAnswer !== undefined && isFresh(now().getTime() - cachedAnswer.askedAt)) return cachedAnswer.answer
    const releasePlace = places.takePlace(goodAnswer === undefined ? network : undefined)
    if (releasePlace === undefined) return refuseTooMany()
    const answer = introspect(token).finally(releasePlace)
    const entry = { answer, askedAt: now().getTime() }
    const cache = goodAnswer === undefined ? otherAnswers : goodAnswers
    cache.set(digest, entry)
    const claims = await answer
    const isGood = own(claims, 'active') === true
    if (isGood) goodAnswers.set(digest, entry)
    else if (goodAnswer !== undefined) {
      goodAnswers.delete(digest)
      otherAnswers.set(digest, entry)
    }
    return claims
  }
}

/**
 * Makes the places for questions. A question takes a place of its network too, unless its token was good before;
 * `takePlace` returns what frees the place, or undefined when all are taken.
 */
function createPlaces() {
  const networks = new Map<string, number>()
  let [allCount, unknownCount] = [0, 0]
  return {
    takePlace: (network: string | undefined): (() => void) | undefined => {
      const networkCount = network === undefined ? 0 : (networks.get(network) ?? 0)
      if (
        allCount >= PLACES.all ||
        (network !== undefined && (unknownCount >= PLACES.unknown || networkCount >= PLACES.network))
      )
        return undefined
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

function refuseTooMany(): never {
  const cause = new Error('too many introspections run already')
  return refuse('temporarily_unavailable', 'the authorization server cannot be asked now; try again later', { cause })
}
