import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toBase64url } from './base64url.ts'
import type { JsonObject } from './json.ts'
import { readJws, readJwsPayload, writeJws } from './jws.ts'
import { MalformedError } from './malformed.ts'

const encode = (value: unknown) => toBase64url(typeof value === 'string' ? value : JSON.stringify(value))
const compact = (header: unknown, payload: unknown, signature = 'AAAA') =>
  `${encode(header)}.${encode(payload)}.${signature}`
const LATIN1 = toBase64url(Buffer.from('{"name":"J\u00fcrgen"}', 'latin1'))

describe('a compact JWS', () => {
  it('is taken apart as the example of RFC 7515 appendix A.1 says', () => {
    const header = 'eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9'
    const payload = 'eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ'
    const jws = readJws(`${header}.${payload}.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk`)
    expect(jws.header).toEqual({ typ: 'JWT', alg: 'HS256' })
    expect(jws.payload).toEqual({ iss: 'joe', exp: 1300819380, 'http://example.com/is_root': true })
    expect(jws.signingInput.toString()).toBe(`${header}.${payload}`)
    expect(jws.signature).toHaveLength(32)
  })

  it('has a payload that is read alone, by the same rules', () => {
    expect(readJwsPayload(compact({ alg: 'ES256' }, { sub: 's' }))).toEqual({ sub: 's' })
    for (const text of [
      '',
      'a',
      `${encode({})}.${encode({})}`,
      `${compact({}, {})}.`,
      compact({}, [1]),
      compact({}, '{'),
    ])
      expect(() => readJwsPayload(text)).toThrow(MalformedError)
  })

  it('says what was written', async () => {
    const object = fc.dictionary(
      fc.string({ unit: 'grapheme' }).filter((name) => name !== 'crit' && name !== '__proto__'),
      fc.jsonValue({ maxDepth: 3 }),
    )
    await fc.assert(
      fc.asyncProperty(object, object, fc.uint8Array(), async (header, payload, signature) => {
        let signed: Uint8Array | undefined
        const text = await writeJws(header as JsonObject, payload as JsonObject, (data) => {
          signed = data
          return Promise.resolve(signature)
        })
        const jws = readJws(text)
        expect(JSON.stringify([jws.header, jws.payload])).toBe(JSON.stringify([header, payload]))
        expect(jws.signingInput.equals(signed ?? Buffer.alloc(0))).toBe(true)
        expect(new Uint8Array(jws.signature)).toEqual(signature)
      }),
    )
  })

  it.each<[string, string, RegExp]>([
    ['nothing', '', /three parts/],
    ['one part', 'e30', /three parts/],
    ['two parts', 'e30.e30', /three parts/],
    ['four parts', 'e30.e30.AAAA.AAAA', /three parts/],
    ['five parts, as of a JWE', 'e30.AAAA.AAAA.AAAA.AAAA', /three parts/],
    ['an empty header', '.e30.AAAA', /the header: it is not JSON/],
    ['an empty payload', 'e30..AAAA', /the payload: it is not JSON/],
    ['a header with padding', 'e30=.e30.AAAA', /the header: it is not base64url/],
    ['a header that is an array', compact([], {}), /the header: it is not a JSON object/],
    ['a payload that is a text', compact({}, '"x"'), /the payload: it is not a JSON object/],
    ['a payload that is not JSON', compact({}, 'x'), /the payload: it is not JSON/],
    ['a header in Latin-1', `${LATIN1}.e30.AAAA`, /the header: a text is not UTF-8/],
    ['a payload in Latin-1', `e30.${LATIN1}.AAAA`, /the payload: a text is not UTF-8/],
    ['a doubled header', compact('{"alg":"none","alg":"ES256"}', {}), /the header: alg: this member is there twice/],
    ['a doubled claim', compact({}, '{"cnf":{"jwk":1,"jwk":2}}'), /the payload: cnf\.jwk: this member is there twice/],
    ['a number that would be another', compact({}, '{"a":[1.00000000000000001]}'), /the payload: a\[0\]: this number/],
    ['a signature with a blank', compact({}, {}, 'AA A'), /the signature: it is not base64url/],
    ['a signature with bits that are dropped', compact({}, {}, 'AB'), /the signature: it is not canonical/],
    ['white space around it', ` ${compact({}, {})}`, /the header: it is not base64url/],
    ['characters beyond Latin-1', compact({}, {}).replace('.', '\u012e'), /three parts/],
    ['critical extensions', compact({ alg: 'ES256', crit: ['b64'] }, {}), /critical extensions/],
    ['an empty list of critical extensions', compact({ crit: [] }, {}), /critical extensions/],
    ['a header that is too deep', compact(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`, {}), /the header: it is nested/],
  ])('is not %s', (_, text, why) => {
    expect(() => readJws(text)).toThrow(MalformedError)
    expect(() => readJws(text)).toThrow(why)
  })

  it('without a signature is one all the same; who trusts it is another question', () => {
    expect(readJws(compact({ alg: 'none' }, {}, '')).signature).toHaveLength(0)
  })
})
