/**
 * Two services that take turns: each round of one stands beside a round of the other, so that what else the machine
 * does meanwhile is in both. What is compared are the ratios of these pairs.
 */
import type { MakeFlows } from './kinds.ts'
import type { Running } from './processes.ts'
import { note } from './report.ts'
import { type Round, runRound } from './speed.ts'

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
