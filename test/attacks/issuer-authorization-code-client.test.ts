/**
 * Attacks on the authorization code flow of wallets that authenticate themselves: the code is for the instance that
 * pushed. HAIP 1.0, Wallet Attestation.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Signer } from '../../src/keys/signer.ts'
import {
  AUTHORIZE,
  bring,
  type CodeWallet,
  declareWithScope,
  type Form,
  INTERACTION_URL,
  newVisitor,
  PAR,
  response,
  SCOPE,
  sendDecision,
  tokenBody,
  tokenForm,
  walletAsking,
  without,
} from '../support/code-flow.ts'
import { dpopNonce, dpopProof } from '../support/dpop.ts'
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
import { dataset, holderSigner } from '../support/wire.ts'

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

  /** Makes the right token request of a wallet whose instance has pushed its request. */
  async function codeOf(wallet: CodeWallet) {
    const pushed = await post(PAR, wallet.form, await headersOf(instance))
    const { request_uri: requestUri = '' } = (await pushed.json()) as Record<string, string>
    const browser = newVisitor()
    const interaction = await bring(services, browser, { requestUri, clientId: WALLET, url: AUTHORIZE })
    const { code = '' } = await response(services, browser, (await sendDecision(services, interaction)).address)
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

  it.each<[string, Form]>([
    ['no credential', { scope: '' }],
    ['an offer that is none', { issuer_state: 'x' }],
    ['a redirect URI that is none', { redirect_uri: 'x' }],
    ['details that are none', { authorization_details: '[' }],
    ['no client', { client_id: '' }],
  ])('learns nothing by pushing a request with %s before it has authenticated itself', async (_, more) => {
    const { form } = walletAsking({ scope: SCOPE, client_id: WALLET, ...more })
    await expectRefusal(await post(PAR, form, {}), { status: 400, error: 'invalid_client', why: /authenticate/ })
    expect((await post(PAR, form, await headersOf(instance))).status).toBe(400)
  })

  it('pushes with one proof, and redeems the code with the same', async () => {
    const headers = await headersOf(instance)
    const wallet = asking()
    expect((await post(PAR, wallet.form, headers)).status).toBe(201)
    const form = await codeOf(wallet)
    const refused = await post(TOKEN_ENDPOINT, form, headers)
    await expectRefusal(refused, { status: 400, error: 'invalid_client_attestation', why: /used before/ })
    await tokenBody(await post(TOKEN_ENDPOINT, form, await headersOf(instance)))
  })

  it.each<[string, (thief: Signer) => object]>([
    ['a key in its header', ({ jwk }) => ({ jwk })],
    ['the address of keys', () => ({ jku: 'https://thief.example/keys', x5u: 'https://thief.example/c.pem' })],
    ['the name of a key', () => ({ kid: '../../etc/passwd' })],
    ['a critical extension', () => ({ crit: ['exp'] })],
  ])('is attested by a signature of its own with %s, and nothing is fetched or believed', async (_, header) => {
    const { key: thief } = await makeInstance(instance.provider)
    const changes = { header: { ...header(thief) }, sign: (data: Uint8Array) => thief.sign(data) }
    const forged = await walletAttestation(instance, services.clock.now, changes)
    const stolen = await post(PAR, asking().form, {
      ...(await headersOf(instance)),
      'oauth-client-attestation': forged,
    })
    await expectRefusal(stolen, { status: 400, error: 'invalid_client_attestation' })
  })

  it.each<[string, (x5c: readonly string[], ca: string) => readonly string[]]>([
    ['the other way round', ([leaf = ''], ca) => [ca, leaf]],
    ['of the anchor alone', (_, ca) => [ca]],
    ['of one certificate a hundred times', ([leaf = '']) => Array.from({ length: 100 }, () => leaf)],
    ['of things that are none', ([leaf = '']) => [leaf, 'AAAA']],
  ])('is attested by a chain %s', async (_, change) => {
    const { provider } = instance
    const x5c = change(provider.x5c, provider.authority.der.toString('base64'))
    const forged = await walletAttestation(instance, services.clock.now, { header: { x5c } })
    const refused = await post(PAR, asking().form, {
      ...(await headersOf(instance)),
      'oauth-client-attestation': forged,
    })
    await expectRefusal(refused, { status: 400, error: 'invalid_client_attestation' })
  })

  it.each<[string, unknown]>([
    ['a text', '9999999999'],
    ['a list', [9_999_999_999]],
    ['null', null],
    ['before its beginning', 1],
  ])('is attested until %s', async (_, exp) => {
    const forged = await walletAttestation(instance, services.clock.now, { payload: { exp } })
    const refused = await post(PAR, asking().form, {
      ...(await headersOf(instance)),
      'oauth-client-attestation': forged,
    })
    await expectRefusal(refused, { status: 400, error: 'invalid_client_attestation', why: /attestation\.validity/ })
  })

  it('pushes under the name of another wallet', async () => {
    const { form } = walletAsking({ scope: SCOPE, client_id: 'https://other.example' })
    const refused = await post(PAR, form, await headersOf(instance))
    await expectRefusal(refused, { status: 400, error: 'invalid_client_attestation' })
  })

  it('changes its DPoP key between the pushed request and the token, but may at the refresh', async () => {
    const [own, thief] = [await holderSigner(), await holderSigner()]
    const [wallet, browser] = [asking(), newVisitor()]
    const sent = async (url: string, form: Form, key: Signer) => {
      const dpop = await dpopProof({ services, key, url, nonce: await dpopNonce(services) })
      return post(url, form, { ...(await headersOf(instance)), dpop })
    }
    const { request_uri: requestUri = '' } = (await (await sent(PAR, wallet.form, own)).json()) as Form
    const interaction = await bring(services, browser, { requestUri, clientId: WALLET, url: AUTHORIZE })
    const decision = { credential_dataset: dataset, refresh_seconds: 3600 }
    const { address } = await sendDecision(services, interaction, decision)
    const form = tokenForm(wallet, (await response(services, browser, address)).code ?? '')
    const other = await sent(TOKEN_ENDPOINT, form, thief)
    await expectRefusal(other, { status: 400, error: 'invalid_grant', why: /another key/ })
    const { refresh_token: token = '' } = await tokenBody(await sent(TOKEN_ENDPOINT, form, own))
    const refresh = { grant_type: 'refresh_token', refresh_token: token, client_id: WALLET }
    const unproved = await post(TOKEN_ENDPOINT, refresh, await headersOf(instance))
    await expectRefusal(unproved, { status: 400, error: 'invalid_dpop_proof', why: /missing/ })
    const next = await sent(TOKEN_ENDPOINT, refresh, await holderSigner())
    expect(await tokenBody(next)).toMatchObject({ token_type: 'DPoP' })
  })

  it('leaves out who it is, as an attested wallet may, and gets the code of no other wallet by that', async () => {
    const form = without(await codeOf(asking()), 'client_id')
    await expectRefusal(await post(TOKEN_ENDPOINT, form, {}), { status: 400, error: 'invalid_client' })
    const named = await walletAttestation(instance, services.clock.now, { payload: { sub: 'https://other.example' } })
    const renamed = { ...(await headersOf(instance)), 'oauth-client-attestation': named }
    const stolen = await post(TOKEN_ENDPOINT, form, renamed)
    await expectRefusal(stolen, {
      status: 400,
      error: 'invalid_grant',
      why: /the authorization code was given to another client; send/,
    })
    await tokenBody(await post(TOKEN_ENDPOINT, form, await headersOf(instance)))
  })

  it('redeems it by another instance of the same wallet, and by none', async () => {
    const form = await codeOf(asking())
    const stolen = await post(TOKEN_ENDPOINT, form, await headersOf(other))
    await expectRefusal(stolen, { status: 400, error: 'invalid_grant', why: /another wallet instance/ })
    await expectRefusal(await post(TOKEN_ENDPOINT, form, {}), { status: 400, error: 'invalid_client' })
    await tokenBody(await post(TOKEN_ENDPOINT, form, await headersOf(instance)))
  })
})
