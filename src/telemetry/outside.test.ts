/** The traces of what stands between a service and its database, and between it and other servers. */
import { randomBytes } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { openTestStore } from '../../test/support/store.ts'
import { type HttpClientRequest, OutboundError } from '../http/outbound.ts'
import { createCollection } from '../store/store.ts'
import { traceOutbound } from './outbound.ts'
import { traceStore } from './store.ts'
import { createTracer, type EndedSpan } from './tracer.ts'

const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`
const limits = { timeoutMs: 1000, maxBytes: 1000, allowPrivateAddresses: true }

let spans: EndedSpan[]
const tracer = createTracer({
  random: randomBytes,
  clock: () => 0,
  sampleRatio: 1,
  onSpanEnd: (span) => void spans.push(span),
})
const forRequest = <T>(work: () => Promise<T>): Promise<T> => tracer.runInSpan(tracer.beginTrace('server'), work)

beforeEach(() => {
  spans = []
})

describe('a store with traces', () => {
  type Collections = { event: object; other: object }
  const open = () =>
    openTestStore<Collections>([{ id: '1', statements: ['event', 'other'].flatMap((name) => createCollection(name)) }])

  it('gives events the trace of what caused them, and nothing else', async () => {
    const plain = await open()
    const store = traceStore(plain, tracer, 'sqlite')
    await forRequest(() =>
      store.commit([
        { insert: 'event', id: 'a', value: { type: 'x' } },
        { insert: 'other', id: 'a', value: { type: 'x' } },
      ]),
    )
    await store.commit([{ insert: 'event', id: 'b', value: { type: 'x' } }])
    const [commit] = spans
    expect((await store.get('event', 'a'))?.value).toEqual({
      type: 'x',
      trace: { traceparent: `00-${commit?.context.traceId}-${commit?.context.spanId}-01` },
    })
    expect([(await store.get('other', 'a'))?.value, (await store.get('event', 'b'))?.value]).toEqual([
      { type: 'x' },
      { type: 'x' },
    ])
    await store.close()
  })

  it('gives back the very change that conflicted', async () => {
    const store = traceStore(await open(), tracer, 'sqlite')
    const changes = [
      { insert: 'other', id: 'a', value: {} },
      { insert: 'event', id: 'a', value: {} },
    ] as const
    expect(await forRequest(() => store.commit(changes))).toBeUndefined()
    expect(await forRequest(() => store.commit([changes[1]]))).toBe(changes[1])
    expect(await forRequest(() => store.commit([changes[0]]))).toBe(changes[0])
    await store.close()
  })

  it('names the collections that are read', async () => {
    const store = traceStore(await open(), tracer, 'postgresql')
    await forRequest(async () => {
      await store.get('event', 'secret')
      await store.list('other')
    })
    expect(spans.map(({ name, attributes }) => [name, attributes])).toEqual([
      ['get event', { 'db.system.name': 'postgresql' }],
      ['list other', { 'db.system.name': 'postgresql' }],
    ])
    await store.close()
  })
})

describe('a request to another server', () => {
  let asked: HttpClientRequest[] = []
  const outboundOf = (answer: (request: HttpClientRequest) => Promise<number>) =>
    traceOutbound(async (request) => {
      asked.push(request)
      return { status: await answer(request), headers: {}, body: new Uint8Array() }
    }, tracer)
  beforeEach(() => {
    asked = []
  })

  it('tells nobody of the trace but the receiver of what has one', async () => {
    const outbound = outboundOf(() => Promise.resolve(200))
    await forRequest(() =>
      outbound({ url: 'https://issuer.example/list?secret=1', headers: { accept: 'a' }, ...limits }),
    )
    await outbound({ url: 'http://app:8080/', method: 'POST', trace: { traceparent, tracestate: 'a=1' }, ...limits })
    await outbound({ url: 'http://app/', trace: { traceparent: 'what a stranger wrote' }, ...limits })
    const [list, callback] = spans
    expect(asked.map(({ headers = {} }) => headers)).toEqual([
      { accept: 'a' },
      { traceparent: `00-${'ab'.repeat(16)}-${callback?.context.spanId}-01`, tracestate: 'a=1' },
      {},
    ])
    expect(list?.attributes).toEqual({
      ...{ 'http.request.method': 'GET', 'server.address': 'issuer.example', 'server.port': 443 },
      'http.response.status_code': 200,
    })
    expect(callback).toMatchObject({ parentId: 'cd'.repeat(8), attributes: { 'server.port': 8080 } })
    expect(spans).toHaveLength(2)
  })

  it('that fails says how, without what is secret in it', async () => {
    const down = () => Promise.reject(new OutboundError('secret.example gave no whole answer', 'time'))
    const broken = () => Promise.reject(new TypeError('secret'))
    const ask = (answer: () => Promise<number>, url = 'http://app/secret') =>
      forRequest(() => outboundOf(answer)({ url, ...limits })).catch(() => undefined)
    await ask(() => Promise.resolve(500))
    await ask(down)
    await ask(broken)
    await ask(broken, 'no address: secret')
    expect(spans.map(({ hasFailed, attributes }) => [hasFailed, attributes['error.type']])).toEqual([
      [true, '500'],
      [true, 'time'],
      [true, 'TypeError'],
      [true, 'TypeError'],
    ])
    expect(JSON.stringify(spans)).not.toContain('secret')
  })
})
