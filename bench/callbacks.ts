/**
 * Does telling the application keep up with issuing, and how much slower is issuing while
 * the application cannot be reached?
 * Two issuers, each in a place of its own, run by turns: one without callbacks, one with a receiver that is up or down.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type CallbackCollections, makeEnqueueChange } from '../src/callback/queue.ts'
import { type IssuerCollections, issuerMigrations } from '../src/issuer/collections.ts'
import { openSqlite } from '../src/store/sqlite.ts'
import { partOf } from '../src/store/store.ts'
import { issuances } from './kinds.ts'
import { runLoad } from './load.ts'
import { processorTimeMs, type Running } from './processes.ts'
import { note, percentile, show, table, type Verdict } from './report.ts'
import { atMost, spreadOf } from './spread.ts'
import { configFile, makeWorkplace, startService, type Workplace } from './workplace.ts'

export interface CallbackOptions {
  readonly rounds: number
  readonly flows: number
  readonly warmUp: number
  /** The bundle for the second place. */
  readonly bundle: string
}

const BACKLOG = 10_000
const MAX_RATIO = 1.05
const MAX_LAG_SECONDS = 2
/** The address of a port on which nobody listens, so that the connection is refused. */
const DOWN = 'http://127.0.0.1:9/events'

export async function measureCallbacks(workplace: Workplace, options: CallbackOptions): Promise<Verdict> {
  const other = await makeWorkplace(options.bundle)
  try {
    const lag = await lagOf(other, options)
    const cost = await costOf(workplace, other, options)
    const ratio = spreadOf(cost.shares.map((share) => 1 + share))
    show(
      table(
        ['callbacks', 'measured'],
        [
          ['issuing, flows a second, with a receiver', lag.perSecond.toFixed(0)],
          ['seconds from the last flow to the last callback', lag.seconds.toFixed(2)],
          ['ms of processor a flow, no callbacks', percentile(cost.without, 50).toFixed(3)],
          [`ms of processor a flow, ${BACKLOG} wait for a receiver that is down`, percentile(cost.with, 50).toFixed(3)],
        ],
      ),
    )
    return {
      section: 'callbacks',
      options: { rounds: options.rounds, flows: options.flows, warmUp: options.warmUp, backlog: BACKLOG },
      results: { lag, cost },
      targets: [
        {
          target: `callbacks keep up with issuing: the last comes within ${MAX_LAG_SECONDS} s`,
          reached: lag.seconds <= MAX_LAG_SECONDS,
          figure: `${lag.seconds.toFixed(2)} s`,
        },
        atMost(`a backlog of ${BACKLOG} callbacks: issuing costs at most ${MAX_RATIO} times as much`, MAX_RATIO, ratio),
      ],
    }
  } finally {
    other.remove()
  }
}

/** Measures how far delivery is behind when the load ends. */
async function lagOf(workplace: Workplace, { rounds, flows, warmUp }: CallbackOptions) {
  let receivedCount = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      receivedCount += 1
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  setCallback(workplace, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  const issuer = await startIssuer(workplace)
  try {
    await issuer.run(warmUp)
    await waitUntil(() => receivedCount === warmUp)
    const perSecond: number[] = []
    const lags: number[] = []
    for (let round = 1; round <= rounds; round += 1) {
      const expectedCount = receivedCount + flows
      perSecond.push(flows / (await issuer.run(flows)).seconds)
      const end = performance.now()
      const behind = expectedCount - receivedCount
      await waitUntil(() => receivedCount === expectedCount)
      lags.push((performance.now() - end) / 1000)
      note(`callbacks, round ${round}: ${behind} of ${flows} were still to come, ${lags.at(-1)?.toFixed(2)} s`)
    }
    return { perSecond: percentile(perSecond, 50), seconds: percentile(lags, 50), lags }
  } finally {
    await issuer.stop()
    server.closeAllConnections()
    server.close()
  }
}

/** Measures rounds by turns, each with the one beside it. */
async function costOf(plain: Workplace, withCallbacks: Workplace, { rounds, flows, warmUp }: CallbackOptions) {
  setCallback(withCallbacks, DOWN)
  const [without, withBacklog] = [await startIssuer(plain), await startIssuer(withCallbacks)]
  const figures = { without: [] as number[], with: [] as number[], shares: [] as number[] }
  try {
    await fill(withCallbacks)
    for (const issuer of [without, withBacklog]) await issuer.run(warmUp)
    for (let round = 1; round <= rounds; round += 1) {
      const [a, b] = [(await without.run(flows)).processorMs, (await withBacklog.run(flows)).processorMs]
      figures.without.push(a)
      figures.with.push(b)
      figures.shares.push(b / a - 1)
      note(`backlog, round ${round}: ${a.toFixed(3)} ms without callbacks, ${b.toFixed(3)} ms with a backlog`)
    }
    return figures
  } finally {
    await Promise.all([without.stop(), withBacklog.stop()])
  }
}

function setCallback({ directory }: Workplace, url: string): void {
  const file = join(directory, configFile('issuer'))
  const settings = JSON.parse(readFileSync(file, 'utf8')) as object
  const secret = Buffer.alloc(32, 1).toString('base64')
  writeFileSync(file, JSON.stringify({ ...settings, sessionCallback: { url, secret } }))
}

async function startIssuer(workplace: Workplace) {
  const [kind] = issuances
  if (kind === undefined) throw new Error('no kind of issuance')
  const service: Running = await startService(workplace, { service: 'issuer' })
  const make = await kind.prepare(workplace, service.port)
  return {
    /** Returns the milliseconds of processor of each flow, and the seconds of all. */
    run: async (count: number) => {
      const flows = await make(count, 'service')
      const before = processorTimeMs(service.pid)
      const seconds = await runLoad({ port: service.port, flows })
      return { seconds, processorMs: (processorTimeMs(service.pid) - before) / count }
    },
    stop: () => service.stop(),
  }
}

/** Puts the backlog beside the service that runs. */
async function fill({ directory }: Workplace): Promise<void> {
  const store = await openSqlite<IssuerCollections>(join(directory, 'issuer.db'), issuerMigrations)
  const now = new Date()
  const at = now.getTime()
  for (let next = 0; next < BACKLOG; next += 500) {
    const rows = Array.from({ length: 500 }, (_, index) => `backlog-${next + index}`)
    const changes = rows.map((id) =>
      makeEnqueueChange(
        partOf<IssuerCollections, CallbackCollections>(store),
        id,
        [{ id, type: 'issuance.succeeded', at, queuedAt: at, data: { session_id: id, status: 'SUCCEEDED' } }],
        now,
      ),
    )
    await store.commit(await Promise.all(changes))
  }
  await store.close()
}

async function waitUntil(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!holds()) {
    if (performance.now() > deadline) throw new Error('callbacks are missing after a minute')
    await sleep(10)
  }
}
