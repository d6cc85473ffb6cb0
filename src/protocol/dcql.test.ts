import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { partOfLimit } from '../../test/support/processor-time.ts'
import { refusalOrTaken } from '../../test/support/refusal.ts'
import { TIMES } from '../../test/support/seeds.ts'
import type { Json, JsonObject } from '../codec/json.ts'
import { readDcqlQuery } from './dcql.ts'

const degree: JsonObject = {
  id: 'degree',
  format: 'jwt_vc_json-ld',
  meta: { type_values: [['VerifiableCredential', 'DegreeCredential']] },
  claims: [{ id: 'name', path: ['credentialSubject', 'name'] }],
}

function withCredential(change: Json): JsonObject {
  return { credentials: [{ ...degree, ...(change as JsonObject) }] }
}

function withClaims(...claims: Json[]): JsonObject {
  return withCredential({ claims })
}

function withSets(...credential_sets: Json[]): JsonObject {
  return { credentials: [degree, { ...degree, id: 'other' }], credential_sets }
}

const refusal = (query: unknown): string => refusalOrTaken(() => readDcqlQuery(query))

const many = (n: number, make: (i: number) => Json): Json[] => Array.from({ length: n }, (_, i) => make(i))

describe('a query is taken as posted', () => {
  it.each<[string, JsonObject]>([
    ['the smallest one', { credentials: [{ id: 'a', format: 'vc+sd-jwt', meta: {} }] }],
    ['one credential with a claim', { credentials: [degree] }],
    [
      'unknown properties everywhere',
      { x: 1, credentials: [{ ...degree, y: [null], claims: [{ path: ['a'], z: {} }] }] },
    ],
    ['booleans', withCredential({ multiple: true, require_cryptographic_holder_binding: false })],
    ['null and indices', withClaims({ path: ['a', null, 'b'] }, { path: ['c', 0] }, { path: ['c', 1, null] })],
    ['values of each type', withClaims({ path: ['a'], values: ['x', 0, -7, true, ''] })],
    ['the same claim in two credentials', { credentials: [degree, { ...degree, id: 'again' }] }],
    ['a claim and one inside it', withClaims({ path: ['address'] }, { path: ['address', 'street'] })],
    ['a text as long as may be', withCredential({ format: 'a'.repeat(1024) })],
    ['the empty name as a step', withClaims({ path: [''] })],
    ['names that objects inherit', withClaims({ path: ['__proto__'] }, { path: ['constructor', 'toString'] })],
    [
      'ids that objects inherit',
      {
        credentials: [
          { ...degree, id: 'constructor' },
          { ...degree, id: '__proto__' },
        ],
      },
    ],
    [
      'claim sets',
      withCredential({
        claims: [
          { id: 'a', path: ['a'] },
          { id: 'b', path: ['b'] },
        ],
        claim_sets: [['a', 'b'], ['b']],
      }),
    ],
    [
      'contradictions that claim sets make alternatives',
      withCredential({
        claims: [
          { id: 'a', path: ['a'], values: ['x'] },
          { id: 'b', path: ['a', 'b'] },
        ],
        claim_sets: [['a'], ['b']],
      }),
    ],
    [
      'credential sets',
      withSets({ options: [['degree'], ['other', 'degree']] }, { options: [['other']], required: false }),
    ],
    [
      'as much as is allowed',
      withClaims(...many(100, (i) => ({ path: [String(i), ...many(31, () => 'a'.repeat(9))] }))),
    ],
  ])('%s', (_, query) => {
    const before = JSON.stringify(query)
    expect(readDcqlQuery(query)).toBe(query)
    expect(JSON.stringify(query)).toBe(before)
  })

  it('without what it inherits', () => {
    const inherited = { credential_sets: 'x', claims: 'x', claim_sets: 'x', multiple: 'x', values: 'x' }
    const query: unknown = Object.assign(Object.create(inherited), {
      credentials: [Object.assign(Object.create(inherited), degree)],
    })
    expect(readDcqlQuery(query)).toBe(query)
  })

  it('that JSON.parse gave a member __proto__', () => {
    const query: unknown = JSON.parse(
      '{"__proto__": {"credential_sets": 1}, "credentials": [{"id": "a", "format": "vc+sd-jwt", "meta": {}}]}',
    )
    expect(readDcqlQuery(query)).toBe(query)
  })

  it.each<[string, JsonObject]>([
    ['in a format that we do not know', { format: 'constructor' }],
    ['whose meta is that of another format', { format: 'mso_mdoc', meta: { doctype_value: 7 } }],
    ['of certain authorities only', { trusted_authorities: [{ type: 'aki', values: ['x'] }] }],
    ['with claims that no credential has', { claims: [{ path: [0] }, { path: [null, '_sd'] }, { path: ['_sd'] }] }],
    [
      'with claims that no credential has together',
      { claims: [{ path: ['a', 0] }, { path: ['a', 'b'] }, { path: ['a'], values: [1] }] },
    ],
  ])('%s, for a wallet to answer as it can', (_, change) => {
    expect(refusal(withCredential(change))).toBe('taken')
  })
})

const first = 'dcql_query.credentials[0]'

describe('a mistake is refused with its path', () => {
  it.each<[unknown, string]>([
    [undefined, 'dcql_query: must be an object'],
    [null, 'dcql_query: must be an object'],
    [[degree], 'dcql_query: must be an object'],
    ['{}', 'dcql_query: must be an object'],
    [{}, 'dcql_query.credentials: must be a non-empty array'],
    [{ credentials: [] }, 'dcql_query.credentials: must be a non-empty array'],
    [Object.create({ credentials: [degree] }), 'dcql_query.credentials: must be a non-empty array'],
    [{ credentials: { 0: degree } }, 'dcql_query.credentials: must be a non-empty array'],
    [{ credentials: [degree, 'x'] }, 'dcql_query.credentials[1]: must be an object'],
    [
      JSON.parse('{"__proto__": {"credentials": [{"id": "a", "format": "vc+sd-jwt", "meta": {}}]}}'),
      'dcql_query.credentials: must be a non-empty array',
    ],
    [
      { credentials: many(101, (i) => ({ ...degree, id: `c${String(i)}` })) },
      'dcql_query.credentials: has 101 elements; 100 are allowed',
    ],
  ])('the query %#', (query, expected) => {
    expect(refusal(query)).toBe(expected)
  })

  const idRule = 'must be a non-empty string of letters, digits, _ and -'
  it.each<[JsonObject, string]>([
    [{ credentials: [{ format: 'vc+sd-jwt', meta: {} }] }, `${first}.id: is required`],
    [withCredential({ id: '' }), `${first}.id: ${idRule}`],
    [withCredential({ id: 7 }), `${first}.id: ${idRule}`],
    [withCredential({ id: null }), `${first}.id: ${idRule}`],
    [withCredential({ id: 'a b' }), `${first}.id: ${idRule}`],
    [withCredential({ id: 'a\n' }), `${first}.id: ${idRule}`],
    [withCredential({ id: 'ä' }), `${first}.id: ${idRule}`],
    [withCredential({ id: 'a'.repeat(1025) }), `${first}.id: has 1025 characters; 1024 are allowed`],
    [{ credentials: [degree, degree] }, 'dcql_query.credentials[1].id: is used before; choose another'],
    [withClaims({ id: 'a.b', path: ['a'] }), `${first}.claims[0].id: ${idRule}`],
    [
      withClaims({ id: 'a', path: ['a'] }, { id: 'a', path: ['b'] }),
      `${first}.claims[1].id: is used before; choose another`,
    ],
  ])('ids %#', (query, expected) => {
    expect(refusal(query)).toBe(expected)
  })

  it.each<[JsonObject, string]>([
    [{ format: 7 }, `${first}.format: must be a non-empty string`],
    [{ format: '' }, `${first}.format: must be a non-empty string`],
    [{ format: 'a'.repeat(1025) }, `${first}.format: has 1025 characters; 1024 are allowed`],
    [{ multiple: 'yes' }, `${first}.multiple: must be true or false`],
    [
      { require_cryptographic_holder_binding: 1 },
      `${first}.require_cryptographic_holder_binding: must be true or false`,
    ],
    [{ meta: null }, `${first}.meta: must be an object; it may be empty`],
    [{ meta: [] }, `${first}.meta: must be an object; it may be empty`],
  ])('the credential query %#', (change, expected) => {
    expect(refusal(withCredential(change))).toBe(expected)
  })

  it('a missing format and meta', () => {
    expect(refusal({ credentials: [{ id: 'a' }] })).toBe(
      `${first}.format: must be a non-empty string; ${first}.meta: must be an object; it may be empty`,
    )
  })

  const claim = `${first}.claims[0]`
  it.each<[Json, string]>([
    ['a', `${claim}: must be an object`],
    [{}, `${claim}.path: must be a non-empty array`],
    [{ path: [] }, `${claim}.path: must be a non-empty array`],
    [{ path: 'a' }, `${claim}.path: must be a non-empty array`],
    [{ path: ['a', -1] }, `${claim}.path[1]: must be a string, null or a non-negative integer`],
    [{ path: ['a', 1.5] }, `${claim}.path[1]: must be a string, null or a non-negative integer`],
    [{ path: ['a', true] }, `${claim}.path[1]: must be a string, null or a non-negative integer`],
    [{ path: ['a', ['b']] }, `${claim}.path[1]: must be a string, null or a non-negative integer`],
    [{ path: many(33, () => 'a') }, `${claim}.path: has 33 elements; 32 are allowed`],
    [{ path: ['a'.repeat(1025)] }, `${claim}.path[0]: has 1025 characters; 1024 are allowed`],
    [{ path: ['a'], values: [] }, `${claim}.values: must be a non-empty array`],
    [{ path: ['a'], values: 'x' }, `${claim}.values: must be a non-empty array`],
    [{ path: ['a'], values: ['x', null] }, `${claim}.values[1]: must be a string, an integer below 2^53 or a boolean`],
    [{ path: ['a'], values: [0.5] }, `${claim}.values[0]: must be a string, an integer below 2^53 or a boolean`],
    [{ path: ['a'], values: [2 ** 53] }, `${claim}.values[0]: must be a string, an integer below 2^53 or a boolean`],
    [{ path: ['a'], values: [['x']] }, `${claim}.values[0]: must be a string, an integer below 2^53 or a boolean`],
    [{ path: ['a'], values: ['x'.repeat(1025)] }, `${claim}.values[0]: has 1025 characters; 1024 are allowed`],
    [{ path: ['a'], values: many(101, (i) => i) }, `${claim}.values: has 101 elements; 100 are allowed`],
  ])('the claim %#', (value, expected) => {
    expect(refusal(withClaims(value))).toBe(expected)
  })

  const second = `${first}.claims[1].path`
  it.each<[Json, Json, string]>([
    [{ path: ['a'] }, { path: ['a'] }, `${second}: addresses the same claim as ${claim}; ask for it once`],
    [
      { path: many(32, () => 'a') },
      { path: many(32, () => 'a') },
      `${second}: addresses the same claim as ${claim}; ask for it once`,
    ],
    [
      { path: ['a', null] },
      { path: ['a', null], values: [1] },
      `${second}: addresses the same claim as ${claim}; ask for it once`,
    ],
    [{ path: ['a', 0] }, { path: ['a', null] }, 'taken'],
    [{ path: ['a', '0'] }, { path: ['b', 0] }, 'taken'],
    [{ path: ['a', 'b'], values: ['x'] }, { path: ['a'] }, 'taken'],
  ])('claims that clash %#', (one, other, expected) => {
    expect(refusal(withClaims(one, other))).toBe(expected)
  })

  it('the same claim twice, although claim sets make the two alternatives', () => {
    const claims = [
      { id: 'a', path: ['x'], values: [1] },
      { id: 'b', path: ['x'], values: [2] },
    ]
    expect(refusal(withCredential({ claims, claim_sets: [['a'], ['b']] }))).toBe(
      `${second}: addresses the same claim as ${claim}; ask for it once`,
    )
  })

  it('paths that are too long, and not that they are the same', () => {
    const tooLong = { path: many(33, (i) => `step${i}`) }
    const mistake = 'has 33 elements; 32 are allowed'
    expect(refusal(withClaims(tooLong, tooLong))).toBe(`${claim}.path: ${mistake}; ${second}: ${mistake}`)
  })

  it.each<[Json, string]>([
    [[], `${first}.claims: must be a non-empty array`],
    [{}, `${first}.claims: must be a non-empty array`],
    [null, `${first}.claims: must be a non-empty array`],
    [many(101, (i) => ({ path: [String(i)] })), `${first}.claims: has 101 elements; 100 are allowed`],
  ])('claims %#', (claims, expected) => {
    expect(refusal(withCredential({ claims }))).toBe(expected)
  })

  const a = { id: 'a', path: ['a'] }
  const sets = `${first}.claim_sets`
  it.each<[JsonObject, string]>([
    [{ claims: [a], claim_sets: [] }, `${sets}: must be a non-empty array`],
    [{ claims: [a], claim_sets: [[]] }, `${sets}[0]: must be a non-empty array`],
    [{ claims: [a], claim_sets: ['a'] }, `${sets}[0]: must be a non-empty array`],
    [{ claims: [a], claim_sets: [['a'], ['a', 'b']] }, `${sets}[1][1]: must be an id that this query defines`],
    [{ claims: [a], claim_sets: [['toString']] }, `${sets}[0][0]: must be an id that this query defines`],
    [{ claims: [a], claim_sets: [[0]] }, `${sets}[0][0]: must be an id that this query defines`],
    [
      { claims: [a, { path: ['b'] }], claim_sets: [['a']] },
      `${first}.claims[1].id: is required, because there are claim_sets`,
    ],
  ])('claim sets %#', (change, expected) => {
    expect(refusal(withCredential(change))).toBe(expected)
  })

  it('claim sets without claims', () => {
    const { id, format, meta } = degree as Record<'id' | 'format' | 'meta', Json>
    expect(refusal({ credentials: [{ id, format, meta, claim_sets: [['a']] }] })).toBe(
      `${sets}: must not be given without claims; ${sets}[0][0]: must be an id that this query defines`,
    )
  })

  const credentialSets = 'dcql_query.credential_sets'
  it.each<[Json[], string]>([
    [[], `${credentialSets}: must be a non-empty array`],
    [['degree'], `${credentialSets}[0]: must be an object`],
    [[{}], `${credentialSets}[0].options: must be a non-empty array`],
    [[{ options: [] }], `${credentialSets}[0].options: must be a non-empty array`],
    [[{ options: [[]] }], `${credentialSets}[0].options[0]: must be a non-empty array`],
    [[{ options: ['degree'] }], `${credentialSets}[0].options[0]: must be a non-empty array`],
    [[{ options: [['degree', 'x']] }], `${credentialSets}[0].options[0][1]: must be an id that this query defines`],
    [[{ options: [['valueOf']] }], `${credentialSets}[0].options[0][0]: must be an id that this query defines`],
    [[{ options: [['degree']], required: 'no' }], `${credentialSets}[0].required: must be true or false`],
  ])('credential sets %#', (value, expected) => {
    expect(refusal(withSets(...value))).toBe(expected)
  })

  it('all of them at once, up to ten', () => {
    expect(
      refusal({ credentials: [{ ...degree, id: '', multiple: 0 }], credential_sets: [] }).split('; '),
    ).toHaveLength(3)
    expect(refusal({ credentials: many(50, () => 7) }).split('; ')).toHaveLength(10)
  })
})

const claimPool = [['a'], ['b', 'c'], ['b', '__proto__'], ['d', null], ['d', 0, 'e'], ['constructor']]
const idPool = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor')
const subset = <T>(of: readonly T[]) => fc.subarray([...of], { minLength: 1 })
const optional = { requiredKeys: [] }

const credential = fc
  .record({ claims: subset(claimPool.map((path, i) => ({ id: `claim${i}`, path }))), values: fc.boolean() })
  .chain(({ claims, values }) =>
    fc.record(
      {
        format: fc.constantFrom('jwt_vc_json-ld', 'vc+sd-jwt'),
        meta: fc.constantFrom<Json>({}, { type_values: [['A', 'B'], ['C']] }),
        claims: fc.constant(
          values ? claims.map((claim) => (claim.id === 'claim0' ? { ...claim, values: ['x', 1] } : claim)) : claims,
        ),
        claim_sets: fc.array(subset(claims.map(({ id }) => id)), { minLength: 1, maxLength: 2 }),
        multiple: fc.boolean(),
        require_cryptographic_holder_binding: fc.boolean(),
      },
      { requiredKeys: ['format', 'meta', 'claims'] },
    ),
  )

/** Queries that are right by construction. */
const right = fc.uniqueArray(idPool, { minLength: 1, maxLength: 3 }).chain((ids) =>
  fc.record(
    {
      credentials: fc.tuple(...ids.map((id) => credential.map((each) => ({ id, ...each })))),
      credential_sets: fc.array(
        fc
          .tuple(fc.array(subset(ids), { minLength: 1 }), fc.record({ required: fc.boolean() }, optional))
          .map(([options, more]) => ({ options, ...more })),
        { minLength: 1, maxLength: 2 },
      ),
    },
    { requiredKeys: ['credentials'] },
  ),
)

/** Puts `other` in the place of the node of `value` that comes `at` steps into it, depth first. */
function put(value: unknown, at: { left: number }, other: unknown): unknown {
  if (at.left-- === 0) return other
  if (Array.isArray(value)) return value.map((each) => put(each, at, other))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, put(each, at, other)]))
}

describe('whatever is posted', () => {
  it('a query that is right is taken', () => {
    fc.assert(
      fc.property(right, (query) => refusal(query) === 'taken'),
      { numRuns: 250 * TIMES, seed: 5 },
    )
  })

  it('anything else is taken unchanged or refused in a sentence that OAuth allows', () => {
    const numRuns = 500 * TIMES
    let refused = 0
    const wrong = fc.tuple(right, fc.nat(40), fc.jsonValue()).map(([query, left, other]) => put(query, { left }, other))
    fc.assert(
      fc.property(fc.oneof(wrong, fc.jsonValue()), (query) => {
        const before = JSON.stringify(query)
        const answer = refusal(query)
        // RFC 6749 section 5.2, error_description
        expect(answer).toMatch(/^(taken|dcql_query[\x20\x21\x23-\x5b\x5d-\x7e]+)$/)
        if (answer !== 'taken') refused++
        expect(JSON.stringify(query)).toBe(before)
      }),
      { numRuns, seed: 7 },
    )
    expect(refused).toBeGreaterThan(numRuns / 3)
    expect(refused).toBeLessThan(numRuns)
  })

  it('is answered soon, even when it is as large as it may be', async () => {
    const claims = many(100, (i) => ({ path: [...many(31, () => 'a'), String(i)] }))
    const query = { credentials: many(100, (i) => ({ ...degree, id: `c${String(i)}`, claims })) }
    expect(await partOfLimit(5000, () => expect(refusal(query)).toBe('taken'))).toBeLessThan(1)
  })
})
