import * as Type from 'typebox'
import { describe, expect, it } from 'vitest'
import { checkSettings } from './common.ts'
import { findTelemetryMistakes, resolveTelemetry, TelemetrySetting } from './telemetry.ts'

const endpoint = 'https://collector.example'

describe('telemetry', () => {
  it.each([
    { endpoint },
    { endpoint: 'http://collector:4318' },
    { endpoint: 'http://127.0.0.1:4318/' },
    { endpoint: 'https://collector.example/api/otlp/' },
    { endpoint, headers: { Authorization: 'Basic dXNlcjpwYXNz', 'x-scope-orgid': '1' } },
  ])('may be %j', (setting) => {
    expect(findTelemetryMistakes(setting)).toEqual([])
  })

  it.each([
    [{ endpoint: 'collector:4318' }, /^telemetry\.endpoint: it must begin with https/],
    [{ endpoint: 'no address' }, /^telemetry\.endpoint: it is not a URL; write it like http:\/\/collector:4318/],
    [{ endpoint: 'grpc://collector:4317' }, /^telemetry\.endpoint: it must begin with https/],
    [{ endpoint: 'http://collector.example:4318' }, /^telemetry\.endpoint: http is for hosts of the own network only/],
    [
      { endpoint: 'https://a:planted@collector.example' },
      /^telemetry\.endpoint: it must not contain a user .* use headers/,
    ],
    [{ endpoint: `${endpoint}/?key=planted` }, /^telemetry\.endpoint: it must not have a query/],
    [{ endpoint: `${endpoint}/#a` }, /^telemetry\.endpoint: it must not have a fragment/],
    [{ endpoint: `${endpoint}/v1/traces` }, /^telemetry\.endpoint: leave out \/v1\/traces/],
    [{ endpoint: `${endpoint}/v1/logs/` }, /^telemetry\.endpoint: leave out/],
    [{ endpoint, headers: { 'x y': 'planted' } }, /^telemetry\.headers: header 1 of 1 has a name that cannot be sent/],
    [{ endpoint, headers: { '': 'planted' } }, /^telemetry\.headers: header 1 of 1 has a name/],
    [{ endpoint, headers: { a: 'b', key: 'planted\n' } }, /^telemetry\.headers: header 2 of 2: key has a value/],
    [{ endpoint, headers: { key: '' } }, /^telemetry\.headers: header 1 of 1: key has a value/],
    [
      { endpoint, headers: { 'Content-Type': 'planted' } },
      /^telemetry\.headers: header 1 of 1: Content-Type is set by/,
    ],
  ])('may not be %j', (setting, mistake) => {
    expect(findTelemetryMistakes(setting)).toEqual([expect.stringMatching(mistake)])
    expect(findTelemetryMistakes(setting).join()).not.toContain('planted')
  })

  it.each([
    [{}, /telemetry.*endpoint/],
    [{ endpoint, sampleRatio: 1.1 }, /telemetry\.sampleRatio/],
    [{ endpoint, sampleRatio: -0.1 }, /telemetry\.sampleRatio/],
    [{ endpoint, serviceName: '' }, /telemetry\.serviceName/],
    [{ endpoint, logs: 'no' }, /telemetry\.logs/],
    [{ endpoint, header: {} }, /telemetry.*header/],
    [{ endpoint, headers: { a: 1 } }, /telemetry\.headers/],
  ])('of another form, %j, is refused by the path of its member', (telemetry, mistake) => {
    const schema = Type.Object({ telemetry: TelemetrySetting })
    expect(checkSettings(schema, { telemetry }).mistakes.join()).toMatch(mistake)
  })

  it('has an address without a slash at its end, keeps all traces and sends the log where nothing else is said', () => {
    expect(resolveTelemetry({ endpoint: `${endpoint}/otlp//` })).toEqual({
      ...{ endpoint: `${endpoint}/otlp`, headers: {}, serviceName: undefined, sampleRatio: 1, logs: true },
    })
    expect(resolveTelemetry({ endpoint, sampleRatio: 0, logs: false })).toMatchObject({ sampleRatio: 0, logs: false })
  })
})
