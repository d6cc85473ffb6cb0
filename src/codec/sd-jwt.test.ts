import { createHash, createPublicKey, randomBytes, verify } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toBase64url } from './base64url.ts'
import { digestOf } from './digest.ts'
import { type Json, type JsonObject, parseJson } from './json.ts'
import { MalformedError } from './malformed.ts'
import { type ClaimPosition, completeSdJwt, concealClaims, readSdJwt, revealClaims } from './sd-jwt.ts'

/** A disclosure with a fixed salt. */
const disclosure = (...content: Json[]) => toBase64url(JSON.stringify(['salt', ...content]))
const given = disclosure('given_name', 'John')
const jwt = `${toBase64url('{"alg":"ES256"}')}.${toBase64url('{"iss":"x"}')}.AAAA`

describe('the examples of RFC 9901', () => {
  // Section 5.2, with the keys of appendix A.5.
  const PRESENTATION =
    'eyJhbGciOiAiRVMyNTYiLCAidHlwIjogImV4YW1wbGUrc2Qtand0In0.eyJfc2QiOiBbIkNyUWU3UzVrcUJBSHQtbk1ZWGdjNmJkdDJTSDVhVFkx' +
    'c1VfTS1QZ2tqUEkiLCAiSnpZakg0c3ZsaUgwUjNQeUVNZmVadTZKdDY5dTVxZWhabzdGN0VQWWxTRSIsICJQb3JGYnBLdVZ1Nnh5bUphZ3ZrRnN' +
    'GWEFiUm9jMkpHbEFVQTJCQTRvN2NJIiwgIlRHZjRvTGJnd2Q1SlFhSHlLVlFaVTlVZEdFMHc1cnREc3JaemZVYW9tTG8iLCAiWFFfM2tQS3QxWH' +
    'lYN0tBTmtxVlI2eVoyVmE1TnJQSXZQWWJ5TXZSS0JNTSIsICJYekZyendzY002R242Q0pEYzZ2Vks4QmtNbmZHOHZPU0tmcFBJWmRBZmRFIiwgI' +
    'mdiT3NJNEVkcTJ4Mkt3LXc1d1BFemFrb2I5aFYxY1JEMEFUTjNvUUw5Sk0iLCAianN1OXlWdWx3UVFsaEZsTV8zSmx6TWFTRnpnbGhRRzBEcGZh' +
    'eVF3TFVLNCJdLCAiaXNzIjogImh0dHBzOi8vaXNzdWVyLmV4YW1wbGUuY29tIiwgImlhdCI6IDE2ODMwMDAwMDAsICJleHAiOiAxODgzMDAwMDA' +
    'wLCAic3ViIjogInVzZXJfNDIiLCAibmF0aW9uYWxpdGllcyI6IFt7Ii4uLiI6ICJwRm5kamtaX1ZDem15VGE2VWpsWm8zZGgta284YUlLUWM5RG' +
    'xHemhhVllvIn0sIHsiLi4uIjogIjdDZjZKa1B1ZHJ5M2xjYndIZ2VaOGtoQXYxVTFPU2xlclAwVmtCSnJXWjAifV0sICJfc2RfYWxnIjogInNoY' +
    'S0yNTYiLCAiY25mIjogeyJqd2siOiB7Imt0eSI6ICJFQyIsICJjcnYiOiAiUC0yNTYiLCAieCI6ICJUQ0FFUjE5WnZ1M09IRjRqNFc0dmZTVm9I' +
    'SVAxSUxpbERsczd2Q2VHZW1jIiwgInkiOiAiWnhqaVdXYlpNUUdIVldLVlE0aGJTSWlyc1ZmdWVjQ0U2dDRqVDlGMkhaUSJ9fX0.MczwjBFGtzf' +
    '-6WMT-hIvYbkb11NrV1WMO-jTijpMPNbswNzZ87wY2uHz-CXo6R04b7jYrpj9mNRAvVssXou1iw~WyJlbHVWNU9nM2dTTklJOEVZbnN4QV9BIiw' +
    'gImZhbWlseV9uYW1lIiwgIkRvZSJd~WyJBSngtMDk1VlBycFR0TjRRTU9xUk9BIiwgImFkZHJlc3MiLCB7InN0cmVldF9hZGRyZXNzIjogIjEyMy' +
    'BNYWluIFN0IiwgImxvY2FsaXR5IjogIkFueXRvd24iLCAicmVnaW9uIjogIkFueXN0YXRlIiwgImNvdW50cnkiOiAiVVMifV0~WyIyR0xDNDJzS1' +
    'F2ZUNmR2ZyeU5STjl3IiwgImdpdmVuX25hbWUiLCAiSm9obiJd~WyJsa2x4RjVqTVlsR1RQVW92TU5JdkNBIiwgIlVTIl0~eyJhbGciOiAiRVMyN' +
    'TYiLCAidHlwIjogImtiK2p3dCJ9.eyJub25jZSI6ICIxMjM0NTY3ODkwIiwgImF1ZCI6ICJodHRwczovL3ZlcmlmaWVyLmV4YW1wbGUub3JnIiwg' +
    'ImlhdCI6IDE3NDg1MzcyNDQsICJzZF9oYXNoIjogIjBfQWYtMkItRWhMV1g1eWRoX3cyeHp3bU82aU02NkJfMlFDRWFuSTRmVVkifQ.T3SIus2O' +
    'idNl41nmVkTZVCKKhOAX97aOldMyHFiYjHm261eLiJ1YiuONFiMN8QlCmYzDlBLAdPvrXh52KaLgUQ'
  const ISSUER_KEY = {
    kty: 'EC',
    crv: 'P-256',
    x: 'b28d4MwZMjw8-00CG4xfnn9SLMVMM19SlqZpVb_uNtQ',
    y: 'Xv5zWwuoaTgdS6hV43yI6gBwTnjukmFQQnJ_kCxzqk8',
  }
  const isSigned = (jws: { readonly signingInput: Buffer; readonly signature: Buffer }, jwk: object) =>
    verify(
      'sha256',
      jws.signingInput,
      { key: createPublicKey({ key: jwk as never, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
      jws.signature,
    )

  it('section 5.1: digests of disclosures', () => {
    const digests: Readonly<Record<string, string>> = {
      WyIyR0xDNDJzS1F2ZUNmR2ZyeU5STjl3IiwgImdpdmVuX25hbWUiLCAiSm9obiJd: 'jsu9yVulwQQlhFlM_3JlzMaSFzglhQG0DpfayQwLUK4',
      WyJlbHVWNU9nM2dTTklJOEVZbnN4QV9BIiwgImZhbWlseV9uYW1lIiwgIkRvZSJd: 'TGf4oLbgwd5JQaHyKVQZU9UdGE0w5rtDsrZzfUaomLo',
      WyJsa2x4RjVqTVlsR1RQVW92TU5JdkNBIiwgIlVTIl0: 'pFndjkZ_VCzmyTa6UjlZo3dh-ko8aIKQc9DlGzhaVYo',
      WyJlbHVWNU9nM2dTTklJOEVZbnN4QV9BIiwgImdpdmVuX25hbWUiLCAiXHU1OTJhXHU5MGNlIl0:
        'ommFAicVT8LGHCB0uywx7fYuo3MHYKO15cz-RZEYM5Q',
    }
    for (const [text, digest] of Object.entries(digests)) expect(digestOf(text)).toBe(digest)
  })

  it('section 5.2: a presentation with a key binding', () => {
    const { jws, disclosures, keyBinding, sdHashInput: bound } = readSdJwt(PRESENTATION)
    expect(jws.header).toEqual({ alg: 'ES256', typ: 'example+sd-jwt' })
    expect(isSigned(jws, ISSUER_KEY)).toBe(true)
    expect(keyBinding?.header).toEqual({ alg: 'ES256', typ: 'kb+jwt' })
    expect(keyBinding?.payload.sd_hash).toBe(digestOf(bound))
    const { claims, appliedDisclosures: disclosed } = revealClaims(jws.payload, disclosures)
    const { jwk } = claims.cnf as { jwk: JsonObject }
    expect(keyBinding && isSigned(keyBinding, jwk)).toBe(true)
    expect(claims).toEqual({
      iss: 'https://issuer.example.com',
      iat: 1683000000,
      exp: 1883000000,
      sub: 'user_42',
      nationalities: ['US'],
      cnf: { jwk },
      family_name: 'Doe',
      given_name: 'John',
      address: { street_address: '123 Main St', locality: 'Anytown', region: 'Anystate', country: 'US' },
    })
    expect(disclosed.map(({ position }) => position.join('.')).sort()).toEqual([
      'address',
      'family_name',
      'given_name',
      'nationalities.0',
    ])
  })

  it('section 4.2.1: one claim can be disclosed by several texts, each with its own digest', () => {
    const texts = [
      '["_26bc4LT-ac6q2KI6cBW5es", "family_name", "Möbius"]',
      '["_26bc4LT-ac6q2KI6cBW5es","family_name","M\\u00f6bius"]',
    ]
    for (const text of texts.map((each) => toBase64url(each))) {
      expect(revealClaims({ _sd: [digestOf(text)] }, [text]).claims).toEqual({ family_name: 'Möbius' })
    }
    expect(toBase64url(texts[0] ?? '')).toBe('WyJfMjZiYzRMVC1hYzZxMktJNmNCVzVlcyIsICJmYW1pbHlfbmFtZSIsICJNw7ZiaXVzIl0')
  })
})

describe('the text of an SD-JWT', () => {
  it.each<[string, string, readonly string[], string]>([
    ['a JWT and a tilde', `${jwt}~`, [], `${jwt}~`],
    ['a JWT and disclosures', `${jwt}~${given}~x~`, [given, 'x'], `${jwt}~${given}~x~`],
    ['an empty disclosure, which is one', `${jwt}~~`, [''], `${jwt}~~`],
  ])('is %s', (_, text, disclosures, sdHashInput) => {
    expect(readSdJwt(text)).toMatchObject({ disclosures, sdHashInput, keyBinding: undefined })
  })

  it('gets its tilde where a credential is a plain JWT', () => {
    expect([jwt, `${jwt}~`, `${jwt}~${given}~`].map(completeSdJwt)).toEqual([`${jwt}~`, `${jwt}~`, `${jwt}~${given}~`])
  })

  it('has the key binding behind the last tilde', () => {
    const { keyBinding, sdHashInput: bound } = readSdJwt(`${jwt}~${given}~${jwt}`)
    expect(keyBinding?.payload).toEqual({ iss: 'x' })
    expect(bound).toBe(`${jwt}~${given}~`)
  })

  it.each<[string, string]>([
    ['nothing', ''],
    ['a JWT alone', jwt],
    ['a tilde', '~'],
    ['a disclosure without a JWT', `~${given}~`],
    ['a JWT and a disclosure without a tilde behind it', `${jwt}~${given}`],
    ['a JWT and a key binding with two dots too many', `${jwt}~${jwt}.a.b`],
    ['more than 2000 disclosures', `${jwt}~${'x~'.repeat(2001)}`],
  ])('is not %s', (_, text) => expect(() => readSdJwt(text)).toThrow(MalformedError))

  it('may have 2000 disclosures', () => expect(readSdJwt(`${jwt}~${'x~'.repeat(2000)}`).disclosures).toHaveLength(2000))
})

describe('what RFC 9901 section 7.1 rejects', () => {
  const member = (text: string): JsonObject => ({ _sd: [digestOf(text)] })
  const element = (text: string): JsonObject => ({ list: [{ '...': digestOf(text) }] })
  const raw = (text: string) => toBase64url(text)
  const latin1 = toBase64url(Buffer.from('["salt","name","J\u00fcrgen"]', 'latin1'))
  const [doubled, long] = ['["salt","a",{"b":1,"b":2}]', '["salt","a",12345678901234567890]']
  const end = disclosure('end')
  const chain = Array.from({ length: 40 }).reduce<string[]>(
    (texts) => [...texts, disclosure([{ '...': digestOf(texts.at(-1) ?? '') }])],
    [end],
  )

  it.each<[string, JsonObject, readonly string[], RegExp]>([
    ['a hash that is not known', { _sd_alg: 'md5' }, [], /_sd_alg is not one of sha-256, sha-384, sha-512/],
    ['a hash by the name of a member of every object', { _sd_alg: 'constructor' }, [], /_sd_alg/],
    ['a digest by another hash', { _sd: [digestOf(given)], _sd_alg: 'sha-512' }, [given], /not referred to/],
    ['a hash in capital letters', { _sd_alg: 'SHA-256' }, [], /_sd_alg/],
    ['a hash that is null', { _sd_alg: null }, [], /_sd_alg/],
    ['_sd that is not an array', { _sd: digestOf(given) }, [given], /_sd is not an array/],
    ['_sd that is null', { _sd: null }, [], /_sd is not an array/],
    ['_sd that is not an array, inside', { a: [{ _sd: {} }] }, [], /_sd is not an array/],
    ['a digest that is a number', { _sd: [1] }, [], /a digest is not a string/],
    ['a digest in an array that is null', { a: [{ '...': null }] }, [], /a digest is not a string/],
    ['a member named "..."', { '...': 'x' }, [], /named "\.\.\."/],
    [
      'a member named "..." inside a disclosure',
      member(disclosure('a', { b: { '...': 'x' } })),
      [disclosure('a', { b: { '...': 'x' } })],
      /named "\.\.\."/,
    ],
    ['an element with a digest and more', { a: [{ '...': 'x', b: 1 }] }, [], /other members/],
    ['a claim named _sd', member(disclosure('_sd', [])), [disclosure('_sd', [])], /for a claim named _sd/],
    ['a claim named "..."', member(disclosure('...', 1)), [disclosure('...', 1)], /for a claim named \.\.\./],
    ['a claim that is there', { ...member(given), given_name: 'x' }, [given], /is there already/],
    [
      'a claim that is disclosed twice',
      { _sd: [digestOf(given), digestOf(disclosure('given_name', 'J'))] },
      [given, disclosure('given_name', 'J')],
      /is there already/,
    ],
    ['a member for an element', element(given), [given], /used for an array element/],
    ['an element for a member', member(end), [end], /used for an object member/],
    ['a digest twice in one object', { _sd: [digestOf(given), digestOf(given)] }, [given], /a digest occurs twice/],
    ['a digest twice, without a disclosure', { _sd: ['x', 'x'] }, [], /a digest occurs twice/],
    ['a digest in two objects', { ...member(given), a: member(given) }, [given], /a digest occurs twice/],
    [
      'a digest in an object and an array',
      { ...member(end), ...element(end) },
      [end],
      /a digest occurs twice|array element/,
    ],
    [
      'a digest in the clear and in a disclosure',
      { _sd: [digestOf(disclosure('a', { _sd: ['x'] })), 'x'] },
      [disclosure('a', { _sd: ['x'] })],
      /a digest occurs twice/,
    ],
    ['a disclosure nobody refers to', {}, [given], /not referred to/],
    [
      'a disclosure that only an undisclosed one refers to',
      member(disclosure('a', member(given))),
      [given],
      /not referred to/,
    ],
    ['a disclosure twice', member(given), [given, given], /sent twice/],
    ['an empty disclosure', member(''), [''], /not JSON/],
    ['a disclosure that is not base64url', member('+'), ['+'], /not base64url/],
    ['a disclosure that is not canonical', member('WyJzYWx0IiwieCJd='), ['WyJzYWx0IiwieCJd='], /not base64url/],
    ['a disclosure that is not JSON', member(raw('x')), [raw('x')], /not JSON/],
    ['a disclosure in Latin-1', member(latin1), [latin1], /not UTF-8/],
    [
      'a disclosure with a doubled member',
      member(raw(doubled)),
      [raw(doubled)],
      /^\[2\]\.b: this member is there twice/,
    ],
    ['a disclosure of a number that would be another', member(raw(long)), [raw(long)], /^\[2\]: this number/],
    ['a disclosure that is an object', member(raw('{}')), [raw('{}')], /not \[salt/],
    ['a disclosure without a salt', member(raw('[]')), [raw('[]')], /not \[salt/],
    ['a disclosure with only a salt', member(disclosure()), [disclosure()], /not \[salt, name, value\]/],
    ['a disclosure of four', member(disclosure('a', 1, 2)), [disclosure('a', 1, 2)], /not \[salt, name, value\]/],
    ['a salt that is a number', member(raw('[1,"a",1]')), [raw('[1,"a",1]')], /not \[salt/],
    ['a name that is a number', member(disclosure(1, 1)), [disclosure(1, 1)], /not \[salt, name, value\]/],
    ['a name that is null', member(disclosure(null, 1)), [disclosure(null, 1)], /not \[salt, name, value\]/],
    ['disclosures that lead too deep', element(chain.at(-1) ?? ''), chain, /deeper than 32/],
  ])('%s', (_, payload, texts, why) => {
    expect(() => revealClaims(payload, texts)).toThrow(MalformedError)
    expect(() => revealClaims(payload, texts)).toThrow(why)
  })

  it('but not digests without a disclosure (decoys), nor claims of the same name elsewhere', () => {
    const payload = {
      _sd: ['decoy', digestOf(given)],
      list: [{ '...': 'decoy 2' }, 1],
      inside: { given_name: 'x', _sd: [] },
    }
    expect(revealClaims(payload, [given]).claims).toEqual({
      given_name: 'John',
      list: [1],
      inside: { given_name: 'x' },
    })
  })

  it('nor hidden elements, for which an array may have holes, in which nothing is', () => {
    const shown = disclosure('second')
    const payload = { list: [{ '...': 'hidden' }, { '...': digestOf(shown) }, 'third', { '...': 'hidden too' }] }
    const { claims, appliedDisclosures } = revealClaims(payload, [shown], 'holes')
    const list = claims.list as readonly Json[]
    expect([list.length, Object.keys(list)]).toEqual([4, ['1', '2']])
    expect(appliedDisclosures.map(({ position }) => position)).toEqual([['list', 1]])
  })

  it('nor _sd_alg below the root, where it is a claim', () => {
    expect(revealClaims({ a: { _sd_alg: 'x' } }, []).claims).toEqual({ a: { _sd_alg: 'x' } })
  })
})

describe('concealing and revealing', () => {
  const name = fc
    .oneof(
      fc.string({ unit: 'grapheme', maxLength: 5 }),
      fc.constantFrom('constructor', '__proto__', 'toString', '', '0'),
    )
    .filter((text) => text !== '_sd' && text !== '_sd_alg' && text !== '...')
  const claims = fc
    .dictionary(
      name,
      fc.letrec<{ tree: Json }>((tie) => ({
        tree: fc.oneof(
          { maxDepth: 4, depthIdentifier: 'sd' },
          fc.oneof(fc.string({ unit: 'binary' }), fc.integer(), fc.boolean(), fc.constant(null)),
          fc.array(tie('tree'), { maxLength: 4, depthIdentifier: 'sd' }),
          fc.dictionary(name, tie('tree'), { maxKeys: 4, depthIdentifier: 'sd' }),
        ),
      })).tree,
      { maxKeys: 5 },
    )
    .map((value) => parseJson(JSON.stringify(value)) as JsonObject)

  it('gives the claims back, whichever are concealed', () => {
    fc.assert(
      fc.property(claims, fc.func(fc.boolean()), (original, choose) => {
        const { payload, disclosures } = concealClaims(original, (position) => choose(position.join('/')), randomBytes)
        const sent = parseJson(JSON.stringify(payload)) as JsonObject
        const { claims: revealed, appliedDisclosures: disclosed } = revealClaims(sent, disclosures)
        expect(JSON.stringify(sorted(revealed))).toBe(JSON.stringify(sorted(original)))
        expect(disclosed.map(({ text }) => text).sort()).toEqual([...disclosures].sort())
      }),
    )
  })

  it('reveals parents before children, and each claim where it stands', () => {
    fc.assert(
      fc.property(claims, (original) => {
        const { payload, disclosures } = concealClaims(original, () => true, randomBytes)
        const { appliedDisclosures: disclosed } = revealClaims(payload, disclosures)
        const before = new Set<string>([''])
        for (const { position, text } of disclosed) {
          const [parent, here] = [position.slice(0, -1), position].map((each) =>
            each.map((step) => `/${step}`).join(''),
          )
          expect(before.has(parent ?? '')).toBe(true)
          before.add(here ?? '')
          const content = parseJson(Buffer.from(text, 'base64url').toString()) as Json[]
          if (content.length === 3) expect(content[1]).toBe(position.at(-1))
        }
      }),
    )
  })

  it('shows nothing of what is not disclosed, and only what stands in the clear', () => {
    // With spaces, which no digest has by chance.
    const original = {
      'the name': 'Ada Lovelace',
      'the degrees': ['B Sc', 'M Sc'],
      address: { city: 'London, Marylebone' },
    }
    const { payload, disclosures } = concealClaims(original, (position) => position.length === 1, randomBytes)
    expect(revealClaims(payload, []).claims).toEqual({})
    expect(JSON.stringify(payload)).not.toMatch(/the name|Ada Lovelace|the degrees|[BM] Sc|London, /)
    expect(disclosures).toHaveLength(3)
    expect(payload._sd_alg).toBe('sha-256')
    expect(payload._sd).toEqual([...(payload._sd as string[])].sort())
  })

  it('has a salt of 128 bits for each, and leaves what is not concealed as it was', () => {
    const asked: number[] = []
    const random = (bytes: number) => {
      asked.push(bytes)
      return randomBytes(bytes)
    }
    const { payload, disclosures } = concealClaims(
      { a: 1, b: [1, 2], c: {} },
      (position: ClaimPosition) => position[0] === 'b',
      random,
    )
    expect(asked).toEqual([16, 16, 16])
    const salts = disclosures.map((text) => (parseJson(Buffer.from(text, 'base64url').toString()) as string[])[0])
    expect(new Set(salts).size).toBe(3)
    expect(payload).toMatchObject({ a: 1, c: {} })
    expect(concealClaims({ a: 1 }, () => false, random)).toEqual({ payload: { a: 1 }, disclosures: [] })
  })

  it('hashes the text of a disclosure, not what it says', () => {
    expect(digestOf(given)).toBe(createHash('sha256').update(given, 'ascii').digest('base64url'))
  })
})

/** Sorts the members, __proto__ among them, which toEqual does not look at. */
function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, member]) => [key, sorted(member)] as const)
  return entries.sort(([a], [b]) => (a < b ? -1 : 1)) as unknown as Json
}
