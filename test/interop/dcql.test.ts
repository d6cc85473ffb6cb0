/**
 * Our DCQL against the npm package `dcql`: which queries are taken, and which credentials answer them.
 *
 * The two agree except in what is listed here. Taking a query, we are the stricter one (`stricter`, each with its
 * reason). Answering one, the package is the more lenient: after null it wants one element that fits where the
 * specification wants all of them to be of the right kind, it lets a name address an inherited property or an array's
 * element, and it takes any type for `vc+sd-jwt` without `type_values` to mean an SD-JWT VC. Only a claim whose value is
 * JSON null is there for us and not for the package: the specification asks whether the key exists. It knows no
 * `jwt_vc_json-ld`, so the queries here ask for `vc+sd-jwt`.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/codec/json.ts'
import { matchesTypeValues } from '../../src/credential/w3c-types.ts'
import type { CredentialQuery, DcqlQuery } from '../../src/protocol/dcql.ts'
import { answerClaims, answerCredentials } from '../../src/protocol/dcql-match.ts'
import { ProtocolError } from '../../src/protocol/error.ts'
import { readNewQuery } from '../../src/verifier/queries.ts'

interface Package {
  readonly DcqlQuery: {
    parse(query: unknown): unknown
    validate(query: unknown): void
    query(query: unknown, credentials: readonly unknown[]): PackageAnswer
  }
}

interface PackageAnswer {
  readonly can_be_satisfied: boolean
  readonly credential_matches: Readonly<Record<string, { readonly success: boolean }>>
}

// Named at run time, because the package is installed for these tests only, and its types take seconds to check.
const packageName = 'dcql'
const theirs = ((await import(packageName)) as Package).DcqlQuery

/** What we refuse and the package takes, and where the rule comes from. */
const stricter: readonly (readonly [string, RegExp])[] = [
  ['Credential Query: the same claim must not be addressed twice', /path: addresses the same claim as/],
  ['Claims Query: an id must not be used twice', /claims\[\d+\]\.id: is used before/],
  ['Claims Query: ids are required when there are claim sets', /claims\[\d+\]\.id: is required/],
  ['Claims Query: values must not be empty', /values: must be a non-empty array/],
  ['Credential Set Query: an option must not be empty', /options\[\d+\]: must be a non-empty array/],
  ['arrays are no objects', /^dcql_query\S*: must be an object/],
  ['meta is required, and an array is no object', /meta: must be an object/],
  ['no credential can satisfy it', /path: contradicts|path\[0\]: must be a string, since|is a member of SD-JWT itself/],
  ['a limit of ours', /are allowed$|below 2\^53|must be a non-empty string$/],
  [
    'not supported yet',
    /is not yet supported|must be a known credential format|trusted_authorities: not yet supported/,
  ],
  [
    'the package reads another type_values as none, and the query as one for an SD-JWT VC',
    /meta\.type_values\S*: must be/,
  ],
  ['a constraint that would be ignored', /does not go with this format/],
]

function ours(query: unknown): string[] {
  try {
    readNewQuery(query)
    return []
  } catch (error) {
    if (error instanceof ProtocolError) return error.message.split('; ').filter((each) => each.startsWith('dcql_query'))
    throw error
  }
}

function parsedByPackage(query: unknown): unknown {
  try {
    const parsed = theirs.parse(query)
    theirs.validate(parsed)
    return parsed
  } catch {
    return undefined
  }
}

const types = ['A', 'B', 'C']
const subset = <T>(of: readonly T[]) => fc.subarray([...of], { minLength: 1 })

/** Queries over `paths` that keep every rule, unless the paths themselves contradict each other. */
function queries(paths: fc.Arbitrary<Json[]>): fc.Arbitrary<DcqlQuery> {
  const values = fc.array(fc.constantFrom<Json>('x', 'y', 0, 1, true), { minLength: 1, maxLength: 3 })
  const meta = fc.record({ type_values: fc.array(subset(types), { minLength: 1, maxLength: 2 }) })
  const claims = fc.uniqueArray(fc.record({ path: paths, values: fc.option(values, { freq: 2 }) }), {
    minLength: 1,
    maxLength: 3,
    selector: ({ path }) => JSON.stringify(path),
  })
  const credential = fc.tuple(claims, meta, fc.boolean()).chain(([list, each, multiple]) => {
    const asked = list.map((claim, i) => ({
      id: 'abc'.charAt(i),
      path: claim.path,
      ...(claim.values && { values: claim.values }),
    }))
    const claim_sets = fc.array(subset(asked.map(({ id }) => id)), { minLength: 1, maxLength: 2 })
    const fixed = { format: 'vc+sd-jwt', meta: each, multiple, claims: asked }
    return fc.record({ claim_sets }, { requiredKeys: [] }).map((sets) => ({ ...fixed, ...sets }))
  })
  return fc.array(credential, { minLength: 1, maxLength: 3 }).chain((list) => {
    const credentials = list.map((each, i) => ({ id: 'abc'.charAt(i), ...each }))
    const options = fc.array(subset(credentials.map(({ id }) => id)), { minLength: 1, maxLength: 2 })
    const set = fc.record({ options, required: fc.boolean() }, { requiredKeys: ['options'] })
    const credential_sets = fc.array(set, { minLength: 1, maxLength: 2 })
    return fc
      .record({ credential_sets }, { requiredKeys: [] })
      .map((sets) => ({ credentials, ...sets }) as unknown as DcqlQuery)
  })
}

/** `value` with the node that comes `at.left` steps into it, depth first, put in place of another. */
function put(value: unknown, at: { left: number }, other: unknown): unknown {
  if (at.left-- === 0) return other
  if (Array.isArray(value)) return value.map((each) => put(each, at, other))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, put(each, at, other)]))
}

const names = fc.constantFrom('a', 'b', 'c')
const plainPaths = fc
  .tuple(names, fc.array(fc.oneof<fc.Arbitrary<Json>[]>(names, fc.constantFrom<Json>(0, 1)), { maxLength: 2 }))
  .map(([name, more]) => [name, ...more])
const anyPaths = fc
  .tuple(names, fc.array(fc.constantFrom<Json>('a', 'b', 'constructor', '0', 0, 1, null), { maxLength: 2 }))
  .map(([name, more]) => [name, ...more])

/** Credentials of every shape; nothing in them is null. */
const leaves = fc.constantFrom<Json>('x', 'y', 0, 1, true)
const claims = fc.letrec<{ node: Json; object: JsonObject }>((tie) => ({
  node: fc.oneof({ maxDepth: 3 }, leaves, leaves, fc.array(tie('node'), { maxLength: 3 }), tie('object')),
  object: fc.record<JsonObject>(
    { a: tie('node'), b: tie('node'), c: tie('node') },
    { requiredKeys: ['a'], noNullPrototype: true },
  ),
})).object

it('a query that we take, the package takes; one that only the package takes breaks a rule it does not have', () => {
  const right = queries(anyPaths)
  const likely = fc.constantFrom<Json>('a', 'b', 'z', 0, null, [], ['a'], [['a']], {}, 'dc+sd-jwt', true)
  const wrong = fc
    .tuple(right, fc.nat(40), fc.oneof(fc.jsonValue(), likely))
    .map(([query, left, other]) => put(query, { left }, other))
  const taken = { both: 0, package: 0, none: 0 }
  fc.assert(
    fc.property(fc.oneof(right, wrong), (query) => {
      const mistakes = ours(query)
      const parsed = parsedByPackage(query)
      if (mistakes.length === 0) expect(parsed).toBeDefined()
      else if (parsed !== undefined) {
        for (const mistake of mistakes)
          expect(
            stricter.some(([, message]) => message.test(mistake)),
            mistake,
          ).toBe(true)
      }
      taken[mistakes.length === 0 ? 'both' : parsed !== undefined ? 'package' : 'none']++
    }),
    { numRuns: 5000, seed: 3 },
  )
  for (const count of Object.values(taken)) expect(count).toBeGreaterThan(300)
})

interface Answers {
  readonly query: DcqlQuery
  readonly each: readonly (readonly [ours: boolean, theirs: boolean])[]
  readonly whole: readonly [ours: boolean, theirs: boolean]
}

/** What both make of one credential for every credential query; undefined for a query that one of them refuses. */
function answers(query: DcqlQuery, credential: JsonObject, type: string[]): Answers | undefined {
  const parsed = ours(query).length > 0 ? undefined : parsedByPackage(query)
  if (parsed === undefined) return undefined
  const presented = { credential_format: 'vc+sd-jwt', cryptographic_holder_binding: true, claims: credential, type }
  const { credential_matches, can_be_satisfied } = theirs.query(parsed, [presented])
  const answering = query.credentials.filter((each) => answersOurs(each, credential, type)).map(({ id }) => id)
  return {
    query,
    each: query.credentials.map(({ id }) => [answering.includes(id), credential_matches[id]?.success === true]),
    whole: [answerCredentials(query, new Set(answering)) === undefined, can_be_satisfied],
  }
}

function answersOurs(query: CredentialQuery, credential: JsonObject, type: string[]): boolean {
  const { missing, mismatch } = answerClaims(query, credential)
  return missing === undefined && mismatch === undefined && matchesTypeValues({ types: type, claims: {} }, query.meta)
}

it('a credential answers both or neither, where paths are of own names and indices', () => {
  const seen = { yes: 0, no: 0 }
  fc.assert(
    fc.property(queries(plainPaths), claims, fc.subarray(types), (query, credential, type) => {
      const answer = answers(query, credential, type)
      if (!answer) return
      for (const [mine, other] of answer.each) expect(mine).toBe(other)
      expect(answer.whole[0]).toBe(answer.whole[1])
      seen[answer.whole[0] ? 'yes' : 'no']++
    }),
    { numRuns: 4000, seed: 17 },
  )
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(300)
})

it('a credential that answers ours answers the package, for any path', () => {
  let lenient = 0
  fc.assert(
    fc.property(queries(anyPaths), claims, fc.subarray(types), (query, credential, type) => {
      for (const [mine, other] of answers(query, credential, type)?.each ?? []) {
        if (mine) expect(other).toBe(true)
        else if (other) lenient++
      }
    }),
    { numRuns: 4000, seed: 19 },
  )
  // The differences that the head of this file explains do come up.
  expect(lenient).toBeGreaterThan(10)
})

it.each<[string, Json[], JsonObject, boolean, boolean]>([
  ['an element of another kind beside one that fits', ['a', null, 'b'], { a: [{ b: 1 }, 2] }, false, true],
  ['an inherited name', ['a', 'constructor'], { a: {} }, false, true],
  ['a name for an element of an array', ['a', '0'], { a: ['x'] }, false, true],
  ['a claim that is null', ['a'], { a: null }, true, false],
])('where the two differ: %s', (_, path, credential, mine, other) => {
  const query = {
    credentials: [{ id: 'q', format: 'vc+sd-jwt', meta: { type_values: [['A']] }, claims: [{ path }] }],
  } as unknown as DcqlQuery
  expect(answers(query, credential, ['A'])?.each).toEqual([[mine, other]])
})
