import fc from 'fast-check'
import { expect, it } from 'vitest'
import { TIMES } from '../../test/support/seeds.ts'
import type { Json, JsonObject } from '../codec/json.ts'
import type { ClaimQuery, CredentialQuery } from './dcql.ts'
import { answerClaims } from './dcql-match.ts'
import { findUnanswerable } from './dcql-unanswerable.ts'

const names = fc.constantFrom('a', 'b')
const steps = fc.constantFrom<(string | number | null)[]>('a', 'b', 0, 1, null)
const claim: fc.Arbitrary<ClaimQuery> = fc
  .tuple(
    fc.tuple(names, fc.array(steps, { maxLength: 3 })).map(([name, more]) => [name, ...more]),
    fc.option(fc.subarray(['x', 1, true], { minLength: 1 }), { freq: 2, nil: undefined }),
  )
  .map(([path, values]) => (values === undefined ? { path } : { path, values }))

const values = fc.constantFrom<Json>('x', 1, true, null)
const tree = fc.letrec<{ node: Json; object: JsonObject }>((tie) => ({
  node: fc.oneof({ maxDepth: 4 }, values, fc.array(tie('node'), { maxLength: 3 }), tie('object')),
  object: fc.dictionary(names, tie('node'), { maxKeys: 2, noNullPrototype: true }),
})).object

/** Puts the claim into a credential, if it says so of `claims` at all: what is missing on the way is put there. */
function grown(claims: Json | undefined, { path, values: wanted }: ClaimQuery, at = 0): Json {
  const step = path[at]
  if (step === undefined) return wanted?.[0] ?? claims ?? 'x'
  if (typeof step === 'string') {
    const members = typeof claims === 'object' && !Array.isArray(claims) ? claims : {}
    return { ...members, [step]: grown(members?.[step], { path, ...(wanted && { values: wanted }) }, at + 1) }
  }
  const elements = Array.isArray(claims) && claims.length > 0 ? claims : ['x', 'x']
  return elements.map((each, i) =>
    step === null || step === i ? grown(each, { path, ...(wanted && { values: wanted }) }, at + 1) : each,
  )
}

it('what is refused as a contradiction is in no credential, however it is made', () => {
  const numRuns = 500 * TIMES
  const seen = { refused: 0, one: 0, both: 0 }
  fc.assert(
    fc.property(claim, claim, tree, (first, second, any) => {
      const query = { id: 'q', format: 'vc+sd-jwt', meta: {}, claims: [first, second] } as CredentialQuery
      const refused = [...findUnanswerable(query as unknown as JsonObject, 'q', [])].some((each) =>
        each.includes('contradicts'),
      )
      for (const credential of [
        any,
        grown(any, first),
        grown(grown(any, first), second),
        grown(grown(any, second), first),
      ]) {
        const answer = answerClaims(query, credential as JsonObject)
        const answered = answer.claims.filter(({ matching }) => matching.length > 0).length
        if (refused) expect(answered).toBeLessThan(2)
        if (refused && answered === 1) seen.one++
        if (answered === 2) seen.both++
      }
      if (refused) seen.refused++
    }),
    { numRuns, seed: 23 },
  )
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(numRuns / 17)
})

it('what is not refused is in some credential, unless null stands where an index stands in the other', () => {
  const numRuns = 500 * TIMES
  let refused = 0
  const plain = claim.filter(({ path }) => !path.includes(null))
  fc.assert(
    fc.property(plain, plain, (first, second) => {
      const claims = [first, second]
      const query = { id: 'q', format: 'vc+sd-jwt', meta: {}, claims } as CredentialQuery
      fc.pre(JSON.stringify(first.path) !== JSON.stringify(second.path))
      if ([...findUnanswerable(query as unknown as JsonObject, 'q', [])].length > 0) {
        refused++
        return
      }
      const [short, long] = first.path.length <= second.path.length ? [first, second] : [second, first]
      const { mismatch, missing } = answerClaims(query, grown(grown({}, short), long) as JsonObject)
      expect({ mismatch, missing }).toEqual({})
    }),
    { numRuns, seed: 29 },
  )
  expect(refused).toBeGreaterThan(numRuns / 15)
})

it('what only an SD-JWT has is not a claim of one, and may be an element of a mobile document', () => {
  const query = { claims: [{ path: ['org.example', '_sd'] }] }
  expect([...findUnanswerable(query, 'q', ['_sd'])]).toEqual([
    'q.claims[0].path[1]: is a member of SD-JWT itself, never a claim',
  ])
  expect([...findUnanswerable(query, 'q', [])]).toEqual([])
})

it('claims that contradict each other may stand in different claim sets, and not in one', () => {
  const claims = [
    { id: 'a', path: ['x'], values: ['1'] },
    { id: 'b', path: ['x', 'y'] },
    { id: 'c', path: ['z'] },
  ]
  const mistakes = (...claim_sets: Json[]) => [
    ...findUnanswerable({ format: 'dc+sd-jwt', claims, claim_sets }, 'q', []),
  ]
  expect(mistakes(['a', 'c'], ['b', 'c'], 7)).toEqual([])
  const why = 'so that no credential can have both; take one out'
  expect(mistakes(['a'], ['a', 'b', 'c'])).toEqual([`q.claim_sets[1]: claims[1] contradicts claims[0], ${why}`])
})
