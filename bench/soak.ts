/** Does a service stay as it is under mixed load? Memory, open files and latency, minute by minute. */
import { readdirSync } from 'node:fs'
import { issuance, type Kind, type MakeFlows, verification } from './kinds.ts'
import { runLoad } from './load.ts'
import { type Running, residentMemory } from './processes.ts'
import { note, percentile, show, type Target, table, type Verdict } from './report.ts'
import { startService, type Workplace } from './workplace.ts'

const FLOWS_AT_A_TIME = 500
/** The growth from the second third to the last that still counts as flat. */
const MAX_GROWTH = 1.1
/** Latency depends on what else the machine does, and has more room. */
const MAX_LATENCY_GROWTH = 1.5

export interface Minute {
  readonly flows: number
  readonly megabytes: number
  readonly openFiles: number
  readonly p50: number
  readonly p99: number
}

export interface SoakResult {
  readonly flows: number
  /** How many times as much the last third has as the one before, by medians. */
  readonly memory: number
  readonly files: number
  readonly latency: number
  /** How much each grows in an hour, by the straight line through the minutes after the first third. */
  readonly hourly: { readonly megabytes: number; readonly openFiles: number; readonly p50: number }
  readonly minutes: readonly Minute[]
}

interface SoakRun {
  readonly kind: Kind
  readonly service: Running
  readonly make: MakeFlows
  readonly minutes: Minute[]
}

export async function measureSoak(workplace: Workplace, minutes: number): Promise<Verdict> {
  const both: SoakRun[] = []
  try {
    for (const kind of [issuance, verification]) {
      const service = await startService(workplace, kind)
      both.push({ kind, service, make: await kind.prepare(workplace, service.port), minutes: [] })
    }
    for (let minute = 1; minute <= minutes; minute += 1) {
      await Promise.all(both.map(async (each) => each.minutes.push(await measureMinute(each))))
      const states = both
        .map(({ minutes: all }) => all.at(-1))
        .map((each) => `${each?.flows} flows, ${each?.megabytes} MB`)
      note(`minute ${minute}: ${states.join('; ')}`)
    }
  } finally {
    await Promise.all(both.map(({ service }) => service.stop()))
  }
  return verdictOf(both, minutes)
}

async function measureMinute({ service, make }: SoakRun): Promise<Minute> {
  const latencies = new Map<string, number[]>()
  const end = performance.now() + 60_000
  let flows = 0
  while (performance.now() < end) {
    await runLoad({ port: service.port, flows: await make(FLOWS_AT_A_TIME, 'service'), latencies })
    flows += FLOWS_AT_A_TIME
  }
  const all = [...latencies.values()].flat()
  return {
    flows,
    megabytes: Math.round(residentMemory(service.pid).now),
    openFiles: openFiles(service.pid),
    p50: percentile(all, 50),
    p99: percentile(all, 99),
  }
}

/** Counts the open files, sockets and other handles of a process; zero where the system does not say. */
function openFiles(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return 0
  }
}

function verdictOf(both: readonly SoakRun[], minutes: number): Verdict {
  const results = Object.fromEntries(both.map(({ kind, minutes: all }) => [kind.service, resultOf(all)]))
  show(
    table(
      ['last third beside the one before', 'flows', 'memory', 'open files', 'latency, p50', 'MB an hour'],
      Object.entries(results).map(([name, { flows, memory, files, latency, hourly }]) => [
        name,
        flows.toFixed(0),
        ...[memory, files, latency].map((each) => `${each.toFixed(2)} times`),
        hourly.megabytes.toFixed(1),
      ]),
    ),
  )
  const targets = Object.entries(results).flatMap(([name, { memory, files, latency }]) => [
    flat(`${name}, ${minutes} minutes: memory`, MAX_GROWTH, memory),
    flat(`${name}, ${minutes} minutes: open files`, MAX_GROWTH, files),
    flat(`${name}, ${minutes} minutes: latency`, MAX_LATENCY_GROWTH, latency),
  ])
  return { section: 'soak', options: { minutes }, results, targets }
}

function flat(what: string, most: number, growth: number): Target {
  const target = `${what} of the last third at most ${most} times that before`
  return { target, reached: growth <= most, figure: `${growth.toFixed(2)} times`, value: growth }
}

function resultOf(minutes: readonly Minute[]): SoakResult {
  const third = Math.max(1, Math.floor(minutes.length / 3))
  const median = (of: (minute: Minute) => number, part: readonly Minute[]) => percentile(part.map(of), 50)
  const growth = (of: (minute: Minute) => number) =>
    median(of, minutes.slice(-third)) / median(of, minutes.slice(-2 * third, -third))
  const hourly = (of: (minute: Minute) => number) => 60 * slopeOf(minutes.slice(third).map(of))
  return {
    flows: minutes.reduce((sum, each) => sum + each.flows, 0),
    memory: growth((at) => at.megabytes),
    files: growth((at) => at.openFiles),
    latency: growth((at) => at.p50),
    hourly: {
      megabytes: hourly((at) => at.megabytes),
      openFiles: hourly((at) => at.openFiles),
      p50: hourly((at) => at.p50),
    },
    minutes,
  }
}

/** Returns how much the straight line that is nearest to the values, by least squares, rises from each to the next. */
export function slopeOf(values: readonly number[]): number {
  const [middle, mean] = [(values.length - 1) / 2, values.reduce((sum, each) => sum + each, 0) / values.length]
  const squaredSum = values.reduce((sum, _, at) => sum + (at - middle) ** 2, 0)
  return squaredSum === 0 ? 0 : values.reduce((sum, each, at) => sum + (at - middle) * (each - mean), 0) / squaredSum
}
