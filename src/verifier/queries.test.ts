import { describe, expect, it } from 'vitest'
import { refusalOrTaken } from '../../test/support/refusal.ts'
import type { Json, JsonObject } from '../codec/json.ts'
import { supportedFormats } from '../credential/formats.ts'
import { readNewQuery } from './queries.ts'

const degree: JsonObject = {
  id: 'degree',
  format: 'jwt_vc_json-ld',
  meta: { type_values: [['VerifiableCredential', 'DegreeCredential']] },
  claims: [{ id: 'name', path: ['credentialSubject', 'name'] }],
}

function withCredential(change: JsonObject): JsonObject {
  return { credentials: [{ ...degree, ...change }] }
}

const refusal = (query: unknown): string => refusalOrTaken(() => readNewQuery(query, { trustLists: [] }))

const first = 'dcql_query.credentials[0]'

describe('a query of ours', () => {
  it.each([...supportedFormats])('may ask for the format %s', (format) => {
    expect(refusal({ credentials: [{ id: 'a', format, meta: {} }] })).toBe('taken')
  })

  it.each([...supportedFormats])(
    'of the format %s names the type as the format does, and is not misspelt',
    (format) => {
      const type = { mso_mdoc: 'doctype_value', 'dc+sd-jwt': 'vct_values' }[format] ?? 'type_values'
      const value = { doctype_value: 'A', vct_values: ['A'] }[type] ?? [['A']]
      const asked = (meta: JsonObject) => refusal({ credentials: [{ id: 'a', format, meta }] })
      expect(asked({ [type]: value, more: 1 })).toBe('taken')
      expect(asked({ [type.replace('value', 'valeu')]: value })).toBe(
        `${first}.meta: has nothing that says the type; use ${type}, or an empty object for any type`,
      )
    },
  )

  const supported = `supported: ${supportedFormats.join(', ')}`
  it.each<[JsonObject, string]>([
    [{ format: 'mso_mdoc' }, `${first}.meta.type_values: does not go with this format; use doctype_value`],
    [{ format: 'ldp_vc' }, `${first}.format: must be a known credential format; ${supported}`],
    [{ format: 'constructor' }, `${first}.format: must be a known credential format; ${supported}`],
    [{ format: 7 }, `${first}.format: must be a known credential format; ${supported}`],
    [{ meta: { type_values: [] } }, `${first}.meta.type_values: must be a non-empty array`],
    [{ meta: { type_values: ['A'] } }, `${first}.meta.type_values[0]: must be a non-empty array`],
    [{ meta: { type_values: [['A'], []] } }, `${first}.meta.type_values[1]: must be a non-empty array`],
    [{ meta: { type_values: [['A', 7]] } }, `${first}.meta.type_values[0][1]: must be a non-empty string`],
    [{ meta: { type_values: [['']] } }, `${first}.meta.type_values[0][0]: must be a non-empty string`],
    [{ meta: { vct_values: ['A'] } }, `${first}.meta.vct_values: does not go with this format; use type_values`],
    [
      { format: 'mso_mdoc', meta: { type_values: [['A']] } },
      `${first}.meta.type_values: does not go with this format; use doctype_value`,
    ],
    [
      { format: 'mso_mdoc', meta: {}, claims: [{ path: ['org.iso.18013.5.1', 'portrait', 0] }] },
      `${first}.claims[0].path: must be two strings, a namespace and an element`,
    ],
    [{ meta: { doctype_value: 'A' } }, `${first}.meta.doctype_value: does not go with this format; use type_values`],
  ])('is refused for what we cannot check: %#', (change, expected) => {
    expect(refusal(withCredential(change))).toBe(expected)
  })

  const authorities = `${first}.trusted_authorities`
  const keyId = 's9tIpPmhxdiuNkHMEWNpYim8S8Y'
  const base64url = 'must be a key identifier in base64url without padding'
  it.each<[Json, string]>([
    [[{ type: 'aki', values: [keyId] }], 'taken'],
    [
      [
        { type: 'aki', values: [keyId, 'AAAA', `${'Z'.repeat(85)}A`] },
        { type: 'aki', values: ['AA'], more: 1 },
      ],
      'taken',
    ],
    [[], `${authorities}: must be a non-empty array`],
    [null, `${authorities}: must be a non-empty array`],
    [{ type: 'aki', values: [keyId] }, `${authorities}: must be a non-empty array`],
    [['aki'], `${authorities}[0]: must be an object`],
    [[{ values: [keyId] }], `${authorities}[0].type: must be a non-empty string`],
    [[{ type: 'aki' }], `${authorities}[0].values: must be a non-empty array`],
    [[{ type: 'aki', values: [] }], `${authorities}[0].values: must be a non-empty array`],
    [[{ type: 'aki', values: keyId }], `${authorities}[0].values: must be a non-empty array`],
    [[{ type: 'aki', values: [keyId, 7] }], `${authorities}[0].values[1]: must be a non-empty string`],
    [[{ type: 'aki', values: [''] }], `${authorities}[0].values[0]: must be a non-empty string`],
    [[{ type: 'aki', values: [`${keyId}=`] }], `${authorities}[0].values[0]: ${base64url}`],
    [[{ type: 'aki', values: ['a+/b'] }], `${authorities}[0].values[0]: ${base64url}`],
    [[{ type: 'aki', values: ['AB'] }], `${authorities}[0].values[0]: ${base64url}`],
    [
      [{ type: 'aki', values: [`${'Z'.repeat(86)}A`] }],
      `${authorities}[0].values[0]: has 65 bytes; a key identifier has at most 64`,
    ],
    ...['b3db48a4f9a1c5d8ae3641cc1163696229bc4bc6', 'B3:DB:48:A4:F9:A1:C5:D8:AE:36:41:CC:11:63:69:62:29:BC:4B:C6'].map(
      (hex): [Json, string] => [
        [{ type: 'aki', values: [hex] }],
        `${authorities}[0].values[0]: is hexadecimal; write the bytes of the key identifier as base64url`,
      ],
    ),
    [
      [{ type: 'etsi_tl', values: ['https://lotl.example.com'] }],
      `${authorities}[0].values[0]: is not the url of one of trustLists of this verifier; name a list that it has, or the authorities of the list by aki`,
    ],
    [
      [
        { type: 'aki', values: [keyId] },
        { type: 'openid_federation', values: ['https://anchor.example'] },
      ],
      `${authorities}[1].type: federations are not supported; name the authority above the issuer by aki instead`,
    ],
    [[{ type: 'constructor', values: ['a'] }], `${authorities}[0].type: must be aki or etsi_tl`],
  ])('may name authorities whose certificates can be recognised: %#', (value, expected) => {
    expect(refusal(withCredential({ trusted_authorities: value }))).toBe(expected)
  })

  it('is refused for all that it lacks', () => {
    expect(refusal({ credentials: [{ id: 'a' }] })).toBe(
      `${first}.format: must be a known credential format; ${supported}; ${first}.meta: must be an object; it may be empty`,
    )
  })

  const claim = `${first}.claims[0]`
  it.each<[Json, string]>([
    [{ path: [null] }, `${claim}.path[0]: must be a string, since a credential is an object`],
    [{ path: [0, 'a'] }, `${claim}.path[0]: must be a string, since a credential is an object`],
    [{ path: ['a', '_sd'] }, `${claim}.path[1]: is a member of SD-JWT itself, never a claim`],
    [{ path: ['_sd_alg'] }, `${claim}.path[0]: is a member of SD-JWT itself, never a claim`],
    [{ path: ['a', 0, '...'] }, `${claim}.path[2]: is a member of SD-JWT itself, never a claim`],
  ])('is refused for a claim that no credential has: %#', (value, expected) => {
    expect(refusal(withCredential({ claims: [value] }))).toBe(expected)
  })

  it.each<[Json, string]>([
    [{ path: ['vct', 'a'] }, `${claim}.path: vct is a string, with nothing inside it`],
    [{ path: ['iss', null] }, `${claim}.path: iss is a string, with nothing inside it`],
    [{ path: ['exp', 0] }, `${claim}.path: exp is a number, with nothing inside it`],
    [{ path: ['nbf'], values: ['2026-01-01'] }, `${claim}.values: nbf is a number, and none of these is one`],
    [{ path: ['vct'], values: [1, true] }, `${claim}.values: vct is a string, and none of these is one`],
    [{ path: ['vct'], values: [1, 'urn:a'] }, 'taken'],
    [{ path: ['iat'], values: [1780315200] }, 'taken'],
    [{ path: ['iss'] }, 'taken'],
    [{ path: ['address', 'iss', 'a'] }, 'taken'],
    [{ path: ['cnf', 'jwk', 'kty'] }, 'taken'],
  ])('is refused for what no SD-JWT VC has: %#', (value, expected) => {
    const sdJwtVc = { format: 'dc+sd-jwt', meta: {}, claims: [value] }
    expect(refusal(withCredential(sdJwtVc))).toBe(expected)
  })

  const contradicts = `${first}.claims[1].path: contradicts ${claim}, so that no credential can have both; remove one`
  it.each<[Json, Json, string]>([
    [{ path: ['a', 'b'] }, { path: ['a', 0] }, contradicts],
    [{ path: ['a', null, 'b'] }, { path: ['a', 'c'] }, contradicts],
    [{ path: ['a'], values: ['x'] }, { path: ['a', 'b'] }, contradicts],
    [{ path: ['a', 'b'] }, { path: ['a'], values: ['x'] }, contradicts],
    [{ path: ['a', 0] }, { path: ['a', null] }, 'taken'],
    [{ path: ['a', '0'] }, { path: ['b', 0] }, 'taken'],
    [{ path: ['a', 'b'], values: ['x'] }, { path: ['a'] }, 'taken'],
  ])('is refused for claims that no credential has together: %#', (one, other, expected) => {
    expect(refusal(withCredential({ claims: [one, other] }))).toBe(expected)
  })

  it.each<[Json[], Json[], boolean]>([
    // The value null stands for every element, so that one that is addressed by its index is among them.
    [['a', null, 'b'], ['a', 0, 1], true],
    [['a', 2, 'b'], ['a', null, null], true],
    [['a', null, 'b', 0], ['a', 0, 'b', 'c'], true],
    [['a', 0, 'b'], ['a', 1, 2], false],
    // Either may select something that the other does not.
    [['a', null, 1, 'x'], ['a', 0, null, 0], false],
    [['a', null, 'b'], ['b', 0, 1], false],
  ])('is refused where all elements cannot be both: %j and %j', (one, other, refused) => {
    for (const paths of [
      [one, other],
      [other, one],
    ]) {
      const claims = paths.map((path) => ({ path }))
      expect(refusal(withCredential({ claims }))).toBe(refused ? contradicts : 'taken')
    }
  })

  it.each<[Json, Json, boolean]>([
    [{ path: ['a', 0], values: ['x'] }, { path: ['a', null, 'b'] }, true],
    [{ path: ['a', null], values: ['x'] }, { path: ['a', null, 'b'] }, true],
    // Another element may be the value.
    [{ path: ['a', null], values: ['x'] }, { path: ['a', 0, 'b'] }, false],
    [{ path: ['a', null], values: ['x'] }, { path: ['a', 0], values: ['y'] }, false],
  ])('is refused where an element cannot be a value and have others: %#', (one, other, refused) => {
    expect(refusal(withCredential({ claims: [one, other] }))).toBe(refused ? contradicts : 'taken')
  })

  it('is refused for a claim set that no credential can have, whatever the others are', () => {
    const claims = [
      { id: 'a', path: ['a'], values: ['x'] },
      { id: 'c', path: ['c'] },
      { id: 'b', path: ['a', 'b'] },
    ]
    expect(refusal(withCredential({ claims, claim_sets: [['a', 'c'], ['b', 'c', 'a'], ['b']] }))).toBe(
      `${first}.claim_sets[1]: claims[2] contradicts claims[0], so that no credential can have both; take one out`,
    )
  })

  it.each<[Json, string]>([
    [{ path: ['iss'] }, 'path[0]: is not a member of a W3C credential; ask for issuer'],
    [{ path: ['exp'], values: [1] }, 'path[0]: is not a member of a W3C credential; ask for validUntil'],
    [
      { path: ['cnf', 'jwk', 'x'] },
      'path[0]: is not a member of a W3C credential; the binding to its holder is verified anyway',
    ],
    [{ path: ['status', 'status_list'] }, 'path[0]: is not a member of a W3C credential; it is looked at anyway'],
    [
      { path: ['vc', 'credentialSubject', 'a'] },
      'path[0]: is not a member of a W3C credential; paths begin inside vc, so leave it out',
    ],
    [
      { path: ['credentialSubject'], values: ['x'] },
      'values: credentialSubject is an object; ask for a claim inside it',
    ],
    [{ path: ['validUntil'], values: [1, true] }, 'values: validUntil is a text, and none of these is one'],
    [{ path: ['validUntil'], values: [1, '2030-01-01T00:00:00Z'] }, 'taken'],
    [{ path: ['credentialSubject', 'iss'], values: [1] }, 'taken'],
    [{ path: ['credentialSubject', 'id'], values: [1] }, 'taken'],
    [{ path: ['issuer'], values: ['https://issuer.example'] }, 'taken'],
    [{ path: ['constructor'] }, 'taken'],
  ])('is refused for a claim that is nowhere in a W3C credential: %#', (value, expected) => {
    expect(refusal(withCredential({ claims: [value] }))).toBe(expected === 'taken' ? expected : `${claim}.${expected}`)
  })

  it('may have contradictions that claim sets make alternatives', () => {
    const claims = [
      { id: 'a', path: ['a'], values: ['x'] },
      { id: 'b', path: ['a', 'b'] },
    ]
    expect(refusal(withCredential({ claims, claim_sets: [['a'], ['b']] }))).toBe('taken')
  })
})
