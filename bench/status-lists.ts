/**
 * How much processor time does the issuer need with ten million status entries: to issue, to serve, to revoke and to
 * export lists? The lists and the status of each credential are written into the database, and no other part of an
 * issuance is.
 */
import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type IssuerCollections, issuerMigrations } from '../src/issuer/collections.ts'
import { loadDriver, openSqlite } from '../src/store/sqlite.ts'
import type { Store } from '../src/store/store.ts'
import { openConnection, type Request } from './connection.ts'
import { must } from './flow.ts'
import { authorization } from './issuance-flow.ts'
import { issuance } from './kinds.ts'
import { CONCURRENCY } from './load.ts'
import { childrenTimeMs, processorTimeMs, type Running, residentMemory } from './processes.ts'
import { note, show, table, type Verdict } from './report.ts'
import { makeList } from './serving-status.ts'
import { type Round, runRound } from './speed.ts'
import { configFile, startService, type Workplace } from './workplace.ts'

/** Ten million entries, in lists of the usual size and of the largest. */
const SIZES = [
  { lists: 77, bits: 17 },
  { lists: 10, bits: 20 },
] as const
const REVOKED_SHARE = 0.01
const FLOWS = 500
const CACHED_REQUESTS = 8000
const REVOCATIONS = 500
const MAX_CACHED_MS = 0.5
const MAX_RATIO = 1.1
const JWT_GZIP = { accept: 'application/statuslist+jwt', 'accept-encoding': 'gzip' }

/** The milliseconds that one of many things takes: of the processor, and by the clock. */
interface Cost {
  readonly processorMs: number
  readonly wallMs: number
}

interface ListsResult {
  readonly credentials: number
  readonly issuance: { readonly empty: Round; readonly full: Round }
  /** The cost of one list, or of one request. */
  readonly costs: Readonly<Record<'cold' | 'cached' | 'not modified' | 'changed' | 'revocation', Cost>>
  /** The cost of the whole command. */
  readonly exports: Readonly<Record<'all' | 'nothing changed' | 'all changed', Cost>>
  readonly exportedBytes: number
  readonly residentMegabytes: number
}

interface Subject {
  readonly workplace: Workplace
  readonly service: Running
  readonly store: Store<IssuerCollections>
  readonly listIds: readonly string[]
  readonly entries: number
}

export async function measureManyLists(workplace: Workplace): Promise<Verdict> {
  const results: Record<string, ListsResult> = {}
  for (const { lists, bits } of SIZES)
    results[`${lists} lists of 2^${bits}`] = await measureSize(workplace, lists, bits)
  showResults(results)
  const targets = Object.entries(results).flatMap(([name, { issuance: flows, costs }]) => [
    atMostTarget(`${name}: a list that is cached`, costs.cached.processorMs, MAX_CACHED_MS, 'ms'),
    atMostTarget(
      `${name}: issuing, as in an empty database`,
      flows.full.processorMs / flows.empty.processorMs,
      MAX_RATIO,
      'times',
    ),
  ])
  const options = { revoked: REVOKED_SHARE, flows: FLOWS, cached: CACHED_REQUESTS, revocations: REVOCATIONS }
  return { section: 'status-lists', options, results, targets }
}

function atMostTarget(name: string, value: number, most: number, unit: string): Verdict['targets'][number] {
  return { target: `${name}: at most ${most} ${unit}`, reached: value <= most, figure: `${value.toFixed(2)} ${unit}` }
}

async function measureSize(workplace: Workplace, lists: number, bits: number): Promise<ListsResult> {
  const service = await startService(workplace, issuance)
  const store = await openSqlite<IssuerCollections>(join(workplace.directory, 'issuer.db'), issuerMigrations)
  try {
    const make = await issuance.prepare(workplace, service.port)
    await runRound(service, make, { flows: FLOWS, of: 'service' })
    const empty = await runRound(service, make, { flows: FLOWS, of: 'service' })
    const entries = 2 ** bits
    const listIds: string[] = []
    for (let left = lists; left > 0; left -= 1) listIds.push(await makeList(store, entries, REVOKED_SHARE))
    await fillStatus(workplace, listIds, entries)
    note(`${lists} lists of 2^${bits} entries: filled`)
    const full = await runRound(service, make, { flows: FLOWS, of: 'service' })
    const subject = { workplace, service, store, listIds, entries }
    const costs = await serveAndRevoke(subject)
    const residentMegabytes = residentMemory(service.pid).now
    note('served and revoked')
    const exportResult = await exportAll(subject)
    return { credentials: lists * entries, issuance: { empty, full }, costs, ...exportResult, residentMegabytes }
  } finally {
    await store.close()
    await service.stop()
  }
}

/** Writes the status of one credential for each entry of the lists, as if the sessions had been purged. */
async function fillStatus({ directory }: Workplace, listIds: readonly string[], entries: number): Promise<void> {
  const database = new (await loadDriver())(join(directory, 'issuer.db'))
  database.exec('pragma busy_timeout = 60000')
  database.exec('pragma synchronous = off')
  // The service waits for a writer, though not for one that takes long: a statement writes a part of a list.
  const part = Math.min(entries, 2 ** 16)
  for (const [number, listId] of listIds.entries()) {
    const value = `'{"state":"VALID","entries":[{"configurationId":"card","listId":"${listId}","index":' || n.i || '}]}'`
    const id = `'${sessionPrefix(number)}' || substr('000000' || n.i, -7)`
    for (let from = 0; from < entries; from += part) {
      const numbers = `with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${from + part - 1})`
      database.exec(`${numbers} insert into credential_status (id, value, version) select ${id}, ${value}, 1 from n`)
    }
    database.exec('pragma wal_checkpoint(truncate)')
  }
  database.close()
}

function sessionPrefix(list: number): string {
  return `P0${String(list).padStart(3, '0')}-a-session-of-others-`
}

async function serveAndRevoke(subject: Subject): Promise<ListsResult['costs']> {
  const { listIds, store, service, entries } = subject
  const lists = listIds.map((id) => ({ method: 'GET', path: `/status-list/${id}`, headers: JWT_GZIP }) as const)
  const cold = await measureRequests(subject, lists)
  const many = <T>(values: readonly T[]) =>
    Array.from({ length: CACHED_REQUESTS }, (_, at) => values[at % values.length] as T)
  const cachedRequests = await measureRequests(subject, many(lists))
  const tags = await Promise.all(lists.map((list) => tagOf(service, list)))
  const conditionalRequests = lists.map((list, at) => ({
    ...list,
    headers: { ...JWT_GZIP, 'if-none-match': tags[at] ?? '' },
  }))
  const notModified = await measureRequests(subject, many(conditionalRequests), 304)
  await store.commit(listIds.map((id) => ({ touch: 'status_list', id })))
  const changedRequests = await measureRequests(subject, lists)
  const sessions = Array.from({ length: REVOCATIONS }, () => {
    const [list, index] = [randomInt(listIds.length), randomInt(entries)]
    return `${sessionPrefix(list)}${String(index).padStart(7, '0')}`
  })
  const revocation = await measureRequests(
    subject,
    sessions.map((id) => ({ method: 'POST', path: `/credential-status/revoke/${id}`, headers: authorization })),
  )
  return { cold, cached: cachedRequests, 'not modified': notModified, changed: changedRequests, revocation }
}

async function tagOf({ port }: Running, { path }: Pick<Request, 'path'>) {
  return (await fetch(`http://127.0.0.1:${port}${path}`, { headers: JWT_GZIP })).headers.get('etag')
}

/** Sends all requests, some at a time, and returns what one of them costs. */
async function measureRequests({ service }: Subject, requests: readonly Request[], status = 200): Promise<Cost> {
  const connections = await Promise.all(Array.from({ length: CONCURRENCY }, () => openConnection(service.port)))
  const queue = requests[Symbol.iterator]()
  const [begin, before] = [performance.now(), processorTimeMs(service.pid)]
  await Promise.all(
    connections.map(async (connection) => {
      for (const request of queue) {
        const answer = await connection.send(request)
        must(answer.status === status, request.path, `${answer.status} ${answer.body}`)
      }
    }),
  )
  const [wall, processor] = [performance.now() - begin, processorTimeMs(service.pid) - before]
  for (const connection of connections) connection.close()
  return { processorMs: processor / requests.length, wallMs: wall / requests.length }
}

/** Exports all lists beside the running service: into an empty directory, again, and after each list has changed. */
async function exportAll({ workplace: { directory, bundle }, store, listIds }: Subject) {
  const folder = `export-${listIds.length}`
  const args = [bundle, 'status-list', 'export', join(folder, 'public'), '--config', configFile('issuer')]
  const once = (): Cost => {
    const [begin, before] = [performance.now(), childrenTimeMs()]
    execFileSync(process.execPath, args, { cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] })
    return { processorMs: childrenTimeMs() - before, wallMs: performance.now() - begin }
  }
  const exports = { all: once(), 'nothing changed': once() }
  await store.commit(listIds.map((id) => ({ touch: 'status_list', id })))
  const exportedBytes = bytesBelow(join(directory, folder, 'public'))
  return { exports: { ...exports, 'all changed': once() }, exportedBytes }
}

function bytesBelow(directory: string): number {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(directory, name)))
    .reduce((sum, each) => sum + (each.isFile() ? each.size : 0), 0)
}

function showResults(results: Readonly<Record<string, ListsResult>>): void {
  const rows = Object.entries(results).flatMap(
    ([
      name,
      {
        issuance: { empty, full },
        costs,
        exports,
        ...result
      },
    ]) => [
      [name, 'issuance, empty database', empty.processorMs.toFixed(2), (1000 / empty.perSecond).toFixed(2)],
      [name, `issuance beside ${result.credentials}`, full.processorMs.toFixed(2), (1000 / full.perSecond).toFixed(2)],
      ...Object.entries({ ...costs, ...addPrefix('export, ', exports) }).map(([what, { processorMs, wallMs }]) => [
        name,
        what,
        processorMs.toFixed(2),
        wallMs.toFixed(2),
      ]),
      [name, 'exported, MB', '', (result.exportedBytes / 1e6).toFixed(1)],
      [name, 'resident, MB', '', result.residentMegabytes.toFixed(0)],
    ],
  )
  show(table(['status lists', 'one', 'processor, ms', 'by the clock, ms'], rows))
}

function addPrefix<T>(prefix: string, values: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [prefix + name, value]))
}
