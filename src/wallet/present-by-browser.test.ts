/** Presenting to the verification service as a browser passes it on, for the page of an origin. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mdocConfiguration, mdocDataset, mdocQuery } from '../../test/support/mdoc.ts'
import { type Services, startServices, VERIFIER_URL } from '../../test/support/services.ts'
import { changing, errorOf, type TestWallet, testWallet } from '../../test/support/wallet.ts'
import { dcqlQuery, declare, startIssuance, startVerification, statusOf } from '../../test/support/wire.ts'
import type { JsonObject } from '../codec/json.ts'
import { decline, type PresentationPlan, planPresentation, sendPresentation } from './present.ts'
import { receiveOffer } from './receive.ts'

const ORIGIN = 'https://shop.example'

const sdJwtConfiguration = { format: 'dc+sd-jwt', vct: 'urn:example:card' }
const sdJwtQuery = {
  credentials: [
    {
      id: 'card',
      format: 'dc+sd-jwt',
      meta: { vct_values: ['urn:example:card'] },
      claims: [{ path: ['given_name'] }],
    },
  ],
}

describe('presenting by a browser', () => {
  let services: Services
  let made: TestWallet
  beforeAll(async () => {
    services = await startServices()
    made = testWallet(services.fetch, services.clock)
    await receiveOffer(made.wallet, (await startIssuance(services)).link)
    await receiveAs(sdJwtConfiguration, { given_name: 'Ada' })
    await receiveAs(mdocConfiguration, mdocDataset)
  })
  afterAll(() => services.close())

  async function receiveAs(configuration: object, dataset: object): Promise<void> {
    const more = { credential_configurations: [await declare(services, configuration)], credential_dataset: dataset }
    await receiveOffer(made.wallet, (await startIssuance(services, more)).link)
  }

  async function startOf(query: unknown = dcqlQuery, more: object = {}) {
    const { sessionId, link } = await startVerification(services, query, { origin: ORIGIN, ...more })
    return { sessionId, link, uri: `${VERIFIER_URL}/presentation/oid4vp/digital-credentials/${sessionId}` }
  }

  it.each([
    ['jwt_vc_json-ld', dcqlQuery],
    ['dc+sd-jwt', sdJwtQuery],
    ['mso_mdoc', mdocQuery],
  ])('shows what was asked for to the page alone: %s', async (_, query) => {
    const { sessionId, uri } = await startOf(query)
    const plan = await planPresentation(made.wallet, uri, ORIGIN)
    expect(plan.request).toMatchObject({ clientName: 'Example Shop', recipient: { protocol: 'openid4vp-v1-signed' } })
    expect(await sendPresentation(made.wallet, plan)).toEqual({})
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({
      status: 'VERIFICATION_SUCCEEDED',
      response_mode: 'dc_api.jwt',
    })
    const { to, body } = made.sent.at(-1) ?? { to: '', body: '' }
    expect(to).toBe(`POST ${uri}`)
    expect(JSON.parse(body)).toEqual({
      protocol: 'openid4vp-v1-signed',
      data: { response: expect.stringMatching(/^([\w-]*\.){4}[\w-]+$/) as unknown },
    })
  })

  it('answers an unsigned request too', async () => {
    const { sessionId, uri } = await startOf()
    const fetch = changing(services.fetch, '/digital-credentials/', async (response, { body }) => {
      if (body) return response
      const { digital } = (await response.json()) as { digital: { requests: JsonObject[] } }
      const requests = digital.requests.filter(({ protocol }) => protocol === 'openid4vp-v1-unsigned')
      return Response.json({ digital: { requests } })
    })
    const wallet = { ...made.wallet, fetch }
    const plan = await planPresentation(wallet, uri, ORIGIN)
    expect(plan.request).toMatchObject({ clientId: undefined, recipient: { protocol: 'openid4vp-v1-unsigned' } })
    await sendPresentation(wallet, plan)
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'VERIFICATION_SUCCEEDED' })
  })

  it('goes on where the verifier sends the browser', async () => {
    const { uri } = await startOf(dcqlQuery, { redirect_uri: 'https://shop.example/done' })
    const plan = await planPresentation(made.wallet, uri, ORIGIN)
    expect((await sendPresentation(made.wallet, plan)).redirect_uri).toMatch(/^https:\/\/shop\.example\/done\?/)
  })

  it('declines, and says nothing else', async () => {
    const { sessionId, uri } = await startOf()
    await decline(made.wallet, await planPresentation(made.wallet, uri, ORIGIN))
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'DECLINED' })
    expect(JSON.parse(made.sent.at(-1)?.body ?? '')).toEqual({
      protocol: 'openid4vp-v1-signed',
      data: { error: 'access_denied' },
    })
  })

  it('shows nothing to the page of another', async () => {
    const { sessionId, uri } = await startOf()
    const error = await errorOf(planPresentation(made.wallet, uri, 'https://bank.example'))
    expect([error.code, error.message]).toEqual([
      'invalid_request_object',
      expect.stringMatching(/expected_origins/) as unknown,
    ])
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'STARTED' })
  })

  it.each([
    ['jwt_vc_json-ld', dcqlQuery],
    ['dc+sd-jwt', sdJwtQuery],
    ['mso_mdoc', mdocQuery],
  ])('is not believed when it was made for the page of another: %s', async (_, query) => {
    const { sessionId, uri } = await startOf(query)
    const plan = await planPresentation(made.wallet, uri, ORIGIN)
    expect((await errorOf(sendPresentation(made.wallet, asSeenBy('https://bank.example', plan)))).code).toBe('refused')
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'VERIFICATION_FAILED' })
  })
})

/** Returns the plan of a wallet whose browser says another origin. */
function asSeenBy(origin: string, plan: PresentationPlan): PresentationPlan {
  const recipient = { ...plan.request.recipient, origin }
  return { ...plan, request: { ...plan.request, audience: `origin:${origin}`, recipient } }
}
