import { createPublicKey, generateKeyPair, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { retryOnConflict, testDatabase, withDamagedRows } from '../../test/support/store.ts'
import { indexCheckpointKeys } from '../audit/checkpoint.ts'
import { type AuditCollections, blockId, HEAD } from '../audit/collections.ts'
import { exportLog } from '../audit/copy.ts'
import { BEFORE_FIRST, verifyNextStretch } from '../audit/stretch.ts'
import { verifyCopy } from '../audit/verify.ts'
import { hasPendingCallback } from '../callback/queue.ts'
import { createSigner } from '../keys/file-signer.ts'
import type { Signer } from '../keys/signer.ts'
import { DamagedValueError } from '../store/statements.ts'
import { addCreationTime, createCollection, type Migration, partOf, type Store } from '../store/store.ts'
import { signAuditLog } from './checkpoint.ts'
import { type Event, type EventCollections, makeEventChange } from './event.ts'
import { passOnEvents } from './pass-on.ts'

const tables = ['event', 'audit_head', 'audit_block', 'audit_checkpoint', 'callback', 'dead_callback']
const migrations: readonly Migration[] = [
  { id: '1', statements: tables.flatMap(createCollection) },
  { id: '2', statements: ['callback', 'dead_callback'].flatMap(addCreationTime) },
]

/** Another process on the database of this test. */
let open: () => Promise<Store<EventCollections>>
let stores: Store<EventCollections>[]
let time: number
const now = () => new Date(time)

async function opened(): Promise<Store<EventCollections>> {
  const store = await open()
  stores.push(store)
  return store
}

const passOn = (store: Store<EventCollections>, callback = true) =>
  passOnEvents({ store, retryOnConflict, hasCallback: callback, now, random: randomBytes })
const record = (store: Store<EventCollections>, event: Omit<Event, 'at'>) => {
  time += 1
  return store.commit([makeEventChange({ at: time, ...event }, randomBytes)])
}

beforeEach(() => {
  open = testDatabase<EventCollections>(migrations)
  stores = []
  time = Date.parse('2026-05-01T08:00:00.000Z')
})
afterEach(() => Promise.all(stores.map((store) => store.close())))

async function newKey() {
  return (await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })).privateKey
}

async function linesOf(store: Store<EventCollections>): Promise<string[]> {
  const lines: string[] = []
  for await (const line of exportLog(store)) lines.push(line)
  return lines
}

describe('passing events on', () => {
  it('takes the trace of an event to its callback, and not into the log', async () => {
    const store = await opened()
    const trace = { traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01` }
    await record(store, { type: 'issuance.succeeded', sessionId: 's1', trace })
    await record(store, { type: 'issuance.notified', sessionId: 's1' })
    await passOn(store)
    const [queue] = await store.list('callback')
    expect(queue?.value.events.map(({ type, trace: kept }) => [type, kept])).toEqual([
      ['issuance.succeeded', trace],
      ['issuance.notified', undefined],
    ])
    expect((await linesOf(store)).join()).not.toContain('abababab')
  })

  it('takes events into the log in their order, without session ids and data, and then away', async () => {
    const store = await opened()
    await record(store, { type: 'configuration.created', subject: 'c1', caller: 'office' })
    await record(store, {
      type: 'issuance.succeeded',
      sessionId: 'secret-session',
      data: { session_id: 'secret-session' },
    })
    await passOn(store)
    const [started, created, succeeded] = (await linesOf(store)).map((line) => JSON.parse(line) as object)
    expect(started).toMatchObject({ sequence: 1, type: 'audit.started' })
    expect(created).toMatchObject({ sequence: 2, type: 'configuration.created', subject: 'c1', caller: 'office' })
    expect(succeeded).toEqual({
      sequence: 3,
      at: '2026-05-01T08:00:00.002Z',
      type: 'issuance.succeeded',
      session: expect.stringMatching(/^[\w-]{43}$/) as string,
      hash: expect.stringMatching(/^[\w-]{43}$/) as string,
    })
    expect(JSON.stringify(succeeded)).not.toContain('secret-session')
    expect(await store.list('event')).toEqual([])
  })

  it('queues for the application what callbacks carry, by session and in order, and nothing else', async () => {
    const store = await opened()
    await record(store, { type: 'issuance.started', sessionId: 'a' })
    await record(store, { type: 'issuance.succeeded', sessionId: 'a', data: { n: 1 } })
    await record(store, { type: 'verification.declined', sessionId: 'b' })
    await passOn(store)
    await record(store, { type: 'issuance.expired', sessionId: 'a' })
    await passOn(store)
    const rows = await store.list('callback')
    expect(rows.map(({ id, value }) => [id, ...value.events.map(({ type }) => type)])).toEqual([
      ['a', 'issuance.succeeded', 'issuance.expired'],
      ['b', 'verification.declined'],
    ])
    expect([await hasPendingCallback(store, 'a'), await hasPendingCallback(store, 'c')]).toEqual([true, false])
  })

  it('queues nothing when there is nobody to tell', async () => {
    const store = await opened()
    await record(store, { type: 'issuance.succeeded', sessionId: 'a' })
    await passOn(store, false)
    expect(await store.list('callback')).toEqual([])
    expect(await linesOf(store)).toHaveLength(2)
  })

  it('by two writers at once makes one chain, with every event once', async () => {
    const writers = [await opened(), await opened()]
    const signer = createSigner(await newKey(), [])
    const log = pino({ level: 'silent' })
    await Promise.all(
      writers.map(async (store, writer) => {
        for (let n = 0; n < 60; n += 1) {
          await record(store, { type: 'query.created', subject: `${writer}-${n}` })
          if (n % 3 === 0) await passOn(store)
          if (n % 10 === 0) await signAuditLog({ store, signer, now, log })
        }
      }),
    )
    const [store] = writers as [Store<EventCollections>, Store<EventCollections>]
    await passOn(store)
    await signAuditLog({ store, signer, now, log })
    const lines = await linesOf(store)
    const subjects = lines.map((line) => (JSON.parse(line) as { subject?: string }).subject)
    expect(new Set(subjects.filter((subject) => /^\d-\d+$/.test(subject ?? ''))).size).toBe(120)
    const report = await verifyCopy(lines, indexCheckpointKeys([keyOf(signer)]), [])
    expect(report).toMatchObject({ intact: true, problems: [], records: 121, vouchedFor: 121 })
    expect(report.checkpoints).toBeGreaterThan(1)
  })

  it('leaves to the next round what comes while it writes', async () => {
    const store = await opened()
    let later = 5
    const busy: typeof store = {
      ...store,
      commit: async (changes) => {
        if (later-- > 0) await record(store, { type: 'query.created', subject: `later ${later}` })
        return store.commit(changes)
      },
    }
    await record(store, { type: 'query.created', subject: 'a' })
    await passOn(busy)
    expect([(await store.list('audit_block')).length, (await store.list('event')).length]).toEqual([1, 1])
    await passOn(store)
    expect(await linesOf(store)).toHaveLength(3)
  })

  it('takes all that was there in one round, in blocks of 200', async () => {
    const store = await opened()
    for (let n = 0; n < 410; n += 1) await record(store, { type: 'query.created', subject: String(n) })
    await passOn(store)
    expect([(await store.list('audit_block')).length, (await store.list('event')).length]).toEqual([3, 0])
  })

  it('leaves an event that cannot be read where it is, passes on all others, and tells why', async () => {
    const store = await opened()
    for (const sessionId of ['s1', 's2', 's3']) await record(store, { type: 'issuance.succeeded', sessionId })
    const damaged = (await store.listDue('event', now(), 9))[0]?.id
    const withDamage = withDamagedRows(store, (id) => id === damaged)
    expect(await passOn(withDamage)).toEqual(new Error('a value is damaged'))
    expect((await store.list('event')).map(({ id }) => id)).toEqual([damaged])
    expect((await store.list('callback')).map(({ id }) => id)).toHaveLength(2)
    await record(store, { type: 'issuance.succeeded', sessionId: 's4' })
    expect(await passOn(withDamage)).toEqual(new Error('a value is damaged'))
    expect(await store.list('callback')).toHaveLength(3)
  })

  it('passes on all that was there in one round, also beside an event that cannot be read', async () => {
    const store = await opened()
    for (let n = 0; n < 410; n += 1) await record(store, { type: 'query.created', subject: String(n) })
    const damaged = (await store.listDue('event', now(), 1))[0]?.id
    expect(await passOn(withDamagedRows(store, (id) => id === damaged))).toEqual(new Error('a value is damaged'))
    expect((await store.list('event')).map(({ id }) => id)).toEqual([damaged])
  })

  it('ends its round when no event of a full batch can be read', async () => {
    const store = await opened()
    for (let n = 0; n < 201; n += 1) await record(store, { type: 'query.created', subject: String(n) })
    expect(await passOn(withDamagedRows(store, () => true))).toEqual(new Error('a value is damaged'))
    expect(await store.list('event')).toHaveLength(201)
  })

  it('keeps the events of a session whose queue cannot be read, passes on all others, and tells why', async () => {
    const store = await opened()
    await record(store, { type: 'issuance.succeeded', sessionId: 'damaged' })
    await passOn(store)
    const damage = new DamagedValueError('a value is damaged')
    const withDamage: typeof store = {
      ...store,
      get: (collection, id) => (id === 'damaged' ? Promise.reject(damage) : store.get(collection, id)),
    }
    for (const sessionId of ['damaged', 'sound']) await record(store, { type: 'issuance.expired', sessionId })
    expect(await passOn(withDamage)).toBe(damage)
    expect((await store.list('event')).map(({ value }) => value.sessionId)).toEqual(['damaged'])
    expect(await hasPendingCallback(store, 'sound')).toBe(true)
    expect(await linesOf(store)).toHaveLength(3)
    expect(await passOn(store)).toBe(undefined)
    expect((await store.get('callback', 'damaged'))?.value.events).toHaveLength(2)
    expect(await linesOf(store)).toHaveLength(4)
  })

  it('passes on the events behind more that stay than a batch has', async () => {
    const store = await opened()
    await record(store, { type: 'issuance.succeeded', sessionId: 'held' })
    await passOn(store)
    for (let n = 0; n < 250; n++) await record(store, { type: 'issuance.notified', sessionId: 'held' })
    await record(store, { type: 'issuance.succeeded', sessionId: 'other' })
    const damage = new DamagedValueError('a value is damaged')
    const get: typeof store.get = (collection, id) =>
      id === 'held' ? Promise.reject(damage) : store.get(collection, id)
    expect(await passOn({ ...store, get })).toBe(damage)
    expect(await hasPendingCallback(store, 'other')).toBe(true)
    expect(await store.list('event')).toHaveLength(250)
  })

  it('begins no second chain when the head in the database was set back', async () => {
    const store = await opened()
    await record(store, { type: 'query.created', subject: 'a' })
    await passOn(store)
    const earlier = await store.get('audit_head', HEAD)
    await record(store, { type: 'query.created', subject: 'b' })
    await passOn(store)
    const later = await store.get('audit_head', HEAD)
    if (!earlier || !later) throw new Error('no head')
    await store.commit([{ update: 'audit_head', id: HEAD, version: later.version, value: earlier.value }])
    await record(store, { type: 'query.created', subject: 'c' })
    await expect(passOn(store)).rejects.toThrow(/a block after the one that it ends with/)
    expect(await store.list('event')).toHaveLength(1)
    expect(await store.get('audit_block', blockId(3))).toBe(undefined)
    // Neither a copy nor a verification calls that log intact, and no signature makes the earlier head the last one.
    const signer = createSigner(await newKey(), [])
    await expect(signAuditLog({ store, signer, now, log: pino({ enabled: false }) })).rejects.toThrow(/a block after/)
    expect(await store.list('audit_checkpoint')).toEqual([])
    const keys = indexCheckpointKeys([keyOf(signer)])
    const lines = await linesOf(store)
    expect((await verifyCopy(lines, keys, [])).problems).toEqual([expect.stringMatching(/^line 3: block 2 of the log/)])
    const audit = partOf<EventCollections, AuditCollections>(store)
    const stretch = await verifyNextStretch(audit, keys, { head: earlier.value, start: BEFORE_FIRST })
    expect(stretch.problems).toEqual([expect.stringMatching(/a block after/)])
    // The head that a reader has read may not be the last one any more.
    await store.commit([{ update: 'audit_head', id: HEAD, version: later.version + 1, value: later.value }])
    expect((await verifyNextStretch(audit, keys, { head: earlier.value, start: BEFORE_FIRST })).problems).toEqual([])
    expect(await linesOf(store)).toHaveLength(3)
  })

  it('signs the log once for each place where it stands', async () => {
    const store = await opened()
    const signer = createSigner(await newKey(), [])
    const told: string[] = []
    const log = pino({}, { write: (line: string) => void told.push(line) })
    const sign = () => signAuditLog({ store, signer, now, log })
    await sign()
    expect(told).toEqual([])
    await record(store, { type: 'query.created', subject: 'a' })
    await passOn(store)
    // Another process signs at the same time.
    await Promise.all([sign(), sign()])
    await sign()
    expect(told).toHaveLength(1)
    expect(JSON.parse(told[0] ?? '')).toMatchObject({ event: 'audit_checkpoint', sequence: 2 })
    expect((await linesOf(store)).at(-1)).toContain('"checkpoint":"eyJ')
  })
})

function keyOf({ jwk }: Signer) {
  return createPublicKey({ key: { ...jwk }, format: 'jwk' })
}
