/**
 * How much processor time does a flow cost, beside the same flow of an earlier build? Many short rounds by turns tell
 * a difference of a few percent, which two runs against the floor do not.
 */
import type { Kind } from './kinds.ts'
import { runPairs, type Side } from './pairs.ts'
import { percentile, show, table, type Verdict } from './report.ts'
import { runRound } from './speed.ts'
import { atMost, type Spread, spreadOf, spreadText } from './spread.ts'
import { makeWorkplace, startService, type Workplace } from './workplace.ts'

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
  readonly processorMs: number
  /** The ratios of the pairs. */
  readonly ratio: Spread
}

/** Measures the kinds in both builds. The target is missed where the newer one takes over 5 % more processor time. */
export async function measureBuilds(workplace: Workplace, options: BuildsOptions): Promise<Verdict> {
  const { kinds, beside, ...numbers } = options
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
      Object.entries(results).map(([name, { earlierMs, processorMs, ratio }]) => [
        name,
        ...[earlierMs, processorMs].map((each) => each.toFixed(3)),
        spreadText(ratio),
      ]),
    ),
  )
  const targets = Object.entries(results).map(([name, { ratio }]) =>
    atMost(`${name}: processor time at most ${MAX_RATIO} times the earlier build's`, MAX_RATIO, ratio),
  )
  return { section: 'builds', options: numbers, results, targets }
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
    const medianOf = (side: 0 | 1): number =>
      percentile(
        pairs.map((pair) => pair[side].processorMs),
        50,
      )
    return {
      earlierMs: medianOf(0),
      processorMs: medianOf(1),
      ratio: spreadOf(pairs.map(([first, second]) => second.processorMs / first.processorMs)),
    }
  } finally {
    for (const { service } of sides) await service.stop()
  }
}

async function startSide(workplace: Workplace, kind: Kind, warmUp: number): Promise<Side> {
  const service = await startService(workplace, kind)
  const make = await kind.prepare(workplace, service.port)
  await runRound(service, make, { flows: warmUp, of: 'service' })
  return { service, make }
}
