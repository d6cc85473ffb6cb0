/**
 * How many more flows a second do several workers of a service take than one? Each worker has a fixed share of a core,
 * so that the load generator on the same machine has enough for itself; the first process of several, which passes
 * connections on, has no limit.
 */

import { limitProcess } from './cpu-share.ts'
import { issuance, type Kind, verification } from './kinds.ts'
import { CONCURRENCY } from './load.ts'
import { medianOf, type Pair, pairRatio, runPairs, type Side } from './pairs.ts'
import { childrenOf } from './processes.ts'
import { note, show, table, type Verdict } from './report.ts'
import { runRound } from './speed.ts'
import { atLeast, type Spread, spreadText } from './spread.ts'
import { databaseOf, makeWorkplace, startService, type Workplace } from './workplace.ts'

/** The part of each worker that has to arrive: two workers are 1.7 times one. */
const MIN_PART = 0.85

export interface WorkersOptions {
  readonly rounds: number
  readonly flows: number
  readonly warmUp: number
  readonly workers: number
  /** The share of a core that each worker has. */
  readonly share: number
}

export interface WorkersResult {
  readonly workers: number
  readonly share: number
  /** Flows a second, each the median of its rounds. */
  readonly one: number
  readonly several: number
  readonly ratio: Spread
  readonly processorRatio: Spread
  readonly pairs: readonly Pair[]
}

interface LimitedSide extends Side {
  end(): Promise<void>
}

export async function measureWorkers(workplace: Workplace, options: WorkersOptions): Promise<Verdict> {
  const { workers, share } = options
  note(`${workers} workers beside one, each with ${share} of a core`)
  const results: Record<string, WorkersResult> = {}
  for (const kind of [issuance, verification])
    results[`${kind.name}, ${databaseOf(workplace)}`] = await measureKind(workplace, kind, options)
  show(
    table(
      ['flows a second', '1 worker', `${workers} workers`, 'ratio of the pairs', 'of processor time'],
      Object.entries(results).map(([name, { one, several, ratio, processorRatio }]) => [
        name,
        ...[one, several].map((each) => each.toFixed(0)),
        spreadText(ratio),
        spreadText(processorRatio),
      ]),
    ),
  )
  const least = MIN_PART * workers
  const targets = Object.entries(results).map(([name, { ratio }]) =>
    atLeast(`${name}: ${workers} workers at least ${least.toFixed(1)} times one`, least, ratio),
  )
  return { section: 'workers', options, results, targets }
}

async function measureKind(workplace: Workplace, kind: Kind, options: WorkersOptions): Promise<WorkersResult> {
  const { rounds, flows, workers, share } = options
  const other = await makeWorkplace(workplace.bundle, workplace.postgres)
  const sides: LimitedSide[] = []
  try {
    sides.push(await startSide(workplace, kind, { ...options, workers: 1 }))
    sides.push(await startSide(other, kind, options))
    // Every side has the same number of connections, which keeps all workers busy.
    const load = { name: kind.name, rounds, flows, connections: CONCURRENCY * workers }
    const pairs = await runPairs(sides as [Side, Side] & LimitedSide[], load)
    return {
      ...{ workers, share, one: medianOf(pairs, 0, 'perSecond'), several: medianOf(pairs, 1, 'perSecond') },
      ratio: pairRatio(pairs, 'perSecond'),
      processorRatio: pairRatio(pairs, 'processorMs'),
      pairs,
    }
  } finally {
    for (const side of sides) await side.end()
    other.remove()
  }
}

/** Starts a service and limits its workers, once they are warm. */
async function startSide(workplace: Workplace, kind: Kind, options: WorkersOptions): Promise<LimitedSide> {
  const { workers, share, warmUp } = options
  const service = await startService(workplace, { ...kind, workers })
  const make = await kind.prepare(workplace, service.port)
  // Every worker has compiled as much of its code as the one that is alone.
  await runRound(service, make, { flows: warmUp * workers, of: 'service' })
  const pids = workers === 1 ? [service.pid] : childrenOf(service.pid)
  if (pids.length !== workers) throw new Error(`the ${kind.service} has ${pids.length} workers, and not ${workers}`)
  const limits = pids.map((pid) => limitProcess(pid, share))
  await runRound(service, make, { flows: Math.ceil(warmUp / 16) * workers, of: 'service' })
  return {
    service,
    make,
    end: async () => {
      for (const lift of limits) lift()
      await service.stop()
    },
  }
}
