/**
 * How much processor time does the service need to serve a status list: after a change, and to a client that has it
 * already? Entries are revoked at random, since indices are; the change is made beside the service, as another process
 * would.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { join } from 'node:path'
import { setStatus } from '../src/codec/status-list.ts'
import { type IssuerCollections, issuerMigrations } from '../src/issuer/collections.ts'
import { STATUS_WIDTH } from '../src/issuer/status-rows.ts'
import { openSqlite } from '../src/store/sqlite.ts'
import type { Store } from '../src/store/store.ts'
import { must } from './flow.ts'
import { CONCURRENCY } from './load.ts'
import { processorTimeMs, type Running } from './processes.ts'
import { note, show, table, type Verdict } from './report.ts'
import { startService, type Workplace } from './workplace.ts'

const SIZES = [
  { bits: 17, maxMs: 10 },
  { bits: 20, maxMs: 60 },
] as const
const REVOKED_SHARES = [0.01, 0.1, 0.5]
const CHUNKS = 32
const REBUILDS = 40
const CONDITIONAL = 4000
const MAX_CONDITIONAL_MS = 0.3

/** The requests for a list that are measured. */
const KINDS: readonly { readonly name: string; readonly path: string; readonly headers: Record<string, string> }[] = [
  { name: 'JWT', path: '', headers: { accept: 'application/statuslist+jwt' } },
  { name: 'JWT, gzip', path: '', headers: { accept: 'application/statuslist+jwt', 'accept-encoding': 'gzip' } },
  { name: 'CWT', path: '', headers: { accept: 'application/statuslist+cwt' } },
  { name: 'W3C', path: '/revocation', headers: {} },
]

interface Target {
  readonly service: Running
  readonly store: Store<IssuerCollections>
  readonly listId: string
}

export async function measureStatus(workplace: Workplace): Promise<Verdict> {
  const service = await startService(workplace, { service: 'issuer' })
  const store = await openSqlite<IssuerCollections>(join(workplace.directory, 'issuer.db'), issuerMigrations)
  const rows: string[][] = []
  const targets: Verdict['targets'][number][] = []
  try {
    for (const { bits, maxMs } of SIZES) {
      for (const share of REVOKED_SHARES) {
        const target = { service, store, listId: await makeList(store, 2 ** bits, share) }
        const name = `2^${bits} entries, ${share * 100} % revoked`
        for (const kind of KINDS) {
          const { milliseconds, bytes } = await measureRebuild(target, kind)
          rows.push([name, kind.name, milliseconds.toFixed(2), String(bytes)])
          const figure = `${milliseconds.toFixed(2)} ms`
          targets.push({
            target: `${name}, ${kind.name}: made anew within ${maxMs} ms`,
            reached: milliseconds < maxMs,
            figure,
          })
        }
        note(`${name}: measured`)
      }
    }
    const listId = await makeList(store, 2 ** 17, 0.01)
    const milliseconds = await measureConditional({ service, store, listId })
    rows.push(['2^17 entries', 'not modified', milliseconds.toFixed(3), '0'])
    targets.push({
      target: `a conditional request: under ${MAX_CONDITIONAL_MS} ms`,
      reached: milliseconds < MAX_CONDITIONAL_MS,
      figure: `${milliseconds.toFixed(3)} ms`,
    })
  } finally {
    await store.close()
    await service.stop()
  }
  show(table(['status list', 'as', 'processor, ms', 'bytes'], rows))
  return { section: 'status', options: { rebuilds: REBUILDS, conditional: CONDITIONAL }, results: { rows }, targets }
}

/** Makes a list in which a `share` of the entries is revoked or suspended, and returns its id. */
export async function makeList(store: Store<IssuerCollections>, entries: number, share: number): Promise<string> {
  const listId = randomBytes(16).toString('base64url')
  const size = entries / CHUNKS
  const chunks = Array.from({ length: CHUNKS }, (_, chunk) => {
    const bytes = new Uint8Array((size * STATUS_WIDTH) / 8)
    for (let index = 0; index < size; index += 1) {
      // A fifth of these is suspended.
      if (randomInt(10_000) < share * 10_000) setStatus(bytes, STATUS_WIDTH, index, randomInt(5) === 0 ? 2 : 1)
    }
    const value = { bits: Buffer.from(bytes).toString('base64') }
    return { insert: 'status_chunk', id: `${listId}.${chunk}`, value } as const
  })
  await store.commit([{ insert: 'status_list', id: listId, value: { entries, bits: STATUS_WIDTH } }, ...chunks])
  return listId
}

/** Measures each request after a change: everything that it takes, HTTP as well. */
async function measureRebuild(target: Target, kind: (typeof KINDS)[number]) {
  let bytes = 0
  const once = async (): Promise<void> => {
    await target.store.commit([{ touch: 'status_list', id: target.listId }])
    const response = await ask(target, kind.path, kind.headers)
    must(response.status === 200, 'status list', `${response.status}`)
    const body = await response.arrayBuffer()
    // `fetch` undoes the encoding; the header has the length of what went over the wire.
    bytes = Number(response.headers.get('content-length') ?? body.byteLength)
  }
  for (let left = 5; left > 0; left -= 1) await once()
  const before = processorTimeMs(target.service.pid)
  for (let left = REBUILDS; left > 0; left -= 1) await once()
  return { milliseconds: (processorTimeMs(target.service.pid) - before) / REBUILDS, bytes }
}

async function measureConditional(target: Target): Promise<number> {
  const first = await ask(target, '', {})
  await first.arrayBuffer()
  const headers = { 'if-none-match': first.headers.get('etag') ?? '' }
  const one = async (): Promise<void> => {
    const response = await ask(target, '', headers)
    await response.arrayBuffer()
    must(response.status === 304, 'status list', `${response.status} and not 304`)
  }
  const times = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left -= CONCURRENCY) await Promise.all(Array.from({ length: CONCURRENCY }, one))
  }
  await times(1000)
  const before = processorTimeMs(target.service.pid)
  await times(CONDITIONAL)
  return (processorTimeMs(target.service.pid) - before) / CONDITIONAL
}

function ask({ service, listId }: Target, path: string, headers: Record<string, string>): Promise<Response> {
  // `fetch` would ask for gzip by itself.
  const all = { 'accept-encoding': 'identity', ...headers }
  return fetch(`http://127.0.0.1:${service.port}/status-list/${listId}${path}`, { headers: all })
}
