/**
 * Attacks on the reference wallet in the authorization code flow: what comes back by the browser has one thing wrong,
 * and the wallet refuses it, sends the code to nobody and keeps nothing. RFC 6749 section 10.12, RFC 9207, RFC 9700
 * section 4.4.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WalletErrorCode } from '../../src/wallet/error.ts'
import { receiveOffer, receiveWalletInitiated } from '../../src/wallet/receive.ts'
import { declareWithScope, offerFor, SCOPE, startCodeFlow } from '../support/code-flow.ts'
import { visitor } from '../support/code-flow-visitor.ts'
import { ISSUER_URL, type Services } from '../support/services.ts'
import { changing, errorOf, testWallet, withMembers } from '../support/wallet.ts'

const SERVER = '/oauth-authorization-server'
const ask = { credentialIssuer: ISSUER_URL, credential: { scope: SCOPE } }

let services: Services
let configurationId: string
beforeAll(async () => {
  services = await startCodeFlow()
  configurationId = await declareWithScope(services)
})
afterAll(() => services.close())

interface Attack {
  readonly attack: string
  readonly change: (response: URLSearchParams) => void
  readonly code: WalletErrorCode
  readonly why: RegExp
}

const attacks: readonly Attack[] = [
  {
    attack: 'mix-up: the response is of another issuer',
    change: (response) => response.set('iss', 'https://attacker.example'),
    code: 'invalid_response',
    why: /another server .*\(iss\)/,
  },
  {
    attack: 'mix-up: the response does not say whose it is',
    change: (response) => response.delete('iss'),
    code: 'invalid_response',
    why: /does not say whose answer it is \(iss, RFC 9207\)/,
  },
  {
    attack: 'code injection: the state is of another request',
    change: (response) => response.set('state', 'a'.repeat(43)),
    code: 'invalid_response',
    why: /another request .*\(state\)/,
  },
  {
    attack: 'code injection: there is no state',
    change: (response) => response.delete('state'),
    code: 'invalid_response',
    why: /\(state\)/,
  },
  {
    attack: 'a second code beside the first',
    change: (response) => response.append('code', 'another'),
    code: 'invalid_response',
    why: /twice/,
  },
  {
    attack: 'an error beside the code',
    change: (response) => response.set('error', 'server_error'),
    code: 'refused',
    why: /said no at its page: server_error/,
  },
  {
    attack: 'no code at all',
    change: (response) => response.delete('code'),
    code: 'invalid_response',
    why: /without a code/,
  },
]

describe('a response by the browser', () => {
  it.each(attacks)('is refused by the wallet: $attack', async ({ change, code, why }) => {
    const { wallet, sent, texts } = testWallet(services.fetch, services.clock, {
      openBrowser: visitor(services, { change }).browser,
    })
    const error = await errorOf(receiveWalletInitiated(wallet, ask))
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(why)])
    expect(sent.filter(({ to }) => to.includes('token-endpoint'))).toEqual([])
    expect(texts.size).toBe(0)
  })

  it('is taken when nothing is wrong, by scope, by id and for an offer', async () => {
    const went = visitor(services)
    const { wallet, sent } = testWallet(services.fetch, services.clock, { openBrowser: went.browser })
    await receiveWalletInitiated(wallet, ask)
    await receiveWalletInitiated(wallet, { credentialIssuer: ISSUER_URL, credential: { configurationId } })
    const { sessionId } = await offerFor(services, configurationId)
    const approved = visitor(services, { decision: { approved: true } })
    const uri = `${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`
    const offer = (await (await services.fetch(uri)).json()) as { grants: Record<string, { issuer_state: string }> }
    const [stored] = await receiveOffer(
      { ...wallet, openBrowser: approved.browser },
      `haip-vci://?credential_offer_uri=${encodeURIComponent(uri)}`,
    )
    expect(stored?.name).toBe('Student card')
    const pushed = sent.filter(({ to }) => to.includes('/auth/par')).map(({ body }) => new URLSearchParams(body))
    expect(pushed.at(-1)?.get('issuer_state')).toBe(offer.grants.authorization_code?.issuer_state)
    for (const name of ['state', 'code_challenge']) {
      // The wallet pushes again when the service wants its nonce in the proof.
      expect(new Set(pushed.map((form) => form.get(name))).size).toBe(3)
    }
    expect([went.ended(), approved.ended()]).toEqual([2, 1])
  })

  it('that says no is told to the person in the words of the application', async () => {
    const { browser, ended } = visitor(services, { decision: { denied: true, reason: 'Not a student.' } })
    const { wallet, texts } = testWallet(services.fetch, services.clock, { openBrowser: browser })
    const error = await errorOf(receiveWalletInitiated(wallet, ask))
    expect([error.code, error.message]).toEqual(['refused', expect.stringContaining('Not a student. (access_denied)')])
    expect(error.server).toEqual({ error: 'access_denied', error_description: 'Not a student.' })
    expect([texts.size, ended()]).toEqual([0, 1])
  })
})

describe('an authorization server', () => {
  const refusalWith = async (members: object) => {
    const fetch = changing(services.fetch, SERVER, withMembers(members))
    const { browser, went } = visitor(services)
    const error = await errorOf(
      receiveWalletInitiated(testWallet(fetch, services.clock, { openBrowser: browser }).wallet, ask),
    )
    expect(went()).toEqual([])
    return [error.code, error.message]
  }

  it.each<[string, object, WalletErrorCode, RegExp]>([
    ['without PKCE', { code_challenge_methods_supported: ['plain'] }, 'unsupported', /S256/],
    ['without pushed requests', { pushed_authorization_request_endpoint: undefined }, 'unsupported', /pushed_auth/],
    [
      'that runs a script in the browser',
      { authorization_endpoint: 'javascript:alert(1)' },
      'insecure_address',
      /https/,
    ],
    ['without TLS', { authorization_endpoint: 'http://a.example/' }, 'insecure_address', /https/],
    ['under another name', { issuer: 'https://attacker.example' }, 'invalid_metadata', /another issuer/],
  ])('is refused before anybody is sent there: %s', async (_, members, code, why) => {
    expect(await refusalWith(members)).toEqual([code, expect.stringMatching(why)])
  })

  it('that gives a Bearer token for a proof is refused', async () => {
    const fetch = changing(services.fetch, '/token-endpoint', async (response) =>
      response.ok ? withMembers({ token_type: 'Bearer' })(response) : response,
    )
    const { wallet, texts } = testWallet(fetch, services.clock, { openBrowser: visitor(services).browser })
    const error = await errorOf(receiveWalletInitiated(wallet, ask))
    expect([error.code, error.message, texts.size]).toEqual(['invalid_response', expect.stringMatching(/not DPoP/), 0])
  })
})

it('a wallet without a browser says so, and asks nobody', async () => {
  const { wallet, sent } = testWallet(services.fetch, services.clock)
  const error = await errorOf(receiveWalletInitiated(wallet, ask))
  expect([error.code, error.message]).toEqual(['unsupported', expect.stringContaining('vouchsafe wallet receive')])
  expect(sent).toEqual([])
})
