import { describe, expect, it } from 'vitest'
import { readTraceHeaders, traceHeadersOf } from './trace-context.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'
const sampled = `00-${traceId}-${spanId}-01`

describe('traceparent', () => {
  it.each([
    [sampled, true],
    [`00-${traceId}-${spanId}-00`, false],
    [`00-${traceId}-${spanId}-03`, true],
    [`00-${traceId}-${spanId}-fe`, false],
    // A later version may say more.
    [`cc-${traceId}-${spanId}-01`, true],
    [`cc-${traceId}-${spanId}-01-what-comes-later`, true],
  ])('%s names a place in a trace', (text, isSampled) => {
    expect(readTraceHeaders(text)).toEqual({ traceId, spanId, isSampled })
  })

  it.each([
    undefined,
    ['an', 'array'],
    '',
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-1`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${traceId}-${spanId}-01.`,
    `ff-${traceId}-${spanId}-01`,
    `0-${traceId}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${traceId.slice(1)}-${spanId}-01`,
    ` ${sampled}`,
    `${sampled}\n`,
    // Several headers, as Node joins them.
    `${sampled}, ${sampled}`,
    `cc-${traceId}-${spanId}-01-${'x'.repeat(300)}`,
  ])('%j names none', (text) => {
    expect(readTraceHeaders(text)).toBeUndefined()
  })
})

describe('tracestate', () => {
  it.each(['a=1', 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE', 'fw529a3039@dt=FfAs, b=2', `a=${'x'.repeat(256)}`])(
    '%s goes on unchanged',
    (state) => {
      expect(readTraceHeaders(sampled, state)).toEqual({ traceId, spanId, isSampled: true, state })
    },
  )

  it.each([
    undefined,
    '',
    'a',
    'a=',
    'A=1',
    '=1',
    'a=1=2',
    'a=1,',
    'a=\u00e9',
    'a=1\nb=2',
    `a=${'x'.repeat(600)}`,
    Array.from({ length: 33 }, (_, n) => `k${n}=1`).join(','),
  ])('%j is left out, and the trace goes on', (state) => {
    expect(readTraceHeaders(sampled, state)).toEqual({ traceId, spanId, isSampled: true })
  })
})

it('is written as it was read', () => {
  for (const [traceparent, tracestate] of [[sampled], [`00-${traceId}-${spanId}-00`, 'a=1']] as const) {
    const context = readTraceHeaders(traceparent, tracestate)
    expect(context && traceHeadersOf(context)).toEqual(
      tracestate === undefined ? { traceparent } : { traceparent, tracestate },
    )
  }
})
