/** The endpoints for whoever operates a service: callbacks that wait or are dead, and the audit log. */
import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AuditBlock } from '../../src/audit/collections.ts'
import type { AuditRecord } from '../../src/audit/record.ts'
import { digestOf } from '../../src/codec/digest.ts'
import { type EventCollections, makeEventChange } from '../../src/event/event.ts'
import { passOnEvents } from '../../src/event/pass-on.ts'
import { partOf, type Store } from '../../src/store/store.ts'
import { findRevealed } from '../support/revealed.ts'
import { API_KEY, ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { act, issueWithStatus } from '../support/status.ts'
import { retryOnConflict } from '../support/store.ts'
import { call, dataset, declare, startVerification } from '../support/wire.ts'

type Body = Readonly<Record<string, unknown>>
interface Listed {
  readonly callbacks: readonly Body[]
  readonly next?: string
}
interface Records {
  readonly records: readonly AuditRecord[]
  readonly damaged_blocks?: readonly number[]
  readonly next?: string
  readonly head?: Body
  readonly checkpoint?: Body
}
interface Verification {
  readonly intact: boolean
  readonly problems: readonly string[]
  readonly after: number
  readonly up_to: number
  readonly head: number
  readonly vouched_for: number
  readonly next?: string
}

const HOUR = 3_600_000
/** A label that a browser or a terminal could take for more than a text. */
const LABEL = '<img src=x onerror=alert(1)>\u001b[31m'
const RECORDS = `${ISSUER_URL}/audit/records`
const VERIFICATION = `${ISSUER_URL}/audit/verification`
const WAITING = `${ISSUER_URL}/callbacks/waiting`
const DEAD = `${ISSUER_URL}/callbacks/dead`
const REDELIVER = `${ISSUER_URL}/callbacks/redeliver`

let services: Services
/** Whether the receiver of callbacks takes them. */
let isUp: boolean
let posted: { readonly id: string; readonly type: string }[]

beforeEach(async () => {
  isUp = false
  posted = []
  services = await startServices({
    issuer: {
      sessionCallback: { url: 'http://localhost:9/events' },
      integrations: { authentication: { [API_KEY]: LABEL } },
    },
    outbound: ({ body }) => {
      if (isUp) posted.push(JSON.parse(String(body)) as (typeof posted)[number])
      return Promise.resolve({ status: isUp ? 204 : 503, headers: {}, body: Buffer.from('words of the receiver') })
    },
  })
})
afterEach(() => services.close())

async function read<T>(url: string, query: Record<string, string> = {}): Promise<T> {
  const response = await call(services, `${url}?${new URLSearchParams(query).toString()}`)
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
  return (await response.json()) as T
}

async function post<T>(url: string, body: unknown = {}): Promise<T> {
  const response = await call(services, url, body)
  expect(response.status).toBe(200)
  return (await response.json()) as T
}

async function later(milliseconds: number): Promise<void> {
  services.clock.now = new Date(services.clock.now.getTime() + milliseconds)
  await services.runTasks()
}

/** Lets the callbacks of `count` sessions die, a second apart; gives the ids of the sessions, the first first. */
async function deadCallbacks(count: number): Promise<readonly string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n += 1) {
    ids.push((await issueWithStatus(services)).sessionId)
    await later(1000)
  }
  // A callback at a time is tried while the receiver is down.
  for (let n = 0; n < 4 * count; n += 1) await later(n === 0 ? 25 * HOUR : 60_000)
  return ids
}

describe('callbacks that wait', () => {
  it('are listed by session with attempts, the problem and the next attempt, and without their data', async () => {
    const { sessionId } = await issueWithStatus(services)
    await act(services, 'suspend', sessionId)
    await services.runTasks()
    const { callbacks, next } = await read<Listed>(WAITING)
    const at = Math.floor(services.clock.now.getTime() / 1000)
    expect(callbacks).toEqual([
      {
        callback_id: expect.stringMatching(/^[\w-]{21}$/) as string,
        session_id: sessionId,
        type: 'issuance.succeeded',
        occurred_at: at,
        failures: 1,
        problem: 'the receiver answered 503',
        next_attempt_at: expect.any(Number) as number,
        behind: 1,
      },
    ])
    expect(next).toBe(undefined)
    const { next_attempt_at: attempt } = callbacks[0] ?? {}
    expect(attempt).toBeGreaterThanOrEqual(at)
    expect(attempt).toBeLessThan(at + 6)
    isUp = true
    await later(6000)
    expect((await read<Listed>(WAITING)).callbacks).toEqual([])
    expect(posted.map(({ type }) => type)).toEqual(['issuance.succeeded', 'credential.suspended'])
  })

  it('come page by page, each once, the newest session first', async () => {
    const ids: string[] = []
    for (let n = 0; n < 5; n += 1) {
      ids.unshift((await issueWithStatus(services)).sessionId)
      await later(1000)
    }
    const first = await read<Listed>(WAITING, { limit: '2' })
    const second = await read<Listed>(WAITING, { limit: '2', cursor: first.next ?? '' })
    const last = await read<Listed>(WAITING, { limit: '2', cursor: second.next ?? '' })
    const listed = [first, second, last].flatMap(({ callbacks }) => callbacks.map(({ session_id: id }) => id))
    expect([listed, last.next]).toEqual([ids, undefined])
  })
})

describe('callbacks that are dead', () => {
  it('are listed newest first, and one of them is delivered again under its id', async () => {
    const [first = ''] = await deadCallbacks(2)
    const { callbacks } = await read<Listed>(DEAD)
    expect(callbacks).toHaveLength(2)
    const dead = callbacks.find(({ session_id: id }) => id === first)
    expect(dead).toEqual({
      callback_id: expect.any(String) as string,
      session_id: first,
      type: 'issuance.succeeded',
      occurred_at: expect.any(Number) as number,
      problem: 'the receiver answered 503',
      died_at: expect.any(Number) as number,
      deleted_at: Number(dead?.died_at) + 30 * 24 * 3600,
    })
    isUp = true
    const id = String(dead?.callback_id)
    expect(await post(`${REDELIVER}/${id}`)).toEqual({ callback_id: id })
    await later(60_000)
    expect(posted).toMatchObject([{ id, type: 'issuance.succeeded' }])
    expect((await read<Listed>(DEAD)).callbacks).toHaveLength(1)
    for (const unknown of [id, 'x', '%00', 'x'.repeat(90)]) {
      const response = await call(services, `${REDELIVER}/${unknown}`, {})
      expect([unknown, response.status]).toEqual([unknown, 404])
    }
  })

  it('are delivered again all at once, each in a record with the caller, and not those that die once more', async () => {
    const sessions = await deadCallbacks(3)
    const until = Math.floor(services.clock.now.getTime() / 1000)
    expect(await post(REDELIVER, { died_until: 1000 })).toEqual({ redelivered: 0, has_more: false, died_until: 1000 })
    expect(await post(REDELIVER)).toEqual({ redelivered: 3, has_more: false, died_until: until })
    for (let n = 0; n < 12; n += 1) await later(n === 0 ? 25 * HOUR : 60_000)
    expect((await read<Listed>(DEAD)).callbacks).toHaveLength(3)
    expect(await post(REDELIVER, { died_until: until })).toMatchObject({ redelivered: 0 })
    isUp = true
    expect(await post(REDELIVER, {})).toMatchObject({ redelivered: 3 })
    await later(60_000)
    expect(posted).toHaveLength(3)
    const { records } = await read<Records>(RECORDS)
    const redelivered = records.filter(({ type }) => type === 'callback.redelivered')
    expect(redelivered).toHaveLength(6)
    expect(redelivered[0]).toMatchObject({ caller: LABEL, subject: expect.any(String) as string })
    expect(JSON.stringify(records)).not.toContain(sessions[0])
  })

  it('are left out where they cannot be read, and logged as what they are', async () => {
    const broken = { insert: 'dead_callback', id: 'broken', value: null, createdAt: services.clock.now }
    await partOf(services.issuerStore).commit([broken] as never)
    expect((await read<Listed>(DEAD)).callbacks).toEqual([])
    const lines = services.logLines.filter((line) => line.includes('_unreadable'))
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { event: 'row_unreadable', collection: 'dead_callback', row: digestOf('broken') },
    ])
    expect(lines.join()).not.toContain('"session"')
  })

  it('are queued again a hundred at a time', async () => {
    const diedAt = services.clock.now.getTime()
    const event = { type: 'issuance.succeeded', at: diedAt, queuedAt: diedAt }
    const store = partOf(services.issuerStore)
    await store.commit(
      Array.from({ length: 130 }, (_, n) => {
        const id = `dead-${n}`
        const value = { sessionId: `session-${n}`, event: { ...event, id }, problem: 'x', diedAt }
        return {
          insert: 'dead_callback',
          id,
          value,
          dueAt: new Date(diedAt + 30 * 24 * HOUR),
          createdAt: new Date(diedAt),
        }
      }) as never,
    )
    expect(await post(REDELIVER)).toMatchObject({ redelivered: 100, has_more: true })
    expect(await post(REDELIVER)).toMatchObject({ redelivered: 30, has_more: false })
  })
})

describe('the records of the audit log', () => {
  it('come with what is wrong with their checkpoint, of which the log has the cause', async () => {
    await fill(4, 1)
    await services.runTasks()
    const store: Store<EventCollections> = partOf(services.issuerStore)
    const value = { checkpoint: 'e30.AA.AA' }
    await store.commit([{ update: 'audit_checkpoint', id: '000000000004', version: 0, value }])
    const { checkpoint } = await read<Records>(RECORDS, { limit: '1' })
    expect(checkpoint).toEqual({ signature: 'e30.AA.AA', problem: expect.stringMatching(/it is not JSON/) as string })
    const lines = services.logLines.filter((line) => line.includes('checkpoint_unreadable'))
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { event: 'checkpoint_unreadable', problem: checkpoint?.problem, cause: { name: 'SyntaxError' } },
    ])
  })

  it('come newest first, page by page, with the head and its signature, and say who read them', async () => {
    const { sessionId } = await issueWithStatus(services)
    for (const name of ['suspend', 'reinstate', 'revoke']) await act(services, name, sessionId)
    await services.runTasks()
    const first = await read<Records>(RECORDS, { limit: '3' })
    expect(first.records.map(({ type }) => type)).toEqual([
      'credential.revoked',
      'credential.reinstated',
      'credential.suspended',
    ])
    const { sequence, hash } = first.records[0] ?? {}
    expect(first.head).toEqual({ log: expect.any(String) as string, sequence, hash })
    expect(first.checkpoint).toEqual({
      signature: expect.stringMatching(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/) as string,
      sequence,
      at: services.clock.now.toISOString(),
    })
    await services.runTasks()
    const rest = await read<Records>(RECORDS, { limit: '100', cursor: first.next ?? '' })
    expect([rest.head, rest.checkpoint, rest.next]).toEqual([undefined, undefined, undefined])
    const walked = [...first.records, ...rest.records]
    expect(walked.map((each) => each.sequence)).toEqual(
      Array.from({ length: walked.length }, (_, n) => walked.length - n),
    )
    expect(walked.at(-1)?.type).toBe('audit.started')
    await services.runTasks()
    const { records } = await read<Records>(RECORDS)
    const reads = records.filter(({ type }) => type === 'audit.read')
    expect(reads.map(({ caller }) => caller)).toEqual([LABEL, LABEL])
    const lines = services.logLines
      .map((line) => JSON.parse(line) as Body)
      .filter(({ event }) => event === 'audit_read')
    expect(lines.map(({ caller }) => caller)).toEqual([LABEL, LABEL, LABEL])
    const text = JSON.stringify(records)
    const secrets = [sessionId, API_KEY, ...Object.values(dataset.credentialSubject).map(String)]
    expect(findRevealed(text, secrets)).toEqual([])
  })

  it('read a bounded number of blocks, also of a log that has lost them', async () => {
    await fill(30, 1)
    const store = partOf<EventCollections, EventCollections>(services.issuerStore as never)
    for (let block = 2; block <= 29; block += 1) {
      await store.commit([{ delete: 'audit_block', id: String(block).padStart(12, '0'), version: 0 }])
    }
    const page = await read<Records>(RECORDS)
    expect(page.records.map(({ sequence }) => sequence)).toEqual([31, 2, 1])
  })
})

describe('the verification of the audit log in the database', () => {
  it('says that it is intact since the last checkpoint, and as a whole, stretch by stretch', async () => {
    expect(await read<Verification>(VERIFICATION)).toMatchObject({ intact: false, head: 0 })
    await fill(40, 101)
    await services.runTasks()
    await fill(2, 1)
    const since = await read<Verification>(VERIFICATION)
    expect(since).toMatchObject({ intact: true, problems: [], head: 4043, up_to: 4043, vouched_for: 4041 })
    expect(since.after).toBeGreaterThan(3900)
    const stretches: Verification[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const stretch: Verification = await read(VERIFICATION, { from: 'start', ...(cursor && { cursor }) })
      stretches.push(stretch)
      cursor = stretch.next
    }
    expect(stretches.length).toBeGreaterThan(1)
    expect(stretches.every(({ intact }) => intact)).toBe(true)
    expect(stretches.map(({ up_to: end }) => end).at(-1)).toBe(4043)
    expect(stretches.slice(1).map(({ after }) => after)).toEqual(stretches.slice(0, -1).map(({ up_to: end }) => end))
    for (const { after, up_to: end } of stretches) expect(end - after).toBeLessThan(4100)
  })

  it.each<[attack: string, change: (store: Store<EventCollections>) => Promise<unknown>, problem: RegExp]>([
    [
      'a record changed',
      (store) => changeRecord(store, 3, (record) => ({ ...record, caller: 'somebody else' })),
      /record 4 is not what its hash was made of/,
    ],
    [
      'a block gone',
      (store) => store.commit([{ delete: 'audit_block', id: '000000000003', version: 0 }]),
      /record 5 stands where record 4 should be/,
    ],
    [
      'the head set back',
      async (store) => {
        const head = await store.get('audit_head', 'head')
        if (head === undefined) throw new Error('no head')
        const value = { ...head.value, sequence: head.value.sequence - 1 }
        return store.commit([{ update: 'audit_head', id: 'head', version: head.version, value }])
      },
      /its head names another: record 4/,
    ],
    [
      'a checkpoint of another key',
      async (store) => {
        const row = await store.get('audit_checkpoint', '000000000004')
        const [header = '', payload = ''] = row?.value.checkpoint.split('.') ?? []
        const forged = `${header}.${payload}.${'A'.repeat(86)}`
        return store.commit([
          { update: 'audit_checkpoint', id: '000000000004', version: 0, value: { checkpoint: forged } },
        ])
      },
      /its signature does not hold/,
    ],
  ])('finds %s', async (_attack, change, problem) => {
    await fill(4, 1)
    await services.runTasks()
    await change(partOf(services.issuerStore))
    const found = await read<Verification>(VERIFICATION, { from: 'start' })
    expect(found.intact).toBe(false)
    expect(found.problems[0]).toMatch(problem)
  })

  it('finds a change since the last checkpoint too', async () => {
    await fill(4, 1)
    await services.runTasks()
    await fill(1, 3)
    await changeRecord(partOf(services.issuerStore), 5, (record) => ({ ...record, subject: 'another' }))
    expect((await read<Verification>(VERIFICATION)).problems[0]).toMatch(/record 6 is not what/)
  })
})

it.each([{ records: [null] }, { records: 5 }, {}])('names a block that cannot be read: %j', async (value) => {
  await fill(3, 1)
  const store: Store<EventCollections> = partOf(services.issuerStore)
  const id = '000000000002'
  const { version = 0 } = (await store.get('audit_block', id)) ?? {}
  await store.commit([{ update: 'audit_block', id, version, value: value as AuditBlock }])
  const { records, damaged_blocks: damaged, next } = await read<Records>(RECORDS, { limit: '2' })
  expect([records.map(({ sequence }) => sequence), damaged, next]).toEqual([[4, 2], [2], expect.any(String)])
  expect(await read<Records>(RECORDS, { limit: '2', cursor: next ?? '' })).toEqual({
    records: [expect.objectContaining({ sequence: 1 })],
  })
  for (const from of ['start', 'checkpoint'])
    expect((await read<Verification>(VERIFICATION, { from })).intact).toBe(false)
})

describe('the endpoints for whoever operates', () => {
  const GETS = ['/callbacks/waiting', '/callbacks/dead', '/audit/records', '/audit/verification']
  const places = [ISSUER_URL, VERIFIER_URL].flatMap((base) => [
    ...GETS.map((path) => ['GET', base + path] as const),
    ...['/callbacks/redeliver', '/callbacks/redeliver/x'].map((path) => ['POST', base + path] as const),
  ])

  it.each(places)('refuse whoever has no API key, and leave no record: %s %s', async (method, url) => {
    for (const headers of [{}, { authorization: 'Bearer wrong' }] as Record<string, string>[]) {
      const response = await services.fetch(url, { method, headers })
      expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([401, null])
    }
    expect(await services.issuerStore.list('event')).toEqual([])
  })

  it.each(places.filter(([method]) => method === 'GET'))('refuse a query that is wrong: %s %s', async (_, url) => {
    for (const query of [
      'limit=0&cursor=x',
      'cursor=',
      'cursor=x',
      `cursor=${'x'.repeat(300)}`,
      'unknown=1',
      'from=middle',
    ]) {
      expect([query, (await call(services, `${url}?${query}`)).status]).toEqual([query, 400])
    }
  })

  it('refuse the cursor of another list', async () => {
    await declare(services)
    await fill(3, 1)
    const { next: record = '' } = await read<Records>(RECORDS, { limit: '1' })
    await issueWithStatus(services)
    await issueWithStatus(services)
    await services.runTasks()
    const { next: waiting = '' } = await read<Listed>(WAITING, { limit: '1' })
    expect([record, waiting].every((cursor) => cursor.length > 10)).toBe(true)
    for (const [url, cursor] of [
      [WAITING, record],
      [DEAD, waiting],
      [RECORDS, waiting],
      [VERIFICATION, record],
      [`${VERIFIER_URL}/callbacks/waiting`, record],
    ]) {
      const response = await call(services, `${url}?cursor=${cursor}`)
      expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_request' }])
    }
  })

  it('refuse a body that is large or has more in it', async () => {
    const wide = await call(services, REDELIVER, { died_until: 1, padding: 'x'.repeat(2_000_000) })
    expect(wide.status).toBe(413)
    for (const body of [{ died_until: -1 }, { died_until: 1e300 }, { died_until: '1' }, { all: true }, [], null]) {
      expect([body, (await call(services, REDELIVER, body)).status]).toEqual([body, 400])
    }
  })

  it('are there at a verifier too', async () => {
    await startVerification(services)
    await services.runTasks()
    const { records } = await read<Records>(`${VERIFIER_URL}/audit/records`)
    expect(records.map(({ type }) => type).sort()).toEqual(['audit.started', 'query.created', 'verification.started'])
    expect(await read<Verification>(`${VERIFIER_URL}/audit/verification`)).toMatchObject({ intact: true, head: 3 })
    expect(await read<Listed>(`${VERIFIER_URL}/callbacks/dead`)).toEqual({ callbacks: [] })
  })
})

/** Writes blocks into the audit log of the issuer, which a service does when there are events. */
async function fill(blocks: number, records: number): Promise<void> {
  const store = partOf<EventCollections, EventCollections>(services.issuerStore as never)
  const now = () => services.clock.now
  for (let block = 0; block < blocks; block += 1) {
    const events = Array.from({ length: records }, (_, n) =>
      makeEventChange({ type: 'query.created', at: now().getTime(), subject: `q${n}`, caller: 'office' }, randomBytes),
    )
    await store.commit(events)
    await passOnEvents({ store, retryOnConflict, hasCallback: false, now, random: randomBytes })
  }
}

async function changeRecord(
  store: Store<EventCollections>,
  block: number,
  change: (record: AuditRecord) => AuditRecord,
): Promise<void> {
  const id = String(block).padStart(12, '0')
  const row = await store.get('audit_block', id)
  if (row === undefined) throw new Error('no block')
  const value = { records: row.value.records.map(change) }
  await store.commit([{ update: 'audit_block', id, version: row.version, value }])
}
