/**
 * A person shows another credential to get one: the issuer asks a verifier for it, and its claims become the dataset;
 * and attacks on that. OpenID4VP 1.0, Session Fixation.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { stringMemberOf } from '../../src/codec/json.ts'
import { readJws } from '../../src/codec/jws.ts'
import { type Outbound, OutboundError } from '../../src/http/outbound.ts'
import { decline, planPresentation, sendPresentation } from '../../src/wallet/present.ts'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { declareWithScope, newVisitor, redeemCode, SCOPE, tokenBody, tokenForm, visit } from '../support/code-flow.ts'
import { expectRefusal } from '../support/issuance.ts'
import { openLinkPage, type Presenting, presentedDatasets, startPresenting } from '../support/presenting.ts'
import { ISSUER_URL, outboundBy, type Services } from '../support/services.ts'
import { type AtPage, comeToPage, SIGN_IN, wayByPage, wayToWallet } from '../support/sign-in.ts'
import { testWallet } from '../support/wallet.ts'
import { call, dataset, dcqlQuery, holderSigner, issueCredential, postForm, startIssuance } from '../support/wire.ts'

const INVALID = { status: 400, error: 'invalid_request' } as const

/** Makes a wallet with the card that the verifier asks for. */
async function walletWithCard(services: Services) {
  const { wallet } = testWallet(services.fetch, services.clock)
  await receiveOffer(wallet, (await startIssuance(services)).link)
  return wallet
}

/** Returns the link for the wallet on the page that a browser gets. */
async function linkFor(services: Services, at: AtPage): Promise<string> {
  const response = await openLinkPage(services, at)
  const text = await response.text()
  expect([response.status, text]).toEqual([200, expect.stringContaining('Open the wallet')])
  return /href="(haip-vp:[^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? ''
}

describe('showing a credential to get another', () => {
  let services: Services
  let way: Presenting['way']
  let close: () => Promise<void>
  let wallet: Awaited<ReturnType<typeof walletWithCard>>
  beforeAll(async () => {
    const student = { ...presentedDatasets[SCOPE], constants: { credentialSubject: { library: 'Other Library' } } }
    ;({ services, way, close } = await startPresenting({}, { datasets: { ...presentedDatasets, student } }))
    wallet = await walletWithCard(services)
  })
  afterAll(() => close())
  beforeEach(() => {
    way.outbound = undefined
  })
  const presented = async (at: AtPage): Promise<string> => {
    const plan = await planPresentation(wallet, await linkFor(services, at))
    return (await sendPresentation(wallet, plan)).redirect_uri ?? ''
  }

  const datasetOf = async ({ interaction }: AtPage) => {
    const step = (await services.issuerStore.get('authorization_request', interaction))?.value.step
    const sessionId = step !== undefined && 'sessionId' in step ? step.sessionId : ''
    return (await services.issuerStore.get('issuance_dataset', sessionId))?.value
  }

  it('makes the dataset of the claims that were disclosed, and gives the wallet its code', async () => {
    const at = await comeToPage(services)
    const page = await visit(services, at.browser, `${SIGN_IN}?interaction=${at.interaction}`)
    expect(await page.text()).toContain('Show a credential from your wallet')
    const address = await presented(at)
    expect(address.startsWith(`${SIGN_IN}/presented?interaction=${at.interaction}&response_code=`)).toBe(true)
    const given = await wayToWallet(services, at.browser, await visit(services, at.browser, address))
    const credentialSubject = { given_name: 'Ada', library: 'Example Library' }
    expect(await datasetOf(at)).toMatchObject([{ dataset: { credentialSubject } }])
    await tokenBody(await redeemCode(services, tokenForm(at.wallet, given.code ?? '')))
  })

  it('makes a dataset for each credential, also where they have different values', async () => {
    await declareWithScope(services, 'student')
    const at = await comeToPage(services, { scope: `student ${SCOPE}` })
    await wayToWallet(services, at.browser, await visit(services, at.browser, await presented(at)))
    const [one, other] = ['Other Library', 'Example Library'].map((library) => ({ given_name: 'Ada', library }))
    expect(await datasetOf(at)).toMatchObject([
      { dataset: { credentialSubject: one } },
      { dataset: { credentialSubject: other } },
    ])
  })

  it('shows one link however often it is asked for, so that no browser fills the verifier', async () => {
    const at = await comeToPage(services)
    const before = (await services.verifierStore.list('verification_session')).length
    const links = await Promise.all(Array.from({ length: 20 }, () => linkFor(services, at)))
    const last = await linkFor(services, at)
    expect(new Set([...links, last]).size).toBe(1)
    expect((await services.verifierStore.list('verification_session')).length - before).toBe(1)
  })

  it('tells the wallet when the person declines', async () => {
    const at = await comeToPage(services)
    await decline(wallet, await planPresentation(wallet, await linkFor(services, at)))
    const address = `${SIGN_IN}/presented?interaction=${at.interaction}&response_code=x`
    const end = await visit(services, at.browser, address)
    expect(await wayByPage({ services }, at, end)).toMatchObject({ error: 'access_denied' })
  })

  it('gives nobody a credential for what another person presented (session fixation)', async () => {
    const thief = await comeToPage(services)
    // The victim gets the link of the thief, presents, and is sent back in a browser of their own.
    const address = await presented(thief)
    for (const victim of [newVisitor(), (await comeToPage(services)).browser]) {
      const answer = await visit(services, { cookie: victim.cookie }, address)
      expect([400, 410]).toContain(answer.status)
    }
    const stolen = await visit(services, thief.browser, address)
    await expectRefusal(stolen, { status: 410, error: 'gone' })
  })

  it.each(['', 'x', 'a'.repeat(32)])('takes nothing for the response_code "%s"', async (code) => {
    const at = await comeToPage(services)
    const address = await presented(at)
    const wrong = `${SIGN_IN}/presented?interaction=${at.interaction}&response_code=${code}`
    await expectRefusal(await visit(services, at.browser, wrong), { ...INVALID, why: /no presentation/ })
    await expectRefusal(
      await visit(services, newVisitor(), `${SIGN_IN}/presented?interaction=${at.interaction}`),
      INVALID,
    )
    expect(await wayToWallet(services, at.browser, await visit(services, at.browser, address))).toHaveProperty('code')
    await expectRefusal(await visit(services, at.browser, address), { status: 410, error: 'gone' })
  })

  it('asks the verifier about five response codes of one interaction, and no more', async () => {
    const at = await comeToPage(services)
    await linkFor(services, at)
    let asked = 0
    way.outbound = (request) => {
      asked++
      return outboundBy(services.fetch)(request)
    }
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, code) =>
        visit(services, at.browser, `${SIGN_IN}/presented?interaction=${at.interaction}&response_code=${code}`),
      ),
    )
    expect([asked, answers.filter(({ status }) => status === 410).length]).toEqual([5, 7])
  })

  it('takes nothing before anything was presented, nor the code of another presentation', async () => {
    const [at, other] = [await comeToPage(services), await comeToPage(services)]
    const code = new URL(await presented(other)).searchParams.get('response_code') ?? ''
    const address = `${SIGN_IN}/presented?interaction=${at.interaction}&response_code=${code}`
    await expectRefusal(await visit(services, at.browser, address), { ...INVALID, why: /no presentation/ })
    await linkFor(services, at)
    await expectRefusal(await visit(services, at.browser, address), { ...INVALID, why: /no presentation/ })
  })

  it.each<[string, Outbound]>([
    ['is down', () => Promise.reject(new OutboundError('verifier.localhost takes no connections'))],
    ['refuses the key', () => Promise.resolve({ status: 401, headers: {}, body: new Uint8Array() })],
    ['answers with no JSON', () => Promise.resolve({ status: 200, headers: {}, body: Buffer.from('<html>') })],
    ['answers with nothing of a session', () => Promise.resolve({ status: 200, headers: {}, body: Buffer.from('{}') })],
  ])('says so when the verifier %s, and the person can try again', async (_, outbound) => {
    const at = await comeToPage(services)
    way.outbound = outbound
    const start = await visit(services, at.browser, `${SIGN_IN}/start?interaction=${at.interaction}`)
    await expectRefusal(start, { status: 503, error: 'temporarily_unavailable', why: /verifier/ })
    way.outbound = undefined
    const address = await presented(at)
    expect(await wayToWallet(services, at.browser, await visit(services, at.browser, address))).toHaveProperty('code')
  })

  it('starts no session whose data anybody with such a credential could take', async () => {
    const id = await declareWithScope(services, 'other')
    const body = { credential_dataset: dataset, credential_configurations: [id], grants: ['authorization_code'] }
    const response = await call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, body)
    await expectRefusal(response, { ...INVALID, why: /deferred: true/ })
  })
})

it('takes nothing of a verifier that trusts everybody', async () => {
  const { services, close } = await startPresenting({ anchors: [], verifier: { issuerTrustAnchors: undefined } })
  const wallet = await walletWithCard(services)
  const at = await comeToPage(services)
  const plan = await planPresentation(wallet, await linkFor(services, at))
  const address = (await sendPresentation(wallet, plan)).redirect_uri ?? ''
  const answer = await visit(services, at.browser, address)
  await expectRefusal(answer, { status: 503, error: 'temporarily_unavailable', why: /verifier/ })
  expect(services.logLines.join('')).toContain('issuerTrustAnchors')
  await close()
})

it('takes nothing that somebody showed without the key of the holder, where the query does not ask for it', async () => {
  const [card] = dcqlQuery.credentials
  const query = { credentials: [{ ...card, require_cryptographic_holder_binding: false }] }
  const { services, close } = await startPresenting({}, {}, query)
  // Every verifier that got the presentation of this card has its text.
  const stolenCard = await issueCredential(services, await holderSigner())
  const thief = await comeToPage(services)
  const requestUri = new URL(await linkFor(services, thief)).searchParams.get('request_uri') ?? ''
  const { payload } = readJws(await (await services.fetch(requestUri)).text())
  const [state = '', responseUri = ''] = ['state', 'response_uri'].map((name) => stringMemberOf(payload, name))
  const form = { vp_token: JSON.stringify({ card: [stolenCard] }), state }
  const { redirect_uri: address } = (await (await postForm(services, responseUri, form)).json()) as {
    readonly redirect_uri: string
  }
  const answer = await visit(services, thief.browser, address)
  await expectRefusal(answer, { status: 503, error: 'temporarily_unavailable', why: /verifier/ })
  expect(services.logLines.join('')).toContain('require_cryptographic_holder_binding')
  await close()
})

it.each<[string, object, RegExp]>([
  [
    'a path after the base URL',
    { verifier: 'https://verifier.example/x' },
    /presentation\.verifier: write its base URL/,
  ],
  ['plain http to elsewhere', { verifier: 'http://verifier.example' }, /presentation\.verifier/],
  ['a claim of no credential', { datasets: { a: { claims: { b: 'given_name' } } } }, /a\.claims\.b: it must be a path/],
  ['no datasets', { datasets: {} }, /presentation\.datasets: name at least one/],
])('the settings are refused with %s', async (_, more, why) => {
  await expect(startPresenting({}, more)).rejects.toThrow(why)
})
