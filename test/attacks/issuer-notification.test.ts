/**
 * The notifications of wallets about their credentials, and of others who would like to send some. OpenID4VCI 1.0,
 * Notification Endpoint.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Event } from '../../src/event/event.ts'
import { ACCESS_TOKEN_SECONDS } from '../../src/issuer/access/access-token.ts'
import { type IssuerCollections, issuerMigrations } from '../../src/issuer/collections.ts'
import { MAX_NOTIFICATIONS } from '../../src/issuer/session.ts'
import { END_OF_TIME } from '../../src/store/store.ts'
import { dump, expectRefusal, expectWithoutEffect, type Ready, readySession, request } from '../support/issuance.ts'
import { API_KEY, ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { act } from '../support/status.ts'
import { openTestStore } from '../support/store.ts'
import { fetchNonce, statusOf } from '../support/wire.ts'

const ENDPOINT = `${ISSUER_URL}/issuance/oid4vci/notification`

interface Notified extends Ready {
  readonly id: string
}

let services: Services

/** Returns the id in the answer to one more request. */
async function nextId(ready: Ready): Promise<string> {
  const nonce = await fetchNonce(services, ready.sessionId)
  const body = (await (await request({ ...ready, nonce })).json()) as { notification_id?: string }
  return body.notification_id ?? ''
}

async function issued(): Promise<Notified> {
  const ready = await readySession(services)
  return { ...ready, id: await nextId(ready) }
}

function post(body: unknown, { token, path = '' }: { token: string | undefined; path?: string }): Promise<Response> {
  return services.fetch(`${ENDPOINT}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

const say = (wallet: Notified, event: string, more: object = {}): Promise<Response> =>
  post({ notification_id: wallet.id, event, ...more }, { token: wallet.token, path: `/${wallet.sessionId}` })

async function notificationsOf({ sessionId }: Ready): Promise<unknown> {
  return (await statusOf(services, ISSUER_URL, sessionId)).notifications
}

async function eventsOf({ sessionId }: Ready): Promise<Event[]> {
  const all = await services.issuerStore.list('event')
  return all.map(({ value }) => value).filter((event) => event.sessionId === sessionId)
}

beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services.close())

describe('a notification', () => {
  it('is recorded, and shown to the application beside the credential that it is about', async () => {
    const wallet = await issued()
    expect(await notificationsOf(wallet)).toBeUndefined()
    const response = await say(wallet, 'credential_failure', { event_description: 'Out of storage.', unknown: [1] })
    expect([response.status, await response.text()]).toEqual([204, ''])
    const now = Math.floor(services.clock.now.getTime() / 1000)
    const failure = {
      credential_configuration_id: wallet.configurationId,
      event: 'credential_failure',
      event_description: 'Out of storage.',
      notified_at: now,
    }
    expect(await notificationsOf(wallet)).toEqual([failure])
    const [event] = (await eventsOf(wallet)).filter(({ type }) => type === 'issuance.notified')
    const { event_description: words, ...rest } = failure
    expect(event?.data).toMatchObject({ session_id: wallet.sessionId, notifications: [rest] })
    expect(JSON.stringify(event)).not.toContain(words)
  })

  it('is answered, and recorded nowhere, when the session has as many as are recorded', async () => {
    const wallet = await issued()
    const row = await services.issuerStore.get('issuance_session', wallet.sessionId)
    if (row === undefined) throw new Error('there is no session')
    const notification = { event: 'credential_accepted', at: services.clock.now.getTime() } as const
    const set = async (count: number, version: number) => {
      const notifications = Array<typeof notification>(count).fill(notification)
      const value = { ...row.value, issued: row.value.issued.map((batch) => ({ ...batch, notifications })) }
      const change = { update: 'issuance_session', id: wallet.sessionId, version, value } as const
      expect(await services.issuerStore.commit([change])).toBe(undefined)
    }
    const countEvents = async () => (await eventsOf(wallet)).filter(({ type }) => type === 'issuance.notified').length
    await set(MAX_NOTIFICATIONS, row.version)
    expect((await say(wallet, 'credential_deleted')).status).toBe(204)
    expect([await notificationsOf(wallet), await countEvents()]).toEqual([expect.objectContaining({ length: 200 }), 0])
    await set(MAX_NOTIFICATIONS - 1, row.version + 1)
    expect((await say(wallet, 'credential_deleted')).status).toBe(204)
    expect(await countEvents()).toBe(1)
  })

  it('has as many of its words as are kept, where they are many', async () => {
    const wallet = await issued()
    const response = await say(wallet, 'credential_failure', { event_description: 'x'.repeat(15_000) })
    expect(response.status).toBe(204)
    expect(await notificationsOf(wallet)).toMatchObject([{ event_description: 'x'.repeat(500) }])
  })

  it.each<[string, string | null, string | undefined]>([
    ['with a quotation mark', 'no "room"\\', "no 'room''"],
    ['in other letters', 'gelöscht – 🗑', 'gel?scht ? ??'],
    ['in many other letters', 'ö'.repeat(501), '?'.repeat(500)],
    ['that is null', null, undefined],
    ['that is empty', '', undefined],
  ])('is recorded with a description %s, in plain ASCII', async (_, sent, expected) => {
    const wallet = await issued()
    expect((await say(wallet, 'credential_failure', { event_description: sent })).status).toBe(204)
    const [notification] = (await notificationsOf(wallet)) as [object]
    expect(notification).toMatchObject({ event: 'credential_failure' })
    expect('event_description' in notification ? notification.event_description : undefined).toBe(expected)
  })

  it('has words of its own for the application, which wait nowhere but in the session', async () => {
    const usual = services
    const posted: string[] = []
    let status = 503
    services = await startServices({
      issuer: { sessionCallback: { url: 'https://app.example/events', apiKey: 'a-key' } },
      outbound: ({ body = '' }) => {
        posted.push(body)
        return Promise.resolve({ status, headers: {}, body: new Uint8Array() })
      },
    })
    const wallet = await issued()
    const { issuerStore, clock } = services
    // In order: each has a time of its own.
    const later = (milliseconds: number) => {
      clock.now = new Date(clock.now.getTime() + milliseconds)
    }
    later(1)
    await say(wallet, 'credential_accepted')
    later(1)
    await say(wallet, 'credential_failure', { event_description: 'Out of storage.' })
    await services.runTasks()
    for (const collection of ['event', 'callback', 'audit_block'] as const)
      expect(JSON.stringify(await issuerStore.list(collection))).not.toContain('Out of')
    expect((await issuerStore.get('callback', wallet.sessionId))?.value.events).toHaveLength(3)
    status = 204
    later(10_000)
    await services.runTasks()
    const bodies = posted.map((text) => JSON.parse(text) as { type: string; data: { notifications?: unknown } })
    expect(bodies.at(-1)).toMatchObject({
      type: 'issuance.notified',
      data: await statusOf(services, ISSUER_URL, wallet.sessionId),
    })
    expect(bodies.at(-1)?.data.notifications).toMatchObject([{}, { event_description: 'Out of storage.' }])
    expect(bodies.at(-2)?.data.notifications).toHaveLength(1)
    await services.close()
    services = usual
  })

  it('that is sent again changes nothing, and another one is added', async () => {
    const wallet = await issued()
    const responses = await Promise.all(Array.from({ length: 20 }, () => say(wallet, 'credential_accepted')))
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(204))
    const before = await dump(services)
    expect((await say(wallet, 'credential_accepted', { event_description: 'again' })).status).toBe(204)
    expect(await dump(services)).toBe(before)
    expect((await say(wallet, 'credential_deleted')).status).toBe(204)
    expect(await notificationsOf(wallet)).toMatchObject([
      { event: 'credential_accepted' },
      { event: 'credential_deleted' },
    ])
    expect((await eventsOf(wallet)).filter(({ type }) => type === 'issuance.notified')).toHaveLength(2)
  })

  it('names the one answer of several that it is about', async () => {
    const wallet = await issued()
    const second = { ...wallet, id: await nextId(wallet) }
    expect(second.id).not.toBe(wallet.id)
    expect((await say(second, 'credential_deleted')).status).toBe(204)
    const row = await services.issuerStore.get('issuance_session', wallet.sessionId)
    expect(row?.value.issued.map(({ notifications }) => notifications?.map(({ event }) => event))).toEqual([
      undefined,
      ['credential_deleted'],
    ])
  })

  it('is taken at the address of the metadata, with and without a session', async () => {
    const wallet = await issued()
    const addresses: string[] = []
    for (const path of ['', `/${wallet.sessionId}`]) {
      const metadata = await services.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer${path}`)
      addresses.push(((await metadata.json()) as { notification_endpoint: string }).notification_endpoint)
      const body = { notification_id: wallet.id, event: 'credential_accepted' }
      expect((await post(body, { token: wallet.token, path })).status).toBe(204)
    }
    expect(addresses).toEqual([ENDPOINT, `${ENDPOINT}/${wallet.sessionId}`])
  })
})

describe('a notification that is wrong', () => {
  const BAD = 'invalid_notification_request'
  it.each<[string, unknown]>([
    ['is not JSON', '{'],
    ['is a list', []],
    ['has no id', { notification_id: undefined }],
    ['has a number as id', { notification_id: 7 }],
    ['has no event', { event: undefined }],
    ['has an event that nobody knows', { event: 'credential_eaten' }],
    ['has an event in other letters', { event: 'Credential_Accepted' }],
    ['has two events', { event: ['credential_accepted', 'credential_deleted'] }],
    ['has a description that is a number', { event_description: 7 }],
  ])('because it %s: refused without effect', async (_, change) => {
    const wallet = await issued()
    const before = await dump(services)
    const right = { notification_id: wallet.id, event: 'credential_accepted' }
    const isMembers = typeof change === 'object' && !Array.isArray(change)
    const response = await post(isMembers ? { ...right, ...change } : change, { token: wallet.token })
    await expectRefusal(response, { status: 400, error: BAD })
    expect(await dump(services)).toBe(before)
  })

  it('in another media type is refused', async () => {
    const wallet = await issued()
    const response = await services.fetch(ENDPOINT, {
      method: 'POST',
      headers: { 'content-type': 'text/plain', authorization: `Bearer ${wallet.token}` },
      body: JSON.stringify({ notification_id: wallet.id, event: 'credential_accepted' }),
    })
    await expectRefusal(response, { status: 400, error: BAD })
  })

  it.each<[string, (wallet: Notified, other: Notified) => string]>([
    ['of another session', (_, other) => other.id],
    ['that is made up', () => 'AAECAwQFBgcICQoLDA0ODxAR'],
    ['that is empty', () => ''],
    ['that is not base64url', () => '=='],
    ['in another spelling', ({ id }) => `${id}=`],
    ['for a place that nothing stands in', ({ id }) => `AAE${id.slice(3)}`],
    ['with one bit changed', ({ id }) => `${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`],
  ])('with an id %s is refused without effect', async (_, make) => {
    const [wallet, other] = [await issued(), await issued()]
    await expectWithoutEffect(services, () => say({ ...wallet, id: make(wallet, other) }, 'credential_accepted'), {
      status: 400,
      error: 'invalid_notification_id',
    })
  })

  it('without the token of the session is refused without effect, before the body is looked at', async () => {
    const [wallet, other] = [await issued(), await issued()]
    const before = await dump(services)
    const right = { notification_id: wallet.id, event: 'credential_accepted' }
    const path = `/${wallet.sessionId}`
    for (const token of [undefined, 'abc', API_KEY, other.token]) {
      await expectRefusal(await post(right, { token, path }), { status: 401, error: 'invalid_token' })
    }
    for (const token of [undefined, 'abc', API_KEY]) {
      await expectRefusal(await post('{', { token }), { status: 401, error: 'invalid_token' })
    }
    expect(await dump(services)).toBe(before)
  })

  it('comes after another process, whose clock is ahead, has erased the session: its words are not kept', async () => {
    const wallet = await issued()
    const row = await services.issuerStore.get('issuance_session', wallet.sessionId)
    if (row === undefined) throw new Error('no session')
    const value = { ...row.value, erasedAt: services.clock.now.getTime() }
    const erased = { update: 'issuance_session', id: wallet.sessionId, version: row.version, value } as const
    await services.issuerStore.commit([erased])
    await expectWithoutEffect(
      services,
      () => say(wallet, 'credential_failure', { event_description: 'Ada has no room for it.' }),
      { status: 401, error: 'invalid_token' },
    )
    expect((await eventsOf(wallet)).map(({ type }) => type)).not.toContain('issuance.notified')
  })

  it('comes when the token is over: refused', async () => {
    const wallet = await issued()
    const { now } = services.clock
    services.clock.now = new Date(now.getTime() + ACCESS_TOKEN_SECONDS * 1000)
    await expectRefusal(await say(wallet, 'credential_accepted'), { status: 401, error: 'invalid_token' })
    services.clock.now = now
  })
})

describe('a notification that meets a revocation', () => {
  it('tells the application the status as it is then, not as it was', async () => {
    const inner = await openTestStore<IssuerCollections>(issuerMigrations)
    let meanwhile: (() => Promise<unknown>) | undefined
    const get: typeof inner.get = async (collection, id) => {
      const row = await inner.get(collection, id)
      const work = collection === 'credential_status' ? meanwhile : undefined
      if (work !== undefined) meanwhile = undefined
      await work?.()
      return row
    }
    const shared = services
    services = await startServices({ issuerStore: { ...inner, get } })
    onTestFinished(async () => {
      await services.close()
      services = shared
    })
    const wallet = await issued()
    meanwhile = async () => expect(await act(services, 'revoke', wallet.sessionId)).toMatchObject([200, {}])
    expect((await say(wallet, 'credential_accepted')).status).toBe(204)
    const events = await services.issuerStore.listDue('event', END_OF_TIME, 100)
    expect(events.at(-1)?.value).toMatchObject({
      sessionId: wallet.sessionId,
      type: 'issuance.notified',
      data: { credentials: [{ credential_status: 'REVOKED' }] },
    })
  })
})
