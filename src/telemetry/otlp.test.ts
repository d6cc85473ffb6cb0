import { describe, expect, it } from 'vitest'
import { logRecordText, logsBody, spanText, tracesBody } from './otlp.ts'
import type { EndedSpan } from './tracer.ts'

const traceId = 'ab'.repeat(16)
const spanId = 'cd'.repeat(8)
const span: EndedSpan = {
  context: { traceId, spanId, isSampled: true, state: 'a=1' },
  parentId: 'ef'.repeat(8),
  name: 'POST /token',
  kind: 'server',
  startedAt: 1_767_225_600_000.25,
  endedAt: 1_767_225_600_012.5,
  attributes: { 'http.response.status_code': 200, 'http.route': '/token', a: true, b: 0.5 },
  hasFailed: false,
  descendants: { left: 0 },
}

describe('a span', () => {
  it('is written as OTLP has it: ids in hexadecimal, times and integers as texts', () => {
    expect(JSON.parse(spanText(span))).toEqual({
      traceId,
      spanId,
      traceState: 'a=1',
      parentSpanId: 'ef'.repeat(8),
      flags: 1,
      name: 'POST /token',
      kind: 2,
      startTimeUnixNano: '1767225600000250000',
      endTimeUnixNano: '1767225600012500000',
      attributes: [
        { key: 'http.response.status_code', value: { intValue: '200' } },
        { key: 'http.route', value: { stringValue: '/token' } },
        { key: 'a', value: { boolValue: true } },
        { key: 'b', value: { doubleValue: 0.5 } },
      ],
      status: {},
    })
  })

  it('that failed has the status of an error, and never ends before it began', () => {
    const text = spanText({ ...span, hasFailed: true, kind: 'client', endedAt: span.startedAt - 5000 })
    expect(JSON.parse(text)).toMatchObject({
      ...{ kind: 3, status: { code: 2 }, startTimeUnixNano: '1767225600000250000' },
      endTimeUnixNano: '1767225600000250000',
    })
  })
})

describe('a line of the log', () => {
  it('is a record with its severity, its trace and all that it says', () => {
    const line = {
      ...{ level: 40, time: '2026-01-01T00:00:00.000Z', service: 'issuer', event: 'refused', traceId, spanId },
      ...{ failed: ['a', 'b'], err: { name: 'Error', code: 7 }, session: null, message: 'request refused' },
    }
    expect(JSON.parse(logRecordText(line))).toEqual({
      ...{ timeUnixNano: '1767225600000000000', observedTimeUnixNano: '1767225600000000000' },
      ...{ severityNumber: 13, severityText: 'WARN', eventName: 'refused', traceId, spanId },
      body: { stringValue: 'request refused' },
      attributes: [
        { key: 'failed', value: { arrayValue: { values: [{ stringValue: 'a' }, { stringValue: 'b' }] } } },
        {
          key: 'err',
          value: {
            kvlistValue: {
              values: [
                { key: 'name', value: { stringValue: 'Error' } },
                { key: 'code', value: { intValue: '7' } },
              ],
            },
          },
        },
        { key: 'session', value: {} },
      ],
    })
  })

  it('without a trace, an event or a time that can be read is a record all the same', () => {
    expect(JSON.parse(logRecordText({ level: 35, time: 'soon', message: 'a' }))).toEqual({
      ...{ timeUnixNano: '0', observedTimeUnixNano: '0', severityNumber: 0, severityText: '' },
      ...{ body: { stringValue: 'a' }, attributes: [] },
    })
  })
})

it('are sent many at once, below the service that they are of', () => {
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'mine' } }] }
  const scope = { name: 'vouchsafe' }
  expect(JSON.parse(tracesBody({ 'service.name': 'mine' }, ['{"a":1}', '{"b":2}']))).toEqual({
    resourceSpans: [{ resource, scopeSpans: [{ scope, spans: [{ a: 1 }, { b: 2 }] }] }],
  })
  expect(JSON.parse(logsBody({ 'service.name': 'mine' }, ['{"a":1}']))).toEqual({
    resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords: [{ a: 1 }] }] }],
  })
})
