/**
 * The dry run of a query: what it says of credentials as issued and as described, what it refuses, and that it keeps
 * nothing.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { planPresentation, sendPresentation } from '../../src/wallet/present.ts'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { makeForgery, putTogether, startWorld, type World } from '../support/forge.ts'
import { partOfLimit } from '../support/processor-time.ts'
import { profiles } from '../support/profiles.ts'
import { VERIFIER_URL } from '../support/services.ts'
import { testWallet } from '../support/wallet.ts'
import {
  authorization,
  call,
  dcqlQuery,
  issueCredential,
  startIssuance,
  startVerification,
  statusOf,
} from '../support/wire.ts'

const URL = `${VERIFIER_URL}/verification-query/simulate`

type Path = (string | number | null)[]
const claim = (...path: Path) => ({ path: ['credentialSubject', ...path] })
const asking = (more: object, id = 'card') => ({ id, format: 'jwt_vc_json-ld', meta: {}, ...more })
const oneQuery = (more: object) => ({ credentials: [asking(more)] })

const card = { format: 'vc+sd-jwt', type: ['VerifiableCredential', 'StudentCard'] }
const ada = { ...card, claims: { credentialSubject: { given_name: 'Ada', degrees: ['BSc', 'MSc'], age: 36 } } }

interface Result {
  readonly satisfied: boolean
  readonly explanation?: string
  readonly credentials: object[]
  readonly credential_queries: Record<string, { matches: object[]; others: { credential: number; reason: string }[] }>
  readonly credential_sets?: object[]
}

describe('the dry run of a query', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world.services.close())

  async function simulated(dcql_query: unknown, ...credentials: unknown[]): Promise<Result> {
    const response = await call(world.services, URL, { dcql_query, credentials })
    const text = await response.text()
    expect([response.status, text]).toEqual([200, expect.any(String)])
    // Paths, never the values of claims.
    expect(text).not.toMatch(/\b(Ada|Lovelace|London|BSc)\b/)
    return JSON.parse(text) as Result
  }

  it('says of a credential as issued what it would disclose', async () => {
    const expected = {
      satisfied: true,
      credentials: [{ format: 'jwt_vc_json-ld', type: ['VerifiableCredential', 'StudentCard'] }],
      credential_queries: {
        card: { matches: [{ credential: 0, discloses: [['credentialSubject', 'given_name']] }], others: [] },
      },
    }
    expect(await simulated(dcqlQuery, world.credential)).toEqual(expected)
    const named = { format: 'jwt_vc_json-ld', credential: world.credential }
    expect(await simulated(dcqlQuery, named)).toEqual(expected)
  })

  it('says of a credential that is described by hand what it would disclose', async () => {
    const query = oneQuery({
      meta: { type_values: [['StudentCard']] },
      claims: [
        { id: 'none', ...claim('email') },
        { id: 'all', ...claim('degrees', null), values: ['MSc'] },
        { id: 'type', path: ['type'] },
      ],
      claim_sets: [['none'], ['all', 'type']],
    })
    expect(await simulated(query, ada)).toEqual({
      satisfied: true,
      credentials: [card],
      credential_queries: {
        card: {
          matches: [{ credential: 0, discloses: [['credentialSubject', 'degrees', null], ['type']] }],
          others: [],
        },
      },
    })
  })

  it('finds out the format of every credential, and asks each query of those of its own', async () => {
    const { services, holder } = world
    const mdoc = {
      format: 'mso_mdoc',
      configuration: { format: 'mso_mdoc', doctype: 'org.iso.18013.5.1.mDL' },
      meta: { doctype_value: 'org.iso.18013.5.1.mDL' },
      root: ['org.iso.18013.5.1'],
    }
    const all = [...profiles.filter(({ format }) => format !== 'vc+sd-jwt'), mdoc]
    const issued = await Promise.all(
      all.map(({ format, configuration: posted }) => {
        const data = format === 'mso_mdoc' ? { 'org.iso.18013.5.1': { given_name: 'Ada' } } : undefined
        return issueCredential(services, holder, posted, data)
      }),
    )
    const credentials = all.map(({ format, meta, root }, i) => {
      return { id: `q${String(i)}`, format, meta, claims: [{ path: [...root, 'given_name'] }] }
    })
    const result = await simulated({ credentials }, ...issued)
    expect(result.satisfied).toBe(true)
    expect(result.credentials).toMatchObject(all.map(({ format }) => ({ format })))
    for (const [i, query] of credentials.entries()) {
      const answer = result.credential_queries[query.id]
      expect(answer?.matches).toEqual([{ credential: i, discloses: [query.claims[0]?.path] }])
      expect(answer?.others.map(({ reason }) => reason)).toEqual(
        all
          .filter((each) => each !== all[i])
          .map(({ format }) => `format: it is ${format}, and ${query.format} is asked for`),
      )
    }
  })

  it('takes a description in every format', async () => {
    const described = [
      { format: 'dc+sd-jwt', vct: 'urn:a', claims: { given_name: 'Ada' } },
      { format: 'dc+sd-jwt', claims: { vct: 'urn:a', given_name: 'Ada' } },
      { format: 'mso_mdoc', doctype: 'a', claims: { a: { given_name: 'Ada' } } },
    ]
    const credentials = [
      {
        id: 'sd',
        format: 'dc+sd-jwt',
        meta: { vct_values: ['urn:a'] },
        claims: [{ path: ['given_name'] }, { path: ['vct'] }],
      },
      {
        id: 'm',
        format: 'mso_mdoc',
        meta: { doctype_value: 'a' },
        claims: [{ path: ['a', 'given_name'], values: ['Ada'] }],
      },
      { id: 'none', format: 'mso_mdoc', meta: { doctype_value: 'a' }, claims: [{ path: ['a', 'doctype'] }] },
    ]
    const { credentials: read, credential_queries: queries } = await simulated({ credentials }, ...described)
    expect(read.map((each) => (each as { type: string[] }).type)).toEqual([['urn:a'], ['urn:a'], ['a']])
    expect(Object.values(queries).map(({ matches }) => matches.length)).toEqual([2, 1, 0])
  })

  it.each<[string, object, unknown, string]>([
    [
      'is of another type',
      { meta: { type_values: [['Ticket']] } },
      ada,
      'meta: it is of none of the types that are asked for',
    ],
    [
      'lacks claims',
      { claims: [claim('email'), claim('given_name'), claim('degrees', 7)] },
      ada,
      'credentialSubject.email: there is no credentialSubject.email; credentialSubject.degrees[7]: there is no credentialSubject.degrees[7]',
    ],
    [
      'has other values',
      { claims: [{ ...claim('age'), values: ['36', 37] }] },
      ada,
      'credentialSubject.age: expected one of "36", 37',
    ],
    [
      'has no claim set in full',
      {
        claims: [
          { id: 'a', ...claim('email') },
          { id: 'b', ...claim('given_name') },
        ],
        claim_sets: [['a', 'b'], ['a']],
      },
      ada,
      'no claim set is complete: credentialSubject.email: there is no credentialSubject.email',
    ],
    [
      'is a description where authorities are asked for',
      { trusted_authorities: [{ type: 'aki', values: ['AAAA'] }] },
      ada,
      'trusted_authorities: a description has no certificates; send the credential as issued',
    ],
  ])('says why a credential does not answer that %s', async (_, more, credential, reason) => {
    const { satisfied, explanation, credential_queries: queries } = await simulated(oneQuery(more), credential)
    expect(satisfied).toBe(false)
    expect(explanation).toBe('nothing answers credential query card')
    expect(queries.card).toEqual({ matches: [], others: [{ credential: 0, reason }] })
  })

  it('says so of authorities and of holder binding, where the credential was issued', async () => {
    const { request } = await startVerification(world.services)
    const forgery = await makeForgery(world, request)
    const payload = { ...forgery.payload }
    Reflect.deleteProperty(payload, 'cnf')
    const unbound = await putTogether({ ...forgery, payload, binding: undefined })
    const reasonOf = async (more: object, credential: string) =>
      (await simulated(oneQuery(more), credential)).credential_queries.card?.others[0]?.reason
    expect(await reasonOf({ trusted_authorities: [{ type: 'aki', values: ['AAAA'] }] }, world.credential)).toBe(
      'trusted_authorities: no certificate that it came with names one of these authorities',
    )
    expect(await reasonOf({}, unbound)).toBe(
      'require_cryptographic_holder_binding: the credential is not bound to a key (it has no cnf)',
    )
    expect(await reasonOf({ require_cryptographic_holder_binding: false }, unbound)).toBeUndefined()
  })

  it('tells the sets apart that are satisfied, and by which option', async () => {
    const query = {
      credentials: [
        asking({ claims: [claim('given_name')] }, 'name'),
        asking({ claims: [claim('email')] }, 'mail'),
        asking({ claims: [claim('age')], multiple: true }, '__proto__'),
      ],
      credential_sets: [{ options: [['mail'], ['name', '__proto__']] }, { options: [['mail']], required: false }],
    }
    const result = await simulated(query, ada, { ...card, claims: { credentialSubject: { age: 3 } } })
    expect(result).toMatchObject({
      satisfied: true,
      credential_sets: [
        { required: true, satisfied_by: ['name', '__proto__'] },
        { required: false, satisfied_by: null },
      ],
    })
    expect(Object.keys(result.credential_queries)).toEqual(['name', 'mail', '__proto__'])
    const [, , several] = Object.values(result.credential_queries)
    expect(several?.matches).toHaveLength(2)
    expect(result).not.toHaveProperty('explanation')
  })

  it('says which set stays open, and what of the query nobody is asked for', async () => {
    const claims = [
      { id: 'a', ...claim('given_name') },
      { id: 'b', ...claim('age') },
    ]
    const query = {
      credentials: [
        asking({ claims, claim_sets: [['a']] }, 'name'),
        asking({ claims: [claim('email')] }, 'mail'),
        asking({}, 'left'),
      ],
      credential_sets: [{ options: [['name', 'mail']] }],
    }
    const { satisfied, explanation } = await simulated(query, ada)
    expect(satisfied).toBe(false)
    expect(explanation?.split('; ')).toEqual([
      'no option of credential set 0 is answered in full: name and mail',
      'credential query name has claims[1] in no claim set, so that nobody is asked for them',
      'credential query left is in no option of credential_sets, so that nobody is asked for it',
    ])
  })

  it('is not satisfied by nothing, where every set may be left out', async () => {
    const query = {
      credentials: [asking({ claims: [claim('email')] })],
      credential_sets: [{ options: [['card']], required: false }],
    }
    expect(await simulated(query, ada)).toMatchObject({ satisfied: false, explanation: expect.any(String) as string })
  })

  it('foretells what the wallet does and the verifier finds', async () => {
    const { services } = world
    const made = testWallet(services.fetch, services.clock)
    const [received] = await receiveOffer(made.wallet, (await startIssuance(services)).link)
    const queries = [
      [claim('given_name')],
      [claim('email')],
      [{ ...claim('degrees', null), values: ['MSc'] }],
      [{ ...claim('degrees', null), values: ['PhD'] }],
      [claim('degrees', 1), claim('address')],
    ].map((claims) => oneQuery({ claims }))
    for (const query of queries) {
      const { satisfied } = await simulated(query, received?.credential)
      const { sessionId, link } = await startVerification(services, query)
      const plan = await planPresentation(made.wallet, link)
      expect(plan.problem === undefined).toBe(satisfied)
      if (!satisfied) continue
      await sendPresentation(made.wallet, plan)
      expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'VERIFICATION_SUCCEEDED' })
    }
  })

  const mistakes: readonly (readonly [string, unknown, string])[] = [
    ['no query', { credentials: [ada] }, 'dcql_query: required'],
    ['a query that is none', { dcql_query: [], credentials: [ada] }, 'dcql_query: must be an object'],
    [
      'a query with mistakes',
      { dcql_query: { credentials: [{ ...asking({ claims: [{ path: ['iss'] }] }), id: 'a b' }] }, credentials: ['x'] },
      'dcql_query.credentials[0].claims[0].path[0]: is not a member of a W3C credential; ask for issuer; dcql_query.credentials[0].id: must be a non-empty string of letters, digits, _ and -',
    ],
    ['no credentials', { dcql_query: dcqlQuery }, 'credentials: required'],
    ['an empty list', { dcql_query: dcqlQuery, credentials: [] }, 'credentials: must not be empty'],
    [
      'too many credentials',
      { dcql_query: dcqlQuery, credentials: Array.from({ length: 101 }, () => ada) },
      'credentials: must have at most 100 entries',
    ],
    ['a number', { dcql_query: dcqlQuery, credentials: [ada, 7] }, 'credentials[1]: must be a string or an object'],
    [
      'another field of the body',
      { dcql_query: dcqlQuery, credentials: [ada], nonce: 'n' },
      'nonce: unknown setting or field',
    ],
    [
      'a text that is not a credential',
      { dcql_query: dcqlQuery, credentials: [ada, 'x'] },
      'credentials[1]: is a credential of no format that is supported (jwt_vc_json-ld: ',
    ],
    [
      'a credential that is none of its format',
      { dcql_query: dcqlQuery, credentials: [{ format: 'vc+sd-jwt', credential: 'x.y.z~' }] },
      'credentials[0].credential: is not a credential of the format vc+sd-jwt: ',
    ],
    [
      'an unknown format',
      { dcql_query: dcqlQuery, credentials: [{ format: 'paper', claims: {} }] },
      'credentials[0].format: must be a known credential format; supported: jwt_vc_json-ld, ',
    ],
    [
      'no format',
      { dcql_query: dcqlQuery, credentials: [{ claims: {} }] },
      'credentials[0].format: must be a known credential format; supported: jwt_vc_json-ld, ',
    ],
    [
      'neither a credential nor claims',
      { dcql_query: dcqlQuery, credentials: [card] },
      'credentials[0]: must have either credential, as issued, or claims, to describe one',
    ],
    [
      'both',
      { dcql_query: dcqlQuery, credentials: [{ ...ada, credential: 'x' }] },
      'credentials[0]: must have either credential, as issued, or claims, to describe one',
    ],
    [
      'the type of another format',
      { dcql_query: dcqlQuery, credentials: [{ format: 'vc+sd-jwt', vct: 'A', claims: {} }] },
      'credentials[0].vct: does not go with this format; use type',
    ],
    [
      'claims that are none',
      { dcql_query: dcqlQuery, credentials: [{ ...card, claims: ['a'] }] },
      'credentials[0].claims: must be an object',
    ],
    [
      'a misspelt member',
      { dcql_query: dcqlQuery, credentials: [{ ...ada, claim: {} }] },
      'credentials[0].claim: unknown field',
    ],
  ]

  it.each(mistakes)('refuses %s with its path', async (_, body, description) => {
    const response = await call(world.services, URL, body)
    const { error, error_description: said } = (await response.json()) as Record<string, string>
    expect([response.status, error]).toEqual([400, 'invalid_request'])
    expect(said?.slice(0, description.length)).toBe(description)
  })

  it('refuses a credential that is not JSON, and the log has the error of the reader', async () => {
    const header = Buffer.from('{"alg"').toString('base64url')
    const body = { dcql_query: dcqlQuery, credentials: [{ format: 'vc+sd-jwt', credential: `${header}.e30.AA~` }] }
    expect((await call(world.services, URL, body)).status).toBe(400)
    const lines = world.services.logLines.map((line) => JSON.parse(line) as { readonly event: string })
    expect(lines.findLast(({ event }) => event === 'refused')).toMatchObject({ cause: { name: 'SyntaxError' } })
  })

  it('asks for an API key before it looks at anything', async () => {
    const body = JSON.stringify({ dcql_query: dcqlQuery, credentials: [ada] })
    for (const [headers, sent] of [
      [{ 'content-type': 'application/json' }, body],
      [{ 'content-type': 'application/json', authorization: `Bearer ${'x'.repeat(64)}` }, body],
      [{ 'content-type': 'application/json' }, '{'],
      [{ 'content-type': 'application/json' }, `"${'x'.repeat(2 ** 21)}"`],
      [{ 'content-type': 'text/plain' }, 'x'],
    ] as const) {
      const response = await world.services.fetch(URL, { method: 'POST', headers, body: sent })
      expect(response.status).toBe(401)
      expect(response.headers.get('access-control-allow-origin')).toBeNull()
    }
  })

  it('does not work for long, however much is sent', async () => {
    const send = (body: string) =>
      world.services.fetch(URL, {
        method: 'POST',
        headers: { ...authorization, 'content-type': 'application/json' },
        body,
      })
    expect((await send(`"${'x'.repeat(2 ** 21)}"`)).status).toBe(413)
    const claims = Array.from({ length: 100 }, (_, i) => claim('list', null, `c${String(i)}`))
    const query = { credentials: Array.from({ length: 40 }, (_, i) => asking({ claims }, `q${String(i)}`)) }
    const list = Array.from({ length: 200_000 }, () => ({}))
    const large = { ...card, claims: { credentialSubject: { list } } }
    const refused = await send(JSON.stringify({ dcql_query: query, credentials: [large] }))
    expect([refused.status, await refused.json()]).toEqual([
      413,
      {
        error: 'request_too_large',
        error_description: 'credentials: too many or too large for this query; send some at a time',
      },
    ])
    const [some] = query.credentials
    const answered = (count: number) =>
      send(
        JSON.stringify({
          dcql_query: { credentials: [some] },
          credentials: [{ ...large, claims: { credentialSubject: { list: list.slice(0, count) } } }],
        }),
      )
    expect(await partOfLimit(1000, async () => expect((await answered(2900)).status).toBe(200))).toBeLessThan(1)
    expect((await answered(3000)).status).toBe(413)
  })

  it('leaves nothing in the log', async () => {
    await simulated(dcqlQuery, world.credential, ada)
    const lines = world.services.logLines.join('\n')
    expect(lines).toContain('/verification-query/simulate')
    for (const value of ['Lovelace', 'given_name', world.credential.slice(0, 40)]) expect(lines).not.toContain(value)
    // The text is searched for as a word of its own: an id of a request has any three letters at times.
    expect(lines).not.toMatch(/(?<![\w-])MSc(?![\w-])/)
  })

  it('says of the example in the documents what stands there', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/verifying.md'), 'utf8')
    const [, asked = '', answered = ''] =
      /## A dry run[\s\S]*?```json\n([\s\S]*?)```[\s\S]*?```json\n([\s\S]*?)```/.exec(page) ?? []
    const response = await call(world.services, URL, JSON.parse(asked))
    expect(await response.json()).toEqual(JSON.parse(answered))
  })
})
