import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type HttpClientRequest, type HttpClientResponse, OutboundError } from '../http/outbound.ts'
import { createExporter, type Exporter } from './exporter.ts'

let asked: HttpClientRequest[]
let told: string[]
let causes: unknown[]
/** Answers each request as the collector does. */
let collector: (request: HttpClientRequest) => Promise<HttpClientResponse>

const answer = (status: number, body = '') => Promise.resolve({ status, headers: {}, body: Buffer.from(body) })
const down = () => Promise.reject(new OutboundError('collector takes no connections'))

function exporter(): Exporter {
  return createExporter({
    url: 'http://collector:4318/v1/traces',
    headers: { authorization: 'Bearer a-token' },
    bodyOf: (items) => `[${items.join(',')}]`,
    rejectedMember: 'rejectedSpans',
    outbound: (request) => {
      asked.push(request)
      return collector(request)
    },
    reportFailure: (why, cause) => {
      told.push(why)
      causes.push(cause)
    },
  })
}

const sent = (): number[] => asked.flatMap(({ body = '' }) => JSON.parse(body) as number[])
const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n)
const addAll = (to: Exporter, count: number): void => {
  for (const n of numbers(count)) to.add(String(n))
}

beforeEach(() => {
  vi.useFakeTimers()
  asked = []
  told = []
  causes = []
  collector = () => answer(200)
})
afterEach(() => {
  vi.useRealTimers()
})

describe('what goes to a collector', () => {
  it('is sent together after a second, and nothing where there is nothing', async () => {
    const one = exporter()
    addAll(one, 3)
    await vi.advanceTimersByTimeAsync(999)
    expect(asked).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(asked).toMatchObject([
      {
        ...{ url: 'http://collector:4318/v1/traces', method: 'POST', body: '[0,1,2]' },
        headers: { authorization: 'Bearer a-token', 'content-type': 'application/json' },
      },
    ])
    await vi.advanceTimersByTimeAsync(60_000)
    expect([asked.length, one.counts]).toEqual([1, { sent: 3, dropped: 0 }])
  })

  it('is sent in requests of 512, one at a time, in order', async () => {
    let running = 0
    collector = async () => {
      running += 1
      expect(running).toBe(1)
      await new Promise((resolve) => setTimeout(resolve, 10))
      running -= 1
      return answer(200)
    }
    const one = exporter()
    addAll(one, 1200)
    await vi.advanceTimersByTimeAsync(3000)
    expect(asked.map(({ body = '' }) => (JSON.parse(body) as number[]).length)).toEqual([512, 512, 176])
    expect(sent()).toEqual(numbers(1200))
  })

  it.each([
    ['is gone', down],
    ['answers 429', () => answer(429)],
    ['answers 503', () => answer(503)],
  ])('waits while the collector %s, with longer and longer pauses, and is sent then', async (_, fails) => {
    collector = fails
    const one = exporter()
    addAll(one, 3)
    await vi.advanceTimersByTimeAsync(60_000)
    // After 1, 2, 4, 8, 16 and 30 seconds.
    expect(asked.length).toBe(6)
    expect(told).toHaveLength(1)
    collector = () => answer(200)
    asked = []
    await vi.advanceTimersByTimeAsync(31_000)
    expect([sent(), one.counts]).toEqual([[0, 1, 2], { sent: 3, dropped: 0 }])
  })

  it('is not sent again after an answer that says that it is wrong', async () => {
    collector = () => answer(400)
    const one = exporter()
    addAll(one, 3)
    await vi.advanceTimersByTimeAsync(60_000)
    expect([asked.length, told, one.counts]).toEqual([1, ['the collector answered 400'], { sent: 0, dropped: 3 }])
  })

  it('is dropped where no request can be made of it, and the cause is told', async () => {
    const mistake = new TypeError('a mistake')
    collector = () => Promise.reject(mistake)
    const one = exporter()
    addAll(one, 3)
    await vi.advanceTimersByTimeAsync(60_000)
    expect([asked.length, one.counts]).toEqual([1, { sent: 0, dropped: 3 }])
    expect(told).toEqual(['this service failed to make the request (TypeError), and drops what was in it'])
    expect(causes).toEqual([mistake])
  })

  it('has the failed connection as the cause of what is told', async () => {
    collector = down
    addAll(exporter(), 3)
    await vi.advanceTimersByTimeAsync(1000)
    expect(causes).toMatchObject([{ name: 'OutboundError', message: 'collector takes no connections' }])
  })

  it.each([
    ['{"partialSuccess":{"rejectedSpans":"2"}}', 2],
    ['{"partialSuccess":{"rejectedSpans":2,"errorMessage":"no"}}', 2],
    ['{"partialSuccess":{"rejectedSpans":"900"}}', 3],
    ['{"partialSuccess":{"rejectedSpans":-1}}', 0],
    ['{"partialSuccess":{}}', 0],
    ['{}', 0],
    ['no JSON', 0],
    ['', 0],
  ])('counts what the answer %j says of it', async (body, dropped) => {
    collector = () => answer(200, body)
    const one = exporter()
    addAll(one, 3)
    await vi.advanceTimersByTimeAsync(1000)
    expect(one.counts).toEqual({ sent: 3 - dropped, dropped })
  })

  it('is bounded while the collector is gone, in number and in size, and what does not fit is counted', async () => {
    collector = async () => {
      await new Promise((resolve) => setTimeout(resolve, 100))
      return down()
    }
    const one = exporter()
    addAll(one, 20_000)
    expect(one.counts).toEqual({ sent: 0, dropped: 3616 })
    // Spans of the request that runs have no place any more, once newer ones have taken it.
    await vi.advanceTimersByTimeAsync(1)
    addAll(one, 600)
    expect(one.counts).toEqual({ sent: 0, dropped: 3616 + 88 })
    await vi.advanceTimersByTimeAsync(60_000)
    expect(one.counts).toEqual({ sent: 0, dropped: 3616 + 88 + 512 })
    const large = exporter()
    for (let n = 0; n < 20; n++) large.add(`"${'x'.repeat(1024 * 1024)}"`)
    expect(large.counts.dropped).toBe(13)
  })
})

describe('at the end', () => {
  it('everything that waits is sent at once', async () => {
    const one = exporter()
    addAll(one, 1200)
    await one.close(2000)
    expect([sent(), one.counts]).toEqual([numbers(1200), { sent: 1200, dropped: 0 }])
    one.add('1')
    await vi.advanceTimersByTimeAsync(60_000)
    expect([asked.length, one.counts.dropped]).toEqual([3, 1])
  })

  it('a collector that is gone is tried once', async () => {
    collector = down
    const one = exporter()
    addAll(one, 1200)
    await one.close(2000)
    expect([asked.length, one.counts]).toEqual([1, { sent: 0, dropped: 1200 }])
  })

  it('a request that runs is waited for, and no longer than was said', async () => {
    collector = () => new Promise(() => undefined)
    const one = exporter()
    addAll(one, 3)
    await vi.advanceTimersByTimeAsync(1000)
    addAll(one, 5)
    let isClosed = false
    const closed = one.close(2000).then(() => {
      isClosed = true
    })
    await vi.advanceTimersByTimeAsync(1999)
    expect(isClosed).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    await closed
    expect([asked.length, one.counts]).toEqual([1, { sent: 0, dropped: 5 }])
  })
})
