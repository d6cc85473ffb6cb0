import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TIMES } from '../../test/support/seeds.ts'
import type { Json, JsonObject } from '../codec/json.ts'
import { selectClaims, stepMatches } from './claim-path.ts'
import { type ClaimPath, pathText } from './claim-path-text.ts'
import type { ClaimQuery, CredentialQuery, CredentialSetQuery, DcqlQuery } from './dcql.ts'
import { answerClaims, chooseCredentials, findMissingCredentials } from './dcql-match.ts'

const student: JsonObject = {
  name: 'Anna',
  address: { street: 'Nygade 1', zip: '8000' },
  degrees: [
    { type: 'BSc', university: 'Aarhus' },
    { type: 'MSc', university: 'Aarhus', honours: true },
  ],
  nationalities: ['DK', 'DE'],
  grid: [[1, 2], [3]],
  '0': 'a key, not an index',
  nothing: null,
  mixed: [{ a: 1 }, 2],
}

describe('a path selects', () => {
  it.each<[ClaimPath, (readonly [(string | number)[], Json])[]]>([
    [['name'], [[['name'], 'Anna']]],
    [['address'], [[['address'], { street: 'Nygade 1', zip: '8000' }]]],
    [['address', 'street'], [[['address', 'street'], 'Nygade 1']]],
    [['nationalities', 1], [[['nationalities', 1], 'DE']]],
    [
      ['nationalities', null],
      [
        [['nationalities', 0], 'DK'],
        [['nationalities', 1], 'DE'],
      ],
    ],
    [
      ['degrees', null, 'type'],
      [
        [['degrees', 0, 'type'], 'BSc'],
        [['degrees', 1, 'type'], 'MSc'],
      ],
    ],
    [['degrees', null, 'honours'], [[['degrees', 1, 'honours'], true]]],
    [['grid', null, 1], [[['grid', 0, 1], 2]]],
    [
      ['grid', null, null],
      [
        [['grid', 0, 0], 1],
        [['grid', 0, 1], 2],
        [['grid', 1, 0], 3],
      ],
    ],
    [['grid', 1, 0], [[['grid', 1, 0], 3]]],
    [['0'], [[['0'], 'a key, not an index']]],
    [['nothing'], [[['nothing'], null]]],
  ])('%j', (path, expected) => {
    expect(selectClaims(student, path)).toEqual({ claims: expected.map(([at, value]) => ({ path: at, value })) })
  })

  it('around elements that are not disclosed, where their places are kept as holes', () => {
    const claims = { n: [undefined, 'DE'] } as unknown as JsonObject
    expect(selectClaims(claims, ['n', null])).toEqual({ claims: [{ path: ['n', 1], value: 'DE' }] })
    expect(selectClaims(claims, ['n', 0])).toEqual({ problem: 'n[0]: there is no n[0]' })
  })

  it('more elements than fit on the stack', () => {
    const claims = { list: Array.from({ length: 300_000 }, (_, i) => i) }
    expect(selectClaims(claims, ['list', null])).toMatchObject({ claims: { length: 300_000 } })
  })
})

describe('a path that selects nothing says where it ends', () => {
  it.each<[ClaimPath, string]>([
    [[], 'an empty path points to no claim'],
    [['age'], 'age: there is no age'],
    [['address', 'country'], 'address.country: there is no address.country'],
    [['contact', 'mail'], 'contact.mail: there is no contact'],
    [['name', 'first'], 'name.first: name is not an object'],
    [['nothing', 'x'], 'nothing.x: nothing is not an object'],
    [['degrees', 'type'], 'degrees.type: degrees is not an object'],
    [['mixed', null, 'a'], 'mixed[*].a: mixed[*] is not an object'],
    [['address', null], 'address[*]: address is not an array'],
    [['address', 0], 'address[0]: address is not an array'],
    [['name', 0], 'name[0]: name is not an array'],
    [[null], '[*]: the credential is not an array'],
    [[0], '[0]: the credential is not an array'],
    [['nationalities', 2], 'nationalities[2]: there is no nationalities[2]'],
    [['nationalities', '0'], 'nationalities.0: nationalities is not an object'],
    [['nationalities', 'length'], 'nationalities.length: nationalities is not an object'],
    [['nationalities', -1], 'nationalities[-1]: nationalities is followed by what is neither name nor index'],
    [['nationalities', 0.5], 'nationalities[0.5]: nationalities is followed by what is neither name nor index'],
    [['degrees', null, 'grade'], 'degrees[*].grade: there is no degrees[*].grade'],
    [['first name', "o'clock", 'ø'], `["first name"]["o'clock"].ø: there is no ["first name"]`],
    [['__proto__'], '__proto__: there is no __proto__'],
    [['constructor', 'name'], 'constructor.name: there is no constructor'],
    [['address', 'toString'], 'address.toString: there is no address.toString'],
  ])('%j', (path, problem) => {
    expect(selectClaims(student, path)).toEqual({ problem })
  })

  it('and an own member called __proto__ is a member like any other', () => {
    const claims = JSON.parse('{"__proto__": {"constructor": 1}}') as JsonObject
    expect(selectClaims(claims, ['__proto__', 'constructor'])).toEqual({
      claims: [{ path: ['__proto__', 'constructor'], value: 1 }],
    })
    expect(selectClaims(claims, ['constructor'])).toEqual({ problem: 'constructor: there is no constructor' })
  })
})

/** Takes the specification's steps once more, on a flat list of what is selected, with exceptions for its errors. */
function naive(claims: Json, path: ClaimPath): Json[] | undefined {
  let selected: Json[] = [claims]
  for (const step of path) {
    const next: Json[] = []
    for (const value of selected) {
      if (typeof step === 'string') {
        if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
        if (Object.keys(value).includes(step)) next.push(value[step] as Json)
      } else {
        if (!Array.isArray(value)) return undefined
        if (step === null) next.push(...value)
        else if (step < value.length) next.push(value[step] as Json)
      }
    }
    selected = next
  }
  return selected.length > 0 ? selected : undefined
}

const names = fc.oneof(fc.constantFrom('a', 'b'), fc.constantFrom('0', '__proto__', 'constructor', 'length'))
const objects = (of: fc.Arbitrary<Json>) =>
  fc.array(fc.tuple(names, of), { minLength: 1, maxLength: 4 }).map((members): Json => Object.fromEntries(members))
const node = fc.letrec<{ node: Json }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Json>('x', 'y', 0, 1, true, null),
    fc.array(tie('node'), { maxLength: 3 }),
    objects(tie('node')),
  ),
})).node
const trees = objects(node)
const steps = fc.oneof<fc.Arbitrary<string | number | null>[]>(names, fc.constantFrom(null, 0, 1))
const paths = fc.tuple(names, fc.array(steps, { maxLength: 3 })).map(([name, more]): ClaimPath => [name, ...more])

describe('selection, for any credential and path', () => {
  it('agrees with the steps of the specification, and every concrete path leads to its value', () => {
    const numRuns = 500 * TIMES
    let found = 0
    fc.assert(
      fc.property(trees, paths, (claims, path) => {
        const selection = selectClaims(claims, path)
        const values = 'problem' in selection ? undefined : selection.claims.map(({ value }) => value)
        expect(values).toEqual(naive(claims, path))
        if ('problem' in selection) return
        found++
        for (const each of selection.claims) {
          expect(selectClaims(claims, each.path)).toEqual({ claims: [each] })
        }
      }),
      { numRuns, seed: 11 },
    )
    expect(found).toBeGreaterThan(numRuns / 10)
  })
})

function asking(claims: readonly ClaimQuery[], claim_sets?: readonly (readonly string[])[]): CredentialQuery {
  return { id: 'q', format: 'vc+sd-jwt', meta: {}, claims, ...(claim_sets && { claim_sets }) }
}

describe('claims', () => {
  it('none are disclosed when none are asked for', () => {
    expect(answerClaims({ id: 'q', format: 'vc+sd-jwt', meta: {} }, student)).toEqual({
      claims: [],
      chosen: [],
      disclose: [],
    })
  })

  it('all are wanted, and disclosed by concrete paths, each once', () => {
    const answer = answerClaims(
      asking([{ path: ['nationalities', null] }, { path: ['nationalities', 1] }, { path: ['name'] }]),
      student,
    )
    expect(answer.disclose).toEqual([['nationalities', 0], ['nationalities', 1], ['name']])
    expect(answer).not.toHaveProperty('missing')
    expect(answer).not.toHaveProperty('mismatch')
  })

  it('those that are missing are named, all of them, and nothing is disclosed', () => {
    const answer = answerClaims(
      asking([{ path: ['age'] }, { path: ['name'] }, { path: ['address', 'country'] }]),
      student,
    )
    expect(answer.missing).toBe('age: there is no age; address.country: there is no address.country')
    expect(answer).not.toHaveProperty('mismatch')
    expect(answer.disclose).toEqual([])
    expect(answer.claims.map(({ positions }) => positions.length)).toEqual([0, 1, 0])
  })

  it('a missing claim comes before a wrong value', () => {
    const answer = answerClaims(asking([{ path: ['name'], values: ['Bent'] }, { path: ['age'] }]), student)
    expect(answer).toMatchObject({ missing: 'age: there is no age' })
    expect(answer).not.toHaveProperty('mismatch')
  })

  it('a wrong value is a matter of its own, told by what was expected', () => {
    const answer = answerClaims(asking([{ path: ['name'], values: ['Bent', 'Carl'] }, { path: ['address'] }]), student)
    expect(answer).not.toHaveProperty('missing')
    expect(answer.mismatch).toBe('name: expected one of "Bent", "Carl"')
    expect(answer.disclose).toEqual([])
    expect(JSON.stringify(answer)).not.toContain('Anna')
  })

  it('long lists of expectations are cut short', () => {
    const answer = answerClaims(asking([{ path: ['name'], values: ['1', 2, true, '4', '5', '6', '7'] }]), student)
    expect(answer.mismatch).toBe('name: expected one of "1", 2, true, "4", "5" and 2 more')
    const oneMore = answerClaims(asking([{ path: ['name'], values: ['1', 2, true, '4', '5', '6'] }]), student)
    expect(oneMore.mismatch).toBe('name: expected one of "1", 2, true, "4", "5" and 1 more')
  })

  it.each<[Json, (string | number | boolean)[], boolean]>([
    ['1', [1], false],
    [1, ['1'], false],
    [1, [1], true],
    [1, [2, 1], true],
    [0, [false], false],
    [false, [0, ''], false],
    [true, [true], true],
    ['a', ['A'], false],
    [null, ['null', 0, false], false],
    [['x'], ['x'], false],
    [{ x: 1 }, ['[object Object]'], false],
  ])('the value %j among %j: %s', (value, values, expected) => {
    expect(answerClaims(asking([{ path: ['v'], values }]), { v: value }).mismatch === undefined).toBe(expected)
  })

  it('one element with a wanted value is enough, and only it is disclosed', () => {
    const answer = answerClaims(asking([{ path: ['degrees', null, 'type'], values: ['MSc', 'PhD'] }]), student)
    expect(answer.disclose).toEqual([['degrees', 1, 'type']])
    expect(answer.claims[0]?.positions).toHaveLength(2)
    expect(answer.claims[0]).not.toHaveProperty('mismatch')
  })
})

describe('claim sets', () => {
  const claims: readonly ClaimQuery[] = [
    { id: 'age', path: ['age'] },
    { id: 'name', path: ['name'], values: ['Bent'] },
    { id: 'zip', path: ['address', 'zip'] },
    { id: 'street', path: ['address', 'street'] },
  ]

  it.each<[string, string[][], Partial<Record<'disclose' | 'missing' | 'mismatch', unknown>>]>([
    ['the first that is satisfied', [['age'], ['street'], ['zip']], { disclose: [['address', 'street']] }],
    [
      'in the order of the verifier',
      [['zip', 'street'], ['street']],
      {
        disclose: [
          ['address', 'zip'],
          ['address', 'street'],
        ],
      },
    ],
    ['a later one rather than a wrong value', [['name'], ['zip']], { disclose: [['address', 'zip']] }],
    ['wrong values only when every claim is there', [['age'], ['name', 'zip']], { mismatch: 'name: expected "Bent"' }],
    [
      'missing when no set is complete',
      [['age'], ['age', 'zip']],
      { missing: 'no claim set is complete: age: there is no age' },
    ],
    [
      'missing of the sets only, each once',
      [['age', 'zip'], ['age']],
      { missing: 'no claim set is complete: age: there is no age' },
    ],
    [
      'an id that no claim has',
      [['zip', 'ghost']],
      { missing: 'no claim set is complete: the query does not define a claim it wants' },
    ],
  ])('%s', (_, sets, expected) => {
    const { claims: explained, disclose, missing, mismatch } = answerClaims(asking(claims, sets), student)
    expect({ disclose, missing, mismatch }).toEqual({ disclose: [], ...expected })
    expect(explained).toHaveLength(4)
  })
})

const leaves = fc.array(fc.constantFrom<string | number | boolean>('x', 'y', 0, 1, true), {
  minLength: 1,
  maxLength: 2,
})
const claimQueries: fc.Arbitrary<ClaimQuery[]> = fc.array(
  fc.oneof<fc.Arbitrary<ClaimQuery>[]>(fc.record({ path: paths }), fc.record({ path: paths, values: leaves })),
  { minLength: 1, maxLength: 2 },
)

describe('answers, for any credential and claims', () => {
  it('are one of three: disclose what is wanted, name what is missing, or name what was expected', () => {
    fc.assert(
      fc.property(trees, claimQueries, (value, claims) => {
        const answer = answerClaims(asking(claims), value as JsonObject)
        const all = claims.map(({ path, values }) => {
          const found = naive(value, path)
          return {
            there: found !== undefined,
            right: found?.some((each) => !values || (values as Json[]).includes(each)),
          }
        })
        expect(answer.missing === undefined).toBe(all.every(({ there }) => there))
        if (answer.missing !== undefined) expect(answer.mismatch).toBeUndefined()
        else expect(answer.mismatch === undefined).toBe(all.every(({ right }) => right))
        expect(answer.disclose.length > 0).toBe(answer.missing === undefined && answer.mismatch === undefined)
      }),
      { numRuns: 500 * TIMES, seed: 13 },
    )
  })
})

function credentials(ids: readonly string[], credential_sets?: readonly CredentialSetQuery[]): DcqlQuery {
  const queries = ids.map((id) => ({ id, format: 'vc+sd-jwt', meta: {} }))
  return { credentials: queries, ...(credential_sets && { credential_sets }) }
}

describe('credentials', () => {
  const pid = { options: [['pid'], ['other'], ['half1', 'half2']] }
  const nice = { options: [['nice']], required: false }
  const ids = ['pid', 'other', 'half1', 'half2', 'nice']
  const noPid = 'no option of credential set 0 is answered in full: pid, or other, or half1 and half2'

  it.each<[string, DcqlQuery, string[], string[] | string]>([
    ['all, without sets', credentials(['a', 'b']), ['b', 'a', 'x'], ['a', 'b']],
    [
      'not all',
      credentials(['a', 'b', 'c']),
      ['b'],
      'nothing answers credential query a; nothing answers credential query c',
    ],
    ['names that sets inherit', credentials(['constructor']), [], 'nothing answers credential query constructor'],
    ['the first option there is', credentials(ids, [pid, nice]), ['half1', 'half2', 'other'], ['other']],
    ['an option of two', credentials(ids, [pid, nice]), ['half2', 'half1'], ['half1', 'half2']],
    ['half an option', credentials(ids, [pid, nice]), ['half1', 'nice'], noPid],
    ['optional ones are left out', credentials(ids, [pid, nice]), ids, ['pid']],
    ['required may be said', credentials(ids, [{ ...pid, required: true }]), [], noPid],
    [
      'two sets share a credential',
      credentials(['a', 'b'], [{ options: [['b']] }, { options: [['a', 'b']] }]),
      ['a', 'b'],
      ['a', 'b'],
    ],
    [
      'every set that fails is named',
      credentials(['a', 'b'], [{ options: [['a']] }, { options: [['b']] }]),
      [],
      'no option of credential set 0 is answered in full: a; no option of credential set 1 is answered in full: b',
    ],
    ['only optional ones', credentials(ids, [nice]), ids, ['nice']],
  ])('%s', (_, query, available, expected) => {
    const problem = typeof expected === 'string' ? expected : undefined
    expect(findMissingCredentials(query, new Set(available))).toBe(problem)
    expect(chooseCredentials(query, new Set(available))).toEqual(
      problem === undefined ? { ids: expected } : { problem },
    )
  })

  it('a wallet that has none of the optional ones has nothing to present, though nothing is missing', () => {
    const query = credentials(ids, [nice])
    expect(findMissingCredentials(query, new Set())).toBeUndefined()
    expect(chooseCredentials(query, new Set())).toEqual({
      problem: 'no option of credential set 0 is answered in full: nice',
    })
  })

  it('what a wallet chooses is there and satisfies the verifier, for any query', () => {
    const id = fc.constantFrom('a', 'b', 'c', '__proto__')
    const option = fc.uniqueArray(id, { minLength: 1, maxLength: 3 })
    const set = fc.record({ options: fc.array(option, { minLength: 1, maxLength: 3 }), required: fc.boolean() })
    fc.assert(
      fc.property(fc.array(set, { minLength: 1, maxLength: 3 }), fc.uniqueArray(id), (sets, available) => {
        const query = credentials(['a', 'b', 'c', '__proto__'], sets)
        const choice = chooseCredentials(query, new Set(available))
        if ('problem' in choice) return
        expect(available).toEqual(expect.arrayContaining([...choice.ids]))
        expect(findMissingCredentials(query, new Set(choice.ids))).toBeUndefined()
      }),
    )
  })
})

it('a step is the one that was taken, and null is any index', () => {
  const taken = ['a', 0, 1, undefined] as const
  const fitting = (step: string | number | null) => taken.map((each) => stepMatches(step, each))
  expect(fitting('a')).toEqual([true, false, false, false])
  expect(fitting(0)).toEqual([false, true, false, false])
  expect(fitting(null)).toEqual([false, true, true, false])
})

it('paths are shown as people write them', () => {
  expect(pathText([])).toBe('the credential')
  expect(pathText(['@context', 0])).toBe('@context[0]')
  expect(pathText(['a.b', null, 'c'])).toBe('["a.b"][*].c')
})

describe('the claims that are shown', () => {
  const claims = ['a', 'b', 'c'].map((id) => ({ id, path: [id] }))
  const shown = (query: Partial<CredentialQuery>, held: JsonObject): readonly unknown[] => {
    const credential: CredentialQuery = { id: 'card', format: 'dc+sd-jwt', meta: {}, ...query }
    return answerClaims(credential, held).chosen.map(({ path }) => path.join('.'))
  }
  it.each<readonly [string, Partial<CredentialQuery>, JsonObject, readonly string[]]>([
    ['all, without sets', { claims }, { a: 1 }, ['a', 'b', 'c']],
    ['the first set of which every claim is there', { claims, claim_sets: [['a', 'b'], ['c']] }, { a: 1, c: 1 }, ['c']],
    ['the first of two', { claims, claim_sets: [['a', 'b'], ['c']] }, { a: 1, b: 1, c: 1 }, ['a', 'b']],
    ['all, where no set is complete', { claims, claim_sets: [['a', 'b'], ['c']] }, { a: 1 }, ['a', 'b', 'c']],
  ])('are %s', (_, query, held, expected) => expect(shown(query, held)).toEqual(expected))
})
