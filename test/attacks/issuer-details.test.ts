/**
 * Authorization details: the token is for what they name and no more, and its credentials have names.
 * OpenID4VCI 1.0, Using Authorization Details Parameter, Credential Request; RFC 9396.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/codec/json.ts'
import {
  expectRefusal,
  expectWithoutEffect,
  oneCredential,
  type Ready,
  request,
  startedSession,
  TOKEN_ENDPOINT,
} from '../support/issuance.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { declare, fetchNonce, holderSigner, postForm, statusOf } from '../support/wire.ts'

interface Narrowed extends Ready {
  readonly details: readonly JsonObject[]
  readonly identifier: string
}

describe('a token that authorization details narrow', () => {
  let services: Services
  let named: string
  let other: string
  beforeAll(async () => {
    services = await startServices()
    ;[named, other] = [await declare(services), await declare(services)]
  })
  afterAll(() => services.close())

  async function narrowed(more: (sessionId: string) => object = () => ({}), twice = false): Promise<Narrowed> {
    const session = await startedSession(services, { credential_configurations: [named, other] })
    const detail = { type: 'openid_credential', credential_configuration_id: named, ...more(session.sessionId) }
    const text = JSON.stringify(twice ? [detail, detail] : [detail])
    const form = { ...session.form, authorization_details: text }
    const response = await postForm(services, `${TOKEN_ENDPOINT}/${session.sessionId}`, form)
    const body = (await response.json()) as { access_token: string; authorization_details: JsonObject[] }
    const [identifier] = (body.authorization_details[0]?.credential_identifiers ?? []) as string[]
    return {
      ...session,
      holder: await holderSigner(),
      token: body.access_token,
      nonce: await fetchNonce(services, session.sessionId),
      audience: `${ISSUER_URL}/${session.sessionId}`,
      details: body.authorization_details,
      identifier: identifier ?? '',
    }
  }
  const asking = (members: object) => ({ credential_configuration_id: undefined, ...members })

  it('comes with one identifier for each configuration that was named, however often', async () => {
    const { details, identifier } = await narrowed(undefined, true)
    expect(details).toEqual([
      { type: 'openid_credential', credential_configuration_id: named, credential_identifiers: [identifier] },
    ])
    expect(identifier).not.toBe('')
  })

  it.each([
    ['the identifier of the session', (id: string) => ({ locations: [`${ISSUER_URL}/${id}`] })],
    ['the base among others', () => ({ locations: ['https://other.example', ISSUER_URL] })],
    ['a member that nobody knows', () => ({ claims: [{ path: ['credentialSubject'] }], x: 1 })],
  ] as const)('may have %s', async (_, more) => {
    expect((await narrowed(more)).identifier).not.toBe('')
  })

  it('issues to who names the identifier', async () => {
    const session = await narrowed()
    const response = await request(session, asking({ credential_identifier: session.identifier }))
    expect([response.status, await response.json()]).toEqual([200, oneCredential])
    expect(await statusOf(services, ISSUER_URL, session.sessionId)).toMatchObject({
      status: 'SUCCEEDED',
      credentials: [{ credential_configuration_id: named }],
    })
  })

  it.each<[string, () => object]>([
    ['the configuration', () => ({ credential_configuration_id: named })],
    [
      'the kind of credential, which the session has twice and the token once',
      () => ({ format: 'jwt_vc_json-ld', credential_definition: { type: ['VerifiableCredential', 'StudentCard'] } }),
    ],
  ])('issues to who names %s', async (_, members) => {
    const session = await narrowed()
    expect((await request(session, asking(members()))).status).toBe(200)
    expect(await statusOf(services, ISSUER_URL, session.sessionId)).toMatchObject({
      credentials: [{ credential_configuration_id: named }],
    })
  })

  it.each([
    ['another identifier', () => asking({ credential_identifier: 'x' }), 'unknown_credential_identifier'],
    [
      'one of the other configuration',
      () => asking({ credential_identifier: `${other}.0` }),
      'unknown_credential_identifier',
    ],
    [
      'an identifier that is not text',
      ({ identifier }: Narrowed) => asking({ credential_identifier: [identifier] }),
      'unknown_credential_identifier',
    ],
    ['null', () => asking({ credential_identifier: null }), 'unknown_credential_identifier'],
    ['both names', ({ identifier }: Narrowed) => ({ credential_identifier: identifier }), 'invalid_credential_request'],
    ['the other configuration', () => ({ credential_configuration_id: other }), 'insufficient_scope'],
    ['an unknown configuration', () => ({ credential_configuration_id: 'x' }), 'unknown_credential_configuration'],
    [
      'another kind of credential',
      () => asking({ format: 'jwt_vc_json-ld', credential_definition: { type: ['VerifiableCredential', 'Ticket'] } }),
      'unknown_credential_configuration',
    ],
  ] as const)('refuses %s, and stays good', async (_, members, error) => {
    const session = await narrowed()
    await expectWithoutEffect(services, () => request(session, members(session)), {
      status: error === 'insufficient_scope' ? 403 : 400,
      error,
    })
    const response = await request(session, asking({ credential_identifier: session.identifier }))
    expect(response.status).toBe(200)
  })

  it('refuses the identifier of another session, whose token was not narrowed', async () => {
    const { identifier } = await narrowed()
    const session = await startedSession(services, { credential_configurations: [named] })
    const response = await postForm(services, `${TOKEN_ENDPOINT}/${session.sessionId}`, session.form)
    const { access_token: token } = (await response.json()) as { access_token: string }
    const nonce = await fetchNonce(services, session.sessionId)
    const audience = `${ISSUER_URL}/${session.sessionId}`
    const ready = { ...session, token, nonce, audience, holder: await holderSigner() }
    const refused = await request(ready, asking({ credential_identifier: identifier }))
    await expectRefusal(refused, { status: 400, error: 'unknown_credential_identifier' })
  })
})
