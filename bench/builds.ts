/**
 * How much processor time does a flow cost, beside the same flow of an earlier build? Many short rounds by turns tell
 * a difference of a few percent, which two runs against the floor do not.
 */
import type { Kind } from './kinds.ts'
import { medianOf, pairRatio, runPairs, type Side, startSide } from './pairs.ts'
import { note, show, table, type Verdict } from './report.ts'
import { atMost, type Spread, spreadText } from './spread.ts'
import { makeWorkplace, type Workplace } from './workplace.ts'

const MAX_RATIO = 1.05

export interface BuildsOptions {
  readonly rounds: number
  readonly flows: number
  readonly warmUp: number
  readonly kinds: readonly Kind[]
  /** The bundle of the earlier build. */
  readonly beside: string
}

interface BuildsResult {
  /** The processor time of a flow in milliseconds, the median of the rounds. */
  readonly earlierMs: number
  readonly nowMs: number
  /** The ratios of the pairs. */
  readonly ratio: Spread
}

/** Measures the kinds in both builds. The target is missed where the newer one takes over 5 % more processor time. */
export async function measureBuilds(workplace: Workplace, options: BuildsOptions): Promise<Verdict> {
  const { kinds, beside, ...numbers } = options
  note(`${numbers.rounds} rounds of ${numbers.flows} flows each, by turns with ${beside}`)
  const earlier = await makeWorkplace(beside, workplace.postgres)
  const results: Record<string, BuildsResult> = {}
  try {
    for (const kind of kinds) results[kind.name] = await measureKind([earlier, workplace], kind, options)
  } finally {
    earlier.remove()
  }
  show(
    table(
      ['processor time of a flow', 'earlier, ms', 'now, ms', 'ratio of the pairs'],
      Object.entries(results).map(([name, { earlierMs, nowMs, ratio }]) => [
        name,
        ...[earlierMs, nowMs].map((each) => each.toFixed(3)),
        spreadText(ratio),
      ]),
    ),
  )
  const targets = Object.entries(results).map(([name, { ratio }]) =>
    atMost(`${name}: processor time at most ${MAX_RATIO} times the earlier build's`, MAX_RATIO, ratio),
  )
  return { section: 'builds', options: { ...numbers, beside }, results, targets }
}

async function measureKind(
  [earlier, current]: readonly [Workplace, Workplace],
  kind: Kind,
  { rounds, flows, warmUp }: BuildsOptions,
): Promise<BuildsResult> {
  const sides: Side[] = []
  try {
    for (const workplace of [earlier, current]) sides.push(await startSide(workplace, kind, warmUp))
    const pairs = await runPairs(sides as [Side, Side] & Side[], { name: kind.name, rounds, flows })
    return {
      earlierMs: medianOf(pairs, 0, 'processorMs'),
      nowMs: medianOf(pairs, 1, 'processorMs'),
      ratio: pairRatio(pairs, 'processorMs'),
    }
  } finally {
    for (const { service } of sides) await service.stop()
  }
}
