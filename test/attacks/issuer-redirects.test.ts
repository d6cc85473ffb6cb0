/**
 * Attacks that use the issuer to send people elsewhere: a link to it with a redirect URI of the attacker. RFC 9700
 * section 4.11.2.
 */
import { expect, it, onTestFinished } from 'vitest'
import {
  AUTHORIZE,
  authorizeUrl,
  type Browser,
  declareWithScope,
  type Form,
  INTERACTION_URL,
  newVisitor,
  offerFor,
  PAR,
  push,
  redeemCode,
  SCOPE,
  sentTo,
  startCodeFlow,
  tokenBody,
  tokenForm,
  visit,
  walletAsking,
} from '../support/code-flow.ts'
import { expectRefusal } from '../support/issuance.ts'
import { ISSUER_URL, type Services } from '../support/services.ts'
import { type AtPage, comeBack, comeToPage, SIGN_IN, type SigningIn, startSigningIn } from '../support/sign-in.ts'
import {
  fetchChallenge,
  makeInstance,
  makeProvider,
  popOf,
  trustingProvider,
  WALLET,
  walletAttestation,
} from '../support/wallet-attestation.ts'
import { call, dataset, GRANT } from '../support/wire.ts'

const STRANGER = 'https://phish.example/login'
const TRUSTED = 'https://wallet.example/callback'
const authentication = { interactionUrl: INTERACTION_URL, offers: 'trusted' }

/** Starts an issuer that trusts offers, and makes an offer. */
async function startTrusting(settings: object = {}, more: object = {}) {
  const services = await startCodeFlow({ authentication, ...settings }, more)
  onTestFinished(() => services.close())
  const { issuerState } = await offerFor(services, await declareWithScope(services))
  return { services, offered: { scope: SCOPE, issuer_state: issuerState } }
}

/** Returns the address of the link on a page that names the host of the redirect URI. */
async function linkOnPage(response: Response, host: string): Promise<string> {
  const text = await response.text()
  expect([response.status, response.headers.get('location'), text]).toEqual([
    200,
    null,
    expect.stringContaining(`<strong>${host}</strong>`) as string,
  ])
  return /class="button" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? ''
}

const goOn = async (services: Services, browser: Browser, address: string) =>
  sentTo(await visit(services, browser, address))

it.each(['pushed', 'in the link'])(
  'an offer that is trusted sends nobody to a stranger without a page, with the request %s',
  async (way) => {
    const { services, offered } = await startTrusting()
    const [wallet, browser] = [walletAsking({ ...offered, redirect_uri: STRANGER }), newVisitor()]
    const { client_id: clientId = '' } = wallet.form
    const form: Form =
      way === 'pushed' ? { client_id: clientId, request_uri: await push(services, wallet.form) } : wallet.form
    const page = await visit(services, browser, authorizeUrl(form))
    const link = await linkOnPage(page, 'phish.example')
    await expectRefusal(await visit(services, newVisitor(), `${link}x`), { status: 400, error: 'invalid_request' })
    const back = await goOn(services, browser, link)
    expect(back.origin + back.pathname).toBe(STRANGER)
    await tokenBody(await redeemCode(services, tokenForm(wallet, back.searchParams.get('code') ?? '')))
  },
)

it.each<[string, (all: SigningIn, at: AtPage) => Promise<Response>]>([
  [
    'a person who stops',
    ({ services }, at) => visit(services, at.browser, `${SIGN_IN}/stop?interaction=${at.interaction}`),
  ],
  ['a person whom the provider lets not in', (all, at) => comeBack(all, at, { error: 'access_denied', code: '' })],
])('%s is sent to no stranger, but sees where the link leads', async (_, stop) => {
  const all = await startSigningIn()
  onTestFinished(() => all.services.close())
  const at = await comeToPage(all.services, { scope: SCOPE, redirect_uri: STRANGER })
  const link = await linkOnPage(await stop(all, at), 'phish.example')
  const back = await goOn(all.services, at.browser, link)
  expect([back.origin + back.pathname, back.searchParams.get('error')]).toEqual([STRANGER, 'access_denied'])
})

it('a person who stops is back at once at a wallet whose address is trusted', async () => {
  const all = await startSigningIn({}, {}, { redirectUris: [TRUSTED] })
  onTestFinished(() => all.services.close())
  const at = await comeToPage(all.services, { scope: SCOPE, redirect_uri: TRUSTED })
  const way = await goOn(all.services, at.browser, `${SIGN_IN}/stop?interaction=${at.interaction}`)
  const back = await goOn(all.services, at.browser, way.href)
  expect([back.origin + back.pathname, back.searchParams.get('error')]).toEqual([TRUSTED, 'access_denied'])
})

it('an offer that is trusted is not enough where it wants a transaction code with its other grant', async () => {
  const { services } = await startTrusting({ redirectUris: [TRUSTED] })
  const terms = { grants: ['authorization_code', GRANT], tx_code: {} }
  const { issuerState } = await offerFor(services, await declareWithScope(services, 'other'), terms)
  const { form } = walletAsking({ scope: 'other', issuer_state: issuerState, redirect_uri: TRUSTED })
  const page = await sentTo(await visit(services, newVisitor(), authorizeUrl(form)))
  expect(page.origin).toBe(new URL(INTERACTION_URL).origin)
  expect(page.searchParams.has('interaction')).toBe(true)
})

it('an offer that is trusted is for anybody, but not where a transaction code has people sign in for it', async () => {
  const { services, configurationId } = await startSigningIn({}, { offers: 'trusted' })
  onTestFinished(() => services.close())
  const grants = ['authorization_code', GRANT]
  const body = { credential_configurations: [configurationId], credential_dataset: dataset, grants }
  const start = (more: object) => call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, { ...body, ...more })
  const why = /anybody who signs in could take it/
  await expectRefusal(await start({ tx_code: {} }), { status: 400, error: 'invalid_request', why })
  expect((await start({})).status).toBe(200)
})

it('the page after a trusted offer takes only the browser along that came with the request', async () => {
  const { services, offered } = await startTrusting()
  const [wallet, browser] = [walletAsking({ ...offered, redirect_uri: STRANGER }), newVisitor()]
  const link = await linkOnPage(await visit(services, browser, authorizeUrl(wallet.form)), 'phish.example')
  const other = await visit(services, newVisitor(), link)
  await expectRefusal(other, { status: 400, error: 'invalid_request', why: /another browser/ })
  await expectRefusal(await visit(services, browser, link), { status: 410, error: 'gone' })
})

it('an offer that is trusted goes straight to a redirect URI that the operator named', async () => {
  const { services, offered } = await startTrusting({ redirectUris: [TRUSTED] })
  const wallet = walletAsking({ ...offered, redirect_uri: TRUSTED })
  const back = await sentTo(await visit(services, newVisitor(), authorizeUrl(wallet.form)))
  expect(back.href.startsWith(`${TRUSTED}?code=`)).toBe(true)
  const near = walletAsking({ ...offered, redirect_uri: `${TRUSTED}/..` })
  await linkOnPage(await visit(services, newVisitor(), authorizeUrl(near.form)), 'wallet.example')
})

it('an offer that is trusted goes straight to a wallet that has authenticated itself', async () => {
  const provider = await makeProvider()
  const { issuer, ...files } = trustingProvider(provider)
  const { services, offered } = await startTrusting(issuer, files)
  const instance = await makeInstance(provider)
  const { form } = walletAsking({ ...offered, client_id: WALLET, redirect_uri: TRUSTED })
  const proved = { now: services.clock.now, challenge: await fetchChallenge(services), audience: ISSUER_URL }
  const pushed = await services.fetch(PAR, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'oauth-client-attestation': await walletAttestation(instance, services.clock.now),
      'oauth-client-attestation-pop': await popOf(instance, proved),
    },
    body: new URLSearchParams(form).toString(),
  })
  const { request_uri: requestUri = '' } = (await pushed.json()) as Form
  const url = authorizeUrl({ client_id: WALLET, request_uri: requestUri }, AUTHORIZE)
  const back = await sentTo(await visit(services, newVisitor(), url))
  expect(back.href.startsWith(`${TRUSTED}?code=`)).toBe(true)
})
