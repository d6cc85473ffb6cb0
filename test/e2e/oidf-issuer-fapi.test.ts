/**
 * The modules for FAPI 2.0 of the OpenID Foundation's plan oid4vci-1_0-issuer-haip-test-plan, played against an issuer
 * by HAIP: each test does what the module of its name does, started by the wallet and by an offer. TLS is that of the
 * reverse proxy.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/codec/json.ts'
import { thumbprint } from '../../src/keys/jwk.ts'
import { AUTHORIZE, authorizeUrl, newVisitor, PAR, visit, without } from '../support/code-flow.ts'
import { type HaipWorld, haipCard, startHaip } from '../support/haip.ts'
import { CREDENTIAL_ENDPOINT } from '../support/issuance.ts'
import {
  addressOf,
  asking,
  expectErrorPage,
  expectOauthError,
  expectResource,
  type FapiClient,
  type FlowVariant,
  finishFlow,
  flowOf,
  followAddress,
  makeClient,
  post,
  pushForm,
  type ResourceChanges,
  redeem,
  resource,
  secondClient,
  tokensOf,
} from '../support/oidf-fapi.ts'
import { ISSUER_URL } from '../support/services.ts'
import { declare, holderSigner } from '../support/wire.ts'

const FAPI_ALGORITHMS = ['PS256', 'ES256', 'EdDSA', 'Ed25519']
const variants: readonly FlowVariant[] = ['wallet_initiated', 'issuer_initiated']

describe.each(variants)('%s, FAPI 2.0 of an issuer by HAIP', (variant) => {
  let world: HaipWorld
  let client: FapiClient
  beforeAll(async () => {
    world = await startHaip({ issuer: { id: ISSUER_URL, display: { name: 'Example University' }, identifier: 'base' } })
    client = await makeClient(world, await declare(world.services, haipCard), variant)
    return () => world.services.close()
  })
  const later = async <T>(seconds: number, run: () => Promise<T>): Promise<T> => {
    const { clock } = world.services
    const before = clock.now
    clock.now = new Date(before.getTime() + seconds * 1000)
    return run().finally(() => {
      clock.now = before
    })
  }
  const seconds = () => Math.floor(world.services.clock.now.getTime() / 1000)

  it('fapi2-security-profile-final-discovery-end-point-verification', async () => {
    const url = `${ISSUER_URL}/.well-known/oauth-authorization-server`
    const server = (await (await world.services.fetch(url)).json()) as Record<string, readonly string[]>
    expect(server).toMatchObject({
      issuer: ISSUER_URL,
      authorization_endpoint: AUTHORIZE,
      pushed_authorization_request_endpoint: PAR,
      token_endpoint: `${ISSUER_URL}/auth/token-endpoint`,
      require_pushed_authorization_requests: expect.any(Boolean) as boolean,
      authorization_response_iss_parameter_supported: true,
    })
    expect(server.response_types_supported).toContain('code')
    expect(server.grant_types_supported).toContain('authorization_code')
    expect(server.code_challenge_methods_supported).toContain('S256')
    expect(server.token_endpoint_auth_methods_supported).toEqual(['attest_jwt_client_auth'])
    for (const name of ['dpop', 'client_attestation', 'client_attestation_pop']) {
      const algorithms = server[`${name}_signing_alg_values_supported`] ?? []
      expect(algorithms).toContain('ES256')
      expect(algorithms.filter((each) => !FAPI_ALGORITHMS.includes(each))).toEqual([])
    }
    for (const scope of server.scopes_supported ?? []) expect(scope).toMatch(/^[!#-[\]-~]+$/)
  })

  it('fapi2-security-profile-final-happy-flow', async () => {
    const other = await secondClient(client)
    for (const each of [client, other]) {
      const jkt = thumbprint(each.dpopKey.jwk)
      const { access_token: token } = await tokensOf(each, await flowOf(each, { dpop_jkt: jkt }))
      for (const accept of ['application/json; charset=utf-8', 'application/json, */*']) {
        await expectResource(each, token, { headers: { accept } })
      }
      const query = `?access_token=${encodeURIComponent(token)}`
      const inQuery = await resource(each, token, { query, headers: { authorization: '' } })
      expect(inQuery.status).toBe(401)
    }
    const { access_token: token } = await tokensOf(other, await flowOf(other))
    expect((await resource({ ...other, dpopKey: client.dpopKey }, token)).status).toBe(401)
    await expectResource(other, token)
  })

  it('fapi2-security-profile-final-user-rejects-authentication', async () => {
    for (const each of [client, await secondClient(client)]) {
      const { form } = await asking(each, { state: 's'.repeat(128) })
      const address = addressOf(each, await pushForm(each, form))
      const { back } = await followAddress(each, newVisitor(), address, { denied: true })
      expect(back.href.startsWith(each.redirectUri)).toBe(true)
      const { dummy1, dummy2, ...answer } = Object.fromEntries(back.searchParams)
      expect(answer).toEqual({ error: 'access_denied', iss: ISSUER_URL, state: 's'.repeat(128) })
      expect([dummy1, dummy2]).toEqual(each === client ? [undefined, undefined] : ['lorem', 'ipsum'])
    }
  })

  it('fapi2-security-profile-final-ensure-authorization-request-without-state-success', async () => {
    const wallet = await asking(client)
    const stateless = { ...wallet, form: without(wallet.form, 'state') }
    const requestUri = await pushForm(client, stateless.form)
    const browser = newVisitor()
    const { back, sessionId } = await followAddress(client, browser, addressOf(client, requestUri))
    const flow = finishFlow(client, { wallet: stateless, browser, requestUri, sessionId, back })
    expect(Object.keys(flow.response).sort()).toEqual(['code', 'iss'])
    await tokensOf(client, flow)
  })

  it('fapi2-security-profile-final-access-token-type-header-case-sensitivity', async () => {
    const { access_token: token } = await tokensOf(client, await flowOf(client))
    await expectResource(client, token, { scheme: 'dpOp' })
  })

  it('fapi2-security-profile-final-check-dpop-proof-nbf-exp', async () => {
    const dpop = { payload: { nbf: seconds(), exp: seconds() + 300 } }
    const { access_token: token } = await tokensOf(client, await flowOf(client), { dpop })
    await expectResource(client, token, { dpop })
  })

  const proofsOf = async (moved: number) => {
    const dpop = { payload: { iat: seconds() + moved } }
    const { access_token: token } = await tokensOf(client, await flowOf(client, {}, { dpop }), { dpop })
    await expectResource(client, token, { dpop })
  }

  it('fapi2-security-profile-final-ensure-dpopproof-with-iat-10seconds-before-succeeds', () => proofsOf(-10))

  it('fapi2-security-profile-final-ensure-dpopproof-with-iat-10seconds-after-succeeds', () => proofsOf(10))

  it('fapi2-security-profile-final-ensure-mismatched-dpop-jkt-fails', async () => {
    const { form } = await asking(client, { dpop_jkt: thumbprint((await holderSigner()).jwk) })
    await expectOauthError(await post(client, PAR, form), ['invalid_request', 'invalid_dpop_proof'])
  })

  const KEY_ERRORS = ['invalid_request', 'invalid_grant', 'invalid_dpop_proof']

  it('fapi2-security-profile-final-ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt', async () => {
    const { form } = await flowOf(client, {}, { key: await holderSigner() })
    await expectOauthError(await redeem(client, form), KEY_ERRORS)
  })

  it('fapi2-security-profile-final-ensure-token-endpoint-fails-with-mismatched-dpop-jkt', async () => {
    const { form } = await flowOf(client, { dpop_jkt: thumbprint((await holderSigner()).jwk) })
    await expectOauthError(await redeem(client, form), KEY_ERRORS)
  })

  it('fapi2-security-profile-final-ensure-dpopproof-at-par-endpoint-binding-success', async () => {
    await tokensOf(client, await flowOf(client, {}, {}))
  })

  it('fapi2-security-profile-final-ensure-dpop-auth-code-binding-success', async () => {
    await tokensOf(client, await flowOf(client, { dpop_jkt: thumbprint(client.dpopKey.jwk) }, {}))
  })

  it('fapi2-security-profile-final-ensure-different-state-inside-and-outside-request-object', async () => {
    const { form } = await asking(client)
    const address = addressOf(client, await pushForm(client, form), { state: 'another' })
    const { back } = await followAddress(client, newVisitor(), address)
    expect(back.searchParams.get('state')).toBe(form.state)
  })

  it('fapi2-security-profile-final-ensure-authorization-request-with-long-state', async () => {
    await tokensOf(client, await flowOf(client, { state: 's'.repeat(1000) }))
  })

  it('fapi2-security-profile-final-state-only-outside-request-object-not-used', async () => {
    const { form } = await asking(client)
    const requestUri = await pushForm(client, without(form, 'state'))
    const { back } = await followAddress(client, newVisitor(), addressOf(client, requestUri, { state: 'outside' }))
    expect([back.searchParams.has('code'), back.searchParams.has('state')]).toEqual([true, false])
  })

  it('fapi2-security-profile-final-ensure-request-object-without-redirect-uri-fails', async () => {
    const { form } = await asking(client)
    await expectOauthError(await post(client, PAR, without(form, 'redirect_uri')), ['invalid_request'])
  })

  it('fapi2-security-profile-final-ensure-redirect-uri-in-authorization-request', async () => {
    const { form } = await asking(client)
    const answer = await post(client, PAR, { ...form, redirect_uri: '' }, { dpop: 'none' })
    await expectOauthError(answer, ['invalid_request'])
  })

  it('fapi2-security-profile-final-plain-fapi-tolerate-unregistered-redirect-uri', async () => {
    // An issuer has no registration of redirect URIs: RFC 9126 section 2.4.
    const elsewhere = { ...client, redirectUri: `${client.redirectUri}/${seconds()}` }
    await tokensOf(elsewhere, await flowOf(elsewhere))
  })

  it('fapi2-security-profile-final-ensure-unsigned-authorization-request-without-using-par-fails', async () => {
    await expectErrorPage(client, authorizeUrl((await asking(client)).form))
  })

  const refusesType = async (response_type: string) => {
    const { form } = await asking(client, { response_type })
    await expectOauthError(await post(client, PAR, form), ['unsupported_response_type', 'invalid_request'])
  }

  it('fapi2-security-profile-final-ensure-response-type-code-idtoken-fails', () => refusesType('code id_token'))

  it('fapi2-security-profile-final-ensure-response-type-token-fails', () => refusesType('token'))

  it('fapi2-security-profile-final-ensure-client-id-in-token-endpoint', async () => {
    const { form } = await flowOf(client)
    const other = await secondClient(client)
    const sent = { ...form, client_id: other.clientId }
    await expectOauthError(await redeem(other, sent), ['invalid_client', 'invalid_grant'])
  })

  it('fapi2-security-profile-final-ensure-authorization-code-is-bound-to-client', async () => {
    const flow = await flowOf(client)
    const other = await secondClient(client)
    await expectOauthError(await redeem(other, { ...flow.form, client_id: other.clientId }), ['invalid_grant'])
    await expectOauthError(await redeem(other, without(flow.form, 'client_id')), ['invalid_grant'])
    await tokensOf(client, flow)
  })

  it('fapi2-security-profile-final-ensure-holder-of-key-required', async () => {
    const flow = await flowOf(client)
    await expectOauthError(await redeem(client, flow.form, { dpop: 'none' }), KEY_ERRORS)
    await tokensOf(client, flow)
  })

  it('fapi2-security-profile-final-attempt-reuse-authorization-code-after-one-second', async () => {
    const flow = await flowOf(client)
    const { access_token: token } = await tokensOf(client, flow)
    await expectResource(client, token)
    await later(1, async () => {
      await expectOauthError(await redeem(client, flow.form), ['invalid_grant'])
      expect((await resource(client, token)).status).toBe(401)
    })
  })

  it('fapi2-security-profile-final-ensure-token-endpoint-fails-with-expired-auth-code', async () => {
    const { form } = await flowOf(client)
    await later(62, async () => expectOauthError(await redeem(client, form), ['invalid_grant']))
  })

  it('fapi2-security-profile-final-dpop-negative-tests', async () => {
    const { access_token: token } = await tokensOf(client, await flowOf(client))
    const thief = await holderSigner()
    const header = (members: JsonObject | Record<string, undefined>): ResourceChanges => ({ dpop: { header: members } })
    const payload = (members: Record<string, unknown>): ResourceChanges => ({ dpop: { payload: members } })
    const jwk = { ...client.dpopKey.jwk, d: Buffer.alloc(32, 1).toString('base64url') }
    const wrong: readonly ResourceChanges[] = [
      { rewrite: (proof) => proof.toUpperCase() },
      { rewrite: (proof) => `${proof}, ${proof}` },
      { rewrite: (proof) => proof.replaceAll('.', '') },
      ...['typ', 'alg', 'jwk'].map((name) => header({ [name]: undefined })),
      ...['jti', 'htm', 'htu', 'iat', 'ath'].map((name) => payload({ [name]: undefined })),
      header({ typ: 'invalid' }),
      header({ alg: 'RS256' }),
      { dpop: { header: { alg: 'none' }, sign: () => Promise.resolve(new Uint8Array()) } },
      { dpop: { sign: (data) => thief.sign(data) } },
      header({ jwk }),
      payload({ htm: 'PUT' }),
      payload({ htu: 'https://other.example/' }),
      payload({ iat: seconds() + 3600 }),
      payload({ iat: seconds() - 3600 }),
      payload({ ath: 'a'.repeat(43) }),
      { key: thief },
      { dpop: 'none' },
      { dpop: 'none', scheme: 'Bearer' },
    ]
    for (const changes of wrong) expect([400, 401]).toContain((await resource(client, token, changes)).status)
    const address = new URL(CREDENTIAL_ENDPOINT)
    const right: readonly ResourceChanges[] = [
      payload({ htu: `${CREDENTIAL_ENDPOINT}?a=b#c` }),
      { query: '?a=b' },
      payload({ jti: 'fixed-of-the-suite' }),
      { dpop: { header: { extra: 'x' }, payload: { extra: ['y'] } } },
      payload({ htu: `HTTP://${address.host.toUpperCase()}${address.pathname}` }),
      payload({ htu: `http://${address.host}:80${address.pathname}` }),
      {},
    ]
    for (const changes of right) await expectResource(client, token, changes)
    expect((await resource(client, token, payload({ jti: 'fixed-of-the-suite' }))).status).toBe(401)
    await expectResource(client, token)
  })

  it('fapi2-security-profile-final-refresh-token', async () => {
    const other = await secondClient(client)
    const tokens = new Map<FapiClient, string>()
    for (const each of [client, other]) {
      const { refresh_token: token = '' } = await tokensOf(each, await flowOf(each))
      expect(token).toMatch(/^[ -~]+$/)
      const form = { grant_type: 'refresh_token', refresh_token: token, client_id: each.clientId }
      // The suite makes a new DPoP key: the token of an authenticated client is not bound to one (RFC 9449 section 5).
      const renewing = { ...each, dpopKey: await holderSigner() }
      const { access_token: access, refresh_token: next = '' } = await tokensOf(renewing, { form })
      await expectResource(renewing, access)
      // A token that is bound to a key stays: FAPI 2.0 Security Profile, 5.3.2.1.
      expect(next).toBe(token)
      tokens.set(each, next)
    }
    const form = { grant_type: 'refresh_token', refresh_token: tokens.get(client) ?? '', client_id: client.clientId }
    const rekeyed = { ...client, instance: { ...client.instance, key: await holderSigner() } }
    const CLIENT_ERRORS = ['invalid_request', 'invalid_grant', 'invalid_client', 'invalid_client_attestation']
    await expectOauthError(await redeem(rekeyed, form), CLIENT_ERRORS)
    await expectOauthError(await redeem(client, form, { isUnattested: true }), CLIENT_ERRORS)
    await expectOauthError(await redeem(client, form, { dpop: 'none' }), KEY_ERRORS)
    // The token of the second client is of no use to the first.
    const stolen = { ...form, refresh_token: tokens.get(other) ?? '' }
    await expectOauthError(await redeem(client, stolen), ['invalid_grant'])
    await tokensOf(client, { form })
  })

  it('fapi2-security-profile-final-par-ensure-reused-request-uri-prior-to-auth-completion-succeeds', async () => {
    const wallet = await asking(client)
    const requestUri = await pushForm(client, wallet.form)
    const [browser, address] = [newVisitor(), addressOf(client, requestUri)]
    expect((await visit(world.services, browser, address)).status).toBe(303)
    const { back, sessionId } = await followAddress(client, browser, address)
    await tokensOf(client, finishFlow(client, { wallet, browser, requestUri, sessionId, back }))
  })

  it('fapi2-security-profile-final-par-attempt-reuse-request_uri', async () => {
    const { requestUri } = await flowOf(client)
    await expectErrorPage(client, addressOf(client, requestUri))
  })

  it('fapi2-security-profile-final-par-attempt-to-use-expired-request_uri', async () => {
    const requestUri = await pushForm(client, (await asking(client)).form)
    await later(60, () => expectErrorPage(client, addressOf(client, requestUri)))
  })

  it('fapi2-security-profile-final-par-attempt-to-use-request_uri-for-different-client', async () => {
    const requestUri = await pushForm(client, (await asking(client)).form)
    await expectErrorPage(client, addressOf(await secondClient(client), requestUri))
  })

  it('fapi2-security-profile-final-par-authorization-request-containing-request_uri-form-param', async () => {
    const { form } = await asking(client, { request_uri: 'urn:ietf:params:oauth:request_uri:x' })
    await expectOauthError(await post(client, PAR, form), ['invalid_request'])
  })

  it('fapi2-security-profile-final-par-attempt-invalid-http-method', async () => {
    const response = await world.services.fetch(PAR, { method: 'PUT', body: '' })
    expect(response.status).toBe(405)
  })

  it('fapi2-security-profile-final-par-ensure-pkce-required', async () => {
    const form = without((await asking(client)).form, 'code_challenge', 'code_challenge_method')
    await expectOauthError(await post(client, PAR, form), ['invalid_request'])
  })

  it('fapi2-security-profile-final-ensure-pkce-code-verifier-required', async () => {
    const { form } = await flowOf(client)
    await expectOauthError(await redeem(client, without(form, 'code_verifier')), ['invalid_grant'])
  })

  it('fapi2-security-profile-final-incorrect-pkce-code-verifier-rejected', async () => {
    const { form } = await flowOf(client)
    await expectOauthError(await redeem(client, { ...form, code_verifier: 'a'.repeat(43) }), ['invalid_grant'])
  })

  it('fapi2-security-profile-final-par-plain-pkce-rejected', async () => {
    const { form, codeVerifier } = await asking(client, { code_challenge_method: 'plain' })
    await expectOauthError(await post(client, PAR, { ...form, code_challenge: codeVerifier }), ['invalid_request'])
  })

  it('fapi2-security-profile-final-par-without-duplicate-parameters', async () => {
    // Every flow here passes client_id and request_uri and nothing else.
    const requestUri = await pushForm(client, (await asking(client)).form)
    const { back } = await followAddress(client, newVisitor(), addressOf(client, requestUri))
    expect(back.searchParams.has('code')).toBe(true)
  })
})
