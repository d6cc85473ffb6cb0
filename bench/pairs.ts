/**
 * Two services that take turns: each round of one stands beside a round of the other, so that what else the machine
 * does meanwhile is in both. What is compared are the ratios of these pairs.
 */
import type { Kind, MakeFlows } from './kinds.ts'
import type { Running } from './processes.ts'
import { note, percentile } from './report.ts'
import { type Round, runRound } from './speed.ts'
import { type Spread, spreadOf } from './spread.ts'
import { startService, type Workplace } from './workplace.ts'

export interface Side {
  readonly service: Running
  readonly make: MakeFlows
}

export type Pair = readonly [first: Round, second: Round]

export interface PairOptions {
  readonly name: string
  readonly rounds: number
  readonly flows: number
  readonly connections?: number
}

/** Starts a service, and runs as many flows as it needs to be warm. */
export async function startSide(workplace: Workplace, kind: Kind, warmUp: number): Promise<Side> {
  const service = await startService(workplace, kind)
  const make = await kind.prepare(workplace, service.port)
  await runRound(service, make, { flows: warmUp, of: 'service' })
  return { service, make }
}

/** Runs the rounds; every other pair begins with the second side. */
export async function runPairs([first, second]: readonly [Side, Side], options: PairOptions): Promise<Pair[]> {
  const { name, rounds, ...load } = options
  const run = ({ service, make }: Side): Promise<Round> => runRound(service, make, { ...load, of: 'service' })
  const pairs: Pair[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const later = round % 2 === 0 ? await run(second) : undefined
    const pair = [await run(first), later ?? (await run(second))] as const
    pairs.push(pair)
    const texts = pair.map(
      ({ perSecond, processorMs }) => `${perSecond.toFixed(0)} flows/s at ${processorMs.toFixed(2)} ms of processor`,
    )
    note(`${name}, round ${round}: ${texts.join(', and ')}`)
  }
  return pairs
}

/** Returns the median of a figure of one side. */
export function medianOf(pairs: readonly Pair[], side: 0 | 1, figure: 'processorMs' | 'perSecond'): number {
  const values = pairs.map((pair) => pair[side][figure])
  return percentile(values, 50)
}

/** Returns the ratios of a figure, the second side to the first. */
export function pairRatio(pairs: readonly Pair[], figure: 'processorMs' | 'perSecond'): Spread {
  return spreadOf(pairs.map(([first, second]) => second[figure] / first[figure]))
}
