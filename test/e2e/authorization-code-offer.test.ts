/**
 * Offers for the authorization code flow of an external authorization server: they carry an issuer_state, and a token
 * of that server that names it opens the session. OpenID4VCI 1.0, Credential Offer Parameters and Authorization
 * Request.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PRE_AUTHORIZED_GRANT } from '../../src/protocol/grant-types.ts'
import { claimsOf, makeTestKey, SERVER, signToken, type TestKey, testServer } from '../support/authorization-server.ts'
import { expectIssued, expectRefusal, type Ready, request } from '../support/issuance.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { call, dataset, declare, fetchNonce, holderSigner, statusOf } from '../support/wire.ts'

type Grants = Record<string, Record<string, string>>
const CODE = 'authorization_code'

describe('an offer for the authorization code flow', () => {
  let services: Services
  let key: TestKey
  let configurationId: string
  const startWith = (settings: object = {}) =>
    startServices({
      issuer: { authorizationServer: { issuer: SERVER, ...settings } },
      outbound: testServer([key]).outbound,
    })
  beforeAll(async () => {
    key = await makeTestKey('ES256', 'one')
    services = await startWith()
    configurationId = await declare(services)
  })
  afterAll(() => services.close())

  const post = async (more: object, at = services, id = configurationId) =>
    call(at, `${ISSUER_URL}/issuance/oid4vci/new-session`, {
      credential_dataset: dataset,
      credential_configurations: [id],
      ...more,
    })
  async function started(grants: readonly string[] | undefined, at = services, id = configurationId) {
    const response = await post(grants === undefined ? {} : { grants }, at, id)
    const { session_id: sessionId = '' } = (await response.json()) as Record<string, string>
    const offer = await at.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`)
    const { grants: offered } = (await offer.json()) as { grants: Grants }
    return { sessionId, offered, state: offered[CODE]?.issuer_state ?? '' }
  }
  /** Makes the right request of a wallet whose token has these claims beside the usual ones. */
  async function ready(sessionId: string, claims: object, at = services): Promise<Ready> {
    const usual = { ...claimsOf('', at.clock), 'pre-authorized_code': undefined }
    return {
      services: at,
      configurationId,
      sessionId,
      code: '',
      form: {},
      holder: await holderSigner(),
      token: await signToken(key, { ...usual, ...claims }),
      nonce: await fetchNonce(at, sessionId),
      audience: `${ISSUER_URL}/${sessionId}`,
    }
  }

  it('has the grant and an issuer_state, and no code where none was asked for', async () => {
    const { offered, state } = await started([CODE])
    expect(offered).toEqual({ [CODE]: { issuer_state: expect.any(String) as string } })
    expect(state.length).toBeGreaterThan(60)
  })

  it('may have both grants, and has the pre-authorized code alone where nothing was said', async () => {
    const both = await started([CODE, PRE_AUTHORIZED_GRANT])
    expect(Object.keys(both.offered)).toEqual([CODE, PRE_AUTHORIZED_GRANT])
    expect(both.offered[PRE_AUTHORIZED_GRANT]?.['pre-authorized_code']).not.toBe(both.state)
    expect(Object.keys((await started(undefined)).offered)).toEqual([PRE_AUTHORIZED_GRANT])
  })

  it('is for the session that the token names, which succeeds', async () => {
    const { sessionId, state } = await started([CODE])
    await expectIssued(await ready(sessionId, { issuer_state: state }))
    expect(await statusOf(services, ISSUER_URL, sessionId)).toMatchObject({ status: 'SUCCEEDED' })
  })

  it('may be named by another claim, where the operator says so', async () => {
    const other = await startWith({ issuerStateClaim: 'offer' })
    try {
      const id = await declare(other)
      const { sessionId, state } = await started([CODE], other, id)
      const good = { ...(await ready(sessionId, { offer: state }, other)), configurationId: id }
      const refused = await request({
        ...good,
        token: await signToken(key, { ...claimsOf('', other.clock), issuer_state: state }),
      })
      await expectRefusal(refused, { status: 403, error: 'insufficient_scope' })
      await expectIssued(good)
    } finally {
      await other.close()
    }
  })

  interface Misuse {
    readonly misuse: string
    readonly claims: () => Promise<{ readonly sessionId: string; readonly claims: object }>
    readonly refusal: { readonly status: number; readonly error: string; readonly why?: RegExp }
  }
  const unknown = { status: 401, error: 'invalid_token', why: /session is unknown/ }
  it.each<Misuse>([
    {
      misuse: 'the session id alone',
      claims: async () => {
        const { sessionId } = await started([CODE])
        return { sessionId, claims: { issuer_state: sessionId } }
      },
      refusal: unknown,
    },
    {
      misuse: 'the state in the place of the code',
      claims: async () => {
        const { sessionId, state } = await started([CODE, PRE_AUTHORIZED_GRANT])
        return { sessionId, claims: { 'pre-authorized_code': state } }
      },
      refusal: unknown,
    },
    {
      misuse: 'the code in the place of the state',
      claims: async () => {
        const { sessionId, offered } = await started([CODE, PRE_AUTHORIZED_GRANT])
        return { sessionId, claims: { issuer_state: offered[PRE_AUTHORIZED_GRANT]?.['pre-authorized_code'] } }
      },
      refusal: unknown,
    },
    {
      misuse: 'the code of one session and the state of another',
      claims: async () => {
        const [one, other] = [await started([CODE]), await started([PRE_AUTHORIZED_GRANT])]
        const code = other.offered[PRE_AUTHORIZED_GRANT]?.['pre-authorized_code']
        return { sessionId: one.sessionId, claims: { issuer_state: one.state, 'pre-authorized_code': code } }
      },
      refusal: { status: 401, error: 'invalid_token', why: /two sessions/ },
    },
  ])('is not opened by $misuse', async ({ claims, refusal }) => {
    const { sessionId, claims: named } = await claims()
    await expectRefusal(await request(await ready(sessionId, named)), refusal)
    expect(await statusOf(services, ISSUER_URL, sessionId)).toMatchObject({ status: 'STARTED' })
  })

  it('is not opened by a grant that it does not have', async () => {
    const [coded, stated] = [await started([PRE_AUTHORIZED_GRANT]), await started([CODE])]
    const [one, other] = [await services.issuerStore.get('issuance_session', coded.sessionId), stated]
    if (one === undefined) throw new Error('no session')
    // The session loses the grant that its code was made for.
    const value = { ...one.value, grants: [CODE] as const }
    await services.issuerStore.commit([
      { update: 'issuance_session', id: coded.sessionId, version: one.version, value },
    ])
    const code = coded.offered[PRE_AUTHORIZED_GRANT]?.['pre-authorized_code']
    await expectRefusal(await request(await ready(coded.sessionId, { 'pre-authorized_code': code })), unknown)
    await expectIssued(await ready(other.sessionId, { issuer_state: other.state }))
  })

  it.each<[string, object, RegExp]>([
    ['a grant that nobody knows', { grants: ['implicit'] }, /grants\[0\]/],
    ['no grant', { grants: [] }, /grants/],
    ['a grant twice', { grants: [CODE, CODE] }, /grants/],
    [
      'a code without its grant',
      { grants: [CODE], 'pre-authorized_code': 'code-of-the-server-1' },
      /pre-authorized_code/,
    ],
    ['a transaction code without its grant', { grants: [CODE], tx_code: {} }, /tx_code/],
  ])('refuses %s', async (_, more, why) => {
    const response = await post(more)
    const { error, error_description: text } = (await response.json()) as Record<string, string>
    expect([response.status, error, text]).toEqual([400, 'invalid_request', expect.stringMatching(why) as string])
  })

  it('is refused where this service gives the tokens itself', async () => {
    const own = await startServices()
    try {
      const response = await post({ grants: [CODE] }, own, await declare(own))
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { error_description: expect.stringContaining('authorizationServer') as string },
      ])
    } finally {
      await own.close()
    }
  })
})
