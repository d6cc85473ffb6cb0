import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../test/support/components.ts'
import { TIMES } from '../../test/support/seeds.ts'
import { type HttpResponseData, writeHttpResponse } from '../offchain/http-data.ts'
import { writer } from '../offchain/rpc.ts'
import { BadResult, readHookResult } from './result.ts'

const good: HttpResponseData = { status: 200, headers: [{ name: 'x-a', values: ['1', '2'] }], body: Buffer.from('ok') }
const result = (response: Partial<HttpResponseData>): Uint8Array =>
  writer()
    .u8(0x22)
    .bytes(writeHttpResponse({ ...good, ...response }).done())
    .done()
const header = (name: string, value: string): Partial<HttpResponseData> => ({ headers: [{ name, values: [value] }] })

describe('the result of a hook', () => {
  it('is a response, whatever other sections there are', () => {
    const more = Buffer.concat([writer().u8(1).bytes(Buffer.from('state')).done(), result({})])
    expect(readHookResult(more, 'response', LIMITS).response).toMatchObject({ status: 200, headers: good.headers })
  })

  const rows: [string, Partial<HttpResponseData>, RegExp][] = [
    ['a status that is none', { status: 99 }, /status 99/],
    ['a status that says that nobody answered', { status: 600 }, /status 600/],
    ['a body over the limit', { body: new Uint8Array(LIMITS.responseBytes + 1) }, /limits\.responseBytes/],
    ['a header name with a space', header('a b', '1'), /cannot be sent: "a b"/],
    ['a header without a name', header('', '1'), /cannot be sent/],
    ['a header value with a line break', header('a', '1\r\nset-cookie: x'), /cannot be sent: "a"/],
    ['a header value beyond Latin-1', header('a', '\u0100'), /cannot be sent/],
    [
      'too many headers',
      { headers: Array.from({ length: 200 }, () => ({ name: 'a', values: [] })) },
      /more than 128 headers/,
    ],
    ['too many values', { headers: [{ name: 'a', values: new Array<string>(200).fill('') }] }, /more than 128 headers/],
    ['an informational status', { status: 100 }, /status 100/],
    ['a header name with a line break', header('a\r\nb', '1'), /cannot be sent/],
    ['a header name with a colon', header('a:', '1'), /cannot be sent: "a:"/],
    ['a header value with NUL', header('a', '\0'), /cannot be sent: "a"/],
    [
      'a content type of two values',
      { headers: [{ name: 'content-type', values: ['text/html', 'text/plain'] }] },
      /more than one content-type/,
    ],
    [
      'two content types',
      {
        headers: [header('Content-Type', 'text/html'), header('content-type', 'text/plain')].flatMap(
          (each) => each.headers ?? [],
        ),
      },
      /more than one content-type/,
    ],
    ['a content encoding', header('Content-Encoding', 'gzip'), /has a content-encoding/],
    ['headers that are too long', header('a', 'x'.repeat(40_000)), /more than 32768/],
  ]
  it.each(rows)('is refused with %s', (_name, response, expected) => {
    expect(() => readHookResult(result(response), 'response', LIMITS)).toThrow(expected)
  })

  it('is refused with a list of engines over the limit', () => {
    const engines = (length: number): Uint8Array => writer().u8(0x30).bytes(new Uint8Array(length)).done()
    const { responseBytes } = LIMITS
    expect(readHookResult(engines(responseBytes), 'engines', LIMITS).result.length).toBe(responseBytes)
    expect(() => readHookResult(engines(responseBytes + 1), 'engines', LIMITS)).toThrow(/limits\.responseBytes/)
  })

  it('has the error of the reader as the cause where it cannot be read', () => {
    let thrown: unknown
    try {
      readHookResult(Uint8Array.of(0x22, 0xff), 'response', LIMITS)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(BadResult)
    expect((thrown as BadResult).cause).toBeInstanceOf(Error)
  })

  it('is a BadResult, and nothing else is thrown, for whatever bytes there are', () => {
    const whole = result({})
    const changed = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 5 }).map((changes) => {
      const bytes = Uint8Array.from(whole)
      for (const [at, value] of changes) bytes[at] = value
      return bytes
    })
    fc.assert(
      fc.property(fc.oneof(changed, fc.uint8Array({ maxLength: 100 })), (bytes) => {
        try {
          readHookResult(bytes, 'response', LIMITS)
        } catch (error) {
          expect(error).toBeInstanceOf(BadResult)
        }
      }),
      { numRuns: 500 * TIMES },
    )
  })
})
