/**
 * Responses that answer the query, in every way a query can be asked. What must not be accepted:
 * test/attacks/verifier.test.ts.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeForgery, putTogether, startWorld, type World } from '../../test/support/forge.ts'
import { startServices, VERIFIER_URL } from '../../test/support/services.ts'
import {
  holderSigner,
  issueCredential,
  postForm,
  presentationOf,
  type RequestObject,
  startVerification,
  statusOf,
} from '../../test/support/wire.ts'
import type { CheckResult } from '../check/check.ts'
import type { ClaimPosition } from '../codec/sd-jwt.ts'
import type { VerificationReport } from './verification.ts'

const TYPES = ['VerifiableCredential', 'StudentCard']
const subject = (...path: readonly (string | number | null)[]) => ['credentialSubject', ...path]

/** Few queries name authorities: trusted-authorities.test.ts has those. */
const UNASKED = 'query.trusted_authorities not_applicable'

interface Answered {
  readonly name: string
  /** Members of the one credential query. */
  readonly query: Readonly<Record<string, unknown>>
  readonly shows: readonly ClaimPosition[]
  /** The claims of the subject that the report then has. */
  readonly claims: unknown
}

const one: readonly Answered[] = [
  {
    name: 'one claim',
    query: { claims: [{ path: subject('given_name') }] },
    shows: [subject('given_name') as ClaimPosition],
    claims: { given_name: 'Ada' },
  },
  { name: 'no claims at all', query: {}, shows: [], claims: {} },
  {
    name: 'a claim inside another',
    query: { claims: [{ path: subject('address', 'city') }] },
    shows: [['credentialSubject', 'address', 'city']],
    claims: { address: { city: 'London' } },
  },
  {
    name: 'every element of an array (null)',
    query: { claims: [{ path: subject('degrees', null) }] },
    shows: [['credentialSubject', 'degrees']],
    claims: { degrees: ['BSc', 'MSc'] },
  },
  {
    name: 'an element by its index, of those that are shown',
    query: { claims: [{ path: subject('degrees', 0) }] },
    shows: [['credentialSubject', 'degrees', 1]],
    claims: { degrees: ['MSc'] },
  },
  {
    name: 'a claim with one of several values',
    query: { claims: [{ path: subject('given_name'), values: ['Grace', 'Ada'] }] },
    shows: [['credentialSubject', 'given_name']],
    claims: { given_name: 'Ada' },
  },
  {
    name: 'an element with a value',
    query: { claims: [{ path: subject('degrees', null), values: ['MSc'] }] },
    shows: [['credentialSubject', 'degrees', 1]],
    claims: { degrees: ['MSc'] },
  },
  {
    name: 'the second of two claim sets',
    query: {
      claims: [
        { id: 'email', path: subject('email') },
        { id: 'given', path: subject('given_name') },
        { id: 'family', path: subject('family_name') },
      ],
      claim_sets: [['email'], ['given', 'family']],
    },
    shows: [
      ['credentialSubject', 'given_name'],
      ['credentialSubject', 'family_name'],
    ],
    claims: { given_name: 'Ada', family_name: 'Lovelace' },
  },
  {
    name: 'a claim, and more is shown than was asked for',
    query: { claims: [{ path: subject('given_name') }] },
    shows: [['credentialSubject']],
    claims: { given_name: 'Ada', family_name: 'Lovelace', address: { city: 'London' }, degrees: ['BSc', 'MSc'] },
  },
  { name: 'another name of the format', query: { format: 'vc+sd-jwt' }, shows: [], claims: {} },
  {
    name: 'a type, in the form that its context expands it to',
    query: { meta: { type_values: [['OtherCard'], ['https://www.w3.org/2018/credentials#VerifiableCredential']] } },
    shows: [],
    claims: {},
  },
]

describe('a response that answers the query', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world.services.close())

  const query = (id: string, more: object = {}) => ({
    id,
    format: 'jwt_vc_json-ld',
    meta: { type_values: [TYPES] },
    ...more,
  })
  const show = (request: RequestObject, places: readonly ClaimPosition[] = []) =>
    presentationOf(world.credential, world.holder, request, { now: world.services.clock.now, places })

  /** Starts a session for `dcql`, posts what `make` makes, and gives the status. */
  async function respond(
    dcql: object,
    make: (request: RequestObject) => Promise<Record<string, readonly string[]>>,
    change: Record<string, string> = {},
  ) {
    const { services } = world
    const { sessionId, request } = await startVerification(services, dcql)
    const vpToken = JSON.stringify(await make(request))
    const response = await postForm(services, request.response_uri, {
      vp_token: vpToken,
      state: request.state,
      ...change,
    })
    const status = await statusOf(services, VERIFIER_URL, sessionId)
    return { code: response.status, body: await response.json(), status, report: status.result as VerificationReport }
  }

  it.each(one)('to show $name', async ({ query: more, shows, claims }) => {
    const { code, body, status, report } = await respond({ credentials: [query('card', more)] }, async (request) => ({
      card: [await show(request, shows)],
    }))
    expect([code, body]).toEqual([200, {}])
    expect(status.status).toBe('VERIFICATION_SUCCEEDED')
    expect(report.verified).toBe(true)
    expect(report.credentials.card?.[0]?.claims?.credentialSubject).toEqual(claims)
    expect(notPassed(report)).toEqual([])
  })

  it('describes the credential: issuer, types, validity, key, and no member of the protocol', async () => {
    const { report } = await respond({ credentials: [query('card')] }, async (request) => ({
      card: [await show(request)],
    }))
    const [credential] = report.credentials.card ?? []
    expect(credential).toMatchObject({
      ...{ format: 'jwt_vc_json-ld', type: TYPES },
      issuer_certificate: { subject: 'CN=issuer.localhost' },
    })
    // An http URL is not told.
    expect(credential).not.toHaveProperty('issuer')
    expect(credential?.holder_key_thumbprint).toMatch(/^[\w-]{43}$/)
    const year = Date.parse(credential?.valid_until ?? '') - Date.parse(credential?.valid_from ?? '')
    expect(Math.round(year / 86_400_000)).toBe(365)
    const members = ['@context', 'type', 'issuer', 'validFrom', 'validUntil', 'credentialSubject']
    expect(Object.keys(credential?.claims ?? {}).sort()).toEqual([...members].sort())
  })

  it('with several credentials, where several are welcome', async () => {
    const { code, report } = await respond({ credentials: [query('card', { multiple: true })] }, async (request) => ({
      card: [await show(request, [['credentialSubject', 'given_name']]), await show(request)],
    }))
    expect(code).toBe(200)
    expect(report.credentials.card?.map(({ claims }) => claims?.credentialSubject)).toEqual([{ given_name: 'Ada' }, {}])
  })

  it('with the same presentation twice, where several are welcome, and reports it as it is', async () => {
    const { code, report } = await respond({ credentials: [query('card', { multiple: true })] }, async (request) => {
      const shown = await show(request, [['credentialSubject', 'given_name']])
      return { card: [shown, shown] }
    })
    expect(code).toBe(200)
    expect(report.credentials.card?.map(({ claims }) => claims?.credentialSubject)).toEqual([
      { given_name: 'Ada' },
      { given_name: 'Ada' },
    ])
  })

  it('with one credential for two queries', async () => {
    const { code, report } = await respond({ credentials: [query('a'), query('b')] }, async (request) => ({
      a: [await show(request)],
      b: [await show(request)],
    }))
    expect(code).toBe(200)
    expect(Object.keys(report.credentials)).toEqual(['a', 'b'])
  })

  it('with one credential for each of many queries, more than one query may have', async () => {
    const ids = Array.from({ length: 25 }, (_, i) => `q${i}`)
    const { code } = await respond({ credentials: ids.map((id) => query(id)) }, async (request) => {
      const shown = await show(request)
      return Object.fromEntries(ids.map((id) => [id, [shown]]))
    })
    expect(code).toBe(200)
  })

  describe('with credential sets', () => {
    const dcql = {
      credentials: [query('a'), query('b'), query('c')],
      credential_sets: [{ options: [['a', 'b'], ['c']] }, { options: [['b']], required: false }],
    }
    it.each([[['a', 'b']], [['c']], [['c', 'b']], [['a', 'b', 'c']]])('by %j', async (ids) => {
      const { code, status } = await respond(dcql, async (request) =>
        Object.fromEntries(await Promise.all(ids.map(async (id) => [id, [await show(request)]] as const))),
      )
      expect([code, status.status]).toEqual([200, 'VERIFICATION_SUCCEEDED'])
    })

    it.each([[['a']], [['b']]])('but not by %j', async (ids) => {
      const { code, report } = await respond(dcql, async (request) =>
        Object.fromEntries(await Promise.all(ids.map(async (id) => [id, [await show(request)]] as const))),
      )
      expect(code).toBe(400)
      expect(notPassed(report)).toEqual(['query.complete failed'])
    })
  })

  describe('without holder binding, where none is asked for', () => {
    const dcql = { credentials: [query('card', { require_cryptographic_holder_binding: false })] }
    const bare = async (request: RequestObject) => {
      const forgery = await makeForgery(world, request)
      return putTogether({ ...forgery, binding: undefined })
    }
    const waived = ['binding', 'signature', 'nonce', 'audience', 'fresh', 'sd_hash'].map(
      (check) => `holder.${check} not_applicable`,
    )

    it('with the state of the request', async () => {
      const { code, report } = await respond(dcql, async (request) => ({ card: [await bare(request)] }))
      expect(code).toBe(200)
      expect(notPassed(report)).toEqual(waived)
      expect(report.credentials.card?.[0]).not.toHaveProperty('holder_key_thumbprint')
    })

    it('with a key binding all the same, which is not looked at', async () => {
      const { code, report } = await respond(dcql, async (request) => ({ card: [await show(request)] }))
      expect(code).toBe(200)
      expect(notPassed(report)).toEqual(waived)
      expect(report.credentials.card?.[0]).not.toHaveProperty('holder_key_thumbprint')
    })

    it('but not without a state, which is then all that ties it to the session', async () => {
      const { code, body, status } = await respond(dcql, async (request) => ({ card: [await bare(request)] }), {
        state: '',
      })
      expect([code, body]).toEqual([400, { error: 'invalid_request', error_description: 'state is missing' }])
      expect(status.status).toBe('STARTED')
    })

    it('and no state either when one query of several asks for none', async () => {
      const mixed = { credentials: [query('a'), query('b', { require_cryptographic_holder_binding: false })] }
      const make = async (request: RequestObject) => ({ a: [await show(request)], b: [await bare(request)] })
      expect((await respond(mixed, make, { state: '' })).code).toBe(400)
      expect((await respond(mixed, make)).code).toBe(200)
    })
  })

  it('without a state, when the nonce ties it to the session', async () => {
    const make = async (request: RequestObject) => ({ card: [await show(request)] })
    const { code, report } = await respond({ credentials: [query('card')] }, make, { state: '' })
    expect(code).toBe(200)
    expect(report.checks.find(({ id }) => id === 'presentation.session')).toMatchObject({ outcome: 'passed' })
  })

  it('and approves every transaction of the request with each of its credentials', async () => {
    const { services } = world
    const dcql = { credentials: [query('card'), query('second')] }
    const transactions = ['card', 'second'].map((id) => ({ type: 'urn:example:payment', credential_ids: [id] }))
    const { sessionId, request } = await startVerification(services, dcql, { transaction_data: transactions })
    const vpToken = JSON.stringify({ card: [await show(request)], second: [await show(request)] })
    expect((await postForm(services, request.response_uri, { vp_token: vpToken })).status).toBe(200)
    const { status, result } = await statusOf(services, VERIFIER_URL, sessionId)
    expect(status).toBe('VERIFICATION_SUCCEEDED')
    const approvals = allChecksOf(result as VerificationReport).filter(({ id }) => id === 'holder.transaction_data')
    expect(approvals.map(({ outcome }) => outcome)).toEqual(['passed', 'passed'])
  })

  it('whose first three presentations fail is not looked at any further', async () => {
    const { code, report } = await respond({ credentials: [query('card', { multiple: true })] }, async (request) => ({
      card: [await show(request), 'a', 'b', 'c', await show(request), 'd'],
    }))
    expect(code).toBe(400)
    const said = report.credentials.card?.map(
      ({ checks }) => checks.find(({ outcome }) => outcome === 'failed')?.detail,
    )
    const unread = expect.stringMatching(/^it has no tilde/) as string
    const rest = 'it was not looked at, because 3 presentations of the response had failed'
    expect(said).toEqual([undefined, unread, unread, unread, rest, rest])
  })

  it('made as far from our clock as clocks may differ', async () => {
    const { clock } = world.services
    for (const seconds of [-59, 59]) {
      const { code } = await respond({ credentials: [query('card')] }, async (request) => ({
        card: [
          await presentationOf(world.credential, world.holder, request, {
            now: new Date(clock.now.getTime() + seconds * 1000),
            places: [],
          }),
        ],
      }))
      expect(code).toBe(200)
    }
  })

  it('with a credential whose members stand in vc, as VCDM 1.1 has it', async () => {
    const { code, report } = await respond(
      { credentials: [query('card', { claims: [{ path: subject('given_name') }] })] },
      async (request) => {
        const forgery = await makeForgery(world, request)
        const { iss, iat, exp, cnf, _sd_alg, ...vc } = forgery.payload
        const payload = { iss, iat, exp, cnf, _sd_alg, vc } as typeof forgery.payload
        return { card: [await putTogether({ ...forgery, payload })] }
      },
    )
    expect(notPassed(report)).toEqual([])
    expect(code).toBe(200)
    expect(report.credentials.card?.[0]?.claims?.credentialSubject).toMatchObject({ given_name: 'Ada' })
  })
})

describe('a verifier without trust anchors', () => {
  it('verifies anybody who signs well, says so, and asks for no status', async () => {
    const services = await startServices({ verifier: { issuerTrustAnchors: undefined } })
    try {
      const holder = await holderSigner()
      const credential = await issueCredential(services, holder)
      const { sessionId, request } = await startVerification(services)
      const presentation = await presentationOf(credential, holder, request, services.clock)
      await postForm(services, request.response_uri, { vp_token: JSON.stringify({ card: [presentation] }) })
      const { result } = await statusOf(services, VERIFIER_URL, sessionId)
      expect(result).toMatchObject({ verified: true, trust: 'open' })
      expect(notPassed(result as VerificationReport)).toEqual([
        'issuer.trusted not_applicable',
        'status.valid not_applicable',
      ])
      const details = asked(result as VerificationReport).filter(({ outcome }) => outcome === 'not_applicable')
      expect(details.map(({ detail }) => detail)).toEqual([
        'no trust anchors are configured (issuerTrustAnchors)',
        'no trust anchors are configured, so that no status is fetched',
        'the query names no authorities (trusted_authorities)',
      ])
    } finally {
      await services.close()
    }
  })
})

function allChecksOf({ checks, credentials }: VerificationReport): readonly CheckResult[] {
  return [...checks, ...Object.values(credentials).flatMap((each) => each.flatMap((one) => one.checks))]
}

/**
 * Returns the checks that were asked: no transaction is to be approved in any of these, and none is a mobile document.
 */
function asked(report: VerificationReport): readonly CheckResult[] {
  return allChecksOf(report).filter(({ id }) => id !== 'holder.transaction_data' && id !== 'credential.doc_type')
}

function notPassed(report: VerificationReport): string[] {
  return asked(report)
    .filter(({ id, outcome }) => outcome !== 'passed' && `${id} ${outcome}` !== UNASKED)
    .map(({ id, outcome }) => `${id} ${outcome}`)
}
