/** Attacks on the authorization code flow of wallets that authenticate themselves: the code is for the instance that pushed. HAIP 1.0, Wallet Attestation. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  AUTHORIZE,
  bring,
  type CodeWallet,
  decided,
  declareWithScope,
  INTERACTION_URL,
  newVisitor,
  PAR,
  response,
  SCOPE,
  tokenBody,
  tokenForm,
  walletAsking,
} from '../support/code-flow.ts'
import { expectRefusal, TOKEN_ENDPOINT } from '../support/issuance.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import {
  fetchChallenge,
  makeInstance,
  makeProvider,
  popOf,
  trustingProvider,
  WALLET,
  type WalletInstance,
  walletAttestation,
} from '../support/wallet-attestation.ts'

describe('an attack on a code of a wallet instance', () => {
  let services: Services
  let instance: WalletInstance
  let other: WalletInstance
  beforeAll(async () => {
    const provider = await makeProvider()
    ;[instance, other] = [await makeInstance(provider), await makeInstance(provider)]
    const trusting = trustingProvider(provider)
    const issuer = { ...trusting.issuer, authentication: { interactionUrl: INTERACTION_URL } }
    services = await startServices({ ...trusting, issuer })
    await declareWithScope(services)
  })
  afterAll(() => services.close())

  const headersOf = async (sender: WalletInstance) => {
    const proved = { now: services.clock.now, challenge: await fetchChallenge(services), audience: ISSUER_URL }
    return {
      'oauth-client-attestation': await walletAttestation(sender, services.clock.now),
      'oauth-client-attestation-pop': await popOf(sender, proved),
    }
  }
  const post = (url: string, form: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>>) =>
    services.fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(form).toString(),
    })
  const asking = () => walletAsking({ scope: SCOPE, client_id: WALLET })

  /** The right token request of a wallet whose instance has pushed its request. */
  async function codeOf(wallet: CodeWallet) {
    const pushed = await post(PAR, wallet.form, await headersOf(instance))
    const { request_uri: requestUri = '' } = (await pushed.json()) as Record<string, string>
    const browser = newVisitor()
    const interaction = await bring(services, browser, { requestUri, clientId: WALLET, url: AUTHORIZE })
    const { code = '' } = await response(services, browser, (await decided(services, interaction)).address)
    return tokenForm(wallet, code)
  }

  it('pushes without an attestation, and with a proof that was used', async () => {
    const { form } = asking()
    await expectRefusal(await post(PAR, form, {}), { status: 400, error: 'invalid_client' })
    const headers = await headersOf(instance)
    expect((await post(PAR, form, headers)).status).toBe(201)
    const again = await post(PAR, form, headers)
    await expectRefusal(again, { status: 400, error: 'invalid_client_attestation' })
  })

  it('pushes under the name of another wallet', async () => {
    const { form } = walletAsking({ scope: SCOPE, client_id: 'https://other.example' })
    const refused = await post(PAR, form, await headersOf(instance))
    await expectRefusal(refused, { status: 400, error: 'invalid_client_attestation' })
  })

  it('redeems it by another instance of the same wallet, and by none', async () => {
    const form = await codeOf(asking())
    const stolen = await post(TOKEN_ENDPOINT, form, await headersOf(other))
    await expectRefusal(stolen, { status: 400, error: 'invalid_grant', why: /another wallet instance/ })
    await expectRefusal(await post(TOKEN_ENDPOINT, form, {}), { status: 400, error: 'invalid_client' })
    await tokenBody(await post(TOKEN_ENDPOINT, form, await headersOf(instance)))
  })
})
