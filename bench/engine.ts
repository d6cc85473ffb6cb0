/**
 * How much does a call cost an engine, and how many calls are there a second: to components that read 1 KiB of storage,
 * in WebAssembly and in TypeScript, and as signed uploads of shares over eight contracts, which are on disk when they
 * are answered? The floor stands beside it.
 */
import { fileURLToPath } from 'node:url'
import { evmAddress } from '../src/offchain/address.ts'
import { openConnection, type Request } from './connection.ts'
import { amountOf, KINDS, type Kind, type Measuring, type Traffic } from './engine-kinds.ts'
import { type EnginePlace, makeEnginePlace, startEngineProcess } from './engine-place.ts'
import { CONCURRENCY } from './load.ts'
import { processorTimeMs, type Running, start } from './processes.ts'
import { recoveriesPerSecond } from './recoveries.ts'
import { note, percentile, show, table, type Verdict } from './report.ts'
import { percent, startStolenTime } from './stolen.ts'

export interface EngineOptions {
  readonly bundle: string
  readonly rounds: number
  /** The calls in a round; of uploads a tenth. */
  readonly calls: number
  /** Calls before the first round; of uploads always {@link WARM_UP_UPLOADS}. */
  readonly warmUp: number
  readonly only: string
  /** The process that runs the chain: the engine itself, or another process, whose time is not counted. */
  readonly chain: 'local' | 'served'
}

interface Round {
  readonly perSecond: number
  readonly processorMs: number
}

interface Result {
  readonly engine: Round
  readonly floor: Round
  readonly ratio: number
  /**
   * The delay in milliseconds from when a call was due, at half of the rate that was reached, or of the target where
   * that is less; medians of the rounds.
   */
  readonly halfLoad: { readonly engine: Late; readonly floor: Late }
}

interface Late {
  readonly p50: number
  readonly p99: number
}

/** On the machine where the targets were set, one core recovered so many keys a second in JavaScript. */
const WHERE_SET = 1000
const HALF_LOAD_SECONDS = 5
const MAX_ADDED_MS = 10
const WARM_UP_AT_ONCE = 1000

export async function measureEngine(options: EngineOptions): Promise<Verdict> {
  const { rounds, only } = options
  const speed = recoveriesPerSecond()
  note(`this machine recovers ${speed.toFixed(0)} keys a second in JavaScript; that of the targets ${WHERE_SET}`)
  const results: Record<string, Result> = {}
  const kinds = KINDS.filter(({ name }) => name.includes(only))
  for (const kind of kinds) results[kind.name] = await measureInPlace(kind, options)
  showResults(results)
  const targets = kinds.flatMap(({ name, target }) => {
    const { engine, halfLoad } = results[name] as Result
    const addedMs = halfLoad.engine.p99 - halfLoad.floor.p99
    const perSecond = { target: `${name}: at least ${target}/s`, reached: engine.perSecond >= target }
    const late = {
      target: `${name}: p99 at half load below ${MAX_ADDED_MS} ms more`,
      reached: addedMs < MAX_ADDED_MS,
    }
    return [
      { ...perSecond, figure: `${engine.perSecond.toFixed(0)}/s` },
      { ...late, figure: `${addedMs.toFixed(1)} ms` },
    ]
  })
  return {
    section: 'engine',
    options: {
      ...{ rounds, concurrency: CONCURRENCY, chain: options.chain, recoveriesPerSecond: speed },
      amounts: Object.fromEntries(kinds.map((kind) => [kind.name, amountOf(kind, options)])),
    },
    results,
    targets,
  }
}

/** Measures the kind in a place of its own: a local chain keeps all its blocks in memory. */
async function measureInPlace(kind: Kind, options: EngineOptions): Promise<Result> {
  const { warmUp, round } = amountOf(kind, options)
  const uploads = kind.isUpload ? warmUp + options.rounds * (round + (HALF_LOAD_SECONDS * kind.target) / 2) : 0
  const place = await makeEnginePlace(options.bundle, uploads)
  const remove = () => place.remove()
  process.on('exit', remove)
  try {
    return await measureKind({ ...kind, ...kind.traffic(place) }, place, options)
  } finally {
    // A listener for the end of this process would keep the chain in memory until then.
    process.off('exit', remove)
    remove()
  }
}

type MeasuredRound = Round & Late
type Both = Readonly<Record<'engine' | 'floor', MeasuredRound>>

async function measureKind(kind: Measuring, place: EnginePlace, options: EngineOptions): Promise<Result> {
  const engine = await startEngineProcess(place, options.chain)
  const program = fileURLToPath(import.meta.url)
  const floor = await start({
    args: [program, 'engine-floor'],
    directory: place.directory,
    logFile: `${place.directory}/floor.log`,
  })
  const { warmUp, round: count } = amountOf(kind, options)
  try {
    await prepare(kind, place, engine.port)
    // The requests are made in parts, because a signature is good for a minute.
    for (let remaining = warmUp; remaining > 0; remaining -= WARM_UP_AT_ONCE) {
      await runRound(engine, kind.requests(Math.min(remaining, WARM_UP_AT_ONCE), 'engine'), kind)
      await runRound(floor, kind.requests(Math.min(remaining, WARM_UP_AT_ONCE), 'floor'), kind)
    }
    await kind.waitUntilSettled?.()
    const rounds: Both[] = []
    for (let round = 1; round <= options.rounds; round++) {
      const readStolenTime = startStolenTime()
      const a = await runRound(engine, kind.requests(count, 'engine'), kind, kind.waitUntilSettled)
      const b = await runRound(floor, kind.requests(count, 'floor'), kind)
      const pace = Math.min(a.perSecond, kind.target) / 2
      const some = (of: 'engine' | 'floor') => kind.requests(Math.floor(pace * HALF_LOAD_SECONDS), of)
      const lateA = await sendPaced(engine.port, some('engine'), pace, kind)
      await kind.waitUntilSettled?.()
      const lateB = await sendPaced(floor.port, some('floor'), pace, kind)
      rounds.push({ engine: { ...a, ...lateA }, floor: { ...b, ...lateB } })
      const others = `other machines took ${percent(readStolenTime())}`
      note(`${kind.name}, round ${round}: engine ${told(a, lateA)}, floor ${told(b, lateB)}; ${others}`)
    }
    const [a, b] = [medians(rounds.map((each) => each.engine)), medians(rounds.map((each) => each.floor))]
    return {
      engine: { perSecond: a.perSecond, processorMs: a.processorMs },
      floor: { perSecond: b.perSecond, processorMs: b.processorMs },
      ratio: a.processorMs / b.processorMs,
      halfLoad: { engine: { p50: a.p50, p99: a.p99 }, floor: { p50: b.p50, p99: b.p99 } },
    }
  } finally {
    await Promise.all([engine.stop(), floor.stop()])
  }
}

/** Waits until the engine serves the contracts, and stores the value that a reader reads. */
async function prepare({ first, requests }: Traffic, { sharing }: EnginePlace, port: number): Promise<void> {
  const connection = await openConnection(port)
  const firstRequests =
    first === undefined
      ? sharing.map((contract): Request => ({ method: 'GET', path: `/offchain/${evmAddress(contract)}/` }))
      : [first, ...requests(1, 'engine')]
  for (const request of firstRequests) {
    for (;;) {
      const { status, body } = await connection.send(request)
      if (status === 200 || body.includes('Invalid URL')) break
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  connection.close()
}

/** Runs one round. The work that `settled` waits for is part of the processor time, and not of the calls per second. */
async function runRound(
  { pid, port }: Running,
  requests: readonly Request[],
  kind: Measuring,
  waitUntilSettled?: () => Promise<void>,
): Promise<Round> {
  const count = requests.length
  const queue = requests[Symbol.iterator]()
  const connections = await Promise.all(Array.from({ length: CONCURRENCY }, () => openConnection(port)))
  const [before, begin] = [processorTimeMs(pid), performance.now()]
  await Promise.all(
    connections.map(async (connection) => {
      for (const request of queue) expect(kind, await connection.send(request))
      connection.close()
    }),
  )
  const seconds = (performance.now() - begin) / 1000
  await waitUntilSettled?.()
  return { processorMs: (processorTimeMs(pid) - before) / count, perSecond: count / seconds }
}

/** Sends so many requests a second, each at its time, whatever became of those before it. */
async function sendPaced(
  port: number,
  requests: readonly Request[],
  perSecond: number,
  kind: Measuring,
): Promise<Late> {
  const queue = requests.entries()
  const connections = await Promise.all(Array.from({ length: 2 * CONCURRENCY }, () => openConnection(port)))
  const [latencies, begin]: [number[], number] = [[], performance.now()]
  await Promise.all(
    connections.map(async (connection) => {
      for (const [at, request] of queue) {
        const due = begin + (at * 1000) / perSecond
        const early = due - performance.now()
        if (early > 0) await new Promise((resolve) => setTimeout(resolve, early))
        // A delay counts from when the request was due, also where those before it kept the connection.
        const begunAt = Math.min(due, performance.now())
        expect(kind, await connection.send(request))
        latencies.push(performance.now() - begunAt)
      }
      connection.close()
    }),
  )
  return { p50: percentile(latencies, 50), p99: percentile(latencies, 99) }
}

function expect({ name, status }: Measuring, answer: { readonly status: number; readonly body: string }): void {
  if (answer.status !== status) throw new Error(`${name}: ${answer.status} ${answer.body}`)
}

function medians(rounds: readonly MeasuredRound[]): MeasuredRound {
  const median = (of: (round: MeasuredRound) => number) => percentile(rounds.map(of), 50)
  return {
    processorMs: median((each) => each.processorMs),
    perSecond: median((each) => each.perSecond),
    p50: median((each) => each.p50),
    p99: median((each) => each.p99),
  }
}

function told({ perSecond, processorMs }: Round, { p99 }: Late): string {
  return `${perSecond.toFixed(0)}/s, ${(processorMs * 1000).toFixed(0)} us of processor each, p99 at half load ${p99.toFixed(1)} ms`
}

function showResults(results: Readonly<Record<string, Result>>): void {
  const head = ['calls', 'engine, /s', 'floor', 'engine, us of processor', 'floor', 'ratio']
  const rows = Object.entries(results).map(([name, { engine, floor, ratio }]) => [
    name,
    ...[engine.perSecond, floor.perSecond, engine.processorMs * 1000, floor.processorMs * 1000].map((x) =>
      x.toFixed(0),
    ),
    ratio.toFixed(2),
  ])
  show(table(head, rows))
  const late = Object.entries(results).map(([name, { halfLoad }]) => [
    name,
    ...[halfLoad.engine.p50, halfLoad.engine.p99, halfLoad.floor.p50, halfLoad.floor.p99].map((x) => x.toFixed(2)),
  ])
  show(table(['at half load, ms', 'engine p50', 'p99', 'floor p50', 'p99'], late))
}
