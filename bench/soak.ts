/** Does a service stay as it is under mixed load? Memory, open files and latency, minute by minute. */
import { readdirSync } from 'node:fs'
import { issuance, type Kind, type MakeFlows, verification } from './kinds.ts'
import { runLoad } from './load.ts'
import { type Running, residentMemory } from './processes.ts'
import { note, percentile, show, table, type Verdict } from './report.ts'
import { startService, type Workplace } from './workplace.ts'

const FLOWS_AT_A_TIME = 500
/** The growth from the second third to the last that still counts as flat. */
const MAX_GROWTH = 1.1
/** Latency depends on what else the machine does, and has more room. */
const MAX_LATENCY_GROWTH = 1.5

interface Minute {
  readonly flows: number
  readonly megabytes: number
  readonly openFiles: number
  readonly p50: number
  readonly p99: number
}

interface Soaked {
  readonly kind: Kind
  readonly service: Running
  readonly make: MakeFlows
  readonly minutes: Minute[]
}

export async function measureSoak(workplace: Workplace, minutes: number): Promise<Verdict> {
  const both: Soaked[] = []
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

async function measureMinute({ service, make }: Soaked): Promise<Minute> {
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

function verdictOf(both: readonly Soaked[], minutes: number): Verdict {
  const third = Math.max(1, Math.floor(minutes / 3))
  const results = Object.fromEntries(
    both.map(({ kind, minutes: all }) => {
      const median = (of: (minute: Minute) => number, part: readonly Minute[]) => percentile(part.map(of), 50)
      const growth = (of: (minute: Minute) => number) =>
        median(of, all.slice(-third)) / median(of, all.slice(-2 * third, -third))
      const flows = all.reduce((sum, each) => sum + each.flows, 0)
      const [memory, files, latency] = [
        growth((at) => at.megabytes),
        growth((at) => at.openFiles),
        growth((at) => at.p50),
      ]
      return [kind.service, { flows, memory, files, latency, minutes: all }]
    }),
  )
  show(
    table(
      ['last third beside the one before', 'flows', 'memory', 'open files', 'latency, p50'],
      Object.entries(results).map(([name, { flows, memory, files, latency }]) => [
        name,
        flows.toFixed(0),
        ...[memory, files, latency].map((each) => `${each.toFixed(2)} times`),
      ]),
    ),
  )
  const targets = Object.entries(results).flatMap(([name, { memory, files, latency }]) =>
    [
      { what: 'memory', growth: memory, most: MAX_GROWTH },
      { what: 'open files', growth: files, most: MAX_GROWTH },
      { what: 'latency', growth: latency, most: MAX_LATENCY_GROWTH },
    ].map(({ what, growth, most }) => ({
      target: `${name}: ${what} at most ${most} times`,
      reached: growth <= most,
      figure: `${growth.toFixed(2)} times`,
    })),
  )
  return { section: 'soak', options: { minutes }, results, targets }
}
