/**
 * The flow of the HTTP interface, byte for byte: with the pre-authorized code each answer has the members of before,
 * in their order, and nothing else, also where the authorization code flow is on. What is random is replaced by its
 * name.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { proofOf } from '../support/issuance.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { call, dataset, declare, GRANT, holderSigner, postForm, requestCredential, statusOf } from '../support/wire.ts'

const settings: readonly [string, Record<string, unknown>][] = [
  ['as it is', {}],
  ['with the authorization code flow on', { authentication: { interactionUrl: 'https://portal.example.edu/wallet' } }],
]

describe.each(settings)('the flow of the interface at an issuer %s', (_, issuer) => {
  let services: Services
  beforeAll(async () => {
    services = await startServices({ issuer })
  })
  afterAll(() => services.close())

  it('has the same bytes in every answer', async () => {
    const names = new Map<string, string>()
    const named = (name: string, value: unknown): string => {
      names.set(String(value), `<${name}>`)
      return String(value)
    }
    const bytesOf = (text: string): string =>
      [...names].reduce((masked, [value, name]) => masked.replaceAll(value, name), text)
    const id = named('configuration', await declare(services))

    const started = await call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, {
      credential_dataset: dataset,
      credential_configurations: [id],
    })
    const startedText = await started.text()
    const sessionId = named('session', (JSON.parse(startedText) as Record<string, string>).session_id)
    const uri = 'http%3A%2F%2Fissuer.localhost%2Fissuance%2Foid4vci%2Fcredential-offer%2F<session>'
    expect(bytesOf(startedText)).toBe(
      `{"session_id":"<session>","credential_offer_uri":"haip-vci://?credential_offer_uri=${uri}"}`,
    )

    const offerUrl = `${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`
    const offerText = await (await services.fetch(offerUrl)).text()
    const { grants } = JSON.parse(offerText) as { grants: Record<string, Record<string, string>> }
    const code = grants[GRANT]?.['pre-authorized_code'] ?? ''
    names.set(code, '<code>')
    expect(offerText.replace(code, '<code>').replaceAll(sessionId, '<session>').replace(id, '<configuration>')).toBe(
      `{"credential_issuer":"http://issuer.localhost/<session>","credential_configuration_ids":["<configuration>"],"grants":{"${GRANT}":{"pre-authorized_code":"<code>"}}}`,
    )

    const token = await postForm(services, `${ISSUER_URL}/auth/token-endpoint/${sessionId}`, {
      grant_type: GRANT,
      'pre-authorized_code': code,
    })
    const tokenText = await token.text()
    const accessToken = named('token', (JSON.parse(tokenText) as Record<string, string>).access_token)
    expect(bytesOf(tokenText)).toBe('{"access_token":"<token>","token_type":"Bearer","expires_in":300}')

    const nonceUrl = `${ISSUER_URL}/issuance/oid4vci/nonce/${sessionId}`
    const nonceText = await (await services.fetch(nonceUrl, { method: 'POST' })).text()
    const nonce = named('nonce', (JSON.parse(nonceText) as Record<string, string>).c_nonce)
    expect(bytesOf(nonceText)).toBe('{"c_nonce":"<nonce>"}')

    const ready = { services, configurationId: id, sessionId, code, form: {}, token: accessToken, nonce }
    const jwt = await proofOf({ ...ready, holder: await holderSigner(), audience: `${ISSUER_URL}/${sessionId}` })
    const answer = await requestCredential(services, accessToken, {
      credential_configuration_id: id,
      proof: { proof_type: 'jwt', jwt },
    })
    const answerText = await answer.text()
    const issued = JSON.parse(answerText) as { credentials: { credential: string }[]; notification_id: string }
    named('credential', issued.credentials[0]?.credential)
    named('notification', issued.notification_id)
    expect(bytesOf(answerText)).toBe(
      '{"credentials":[{"credential":"<credential>"}],"notification_id":"<notification>"}',
    )
    expect((await statusOf(services, ISSUER_URL, sessionId)).status).toBe('SUCCEEDED')
  })
})
