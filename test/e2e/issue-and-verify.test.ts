/**
 * Read this first: the whole path on one page. A credential is issued by one service, presented by its holder, and
 * verified by the other; what the holder left out is nowhere in the result. Each helper of test/support/wire.ts sends
 * the requests of one step, as a wallet or an application does.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import {
  holderSigner,
  issueCredential,
  postForm,
  presentationOf,
  startVerification,
  statusOf,
} from '../support/wire.ts'

describe('issue a credential, present it, verify it', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  it('verifies what it issued, and reports only what was disclosed', async () => {
    const holder = await holderSigner()
    const credential = await issueCredential(services, holder)
    const { sessionId, request } = await startVerification(services)
    const presentation = await presentationOf(credential, holder, request, services.clock)
    const response = await postForm(services, request.response_uri, {
      vp_token: JSON.stringify({ card: [presentation] }),
      state: request.state,
    })
    expect(await response.json()).toEqual({})
    const status = await statusOf(services, VERIFIER_URL, sessionId)
    expect(status).toMatchObject({ status: 'VERIFICATION_SUCCEEDED', result: { verified: true } })
    const { credentials } = status.result as { credentials: Record<string, { claims: object }[]> }
    expect(credentials.card?.[0]?.claims).toMatchObject({ credentialSubject: { given_name: 'Ada' } })
    expect(JSON.stringify(status)).not.toContain('Lovelace')
  })
})
