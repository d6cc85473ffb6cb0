/** A removed configuration, and the wallets that have offers, refresh tokens or deferred credentials of it. */
import { afterEach, describe, expect, it } from 'vitest'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { collectPendingCredentials } from '../../src/wallet/renewal.ts'
import { authorizeForCode, declareWithScope, INTERACTION_URL, PAR, walletAsking } from '../support/code-flow.ts'
import { expectRefusal, startedSession, TOKEN_ENDPOINT } from '../support/issuance.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { errorOf, testWallet } from '../support/wallet.ts'
import { call, configuration, dataset, declare, postForm, startIssuance } from '../support/wire.ts'

const METADATA = `${ISSUER_URL}/.well-known/openid-credential-issuer`
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

let services: Services
afterEach(() => services.close())

async function start(identifier: string, settings: Record<string, unknown> = {}): Promise<void> {
  const issuer = { id: ISSUER_URL, display: { name: 'Uni' }, identifier }
  services = await startServices({ issuer: { issuer, ...settings } })
}

async function listedIds(): Promise<readonly string[]> {
  const metadata = (await (await services.fetch(METADATA)).json()) as Record<string, object>
  return Object.keys(metadata.credential_configurations_supported ?? {})
}

async function remove(id: string): Promise<void> {
  expect((await call(services, `${ISSUER_URL}/credential-configuration/remove/${id}`, {})).status).toBe(200)
}

function pass(milliseconds: number): void {
  services.clock.now = new Date(services.clock.now.getTime() + milliseconds)
}

describe('with one identifier, a removed configuration', () => {
  it('is gone at once where no session needs it, and from rows of earlier releases', async () => {
    await start('base')
    const [id, other] = [await declare(services), await declare(services)]
    await startIssuance(services, { credential_configurations: [id] })
    await startIssuance(services, { credential_configurations: [other], expires_in: 7200 })
    pass(11 * MINUTE)
    const value = { configuration, removed: true }
    await services.issuerStore.commit([{ insert: 'credential_configuration', id: 'earlier', value }])
    await remove(id)
    expect(await listedIds()).toEqual([other])
  })

  it('is in the same metadata while an offer is open, and refused to new sessions', async () => {
    await start('base')
    const id = await declare(services)
    await startIssuance(services, { credential_configurations: [id], expires_in: 7200 })
    await startIssuance(services, { credential_configurations: [id] })
    const etag = (await services.fetch(METADATA)).headers.get('etag') ?? ''
    await remove(id)
    expect((await services.fetch(METADATA, { headers: { 'if-none-match': etag } })).status).toBe(304)
    const credentials = { credential_dataset: dataset, credential_configurations: [id] }
    const refused = await call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, credentials)
    await expectRefusal(refused, { status: 400, error: 'invalid_request', why: new RegExp(id) })
    const path = `${ISSUER_URL}/credential-configuration`
    expect((await call(services, `${path}/${id}`)).status).toBe(404)
    expect((await call(services, `${path}/remove/${id}`, {})).status).toBe(404)
    pass(2 * HOUR + 5 * MINUTE)
    expect(await listedIds()).toEqual([id])
    pass(HOUR)
    expect(await listedIds()).toEqual([])
  })

  it('is in the metadata while a wallet may refresh, whether its offer is open or used', async () => {
    await start('base')
    const [opened, used] = [await declare(services), await declare(services)]
    await startIssuance(services, { credential_configurations: [opened], refresh_seconds: 30 * 86_400 })
    const session = await startedSession(services, { credential_configurations: [used], refresh_seconds: 30 * 86_400 })
    pass(9 * MINUTE)
    const token = await postForm(services, TOKEN_ENDPOINT, session.form)
    const { refresh_token: refreshToken = '' } = (await token.json()) as Record<string, string>
    await remove(opened)
    await remove(used)
    pass(30 * DAY - 1000)
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken }
    expect((await postForm(services, TOKEN_ENDPOINT, form)).status).toBe(200)
    pass(5 * MINUTE)
    expect([...(await listedIds())].sort()).toEqual([opened, used].sort())
    pass(2 * HOUR)
    expect(await listedIds()).toEqual([])
  })

  it('is in the metadata for a wallet that opens an offer later, and gets a deferred credential within days', async () => {
    await start('base')
    const id = await declare(services)
    const deferral = { deferred: true, credential_dataset: undefined }
    const { link, sessionId } = await startIssuance(services, { credential_configurations: [id], ...deferral })
    await remove(id)
    pass(9 * MINUTE)
    const { wallet } = testWallet(services.fetch, services.clock)
    expect(await errorOf(receiveOffer(wallet, link))).toMatchObject({ code: 'not_yet' })
    pass(7 * DAY - MINUTE)
    await call(services, `${ISSUER_URL}/issuance/oid4vci/complete/${sessionId}`, { credential_dataset: dataset })
    expect((await collectPendingCredentials(wallet)).received).toHaveLength(1)
    pass(2 * HOUR)
    expect(await listedIds()).toEqual([])
  })

  it('is in the metadata as long as the longest of many sessions', async () => {
    await start('base')
    const id = await declare(services)
    const terms = Array.from({ length: 120 }, (_, index) => (index === 7 ? { refresh_seconds: 86_400 } : {}))
    for (const each of terms) await startIssuance(services, { credential_configurations: [id], ...each })
    await remove(id)
    pass(DAY + 15 * MINUTE)
    expect(await listedIds()).toEqual([id])
  })
})

describe.each(['session', 'base'])('with the identifier of the %s, a removed configuration', (identifier) => {
  it('is in the metadata for wallets that came by themselves, and refused to others that do', async () => {
    await start(identifier, { authentication: { interactionUrl: INTERACTION_URL } })
    const id = await declareWithScope(services)
    await authorizeForCode(services)
    await remove(id)
    expect(await listedIds()).toEqual([id])
    const server = await services.fetch(`${ISSUER_URL}/.well-known/oauth-authorization-server`)
    expect(await server.json()).not.toHaveProperty('scopes_supported')
    const refused = await postForm(services, PAR, walletAsking().form)
    await expectRefusal(refused, { status: 400, error: 'invalid_scope' })
  })
})

it('with an identifier for each session, a removed configuration is gone at once from the metadata of the base', async () => {
  await start('session')
  const id = await declare(services)
  const { sessionId } = await startIssuance(services, { credential_configurations: [id] })
  await remove(id)
  expect(await listedIds()).toEqual([])
  expect(await (await services.fetch(`${METADATA}/${sessionId}`)).text()).toContain(id)
})
