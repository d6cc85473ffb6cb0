import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ISSUER_URL, type Services, startServices } from '../../test/support/services.ts'
import { changing, errorOf, testWallet, withMembers } from '../../test/support/wallet.ts'
import { call, dataset, startIssuance, statusOf } from '../../test/support/wire.ts'
import { receiveOffer } from './receive.ts'
import { collectPendingCredentials } from './renewal.ts'

const later = { credential_dataset: undefined, deferred: true }
const asked = (sent: readonly { readonly to: string }[], path: string) => sent.filter(({ to }) => to.includes(path))

describe('a wallet whose credential comes later', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())
  const decide = (sessionId: string, body: unknown) =>
    call(services, `${ISSUER_URL}/issuance/oid4vci/complete/${sessionId}`, body)

  it.each(['optional', 'required'])('asks again as often as it is told to, with %s encryption', async (encryption) => {
    const world = await startServices({ issuer: { credentialEncryption: encryption } })
    const { sessionId, link } = await startIssuance(world, later)
    const waits: number[] = []
    const { wallet, texts, sent } = testWallet(world.fetch, world.clock, {
      wait: async (seconds) => {
        waits.push(seconds)
        const url = `${ISSUER_URL}/issuance/oid4vci/complete/${sessionId}`
        if (waits.length === 3) await call(world, url, { credential_dataset: dataset })
      },
    })
    const [stored] = await receiveOffer(wallet, link)
    expect(waits).toEqual([5, 5, 5])
    expect(asked(sent, '/deferred-credential')).toHaveLength(3)
    expect(stored?.claims).toMatchObject({ credentialSubject: { given_name: 'Ada' } })
    expect(texts.size).toBe(1)
    await world.close()
  })

  /** Starts a session, and a wallet whose first requests for the credential fail one way or the other. */
  async function behindFailures(failures: number) {
    const { sessionId, link } = await startIssuance(services, { ...later, refresh_seconds: 86_400 })
    let count = 0
    const fetch: typeof services.fetch = (url, init) => {
      if (!new Request(url).url.includes('/deferred-credential')) return services.fetch(url, init)
      count += 1
      if (count > failures) return services.fetch(url, init)
      if (count % 2 === 0) return Promise.resolve(new Response('<html>', { status: 503 }))
      return Promise.reject(new TypeError('fetch failed'))
    }
    const { wallet, authorizations } = testWallet(fetch, services.clock, { wait: () => Promise.resolve() })
    return { sessionId, link, wallet, authorizations }
  }

  it('asks again where a request has no answer', async () => {
    const { sessionId, link, wallet } = await behindFailures(2)
    await decide(sessionId, { credential_dataset: dataset })
    expect(await receiveOffer(wallet, link)).toHaveLength(1)
  })

  it('keeps the transaction where no request has an answer, and gets the credential later', async () => {
    const { sessionId, link, wallet, authorizations } = await behindFailures(12)
    expect(await errorOf(receiveOffer(wallet, link))).toMatchObject({ code: 'not_yet' })
    expect(authorizations.size).toBe(1)
    await decide(sessionId, { credential_dataset: dataset })
    expect((await collectPendingCredentials(wallet)).received).toHaveLength(1)
  })

  it('asks once where the issuer refuses for good', async () => {
    const { link } = await startIssuance(services, later)
    const refusal = changing(services.fetch, '/deferred-credential', () =>
      Response.json({ error: 'invalid_token' }, { status: 401 }),
    )
    const { wallet, sent } = testWallet(refusal, services.clock, { wait: () => Promise.resolve() })
    expect(await errorOf(receiveOffer(wallet, link))).toMatchObject({
      code: 'refused',
      server: { error: 'invalid_token' },
    })
    expect(asked(sent, '/deferred-credential')).toHaveLength(1)
  })

  it('gives up after a minute, says so, and has kept nothing', async () => {
    const { link } = await startIssuance(services, later)
    let waited = 0
    const wait = (seconds: number) => {
      waited += seconds
      return Promise.resolve()
    }
    const { wallet, texts } = testWallet(services.fetch, services.clock, { wait })
    expect(await errorOf(receiveOffer(wallet, link))).toMatchObject({ code: 'not_yet' })
    expect(waited).toBe(60)
    expect(texts.size).toBe(0)
  })

  it('passes on what the issuer says when there will be none', async () => {
    const { sessionId, link } = await startIssuance(services, later)
    await decide(sessionId, { denied: true, reason: 'You have not passed.' })
    const { wallet } = testWallet(services.fetch, services.clock)
    const error = await errorOf(receiveOffer(wallet, link))
    expect(error).toMatchObject({ code: 'refused', server: { error_description: 'You have not passed.' } })
  })

  it('does not know where to ask an issuer that does not say', async () => {
    const { link } = await startIssuance(services, later)
    const fetch = changing(
      services.fetch,
      '/openid-credential-issuer',
      withMembers({ deferred_credential_endpoint: undefined }),
    )
    const { wallet } = testWallet(fetch, services.clock, { wait: () => Promise.resolve() })
    expect(await errorOf(receiveOffer(wallet, link))).toMatchObject({ code: 'invalid_metadata' })
  })
})

describe('a wallet that has a credential', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  it('tells the issuer when it is kept', async () => {
    const { sessionId, link } = await startIssuance(services)
    const { wallet } = testWallet(services.fetch, services.clock)
    await receiveOffer(wallet, link)
    expect(await statusOf(services, ISSUER_URL, sessionId)).toMatchObject({
      notifications: [{ event: 'credential_accepted' }],
    })
  })

  it.each<[string, () => Response]>([
    ['says no', () => Response.json({ error: 'invalid_notification_id' }, { status: 400 })],
    ['breaks', () => new Response('', { status: 500 })],
    ['is gone', () => Response.error()],
  ])('keeps it when the issuer, being told, %s', async (_, answer) => {
    const { link } = await startIssuance(services)
    const { wallet, texts } = testWallet(changing(services.fetch, '/notification', answer), services.clock)
    expect(await receiveOffer(wallet, link)).toHaveLength(1)
    expect(texts.size).toBe(1)
  })

  it('tells an issuer nothing that has no place for it, or gave no id', async () => {
    for (const [path, members] of [
      ['/openid-credential-issuer', { notification_endpoint: undefined }],
      ['/credential-request', { notification_id: undefined }],
    ] as const) {
      const { link } = await startIssuance(services)
      const { wallet, sent } = testWallet(changing(services.fetch, path, withMembers(members)), services.clock)
      expect(await receiveOffer(wallet, link)).toHaveLength(1)
      expect(asked(sent, '/notification')).toEqual([])
    }
  })
})
