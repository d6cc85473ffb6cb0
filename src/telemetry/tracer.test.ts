import { randomBytes } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import type { TraceContext } from '../codec/trace-context.ts'
import { refuse } from '../protocol/error.ts'
import { createTracer, type EndedSpan, type Tracer } from './tracer.ts'

const step = { name: 'work', kind: 'internal' } as const
const caller: TraceContext = { traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), isSampled: true, state: 'a=1' }

let time: number
let spans: EndedSpan[]
const tracerOf = (sampleRatio = 1): Tracer =>
  createTracer({ random: randomBytes, clock: () => time, sampleRatio, onSpanEnd: (span) => void spans.push(span) })
const names = () => spans.map(({ name }) => name)

beforeEach(() => {
  time = 1000
  spans = []
})

describe('a step', () => {
  it('is below what is being worked for, over every wait, and has the time that it took', async () => {
    const tracer = tracerOf()
    const request = tracer.beginTrace('server')
    await tracer.runInSpan(request, async () => {
      await Promise.resolve()
      await tracer.runStep(step, async () => {
        await new Promise((resolve) => setImmediate(resolve))
        time = 1250
        await tracer.runStep({ ...step, name: 'inner' }, () => Promise.resolve())
      })
    })
    tracer.endTrace(request)
    const [inner, outer, first] = spans
    expect(names()).toEqual(['inner', 'work', 'server'])
    expect([inner?.parentId, outer?.parentId]).toEqual([outer?.context.spanId, first?.context.spanId])
    expect(new Set(spans.map(({ context }) => context.traceId)).size).toBe(1)
    expect(outer).toMatchObject({ startedAt: 1000, endedAt: 1250, hasFailed: false })
  })

  it('is none where nothing is being worked for, or where the trace is not kept', async () => {
    const tracer = tracerOf(0)
    expect(await tracer.runStep(step, (span) => Promise.resolve(span))).toBeUndefined()
    const request = tracer.beginTrace('server')
    expect(await tracer.runInSpan(request, () => tracer.runStep(step, (span) => Promise.resolve(span)))).toBeUndefined()
    tracer.endTrace(request)
    expect(spans).toEqual([])
  })

  it('that fails says so by the name of its error alone, and fails as before', async () => {
    const tracer = tracerOf()
    const secret = 'the secret'
    const named = Object.assign(new Error(secret), { name: `not a name: ${secret}` })
    for (const error of [new RangeError(secret), named]) {
      const work = () => Promise.reject(error)
      await expect(tracer.runInSpan(tracer.beginTrace('server'), () => tracer.runStep(step, work))).rejects.toBe(error)
    }
    await expect(
      tracer.runInSpan(tracer.beginTrace('server'), () =>
        tracer.runStep(step, () => Promise.resolve().then(() => refuse('invalid_request', secret))),
      ),
    ).rejects.toThrow(secret)
    expect(spans.map(({ hasFailed, attributes }) => [hasFailed, attributes['error.type']])).toEqual([
      [true, 'RangeError'],
      [true, 'Error'],
      [true, 'ProtocolError'],
    ])
    expect(JSON.stringify(spans)).not.toContain(secret)
  })

  it('is left out beyond two hundred of a request, and after the request has ended', async () => {
    const tracer = tracerOf()
    const request = tracer.beginTrace('server')
    await tracer.runInSpan(request, async () => {
      for (let n = 0; n < 150; n++) await tracer.runStep(step, () => tracer.runStep(step, () => Promise.resolve()))
    })
    expect(spans).toHaveLength(200)
    const next = tracer.beginTrace('server')
    tracer.endTrace(next)
    expect(await tracer.runInSpan(next, () => tracer.runStep(step, () => Promise.resolve('done')))).toBe('done')
    expect(spans).toHaveLength(201)
  })

  it('of a trace that began earlier is a part of that, with its state', async () => {
    const tracer = tracerOf(0)
    await tracer.runStepOf(caller, step, () => Promise.resolve())
    await tracer.runStepOf({ ...caller, isSampled: false }, step, () => Promise.resolve())
    expect(spans).toMatchObject([{ parentId: caller.spanId, context: { traceId: caller.traceId, state: 'a=1' } }])
    expect(spans[0]?.context.spanId).not.toBe(caller.spanId)
  })
})

describe('a trace that begins here', () => {
  it('is kept by its share', () => {
    for (const [ratio, least, most] of [
      [0, 0, 0],
      [0.25, 150, 350],
      [1, 1000, 1000],
    ] as const) {
      spans = []
      const tracer = tracerOf(ratio)
      for (let n = 0; n < 1000; n++) tracer.endTrace(tracer.beginTrace('server'))
      expect(spans.length).toBeGreaterThanOrEqual(least)
      expect(spans.length).toBeLessThanOrEqual(most)
    }
  })

  it('becomes a part of that of its caller, which decides whether it is kept', async () => {
    const tracer = tracerOf(0)
    const request = tracer.beginTrace('server')
    await tracer.runInSpan(request, async () => {
      tracer.joinTrace(request, caller)
      expect(tracer.getCurrentContext()).toMatchObject({ traceId: caller.traceId, isSampled: true })
      await tracer.runStep(step, () => Promise.resolve())
    })
    tracer.endTrace(request)
    expect(spans.map(({ context, parentId }) => [context.traceId, parentId])).toEqual([
      [caller.traceId, request.context.spanId],
      [caller.traceId, caller.spanId],
    ])
  })
})
