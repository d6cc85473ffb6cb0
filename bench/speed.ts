/** How much processor time does a flow cost, beside the least it could cost, and how many flows are there a second? */
import { startFloor } from './floor-script.ts'
import type { Kind, MakeFlows } from './kinds.ts'
import { CONCURRENCY, type Load, runLoad } from './load.ts'
import { processorTimeMs, type Running } from './processes.ts'
import { note, percentile, show, table, type Verdict } from './report.ts'
import { startService, type Workplace } from './workplace.ts'

export interface SpeedOptions {
  readonly rounds: number
  readonly flows: number
  readonly warmUp: number
  readonly kinds: readonly Kind[]
}

export interface Round {
  readonly processorMs: number
  readonly perSecond: number
}

interface RoundOptions extends Pick<Load, 'latencies' | 'connections'> {
  readonly flows: number
  readonly of: 'service' | 'floor'
}

interface Measured {
  readonly processorMs: number
  readonly perSecond: number
  readonly rounds: readonly Round[]
}

export interface KindResult {
  readonly floorDoes: string
  readonly service: Measured
  readonly floor: Measured
  readonly ratio: number
  readonly latencyMs: Readonly<Record<string, { readonly p50: number; readonly p99: number }>>
}

export async function measureSpeed(workplace: Workplace, options: SpeedOptions): Promise<Verdict> {
  const { rounds, flows, warmUp, kinds } = options
  note(`${rounds} rounds of ${flows} flows each, by turns, after ${warmUp} to warm up; concurrency ${CONCURRENCY}`)
  const results: Record<string, KindResult> = {}
  for (const kind of kinds) results[kind.name] = await measureKind(kind, workplace, options)
  showSpeed(results)
  const ratios = kinds.flatMap(({ name, maxRatio }) => {
    const { ratio = Number.NaN } = results[name] ?? {}
    if (maxRatio === undefined) return []
    const target = `${name}: processor time at most ${maxRatio} times the floor's`
    return [{ target, reached: ratio <= maxRatio, figure: `${ratio.toFixed(2)} times` }]
  })
  return { section: 'flows', options: { rounds, flows, warmUp, concurrency: CONCURRENCY }, results, targets: ratios }
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
      ratio: a.processorMs / b.processorMs,
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
  { pid, port }: Running,
  make: MakeFlows,
  { flows: count, of, ...how }: RoundOptions,
): Promise<Round> {
  const flows = await make(count, of)
  const before = processorTimeMs(pid)
  const seconds = await runLoad({ port, flows, ...how })
  return { processorMs: (processorTimeMs(pid) - before) / flows.length, perSecond: flows.length / seconds }
}

function medians(rounds: readonly Round[]): Measured {
  const median = (of: (round: Round) => number) => percentile(rounds.map(of), 50)
  return { processorMs: median((each) => each.processorMs), perSecond: median((each) => each.perSecond), rounds }
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
