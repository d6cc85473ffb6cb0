import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openTestStore, retryOnConflict, withDamagedRows } from '../../test/support/store.ts'
import { type HttpClientRequest, type Outbound, OutboundError } from '../http/outbound.ts'
import { addCreationTime, createCollection } from '../store/store.ts'
import { countCallbacks } from './counts.ts'
import { createDelivery } from './deliver.ts'
import {
  type CallbackStore,
  makeEnqueueChange,
  makeRequeueChanges,
  type PendingCallback,
  retryCallbackNow,
} from './queue.ts'

const SECOND = 1000
const HOUR = 3600 * SECOND

let store: CallbackStore
let time: number
let lines: string[]
let asked: HttpClientRequest[]
/** Answers each event as the receiver of callbacks; takes every event when the test says nothing else. */
let receiver: (event: Received) => ReturnType<Outbound> | undefined

interface Received {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly data: { readonly session_id: string }
}

const now = () => new Date(time)
const outbound: Outbound = (request) => {
  asked.push(request)
  return receiver(JSON.parse(request.body ?? '') as Received) ?? answer(204)
}
const answer = (status: number, headers: Record<string, string> = {}) =>
  Promise.resolve({ status, headers, body: new Uint8Array() })
const down = () => Promise.reject(new OutboundError('app.example refused the connection'))

function process(changes: Partial<Parameters<typeof createDelivery>[0]> = {}) {
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const sessionCallback = { url: 'https://app.example/events', apiKey: 'a-key' }
  const loadCallbackData = (session_id: string) => Promise.resolve({ session_id })
  const effects = { store, retryOnConflict, outbound, now, random: randomBytes, log }
  return createDelivery({ ...effects, sessionCallback, loadCallbackData, ...changes })
}

async function wait(sessionId: string, first: string, ...others: string[]): Promise<void> {
  const eventOf = (id: string): PendingCallback => ({ id, type: 'verification.succeeded', at: time, queuedAt: time })
  await store.commit([await makeEnqueueChange(store, sessionId, [eventOf(first), ...others.map(eventOf)], now())])
}

/** Reserves the event of session s1 as a process that never delivers it. */
async function reserveForGood(): Promise<void> {
  const end = new AbortController()
  void process({ loadCallbackData: () => new Promise(() => undefined) })(end.signal)
  await expect.poll(async () => (await store.get('callback', 's1'))?.value.claimed).toBe(true)
  end.abort()
}

const told = () => asked.map(({ body }) => (JSON.parse(body ?? '') as Received).id)
const requeue = async (id: string) => store.commit((await makeRequeueChanges(store, id, now()))?.changes ?? [])
const pending = async () => (await store.list('callback')).flatMap(({ value }) => value.events.map(({ id }) => id))
const dead = async () => (await store.list('dead_callback')).map(({ id }) => id)

beforeEach(async () => {
  const tables = ['callback', 'dead_callback'].flatMap((name) => [...createCollection(name), ...addCreationTime(name)])
  store = await openTestStore([{ id: '1', statements: tables }])
  time = Date.parse('2026-05-01T08:00:00.000Z')
  lines = []
  asked = []
  receiver = () => undefined
})
afterEach(() => store.close())

describe('the pace', () => {
  it('is not slowed down by events of deleted sessions, which say nothing about the receiver', async () => {
    for (let n = 0; n < 20; n += 1) await wait(`gone ${n}`, `gone ${n}`)
    await wait('s1', 'e1')
    const loadCallbackData = (session_id: string) =>
      Promise.resolve(session_id.startsWith('gone') ? undefined : { session_id })
    await process({ loadCallbackData })()
    expect([told(), (await dead()).length, await pending()]).toEqual([['e1'], 20, []])
  })
})

describe('a callback', () => {
  it('that cannot be sent by a mistake of this service is tried again, and the log has the place of the mistake', async () => {
    await wait('s1', 'e1')
    receiver = () => Promise.reject(new TypeError('a secret'))
    await process()()
    const line: unknown = JSON.parse(lines.join())
    expect(line).toMatchObject({
      event: 'callback_failed',
      callback: 'e1',
      problem: expect.stringMatching(/internal error/) as string,
    })
    expect(line).toMatchObject({
      error: { name: 'TypeError', stack: expect.stringContaining('deliver.test.ts') as string },
    })
    expect(lines.join()).not.toContain('a secret')
    expect(await pending()).toEqual(['e1'])
  })

  it('is posted with its id, type, time and data, and then forgotten', async () => {
    await wait('s1', 'e1')
    await process()()
    const [{ body, headers, method, url, timeoutMs } = {} as HttpClientRequest] = asked
    expect([method, url, timeoutMs]).toEqual(['POST', 'https://app.example/events', 10_000])
    expect(headers).toEqual({ 'content-type': 'application/json', authorization: 'Bearer a-key' })
    expect(JSON.parse(body ?? '')).toEqual({
      id: 'e1',
      type: 'verification.succeeded',
      timestamp: '2026-05-01T08:00:00.000Z',
      data: { session_id: 's1' },
    })
    expect([await pending(), await dead()]).toEqual([[], []])
    expect(lines.join('')).not.toMatch(/\bs1\b|a-key|app\.example/)
  })

  it('goes with the trace of its cause, where that is known, and so do its later deliveries', async () => {
    const trace = { traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`, tracestate: 'a=1' }
    const event: PendingCallback = { id: 'e1', type: 'verification.succeeded', at: time, queuedAt: time, trace }
    await store.commit([await makeEnqueueChange(store, 's1', [event], now())])
    receiver = () => answer(500)
    await process()()
    time += 24 * HOUR
    await process()()
    expect(await dead()).toEqual(['e1'])
    await requeue('e1')
    await wait('s2', 'e2')
    receiver = () => undefined
    await process()()
    const sent = asked.map(({ body = '', trace: given }) => [(JSON.parse(body) as Received).id, given] as const)
    expect(sent.filter(([id]) => id === 'e1')).toEqual(Array.from({ length: 3 }, () => ['e1', trace]))
    expect(sent.filter(([id]) => id === 'e2')).toEqual([['e2', undefined]])
    // Without telemetry the receiver is told nothing of it.
    for (const { headers } of asked) expect(headers).not.toHaveProperty('traceparent')
  })

  it.each([
    ['an error of the receiver', () => answer(500), /answered 500/],
    ['a refusal', () => answer(404), /answered 404$/],
    [
      'a signature that the receiver does not take',
      () => answer(401),
      /answered 401; compare .* and the clocks of both$/,
    ],
    ['a key that the receiver does not take', () => answer(403), /answered 403; compare .* and the clocks of both$/],
    ['a redirect, which is not followed', () => answer(307, { location: 'https://else.example' }), /redirects are not/],
    ['another redirect', () => answer(300), /answered 300, and redirects are not/],
    ['no answer', down, /refused the connection/],
  ])('comes again later after %s, under its id', async (_what, does, problem) => {
    await wait('s1', 'e1')
    const deliver = process()
    receiver = does
    await deliver()
    expect((await store.get('callback', 's1'))?.value).toMatchObject({ failures: 1, claimed: false })
    expect((await store.get('callback', 's1'))?.value.problem).toMatch(problem)
    await deliver()
    expect(told()).toEqual(['e1'])
    receiver = () => undefined
    time += 5 * SECOND
    await deliver()
    expect(told()).toEqual(['e1', 'e1'])
    expect(await pending()).toEqual([])
  })

  it.each([
    ['a failure, by the process that saw it', (deliver: () => Promise<void>) => deliver],
    ['a failure, by a process that begins', () => process()],
  ])('waits for no clock that was set back since: %s', async (_what, next) => {
    await wait('s1', 'e1', 'e2')
    receiver = () => answer(503)
    const deliver = process()
    await deliver()
    receiver = () => undefined
    time -= HOUR
    await next(deliver)()
    expect(told()).toEqual(['e1', 'e1', 'e2'])
    expect(await pending()).toEqual([])
  })

  it('waits for no reservation of a process that ended, by a clock that was set back since', async () => {
    await wait('s1', 'e1')
    await reserveForGood()
    const deliver = process()
    await deliver()
    expect(told()).toEqual([])
    time -= HOUR
    await deliver()
    expect(told()).toEqual(['e1'])
  })

  it('waits for no pause of a receiver that was down, by a clock that was set back since', async () => {
    for (const session of ['s1', 's2', 's3', 's4']) await wait(session, `of ${session}`)
    receiver = down
    const deliver = process()
    await deliver()
    receiver = () => undefined
    time -= HOUR
    await deliver()
    expect(await pending()).toEqual([])
  })

  it('is left to the process that has reserved it, whose clock is a little ahead', async () => {
    await wait('s1', 'e1')
    await reserveForGood()
    time -= 5 * SECOND
    await process()()
    expect(told()).toEqual([])
  })

  it('comes again after longer and longer times, up to an hour, and not before the receiver said', async () => {
    await wait('s1', 'e1')
    const deliver = process()
    receiver = () => answer(503)
    const waits: number[] = []
    for (let n = 0; n < 14; n += 1) {
      await deliver()
      const { nextAt = 0 } = (await store.get('callback', 's1'))?.value ?? {}
      waits.push((nextAt - time) / SECOND)
      time = nextAt
    }
    for (const [n, each] of waits.entries()) {
      const longest = Math.min(5 * 2 ** n, 3600)
      expect(each).toBeGreaterThanOrEqual(longest / 2)
      expect(each).toBeLessThanOrEqual(longest)
    }
    expect(new Set(waits).size).toBe(14)
    for (const [value, least] of [
      ['120', 120],
      [new Date(time + 300 * SECOND).toUTCString(), 299],
      ['999999999', 3600],
      ['soon', 1],
    ] as const) {
      await wait(value, `e ${value}`)
      receiver = () => answer(429, { 'retry-after': value })
      await deliver()
      const { nextAt = 0 } = (await store.get('callback', value))?.value ?? {}
      expect((nextAt - time) / SECOND).toBeGreaterThanOrEqual(least)
      expect(nextAt - time).toBeLessThanOrEqual(HOUR)
      await retryCallbackNow({ store, retryOnConflict }, value, now())
      receiver = () => undefined
      await deliver()
    }
  })

  it('is given up after 24 hours, kept, and told by the log; a retry lets it wait again', async () => {
    await wait('s1', 'e1', 'e2')
    const deliver = process()
    receiver = ({ id }) => (id === 'e1' ? answer(500) : undefined)
    const end = time + 24 * HOUR
    while (time < end) {
      await deliver()
      expect([await pending(), await dead()]).toEqual([['e1', 'e2'], []])
      time = (await store.get('callback', 's1'))?.value.nextAt ?? end
    }
    await deliver()
    // The next event of the session goes on.
    expect([await pending(), await dead(), told().at(-1)]).toEqual([[], ['e1'], 'e2'])
    expect(lines.filter((line) => line.includes('"callback_dead"'))).toHaveLength(1)
    await requeue('e1')
    expect(await makeRequeueChanges(store, 'e1', now())).toBe(undefined)
    receiver = () => undefined
    await deliver()
    expect([told().at(-1), await pending(), await dead()]).toEqual(['e1', [], []])
  })

  it('that a retry let wait again is given up 24 hours later, and not at its first failure', async () => {
    await wait('s1', 'e1')
    const deliver = process()
    receiver = () => answer(500)
    time += 24 * HOUR
    await deliver()
    await requeue('e1')
    await deliver()
    expect([told().length, await pending(), await dead()]).toEqual([2, ['e1'], []])
    time += 24 * HOUR
    await deliver()
    expect([told().length, await pending(), await dead()]).toEqual([3, [], ['e1']])
  })

  it('that is on its way is not made due by a retry of its queue', async () => {
    await wait('s1', 'e1')
    await reserveForGood()
    expect(await retryCallbackNow({ store, retryOnConflict }, 's1', now())).toBe(false)
    await process()()
    expect(asked).toEqual([])
  })

  it('is not given up while the clock is doubtful, and is sent when the receiver answers', async () => {
    await wait('s1', 'e1')
    const deliver = process()
    receiver = () => answer(500)
    time += 48 * HOUR
    await deliver(undefined, () => true)
    expect([await pending(), await dead()]).toEqual([['e1'], []])
    receiver = () => undefined
    time -= 48 * HOUR
    await deliver(undefined, () => false)
    expect([told(), await pending(), await dead()]).toEqual([['e1', 'e1'], [], []])
  })

  it('whose data cannot be loaded is tried again, and given up after 24 hours like any other', async () => {
    await wait('s1', 'e1')
    const deliver = process({ loadCallbackData: () => Promise.reject(new Error('the row is damaged')) })
    await deliver()
    expect((await store.get('callback', 's1'))?.value).toMatchObject({ failures: 1, claimed: false })
    time += 25 * HOUR
    await deliver()
    expect([await pending(), await dead(), asked]).toEqual([[], ['e1'], []])
    expect((await store.get('dead_callback', 'e1'))?.value.problem).toMatch(/internal error of this service/)
  })

  it('whose session is gone is given up at once', async () => {
    await wait('s1', 'e1')
    await process({ loadCallbackData: () => Promise.resolve(undefined) })()
    expect([await dead(), asked]).toEqual([['e1'], []])
    expect((await store.get('dead_callback', 'e1'))?.value.problem).toMatch(/session has been deleted/)
  })
})

describe('callbacks of sessions', () => {
  it('come in their order, each after the one before was taken', async () => {
    await wait('s1', 'e1', 'e2')
    await wait('s2', 'f1')
    const deliver = process()
    receiver = ({ id }) => (id === 'e1' ? answer(500) : undefined)
    await deliver()
    await wait('s1', 'e3')
    time += 5 * SECOND
    receiver = () => undefined
    await deliver()
    expect(told().filter((id) => id.startsWith('e'))).toEqual(['e1', 'e1', 'e2', 'e3'])
  })

  it('are not held up by queues that cannot be read, of which the round tells afterwards', async () => {
    for (let n = 0; n < 20; n += 1) await wait(`damaged ${n}`, `damaged ${n}`)
    for (let n = 0; n < 30; n += 1) await wait(`s${n}`, `e${n}`)
    const withDamage = withDamagedRows(store, (id) => id.startsWith('damaged'))
    await expect(process({ store: withDamage })()).rejects.toThrow('a value is damaged')
    expect([told().length, (await pending()).length]).toEqual([30, 20])
    expect(await countCallbacks(withDamage)).toMatchObject({ waiting: 20 })
  })

  it('go out four at once to a receiver that has not answered yet, also beside queues that cannot be read', async () => {
    await wait('damaged', 'damaged')
    for (let n = 0; n < 30; n += 1) await wait(`s${n}`, `e${n}`)
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    receiver = () => released.then(() => answer(200))
    const round = process({ store: withDamagedRows(store, (id) => id === 'damaged') })()
    await expect.poll(() => asked.length).toBe(4)
    // A round looks for more every 300 ms.
    await new Promise((resolve) => setTimeout(resolve, 700))
    expect(asked.length).toBe(4)
    release()
    await expect(round).rejects.toThrow('a value is damaged')
    expect(asked.length).toBe(30)
  })

  it('that follow one that failed begin their own backoff', async () => {
    await wait('s1', 'e1', 'e2')
    const deliver = process()
    const fails = new Set(['e1'])
    receiver = ({ id }) => (fails.has(id) ? answer(500) : undefined)
    for (let failures = 0; failures < 5; failures += 1) {
      await deliver()
      time = (await store.get('callback', 's1'))?.value.nextAt ?? 0
    }
    fails.clear()
    fails.add('e2')
    await deliver()
    const { failures, nextAt = 0 } = (await store.get('callback', 's1'))?.value ?? {}
    expect([failures, nextAt - time <= 5 * SECOND]).toEqual([1, true])
  })

  it('are counted with the time of the one that has waited longest', async () => {
    await wait('s1', 'e1')
    const oldest = time / SECOND
    time += HOUR
    await wait('s0', 'e0')
    expect(await countCallbacks(store)).toEqual({ waiting: 2, oldest_waiting_at: oldest, dead: 0 })
  })

  it('are not held up by one that always fails, nor by one that is slow', async () => {
    let release: () => void = () => undefined
    const slow = new Promise<void>((resolve) => {
      release = resolve
    })
    receiver = ({ id }) => (id === 'poison' ? answer(500) : id === 'slow' ? slow.then(() => answer(200)) : undefined)
    await wait('a', 'poison')
    await wait('b', 'slow')
    const deliver = process()
    const round = deliver()
    for (let n = 0; n < 40; n += 1) {
      await wait(`s${n}`, `e${n}`)
      time += SECOND
    }
    // Told, and written down.
    await vi.waitFor(async () => expect(await pending()).toEqual(['poison', 'slow']), { timeout: 300_000 })
    expect(told().filter((id) => id.startsWith('e'))).toHaveLength(40)
    release()
    await round
    expect(await pending()).toEqual(['poison'])
  })

  it('of two processes are delivered once each', async () => {
    for (let n = 0; n < 100; n += 1) await wait(`s${n}`, `e${n}`)
    receiver = () => new Promise((resolve) => setImmediate(() => resolve(answer(200))))
    await Promise.all([process()(), process()()])
    expect(told()).toHaveLength(100)
    expect(new Set(told()).size).toBe(100)
  })

  it('that a process died with go out again under their ids, when its reservation is over', async () => {
    await wait('s1', 'e1')
    receiver = () => new Promise(() => undefined)
    const end = new AbortController()
    void process()(end.signal)
    await vi.waitUntil(() => told().length > 0, { timeout: 60_000, interval: 5 })
    end.abort()
    receiver = () => undefined
    await process()()
    expect(told()).toEqual(['e1'])
    time += 20 * SECOND
    await process()()
    expect([told(), await pending()]).toEqual([['e1', 'e1'], []])
  })

  it('of which one is answered when its reservation is long over lose none that came behind it', async () => {
    await wait('s1', 'e1', 'e2')
    let release: () => void = () => undefined
    const late = new Promise<void>((resolve) => {
      release = resolve
    })
    receiver = () => late.then(() => answer(200))
    const first = process()()
    await vi.waitUntil(() => told().length > 0, { timeout: 60_000, interval: 5 })
    time += 20 * SECOND
    // Another process delivers the first event, and fails with the second.
    receiver = ({ id }) => (id === 'e2' ? answer(500) : undefined)
    await process()()
    release()
    await first
    expect([told(), await pending()]).toEqual([['e1', 'e1', 'e2'], ['e2']])
  })

  it('that come while one goes out stand behind it', async () => {
    await wait('s1', 'e1')
    receiver = ({ id }) => (id === 'e1' ? wait('s1', 'e2').then(() => answer(200)) : undefined)
    await process()()
    expect([told(), await pending()]).toEqual([['e1', 'e2'], []])
  })

  it('cost a receiver that is down a few attempts however many wait, and one that is well gets all at once', async () => {
    const events = Array.from({ length: 2000 }, (_, n) => n)
    for (const n of events) await wait(`s${n}`, `e${n}`)
    const deliver = process()
    receiver = down
    for (let second = 0; second < 60; second += 0.5) {
      await deliver()
      time += SECOND / 2
    }
    expect(asked.length).toBeGreaterThan(5)
    expect(asked.length).toBeLessThan(30)
    receiver = () => undefined
    time += HOUR
    await deliver()
    expect(await pending()).toEqual([])
  })

  it('end early when the service stops', async () => {
    for (let n = 0; n < 200; n += 1) await wait(`s${n}`, `e${n}`)
    const stop = new AbortController()
    receiver = ({ id }) => {
      if (id === 'e10') stop.abort()
      return undefined
    }
    await process()(stop.signal)
    expect(told().length).toBeLessThan(40)
    expect(await pending()).toHaveLength(200 - told().length)
  })
})
