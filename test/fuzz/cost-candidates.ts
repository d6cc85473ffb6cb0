/** The requests that a search for costly ones goes on from, and the next ones that are made of them. */
import { changedGrowth, fitGrowth, type Growth, placeNear, randomGrowth } from './growth.ts'
import { pick, type Random } from './mutate.ts'

export interface Candidate {
  readonly growths: readonly Growth[]
  /** The processor time as a part of what is allowed. */
  readonly ratio: number
  /** The kind of the answer: requests that are answered otherwise reach other code. */
  readonly trait: string
}

/** The candidates of one endpoint by their trait, the costliest first. */
export type Corpus = Map<string, readonly Candidate[]>

interface Room {
  readonly places: readonly string[]
  readonly bytes: number
}

/** Many places grow at once, because one request then tries all of them. */
const MAX_GROWTHS = 12
const MAX_TRAITS = 40
const MAX_OF_TRAIT = 8
/** The letters after which a text of an answer is cut, so that what it repeats of its request is not a trait. */
const MAX_TRAIT = 80

/**
 * Returns the trait of an answer: its status, the words of its error, and the checks that failed, as the log has them.
 */
export function traitOf(status: number, body: string, logLines: readonly string[]): string {
  const words = status < 400 ? '' : body.replace(/[^a-z_]+/g, ' ').slice(0, MAX_TRAIT)
  const failed = logLines.flatMap((line) => /"failed":(\[.*?\])/.exec(line)?.[1] ?? [])
  return [status, words, ...failed].join(' ')
}

/**
 * Keeps the candidate where few of its trait cost more; of those that have grown in the same places, the costliest
 * stays.
 */
export function keepCandidate(corpus: Corpus, candidate: Candidate): void {
  const others = corpus.get(candidate.trait) ?? []
  const rival = others.find((other) => placesOf(other) === placesOf(candidate))
  if (rival !== undefined && rival.ratio >= candidate.ratio) return
  const kept = [...others.filter((other) => other !== rival), candidate].sort(byRatio).slice(0, MAX_OF_TRAIT)
  corpus.set(candidate.trait, kept)
  if (corpus.size <= MAX_TRAITS) return
  const [cheapest] = [...corpus].sort(([, [one]], [, [other]]) => (one?.ratio ?? 0) - (other?.ratio ?? 0))
  if (cheapest !== undefined) corpus.delete(cheapest[0])
}

export function costliestOf(corpus: Corpus): Candidate | undefined {
  return [...corpus.values()].flat().sort(byRatio)[0]
}

/**
 * Makes the growths of the next request: new ones, those of a candidate with a change, or those of two candidates
 * together.
 */
export function nextGrowths(random: Random, room: Room, corpus: Corpus): readonly Growth[] {
  const way = corpus.size === 0 ? 0 : random(10)
  if (way < 4) return newGrowths(random, room)
  const { growths } = choose(random, corpus)
  if (way < 8) return changedGrowths(random, room, growths)
  return together([...growths, ...choose(random, corpus).growths], room)
}

/**
 * Tests whether the answer shows that the request was read: it is as good as one without growths, or was refused by
 * checks of its content.
 */
export function isCredible(trait: string, good: string | undefined): boolean {
  return trait === good || (/\["/.test(trait) && !trait.includes('well_formed'))
}

/** Divides the growths into two halves, at random. */
export function halves(random: Random, growths: readonly Growth[]): readonly (readonly Growth[])[] {
  const mixed = growths.map((growth) => [random(1000), growth] as const).sort(([one], [other]) => one - other)
  const all = mixed.map(([, growth]) => growth)
  const middle = Math.ceil(all.length / 2)
  return [all.slice(0, middle), all.slice(middle)]
}

/** Multiplies the sizes of all growths. */
export function scale(growths: readonly Growth[], factor: number, { bytes }: Room): readonly Growth[] {
  return growths.map((growth) =>
    fitGrowth({ ...growth, size: Math.ceil(growth.size * factor) }, bytes / Math.max(1, growths.length)),
  )
}

/**
 * Makes new growths; every second time all places grow alike, so that what takes two lists or two texts is tried often.
 */
function newGrowths(random: Random, room: Room): readonly Growth[] {
  const first = randomGrowth(random, room.places, room.bytes)
  const isAlike = random(2) === 0
  const others = Array.from({ length: random(MAX_GROWTHS) }, () => {
    const other = randomGrowth(random, room.places, room.bytes)
    const place = random(2) === 0 ? other.place : placeNear(random, room.places, first.place)
    return { ...(isAlike ? first : other), place }
  })
  return together([first, ...others], room)
}

function changedGrowths(random: Random, room: Room, growths: readonly Growth[]): readonly Growth[] {
  const at = random(growths.length)
  const way = random(10)
  if (way < 2) return together([randomGrowth(random, room.places, room.bytes), ...growths], room)
  if (way < 4 && growths.length > 1) return growths.filter((_, index) => index !== at)
  return together(
    growths.map((growth, index) => (index === at ? changedGrowth(random, growth, room.places) : growth)),
    room,
  )
}

/** Keeps one growth for each place, with an equal part of the bytes for each. */
function together(growths: readonly Growth[], { bytes }: Room): readonly Growth[] {
  const all = [...new Map(growths.map((growth) => [growth.place, growth])).values()].slice(0, MAX_GROWTHS)
  return all.map((growth) => fitGrowth(growth, bytes / all.length))
}

/** Chooses half of the time a candidate that costs much, else one of any trait. */
function choose(random: Random, corpus: Corpus): Candidate {
  const all = [...corpus.values()]
  const few = [0, 1, 2].map(() => pick(random, pick(random, all)))
  return random(2) === 0 ? ([...few].sort(byRatio)[0] as Candidate) : (few[0] as Candidate)
}

function placesOf({ growths }: Candidate): string {
  return growths
    .map(({ place }) => place)
    .sort()
    .join()
}

function byRatio(one: Candidate, other: Candidate): number {
  return other.ratio - one.ratio
}
