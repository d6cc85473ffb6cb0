/**
 * Introspection within limits (RFC 7662): an answer counts for some seconds, and only so many tokens are asked about at
 * once. Tokens that were good when they were asked about last have places that no others take; of the others each
 * network has some.
 */
import { createLru } from '../../async/lru.ts'
import { digestOf } from '../../codec/digest.ts'
import { type JsonObject, own } from '../../codec/json.ts'
import { refuse } from '../../protocol/error.ts'

const KEPT_MS = 5000
/** The most answers that are kept of good tokens, and of others. */
const KEPT_ANSWERS = 1000
/**
 * Questions that may run at once: all, those about tokens that were not good before, and those of one network among
 * them.
 */
const PLACES = { all: 50, unknown: 40, network: 10 }

interface KeptAnswer {
  readonly answer: Promise<JsonObject>
  readonly until: number
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
  const good = createLru<string, KeptAnswer>(KEPT_ANSWERS)
  const unknown = createLru<string, KeptAnswer>(KEPT_ANSWERS)
  const places = questionPlaces()
  return async (token, network) => {
    const digest = digestOf(token)
    const wasGood = good.get(digest)
    const before = wasGood ?? unknown.get(digest)
    if (before !== undefined && now().getTime() < before.until) return before.answer
    const leave = places.take(wasGood === undefined ? network : undefined)
    if (leave === undefined) return refuseForNow()
    const answer = introspect(token).finally(leave)
    const kept = { answer, until: now().getTime() + KEPT_MS }
    const answers = wasGood === undefined ? unknown : good
    answers.set(digest, kept)
    const claims = await answer
    const isGood = own(claims, 'active') === true
    if (isGood) good.set(digest, kept)
    else if (wasGood !== undefined) {
      good.delete(digest)
      unknown.set(digest, kept)
    }
    return claims
  }
}

/**
 * Makes the places for questions. A question takes a place of its network too, unless its token was good before; `take`
 * returns what frees the place, or undefined when all are taken.
 */
function questionPlaces() {
  const networks = new Map<string, number>()
  let [all, unknown] = [0, 0]
  return {
    take: (network: string | undefined): (() => void) | undefined => {
      const ofNetwork = network === undefined ? 0 : (networks.get(network) ?? 0)
      if (all >= PLACES.all || (network !== undefined && (unknown >= PLACES.unknown || ofNetwork >= PLACES.network)))
        return undefined
      const add = (count: 1 | -1): void => {
        all += count
        if (network === undefined) return
        unknown += count
        const left = (networks.get(network) ?? 0) + count
        if (left === 0) networks.delete(network)
        else networks.set(network, left)
      }
      add(1)
      return () => add(-1)
    },
  }
}

function refuseForNow(): never {
  const cause = new Error('too many introspections run already')
  return refuse('temporarily_unavailable', 'the authorization server cannot be asked now; try again later', { cause })
}
