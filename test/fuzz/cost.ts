/**
 * A search for requests that cost more processor time than their size is worth, at every endpoint that needs no API key: requests
 * grow by structure, and what costs most goes on growing. `npm run fuzz -- cost [minutes] [seed]`; the seed gives the same beginnings, and the time that each took
 * decides how they go on.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { engineTargets } from './cost-engine.ts'
import { issuerTargets } from './cost-issuer.ts'
import { knownCosts } from './cost-known.ts'
import { statusTargets } from './cost-status.ts'
import { verifierTargets } from './cost-verifier.ts'
import { type CostRequest, type CostTarget, type CostWorld, startCostWorld } from './cost-world.ts'
import { changedGrowth, fitted, type Growth, randomGrowth } from './growth.ts'
import { pick, type Random, seededRandom } from './mutate.ts'

export interface CostOptions {
  /** Rounds of each endpoint; when absent, as many as there is time for. */
  readonly rounds?: number
  readonly minutes?: number
  readonly seed: number
  readonly say?: (line: string) => void
}

export interface CostResult {
  readonly requests: number
  /** The most that each endpoint was seen to cost, as a part of what is allowed, and what had grown in it; the highest first. */
  readonly highest: readonly { readonly name: string; readonly ratio: number; readonly growths: readonly string[] }[]
  /** Requests above what is allowed, each with what has grown in it. */
  readonly findings: readonly string[]
}

/** Milliseconds of processor time that a request may cost, and those for each kilobyte of it. */
const BASE_MS = 40
const MS_PER_KB = 0.2
/** Requests in a round of one endpoint, from a fresh start or from what has cost most so far. */
const ROUND = 12
const MAX_GROWTHS = 5
/** Costly requests that are kept of each endpoint, to go on from. */
const MAX_KEPT = 12
const MAX_FINDINGS = 20
/** How often a finding is measured anew; the least counts. */
const CONFIRMATIONS = 6

export const costTargets: readonly CostTarget[] = [
  ...verifierTargets,
  ...statusTargets,
  ...issuerTargets,
  ...engineTargets,
]

interface Candidate {
  readonly growths: readonly Growth[]
  /** Processor time as a part of what is allowed. */
  readonly ratio: number
}

interface Search {
  readonly world: CostWorld
  readonly random: Random
  readonly kept: Map<CostTarget, Candidate[]>
  readonly findings: Map<string, string>
}

/** Searches for as long, or for as many rounds, as the options say. */
export async function searchCost({
  rounds = Number.POSITIVE_INFINITY,
  minutes,
  seed,
  say,
}: CostOptions): Promise<CostResult> {
  const world = await startCostWorld()
  const kept = new Map(costTargets.map((target) => [target, knownOf(target)]))
  const search: Search = { world, random: seededRandom(seed), kept, findings: new Map() }
  const end = minutes === undefined ? Number.POSITIVE_INFINITY : Date.now() + minutes * 60_000
  // The first requests compile code and schemas.
  for (const target of costTargets) for (let left = 3; left > 0; left--) await measured(world, target, [])
  for (let round = 0; round < rounds && Date.now() < end && search.findings.size < MAX_FINDINGS; round++) {
    for (const target of costTargets) await searchRound(search, target)
    if (round % 20 === 19) say?.(progressOf(search, round + 1))
  }
  await world.close()
  return { requests: world.requests, highest: highestOf(search), findings: [...search.findings.values()] }
}

/** What once was costly at the endpoint: something like it may be costly still. */
function knownOf(target: CostTarget): Candidate[] {
  return knownCosts.filter(([, name]) => name === target.name).map(([, , growths]) => ({ growths, ratio: 0.2 }))
}

async function searchRound(search: Search, target: CostTarget): Promise<void> {
  const { random, kept, world } = search
  const known = kept.get(target) ?? []
  // An endpoint that does little gets less of the time.
  if (known.length > 4 && (known[0]?.ratio ?? 0) < 0.15 && random(4) > 0) return
  let best = random(3) === 0 || known.length === 0 ? undefined : pick(random, known)
  for (let left = ROUND; left > 0; left--) {
    const growths = best === undefined ? fresh(random, target) : changed(random, target, best.growths)
    const ratio = await measured(search.world, target, growths)
    if (ratio > 1) await confirm(search, target, growths)
    if (best === undefined || ratio > best.ratio) best = { growths, ratio }
  }
  if (best === undefined) return
  // A request that a pause made slow does not go on growing.
  const again = {
    growths: best.growths,
    ratio: Math.min(best.ratio, await measured(search.world, target, best.growths)),
  }
  kept.set(target, [...known, again].sort((one, other) => other.ratio - one.ratio).slice(0, MAX_KEPT))
  ;(world.world.services.logLines as string[]).length = 0
}

/** Several growths at once, so that each request tries several: what it takes of them is found out later. */
function fresh(random: Random, { places, bytes }: CostTarget): readonly Growth[] {
  const count = 1 + random(MAX_GROWTHS)
  return Array.from({ length: count }, () => randomGrowth(random, places, bytes / count))
}

function changed(random: Random, { places, bytes }: CostTarget, growths: readonly Growth[]): readonly Growth[] {
  const at = random(growths.length)
  const kind = random(10)
  const more = kind <= 1 && growths.length < MAX_GROWTHS ? [randomGrowth(random, places, bytes)] : []
  const made =
    kind === 9 && growths.length > 1
      ? growths.filter((_, index) => index !== at)
      : growths.map((growth, index) => (index === at ? changedGrowth(random, growth, places) : growth))
  const all = [...made, ...more]
  return all.map((growth) => fitted(growth, bytes / all.length))
}

/** The processor time of the request as a part of what is allowed; nothing for what cannot be made. */
async function measured(world: CostWorld, target: CostTarget, growths: readonly Growth[]): Promise<number> {
  const request = await target.make(world, growths).catch(() => undefined)
  if (request === undefined) return 0
  world.requests += 1
  const before = process.cpuUsage()
  await world.send(request)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / allowedFor(request)
}

function allowedFor({ path, headers, body = '', answeredBytes = 0 }: CostRequest): number {
  const head = Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, path.length)
  return BASE_MS + ((head + Buffer.byteLength(body) + answeredBytes) / 1024) * MS_PER_KB
}

/** Measures again, after what is left of earlier requests has been collected; a finding is told with the growths that it takes. */
async function confirm(search: Search, target: CostTarget, growths: readonly Growth[]): Promise<void> {
  if ((await costOf(search.world, target, growths)) <= 1) return
  let needed = growths
  for (const growth of growths) {
    const others = needed.filter((each) => each !== growth)
    if ((await costOf(search.world, target, others)) > 1) needed = others
  }
  const ratio = await costOf(search.world, target, needed)
  if (ratio <= 1) return
  const name = `${target.name}: ${needed.map(({ place, shape }) => `${place} ${shape}`).join()}`
  search.findings.set(
    name,
    `${target.name}: ${ratio.toFixed(2)} of what is allowed\n  ${needed.map(textOf).join('\n  ')}`,
  )
}

/** The least that the request costs in several measurements, as a part of what is allowed. */
export async function costOf(world: CostWorld, target: CostTarget, growths: readonly Growth[]): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  let least = Number.POSITIVE_INFINITY
  for (let left = CONFIRMATIONS; left > 0 && least > 1; left--) {
    collect()
    least = Math.min(least, await measured(world, target, growths))
  }
  return least
}

function textOf({ place, ...growth }: Growth): string {
  return `${place} ${JSON.stringify(growth)}`
}

function highestOf({ kept }: Search): CostResult['highest'] {
  return [...kept]
    .map(([{ name }, [most]]) => ({ name, ratio: most?.ratio ?? 0, growths: most?.growths.map(textOf) ?? [] }))
    .sort((one, other) => other.ratio - one.ratio)
}

function progressOf(search: Search, round: number): string {
  const [most] = highestOf(search)
  const found = `${search.world.requests} requests, ${search.findings.size} findings`
  return `round ${round}: ${found}; the most is ${(most?.ratio ?? 0).toFixed(2)} at ${most?.name}: ${most?.growths.join('; ')}`
}
