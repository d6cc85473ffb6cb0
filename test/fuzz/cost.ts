/**
 * A search for requests that cost more processor time than their size is worth, at every endpoint that needs no API
 * key: requests grow by structure, and what costs most goes on growing. `npm run fuzz -- cost [minutes] [seed]`; the
 * seed gives the same beginnings, and the time that each took decides how they go on.
 */
import {
  type Candidate,
  type Corpus,
  costliestOf,
  halves,
  isCredible,
  keepCandidate,
  nextGrowths,
  scale,
} from './cost-candidates.ts'
import { engineTargets } from './cost-engine.ts'
import { issuerTargets } from './cost-issuer.ts'
import { type KnownCost, knownCosts } from './cost-known.ts'
import { costOf, measure } from './cost-measure.ts'
import { signInCostTargets } from './cost-sign-in.ts'
import { statusTargets } from './cost-status.ts'
import { verifierTargets } from './cost-verifier.ts'
import { type CostTarget, type CostWorld, startCostWorld } from './cost-world.ts'
import type { Growth } from './growth.ts'
import { type Random, seededRandom } from './mutate.ts'

export interface CostOptions {
  /** The rounds, each of as many requests as there are endpoints; when absent, as many as there is time for. */
  readonly rounds?: number
  readonly minutes?: number
  readonly seed: number
  /** The requests that the search begins with. */
  readonly known?: readonly KnownCost[]
  readonly say?: (line: string) => void
}

export interface CostResult {
  readonly requests: number
  /** The highest cost of each endpoint, as a part of what is allowed, and what had grown in it; the highest first. */
  readonly highest: readonly { readonly name: string; readonly ratio: number; readonly growths: readonly string[] }[]
  /** Requests above what is allowed, each with what has grown in it. */
  readonly findings: readonly string[]
}

const MAX_FINDINGS = 60
/** The part of what is allowed below which a request is not worth a larger one. */
const WORTH_GROWING = 0.2
const MAX_STEPS = 8
/**
 * The factor by which a larger request must cost more to go on growing, and by which one with fewer growths may cost
 * less.
 */
const RISE = 1.1
const NO_LESS = 0.9

export const costTargets: readonly CostTarget[] = [
  ...verifierTargets,
  ...statusTargets,
  ...issuerTargets,
  ...signInCostTargets,
  ...engineTargets,
]
/** Each endpoint is drawn as often as it has places: one with many needs more of the time. */
const drawn = costTargets.flatMap((target) => target.places.map(() => target))

interface Search {
  readonly world: CostWorld
  readonly random: Random
  readonly corpora: ReadonlyMap<CostTarget, Corpus>
  /** Requests in which nothing has grown. */
  readonly good: Map<CostTarget, Candidate>
  readonly findings: Finding[]
}

interface Finding {
  readonly target: CostTarget
  readonly growths: readonly Growth[]
  readonly text: string
}

/** Searches for as long, or for as many rounds, as the options say. */
export async function searchCost(options: CostOptions): Promise<CostResult> {
  const {
    rounds = Number.POSITIVE_INFINITY,
    minutes = Number.POSITIVE_INFINITY,
    seed,
    known: costs = knownCosts,
    say,
  } = options
  const world = await startCostWorld()
  const corpora = new Map(costTargets.map((target) => [target, new Map<string, readonly Candidate[]>()]))
  const search: Search = { world, random: seededRandom(seed), corpora, good: new Map(), findings: [] }
  const end = Date.now() + minutes * 60_000
  await warmUp(search, costs)
  for (let round = 1; round <= rounds && Date.now() < end && search.findings.length < MAX_FINDINGS; round++) {
    for (let left = costTargets.length; left > 0; left--) {
      const target = drawn[search.random(drawn.length)]
      if (target !== undefined) await searchStep(search, target)
    }
    if (round % 50 === 0) say?.(progressOf(search, round))
  }
  await world.close()
  return { requests: world.requests, highest: highestOf(search), findings: search.findings.map(({ text }) => text) }
}

/** Sends the first requests, which compile code and schemas, and then those that once were costly. */
async function warmUp(search: Search, costs: readonly KnownCost[]): Promise<void> {
  for (const target of costTargets) {
    for (let left = 3; left > 0; left--) search.good.set(target, await measure(search.world, target, []))
  }
  for (const [, name, growths] of costs) {
    const target = costTargets.find((each) => each.name === name)
    if (target !== undefined) await keep(search, target, await measure(search.world, target, growths))
  }
}

/**
 * Sends one request; where it costs much, larger ones follow, and where it is refused unread, ones with fewer growths.
 */
async function searchStep(search: Search, target: CostTarget): Promise<void> {
  const { random, world, corpora, good } = search
  const growths = nextGrowths(random, target, corpora.get(target) ?? new Map<string, readonly Candidate[]>())
  if (isFound(search, target, growths)) return
  const first = await measure(world, target, growths)
  await keep(search, target, await grownFurther(search, target, first))
  let refused = first
  while (refused.growths.length > 1 && !isCredible(refused.trait, good.get(target)?.trait)) {
    const [half = []] = halves(random, refused.growths)
    refused = await measure(world, target, half)
  }
  if (refused !== first) await keep(search, target, await grownFurther(search, target, refused))
}

/** Gives more of the bytes to those growths that the costs come from, as long as the request costs more by it. */
async function grownFurther(search: Search, target: CostTarget, candidate: Candidate): Promise<Candidate> {
  const { random, world, good } = search
  const worth = Math.max(WORTH_GROWING, 2 * (good.get(target)?.ratio ?? 0))
  let best = candidate
  for (let left = MAX_STEPS; left > 0 && best.ratio > worth && best.ratio < 1; left--) {
    const isOne = best.growths.length === 1
    const larger: Candidate[] = []
    for (const some of isOne ? [best.growths] : halves(random, best.growths)) {
      larger.push(await measure(world, target, scale(some, 2, target)))
    }
    const [next] = larger.sort((one, other) => other.ratio - one.ratio)
    if (next === undefined || next.ratio < best.ratio * (isOne ? RISE : NO_LESS)) return best
    best = next
  }
  return best
}

/** Tests whether the growths have one in them that was told already. */
function isFound({ findings }: Search, target: CostTarget, growths: readonly Growth[]): boolean {
  return findings.some(
    (finding) =>
      finding.target === target &&
      finding.growths.every((one) => growths.some((other) => kindOf(one) === kindOf(other))),
  )
}

function kindOf({ place, shape, fill }: Growth): string {
  return shape === 'text' ? `${place} ${fill}` : place
}

/** Keeps a candidate that is worth going on from; a request that a pause made slow does not stay as the costliest. */
async function keep(search: Search, target: CostTarget, candidate: Candidate): Promise<void> {
  if (candidate.growths.length === 0 || candidate.trait === '') return
  if (candidate.ratio > 1) return confirm(search, target, candidate)
  const corpus = search.corpora.get(target) ?? new Map<string, readonly Candidate[]>()
  const isCostly = candidate.ratio > WORTH_GROWING && candidate.ratio > (corpus.get(candidate.trait)?.[0]?.ratio ?? 0)
  const again = isCostly ? await measure(search.world, target, candidate.growths) : candidate
  keepCandidate(corpus, again.ratio < candidate.ratio ? again : candidate)
}

/** Measures again: a finding is told in the smallest size and with the fewest growths that it takes. */
async function confirm(search: Search, target: CostTarget, { growths }: Candidate): Promise<void> {
  const { world, corpora, findings } = search
  const ratioOf = (some: readonly Growth[]) => costOf(world, target, some)
  let needed = growths
  for (let left = 12; left > 0; left--) {
    const smaller = scale(needed, 1 / 2, target)
    if ((await measure(world, target, smaller)).ratio <= 1.5) break
    needed = smaller
  }
  if ((await ratioOf(needed)) <= 1) return
  for (const growth of needed) {
    const others = needed.filter((each) => each !== growth)
    if ((await ratioOf(others)) > 1) needed = others
  }
  const ratio = await ratioOf(needed)
  if (ratio <= 1) return
  const text = `${target.name}: ${ratio.toFixed(2)} of what is allowed\n  ${needed.map(textOf).join('\n  ')}`
  findings.push({ target, growths: needed, text })
  const corpus = corpora.get(target)
  for (const [trait, kept] of corpus ?? []) {
    const others = kept.filter((each) => !isFound(search, target, each.growths))
    if (others.length === 0) corpus?.delete(trait)
    else corpus?.set(trait, others)
  }
}

function textOf({ place, ...growth }: Growth): string {
  return `${place} ${JSON.stringify(growth)}`
}

function highestOf({ corpora }: Search): CostResult['highest'] {
  return [...corpora]
    .map(([{ name }, corpus]) => ({ name, most: costliestOf(corpus) }))
    .map(({ name, most }) => ({ name, ratio: most?.ratio ?? 0, growths: most?.growths.map(textOf) ?? [] }))
    .sort((one, other) => other.ratio - one.ratio)
}

function progressOf(search: Search, round: number): string {
  const [most] = highestOf(search)
  const sum = `${search.world.requests} requests, ${search.findings.length} findings`
  return `round ${round}: ${sum}; the most is ${(most?.ratio ?? 0).toFixed(2)} at ${most?.name}: ${most?.growths.join('; ')}`
}
