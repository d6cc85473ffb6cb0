/** Credentials in copies, how the wallet renews them, and those that an issuer decides about later. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { SCOPE, startCodeFlow } from '../../test/support/code-flow.ts'
import { visitor } from '../../test/support/code-flow-visitor.ts'
import { ISSUER_URL, type Services, startServices } from '../../test/support/services.ts'
import { changing, errorOf, type TestWallet, testWallet } from '../../test/support/wallet.ts'
import {
  makeInstance,
  makeProvider,
  trustingProvider,
  walletAttestation,
} from '../../test/support/wallet-attestation.ts'
import { call, configuration, dataset, declare, startIssuance, startVerification } from '../../test/support/wire.ts'
import type { JsonObject } from '../codec/json.ts'
import { planPresentation, sendPresentation } from './present.ts'
import { receiveOffer, receiveWalletInitiated } from './receive.ts'
import { collectPendingCredentials, listOutstandingCredentials, renewCredential } from './renewal.ts'
import { listCredentials, type StoredCredential } from './stored-credential.ts'

const COPIES = 3
const batched = { ...configuration, scope: SCOPE, batch_size: COPIES, validity_seconds: 86_400 }
const refreshing = { credential_dataset: dataset, refresh_seconds: 86_400 }
const ask = { credentialIssuer: ISSUER_URL, credential: { scope: SCOPE } }

const passed = (services: Services, seconds: number): void => {
  services.clock.now = new Date(services.clock.now.getTime() + seconds * 1000)
}

/** Returns the stored text of the only credential. */
function recordOf({ texts }: TestWallet): JsonObject & { readonly more_copies: readonly JsonObject[] } {
  const [text = '', ...more] = texts.values()
  expect(more).toEqual([])
  return JSON.parse(text) as JsonObject & { more_copies: JsonObject[] }
}

describe('a credential in copies', () => {
  let services: Services
  let id: string
  beforeAll(async () => {
    services = await startServices()
    id = await declare(services, batched)
  })
  afterAll(() => services.close())

  async function received(fetch = services.fetch): Promise<TestWallet & { stored: readonly StoredCredential[] }> {
    const { link } = await startIssuance(services, { credential_configurations: [id] })
    const made = testWallet(fetch, services.clock)
    return { ...made, stored: await receiveOffer(made.wallet, link) }
  }

  it('is one credential of the wallet, and each presentation shows another copy until all were seen', async () => {
    const { wallet, stored, texts } = await received()
    expect(stored).toMatchObject([{ copies: { all: COPIES, unseen: COPIES }, source: undefined }])
    expect(texts.size).toBe(1)
    const shown: string[] = []
    for (const unseen of [2, 1, 0, 0]) {
      const { credentials } = await listCredentials(wallet.store)
      shown.push(credentials[0]?.credential ?? '')
      const { link } = await startVerification(services)
      await sendPresentation(wallet, await planPresentation(wallet, link))
      const [after] = (await listCredentials(wallet.store)).credentials
      expect(after).toMatchObject({ id: stored[0]?.id, copies: { all: COPIES, unseen } })
    }
    expect(new Set(shown).size).toBe(COPIES)
    expect(shown[3]).toBe(shown[0])
  })

  it('has a key of its own in each copy, and a copy is used up also when the verifier refuses it', async () => {
    const made = await received()
    const { more_copies: more, ...first } = recordOf(made)
    const keys = [first, ...more].map(({ holder_key: key }) => (key as JsonObject).x)
    expect(new Set(keys).size).toBe(COPIES)
    const { link } = await startVerification(services)
    const plan = await planPresentation(made.wallet, link)
    const broken = { ...made.wallet, fetch: () => Promise.reject(new Error('gone')) }
    await errorOf(sendPresentation(broken, plan))
    expect((await listCredentials(made.wallet.store)).credentials).toMatchObject([{ copies: { unseen: COPIES - 1 } }])
  })

  type Sent = { credentials: { credential: string }[] }
  const changed = (change: (sent: Sent) => void) =>
    changing(services.fetch, '/credential-request', async (response) => {
      const sent = (await response.json()) as Sent
      change(sent)
      return Response.json(sent)
    })

  it('may have fewer copies than keys', async () => {
    const { stored } = await received(changed(({ credentials }) => void credentials.splice(1)))
    expect(stored).toMatchObject([{ copies: { all: 1, unseen: 1 } }])
  })

  it.each<[string, (sent: Sent) => void, RegExp]>([
    [
      'two copies for one key',
      ({ credentials }) => void credentials.splice(1, 1, ...credentials.slice(0, 1)),
      /another key/,
    ],
    ['no copy', ({ credentials }) => void credentials.splice(0), /no credentials\[0\]/],
    ['a copy that is none', ({ credentials }) => void credentials.splice(2, 1, { credential: 'x' }), /cannot be read/],
  ])('is not kept when the issuer sends %s', async (_, change, why) => {
    expect((await errorOf(received(changed(change)))).message).toMatch(why)
  })

  it.each<[string, object, RegExp]>([
    ['copies that are none', { more_copies: ['x'] }, /copies cannot be read/],
    ['a count that is none', { presented: -1 }, /how often/],
    ['a copy of another key', { presented: 1, more_copies: [{ credential: 'x', holder_key: {} }] }, /./],
  ])('is called damaged when its text has %s', async (_, damage, why) => {
    const made = await received()
    const [name = ''] = made.texts.keys()
    made.texts.set(name, JSON.stringify({ ...recordOf(made), ...damage }))
    const { unreadable } = await listCredentials(made.wallet.store)
    expect(unreadable).toMatchObject([{ id: name, problem: expect.stringMatching(why) as string }])
  })
})

describe('renewing', () => {
  let services: Services
  beforeAll(async () => {
    services = await startCodeFlow()
    await declare(services, batched)
  })
  afterAll(() => services.close())

  async function asked(world = services, more: object = {}): Promise<TestWallet & { id: string; sessionId: string }> {
    const { browser, sessions } = visitor(world, { decision: refreshing })
    const made = testWallet(world.fetch, world.clock, { openBrowser: browser, ...more })
    const [stored] = await receiveWalletInitiated(made.wallet, ask)
    return { ...made, id: stored?.id ?? '', sessionId: sessions()[0] ?? '' }
  }

  it('gives new copies with new keys in the place of the old ones, again and again, by new refresh tokens', async () => {
    const made = await asked()
    const [name = ''] = made.authorizations.keys()
    const before = [recordOf(made).credential, made.authorizations.get(name)]
    let { id } = made
    for (let count = 0; count < 2; count += 1) {
      passed(services, 3600)
      const renewed = await renewCredential(made.wallet, id)
      expect(renewed).toMatchObject({ copies: { all: COPIES, unseen: COPIES }, source: { authorization: name } })
      expect(renewed.id).not.toBe(id)
      expect([...made.texts.keys()]).toEqual([renewed.id])
      ;({ id } = renewed)
    }
    expect([...made.authorizations.keys()]).toEqual([name])
    expect([recordOf(made).credential, made.authorizations.get(name)]).not.toEqual(before)
    expect(made.authorizations.get(name)).not.toBe(before[1])
  })

  it('takes the place of the old ones also where the issuer decides later', async () => {
    const made = await asked()
    let [answer, isDecided]: [unknown, boolean] = [undefined, false]
    const later = () => Response.json({ transaction_id: 'the transaction', interval: 60 }, { status: 202 })
    const requesting = changing(services.fetch, '/credential-request', async (response) => {
      answer = await response.json()
      return later()
    })
    const fetch = changing(requesting, '/deferred-credential', () => (isDecided ? Response.json(answer) : later()))
    const wallet = { ...made.wallet, fetch }
    expect((await errorOf(renewCredential(wallet, made.id))).code).toBe('not_yet')
    expect([...made.texts.keys()]).toEqual([made.id])
    expect((await errorOf(renewCredential(wallet, made.id))).code).toBe('not_yet')
    expect(await listOutstandingCredentials(wallet)).toHaveLength(1)
    isDecided = true
    const { received } = await collectPendingCredentials(wallet)
    expect(received).toMatchObject([{ copies: { all: COPIES, unseen: COPIES } }])
    expect(received[0]?.id).not.toBe(made.id)
    expect([...made.texts.keys()]).toEqual([received[0]?.id])
  })

  it('asks for the copies that the issuer was to decide about, before it asks for others', async () => {
    const made = await asked()
    let [answer, requests]: [unknown, number] = [undefined, 0]
    const requesting = changing(services.fetch, '/credential-request', async (response) => {
      answer = await response.json()
      requests += 1
      return Response.json({ transaction_id: 'the transaction', interval: 60 }, { status: 202 })
    })
    const fetch = changing(requesting, '/deferred-credential', () => Response.json(answer))
    const wallet = { ...made.wallet, fetch }
    expect((await errorOf(renewCredential(wallet, made.id))).code).toBe('not_yet')
    const renewed = await renewCredential(wallet, made.id)
    expect([...made.texts.keys()]).toEqual([renewed.id])
    expect([requests, await listOutstandingCredentials(wallet)]).toEqual([1, []])
  })

  it('is done with the attestation of the wallet where every wallet has to authenticate itself', async () => {
    const provider = await makeProvider()
    const { issuer, ...more } = trustingProvider(provider)
    const world = await startCodeFlow(issuer, more)
    onTestFinished(() => world.close())
    await declare(world, batched)
    const instance = await makeInstance(provider)
    const attestation = { jwt: await walletAttestation(instance, world.clock.now), key: instance.key }
    const made = await asked(world, { attestation })
    expect(await renewCredential(made.wallet, made.id)).toMatchObject({ copies: { all: COPIES } })
    const unattested = testWallet(world.fetch, world.clock, { store: made.wallet.store }).wallet
    const [renewed = ''] = made.texts.keys()
    const error = await errorOf(renewCredential(unattested, renewed))
    expect(error.server).toMatchObject({ error: 'invalid_client' })
  })

  it('goes on after an answer that was lost: the refresh token is kept before anything else is asked', async () => {
    const made = await asked()
    const broken = changing(services.fetch, '/credential-request', () => Response.error())
    await errorOf(renewCredential({ ...made.wallet, fetch: broken }, made.id))
    expect([...made.texts.keys()]).toEqual([made.id])
    const lost = changing(services.fetch, '/token-endpoint', () => new Response('', { status: 502 }))
    await errorOf(renewCredential({ ...made.wallet, fetch: lost }, made.id))
    expect((await renewCredential(made.wallet, made.id)).id).not.toBe(made.id)
  })

  it('ends with a revocation: the credential stays, and the wallet does not ask again', async () => {
    const made = await asked()
    await call(services, `${ISSUER_URL}/credential-status/revoke/${made.sessionId}`, {})
    expect((await errorOf(renewCredential(made.wallet, made.id))).server).toMatchObject({ error: 'invalid_grant' })
    expect([made.texts.size, made.authorizations.size]).toEqual([1, 0])
    const { length } = made.sent
    expect((await errorOf(renewCredential(made.wallet, made.id))).message).toMatch(/no way to renew/)
    expect(made.sent).toHaveLength(length)
  })

  it('is not possible without a refresh token, which is said', async () => {
    const { browser } = visitor(services)
    const made = testWallet(services.fetch, services.clock, { openBrowser: browser })
    const [stored] = await receiveWalletInitiated(made.wallet, ask)
    expect(made.authorizations.size).toBe(0)
    const error = await errorOf(renewCredential(made.wallet, stored?.id ?? ''))
    expect([error.code, error.message]).toEqual(['unsupported', expect.stringContaining('ask it for a new offer')])
  })
})

describe('a credential that the issuer decides about later', () => {
  let services: Services
  beforeAll(async () => {
    services = await startCodeFlow()
    await declare(services, batched)
  })
  afterAll(() => services.close())
  const complete = (sessionId: string, body: object) =>
    call(services, `${ISSUER_URL}/issuance/oid4vci/complete/${sessionId}`, body)

  async function waiting(): Promise<TestWallet & { sessionId: string }> {
    const { browser, sessions } = visitor(services, { decision: { deferred: true } })
    const made = testWallet(services.fetch, services.clock, { openBrowser: browser })
    const error = await errorOf(receiveWalletInitiated(made.wallet, ask))
    expect([error.code, error.message]).toEqual(['not_yet', expect.stringContaining('vouchsafe wallet collect')])
    expect([made.texts.size, made.authorizations.size]).toEqual([0, 1])
    return { ...made, sessionId: sessions()[0] ?? '' }
  }

  it('comes when the wallet asks again, with the keys that it had proved, long after the access token', async () => {
    const { wallet, sessionId, texts } = await waiting()
    expect(await listOutstandingCredentials(wallet)).toMatchObject([
      { credentialIssuer: ISSUER_URL, problem: undefined },
    ])
    passed(services, 3600)
    expect(await collectPendingCredentials(wallet)).toMatchObject({
      received: [],
      outstanding: [{ problem: undefined }],
    })
    await complete(sessionId, { credential_dataset: dataset })
    const { received, outstanding } = await collectPendingCredentials(wallet)
    expect(received).toMatchObject([{ copies: { all: COPIES, unseen: COPIES }, name: 'Student card' }])
    expect([outstanding, await listOutstandingCredentials(wallet), texts.size]).toEqual([[], [], 1])
    expect(await collectPendingCredentials(wallet)).toEqual({ received: [], outstanding: [] })
    expect(await renewCredential(wallet, received[0]?.id ?? '')).toMatchObject({ copies: { all: COPIES } })
  })

  it('that will never come is told once in the words of the issuer, and forgotten', async () => {
    const { wallet, sessionId, texts } = await waiting()
    await complete(sessionId, { denied: true, reason: 'You have not passed.' })
    const { received, outstanding } = await collectPendingCredentials(wallet)
    expect(received).toEqual([])
    expect(outstanding).toMatchObject([{ problem: expect.stringContaining('You have not passed.') as string }])
    expect([await listOutstandingCredentials(wallet), texts.size]).toEqual([[], 0])
  })

  it('is waited for also when the issuer cannot be reached now', async () => {
    const { wallet } = await waiting()
    const { outstanding } = await collectPendingCredentials({
      ...wallet,
      fetch: () => Promise.reject(new Error('gone')),
    })
    expect(outstanding).toMatchObject([{ problem: expect.stringContaining('cannot be reached') as string }])
    expect(await listOutstandingCredentials(wallet)).toHaveLength(1)
  })
})
