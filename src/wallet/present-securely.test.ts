/** Presenting to the verification service what it wants encrypted, or approved, or on the same device. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { haipVerifier } from '../../test/support/haip.ts'
import { type Services, startServices, VERIFIER_URL } from '../../test/support/services.ts'
import { errorOf, type TestWallet, testWallet } from '../../test/support/wallet.ts'
import { call, dcqlQuery, startIssuance, startVerification, statusOf } from '../../test/support/wire.ts'
import { decline, planPresentation, sendPresentation } from './present.ts'
import { receiveOffer } from './receive.ts'

const payment = { type: 'urn:example:payment', credential_ids: ['card'], amount: '12.00' }

describe('presenting to a verifier that wants every answer encrypted', () => {
  let services: Services
  let made: TestWallet
  beforeAll(async () => {
    services = await startServices(haipVerifier)
    made = testWallet(services.fetch, services.clock)
    await receiveOffer(made.wallet, (await startIssuance(services)).link)
  })
  afterAll(() => services.close())

  it('shows what was asked for, and nobody on the way sees anything of it', async () => {
    const { sessionId, link } = await startVerification(services)
    const plan = await planPresentation(made.wallet, link)
    expect(plan.request.encryption).toMatchObject({ enc: 'A256GCM', alg: 'ECDH-ES' })
    expect(await sendPresentation(made.wallet, plan)).toEqual({})
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({
      status: 'VERIFICATION_SUCCEEDED',
      result: { credentials: { card: [{ claims: { credentialSubject: { given_name: 'Ada' } } }] } },
    })
    const { to, body } = made.sent.at(-1) ?? { to: '', body: '' }
    expect(to).toBe(`POST ${VERIFIER_URL}/presentation/oid4vp/encrypted-authorization-response/${sessionId}`)
    const form = new URLSearchParams(body)
    expect([...form.keys()]).toEqual(['response'])
    expect(form.get('response')?.split('.')).toHaveLength(5)
    expect(made.steps.at(-1)).toMatchObject({ request: { sent: 'response' } })
  })

  it('declines in the clear, and says nothing else', async () => {
    const { sessionId, link } = await startVerification(services)
    await decline(made.wallet, await planPresentation(made.wallet, link))
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'DECLINED' })
    expect([...new URLSearchParams(made.sent.at(-1)?.body).keys()]).toEqual(['error', 'error_description', 'state'])
  })

  it('approves the transactions of the plan, asks by POST, and passes on where to go', async () => {
    const { sessionId, link } = await startVerification(services, dcqlQuery, {
      transaction_data: [payment, { ...payment, transaction_data_hashes_alg: ['sha-512', 'sha-256'] }],
      redirect_uri: 'https://shop.example/done',
      request_uri_method: 'post',
    })
    const plan = await planPresentation(made.wallet, link)
    expect(made.sent.at(-1)?.to).toMatch(/^POST .*\/authorization-request\//)
    expect(plan.approvals).toMatchObject([
      { type: 'urn:example:payment', queryId: 'card', content: payment },
      { queryId: 'card' },
    ])
    const { redirect_uri: uri = '' } = await sendPresentation(made.wallet, plan)
    expect(uri).toMatch(/^https:\/\/shop\.example\/done\?response_code=[\w-]{32}$/)
    const status = await call(services, `${VERIFIER_URL}/presentation/oid4vp/status/${sessionId}${new URL(uri).search}`)
    expect(await status.json()).toMatchObject({ status: 'VERIFICATION_SUCCEEDED', result: { verified: true } })
  })

  describe('with a credential that the query leaves to the wallet', () => {
    const [card] = dcqlQuery.credentials
    const optional = (pass: object) => ({
      credentials: [card, { ...card, ...pass, id: 'pass' }],
      credential_sets: [{ options: [['card']] }, { options: [['pass']], required: false }],
    })
    const more = { transaction_data: [{ ...payment, credential_ids: ['pass'] }] }

    it('presents it where it is to approve something', async () => {
      const { sessionId, link } = await startVerification(services, optional({}), more)
      const plan = await planPresentation(made.wallet, link)
      expect(plan).toMatchObject({ chosenQueryIds: ['card', 'pass'], approvals: [{ queryId: 'pass' }] })
      await sendPresentation(made.wallet, plan)
      expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'VERIFICATION_SUCCEEDED' })
    })

    it('says so when it has none, and sends nothing', async () => {
      const { link } = await startVerification(services, optional({ meta: { type_values: [['Pass']] } }), more)
      const plan = await planPresentation(made.wallet, link)
      expect(plan).toMatchObject({ chosenQueryIds: [], approvals: [] })
      expect(plan.problem).toBe(
        'pass: the wallet has no credential of the type Pass; the transaction urn:example:payment is to be approved with pass, which is not there',
      )
      expect((await errorOf(sendPresentation(made.wallet, plan))).code).toBe('cannot_answer')
    })
  })
})
