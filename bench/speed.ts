/** How much processor time does a flow cost, beside the least it could cost, and how many flows are there a second? */
import { startFloor } from './floor-script.ts'
import type { Kind, MakeFlows } from './kinds.ts'
import { CONCURRENCY, type Load, runLoad } from './load.ts'
import { processorTimeMs, type Running, serverTimeMs } from './processes.ts'
import { note, percentile, show, table, type Verdict } from './report.ts'
import { atLeast, atMost, type Spread, spreadOf } from './spread.ts'
import { type DatabaseName, databaseOf, startService, type Workplace } from './workplace.ts'

const MIN_USED = 0.7

export interface SpeedOptions {
  readonly rounds: number
  readonly flows: number
  readonly warmUp: number
  readonly kinds: readonly Kind[]
}

export interface Round {
  readonly processorMs: number
  /** The processor time of the database server, where there is one. */
  readonly databaseMs?: number
  readonly perSecond: number
}

interface RoundOptions extends Pick<Load, 'latencies' | 'connections'> {
  readonly flows: number
  readonly of: 'service' | 'floor'
}

interface MedianRound {
  readonly processorMs: number
  readonly databaseMs?: number
  readonly perSecond: number
  readonly rounds: readonly Round[]
}

export interface KindResult {
  readonly floorDoes: string
  readonly service: MedianRound
  readonly floor: MedianRound
  readonly ratio: number
  readonly latencyMs: Readonly<Record<string, { readonly p50: number; readonly p99: number }>>
}

export async function measureSpeed(workplace: Workplace, options: SpeedOptions): Promise<Verdict> {
  const { rounds, flows, warmUp, kinds } = options
  note(`${rounds} rounds of ${flows} flows each, by turns, after ${warmUp} to warm up; concurrency ${CONCURRENCY}`)
  const results: Record<string, KindResult> = {}
  for (const kind of kinds) results[kind.name] = await measureKind(kind, workplace, options)
  showSpeed(results)
  const targets = targetsOf(results, kinds, databaseOf(workplace))
  return { section: 'flows', options: { rounds, flows, warmUp, concurrency: CONCURRENCY }, results, targets }
}

/** Returns the targets of each kind: little processor time, and no waiting for anything else. */
function targetsOf(results: Readonly<Record<string, KindResult>>, kinds: readonly Kind[], database: DatabaseName) {
  return kinds.flatMap(({ name, maxRatio }) => {
    const result = results[name]
    if (result === undefined) return []
    const limit = maxRatio[database]
    const usedCores = result.service.rounds.map(({ processorMs, perSecond }) => (processorMs * perSecond) / 1000)
    return [
      atMost(`${name}, ${database}: processor time at most ${limit} times the floor's`, limit, ratioOf(result)),
      atLeast(
        `${name}, ${database}: at least ${MIN_USED} of the flows a second that a core's processor time allows`,
        MIN_USED,
        spreadOf(usedCores),
      ),
    ]
  })
}

/** Returns the ratio of the processor times of each round, service to floor. */
export function ratioOf({ service, floor }: Pick<KindResult, 'service' | 'floor'>): Spread {
  return spreadOf(
    service.rounds.map(({ processorMs }, round) => processorMs / (floor.rounds[round]?.processorMs ?? Number.NaN)),
  )
}

async function measureKind(kind: Kind, workplace: Workplace, options: SpeedOptions): Promise<KindResult> {
  const service = await startService(workplace, kind)
  const make = await kind.prepare(workplace, service.port)
  const floor = await startFloor(kind, workplace, service.port, make)
  const latencies = new Map<string, number[]>()
  try {
    const ofService: Round[] = []
    const ofFloor: Round[] = []
    await runRound(service, make, { flows: options.warmUp, of: 'service' })
    await runRound(floor, make, { flows: options.warmUp, of: 'floor' })
    for (let round = 1; round <= options.rounds; round += 1) {
      ofService.push(await runRound(service, make, { flows: options.flows, of: 'service', latencies }))
      ofFloor.push(await runRound(floor, make, { flows: options.flows, of: 'floor' }))
      const [a, b] = [ofService.at(-1)?.processorMs ?? 0, ofFloor.at(-1)?.processorMs ?? 0]
      note(`${kind.name}, round ${round}: service ${a.toFixed(3)} ms, floor ${b.toFixed(3)} ms of processor a flow`)
    }
    const [a, b] = [medians(ofService), medians(ofFloor)]
    return {
      floorDoes: kind.floorDoes,
      service: a,
      floor: b,
      ratio: ratioOf({ service: a, floor: b }).median,
      latencyMs: Object.fromEntries(
        kind.steps.map(([name]) => [name, { p50: ofStep(latencies, name, 50), p99: ofStep(latencies, name, 99) }]),
      ),
    }
  } finally {
    await Promise.all([service.stop(), floor.stop()])
  }
}

/** Runs a round of flows against a service or the floor, and returns its processor time and its speed. */
export async function runRound(
  { pid, port, databasePid }: Running,
  make: MakeFlows,
  { flows: count, of, ...how }: RoundOptions,
): Promise<Round> {
  const databaseTimeMs = () => (databasePid === undefined ? undefined : serverTimeMs(databasePid))
  const flows = await make(count, of)
  const [before, databaseBefore] = [processorTimeMs(pid), databaseTimeMs()]
  const seconds = await runLoad({ port, flows, ...how })
  const [after, databaseAfter] = [processorTimeMs(pid), databaseTimeMs()]
  const database = databaseBefore === undefined ? {} : { databaseMs: ((databaseAfter ?? 0) - databaseBefore) / count }
  return { processorMs: (after - before) / count, ...database, perSecond: count / seconds }
}

function medians(rounds: readonly Round[]): MedianRound {
  const median = (of: (round: Round) => number) => percentile(rounds.map(of), 50)
  const database = rounds[0]?.databaseMs === undefined ? {} : { databaseMs: median((each) => each.databaseMs ?? 0) }
  return {
    processorMs: median((each) => each.processorMs),
    ...database,
    perSecond: median((each) => each.perSecond),
    rounds,
  }
}

function ofStep(latencies: ReadonlyMap<string, number[]>, name: string, percent: number): number {
  return percentile(latencies.get(name) ?? [], percent)
}

function showSpeed(results: Readonly<Record<string, KindResult>>): void {
  for (const [name, { floorDoes }] of Object.entries(results)) show(`The floor of ${name}: ${floorDoes}.`)
  show(
    table(
      ['flow', 'service, ms of processor', 'floor', 'ratio', 'service, flows/s', 'floor'],
      Object.entries(results).map(([name, { service, floor, ratio }]) => [
        name,
        service.processorMs.toFixed(3),
        floor.processorMs.toFixed(3),
        ratio.toFixed(2),
        service.perSecond.toFixed(0),
        floor.perSecond.toFixed(0),
      ]),
    ),
  )
  show(
    table(
      ['request', 'p50, ms', 'p99, ms'],
      Object.entries(results).flatMap(([name, { latencyMs }]) =>
        Object.entries(latencyMs).map(([step, { p50, p99 }]) => [`${name} ${step}`, p50.toFixed(2), p99.toFixed(2)]),
      ),
    ),
  )
}
