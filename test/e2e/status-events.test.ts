/** The streams of events of both services, over sockets: each change once, whoever makes it, and the end. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { digestOf } from '../../src/codec/digest.ts'
import { type VerifierCollections, verifierMigrations } from '../../src/verifier/collections.ts'
import { type EventClient, listen, openEvents } from '../support/event-stream.ts'
import { readySession, request, startedSession, TOKEN_ENDPOINT } from '../support/issuance.ts'
import { startProcesses } from '../support/processes.ts'
import { API_KEY, ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { act } from '../support/status.ts'
import { testDatabase } from '../support/store.ts'
import {
  call,
  dcqlQuery,
  holderSigner,
  issueCredential,
  postForm,
  presentationOf,
  startIssuance,
  startVerification,
  statusOf,
} from '../support/wire.ts'

const REDIRECT = 'https://shop.example/done'

let services: Services
let urls: { issuer: string; verifier: string }
const clients: EventClient[] = []
beforeEach(async () => {
  services = await startServices()
  urls = { issuer: await listen(services.issuer), verifier: await listen(services.verifier) }
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await services.close()
})

async function opened(url: string, headers?: Record<string, string>): Promise<EventClient> {
  const client = await openEvents(url, headers)
  clients.push(client)
  return client
}
const issuance = (id: string, url = urls.issuer) => opened(`${url}/issuance/oid4vci/events/${id}`)
const verification = (id: string, url = urls.verifier) => opened(`${url}/presentation/oid4vp/events/${id}`)
const later = (seconds: number): void => {
  services.clock.now = new Date(services.clock.now.getTime() + seconds * 1000)
}
const lines = (event: string) =>
  services.logLines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((line) => line.event === event)

async function present(session: Awaited<ReturnType<typeof startVerification>>): Promise<Response> {
  const holder = await holderSigner()
  const credential = await issueCredential(services, holder)
  const presentation = await presentationOf(credential, holder, session.request, { now: services.clock.now })
  const form = { vp_token: JSON.stringify({ card: [presentation] }), state: session.request.state }
  return postForm(services, session.request.response_uri, form)
}

describe('the stream of an issuance session', () => {
  it('has the status as it is, each change as the status endpoint has it, and stays open after SUCCEEDED', async () => {
    const { sessionId } = await startIssuance(services)
    const before = await statusOf(services, ISSUER_URL, sessionId)
    const stream = await issuance(sessionId)
    expect(stream.status).toBe(200)
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(/^[\w-]{16}$/) as string,
      connection: 'close',
    })
    expect(stream.headers).not.toHaveProperty('access-control-allow-origin')
    expect(await stream.next(0)).toEqual(before)
    expect(stream.text()).toMatch(/^retry: \d+\n/)

    const ready = await readySession(services)
    const second = await issuance(ready.sessionId)
    const unlike = await issuance(ready.sessionId)
    await second.next(0)
    await request(ready)
    expect(await second.next(1)).toMatchObject({ status: 'SUCCEEDED', credentials: [{ credential_status: 'VALID' }] })
    await act(services, 'revoke', ready.sessionId)
    expect(await second.next(2)).toMatchObject({ credentials: [{ credential_status: 'REVOKED' }] })
    expect(await second.next(2)).toEqual(await statusOf(services, ISSUER_URL, ready.sessionId))
    await unlike.next(2)
    expect(unlike.events()).toEqual(second.events())
    expect(second.events().map(({ event }) => event)).toEqual(['status', 'status', 'status'])
    expect(stream.events()).toHaveLength(1)
  })

  it('has the refusals of wallets, which other requests of this process wrote down', async () => {
    const { sessionId, form } = await startedSession(services)
    const stream = await issuance(sessionId)
    await stream.next(0)
    await postForm(services, `${TOKEN_ENDPOINT}/${sessionId}`, { ...form, grant_type: 'unknown' })
    expect(await stream.next(1)).toMatchObject({ problem: { error: 'unsupported_grant_type', count: 1 } })
  })

  it('ends after EXPIRED, also where that is its first status', async () => {
    const { sessionId } = await startIssuance(services, { expires_in: 5 })
    const stream = await issuance(sessionId)
    await stream.next(0)
    later(6)
    await stream.closed
    expect(stream.events()).toMatchObject([
      { event: 'status', data: { status: 'STARTED' } },
      { event: 'status', data: { status: 'EXPIRED' } },
      { event: 'end', data: {} },
    ])
    const late = await issuance(sessionId)
    await late.closed
    expect(late.events()).toMatchObject([{ data: { status: 'EXPIRED' } }, { event: 'end' }])
  })

  it('ends when the session is deleted', async () => {
    const { sessionId } = await startIssuance(services)
    const stream = await issuance(sessionId)
    await stream.next(0)
    const { version = 0 } = (await services.issuerStore.get('issuance_session', sessionId)) ?? {}
    await services.issuerStore.commit([{ delete: 'issuance_session', id: sessionId, version }])
    await stream.closed
    expect(stream.events()).toMatchObject([{ event: 'status' }, { event: 'end' }])
  })

  it('has what another process changes', async () => {
    const processes = await startProcesses()
    const { first, second } = processes
    const url = await listen(first.issuer)
    const ready = await readySession(second)
    const stream = await issuance(ready.sessionId, url)
    expect(await stream.next(0)).toMatchObject({ status: 'STARTED' })
    await request(ready)
    expect(await stream.next(1)).toMatchObject({ status: 'SUCCEEDED' })
    await processes.close()
    await stream.closed
  })
})

describe('the stream of a verification session', () => {
  it('has the report and ends, and its reading is logged without what was presented', async () => {
    const session = await startVerification(services)
    const stream = await verification(session.sessionId)
    expect(await stream.next(0)).toMatchObject({ status: 'STARTED' })
    expect(lines('result_read')).toEqual([])
    expect((await present(session)).status).toBe(200)
    await stream.closed
    expect(stream.events().map(({ event }) => event)).toEqual(['status', 'status', 'end'])
    expect(await stream.next(1)).toEqual(await statusOf(services, VERIFIER_URL, session.sessionId))
    expect(JSON.stringify(await stream.next(1))).toContain('Ada')
    expect(lines('result_read')[0]).toMatchObject({
      session: digestOf(session.sessionId),
      caller: 'test',
      request: stream.headers['x-request-id'],
    })
    const log = services.logLines.join('')
    expect(log).not.toMatch(/\bAda\b/)
    for (const secret of [session.sessionId, API_KEY]) expect(log).not.toContain(secret)
  })

  it('has no result where the session has a redirect_uri, with whatever response_code', async () => {
    const session = await startVerification(services, dcqlQuery, { redirect_uri: REDIRECT })
    const stream = await verification(session.sessionId)
    await stream.next(0)
    const { redirect_uri: uri } = (await (await present(session)).json()) as { redirect_uri: string }
    await stream.closed
    const withCode = await verification(`${session.sessionId}${new URL(uri).search}`)
    await withCode.closed
    for (const { events, text } of [stream, withCode]) {
      expect(events().at(-2)?.data).toEqual(await statusOf(services, VERIFIER_URL, session.sessionId))
      expect(events().at(-2)?.data).toMatchObject({ status: 'VERIFICATION_SUCCEEDED' })
      expect(text()).not.toMatch(/result|\bAda\b/)
    }
    expect(lines('result_read')).toEqual([])
  })

  it('has what another process changes', async () => {
    const open = testDatabase<VerifierCollections>(verifierMigrations)
    const first = await startServices({ verifierStore: await open() })
    const second = await startServices({ verifierStore: await open() })
    const { sessionId, request: asked } = await startVerification(first)
    const stream = await verification(sessionId, await listen(first.verifier))
    await stream.next(0)
    await postForm(second, asked.response_uri, { error: 'access_denied', state: asked.state })
    await stream.closed
    expect(stream.events()).toMatchObject([
      { event: 'status', data: { status: 'STARTED' } },
      { event: 'status', data: { status: 'DECLINED', wallet_error: { error: 'access_denied' } } },
      { event: 'end' },
    ])
    await Promise.all([first.close(), second.close()])
  })
})

describe.each(['issuer', 'verifier'] as const)('a stream of the %s', (service) => {
  const path = service === 'issuer' ? '/issuance/oid4vci/events' : '/presentation/oid4vp/events'

  it('needs an API key, and a session that is there', async () => {
    const { sessionId } = await (service === 'issuer' ? startIssuance(services) : startVerification(services))
    const url = `${urls[service]}${path}`
    for (const headers of [{}, { authorization: 'Bearer wrong' }] as Record<string, string>[]) {
      const refused = await opened(`${url}/${sessionId}`, headers)
      await refused.closed
      expect([refused.status, JSON.parse(refused.text())]).toMatchObject([401, { error: 'unauthorized' }])
    }
    const unknown = await opened(`${url}/unknown`)
    await unknown.closed
    expect([unknown.status, JSON.parse(unknown.text())]).toMatchObject([404, { error: 'not_found' }])
    expect(unknown.headers['content-type']).toMatch(/^application\/json/)
    const head = await services[service].inject({
      method: 'HEAD',
      url: `${path}/${sessionId}`,
      headers: { authorization: `Bearer ${API_KEY}` },
    })
    expect([head.statusCode, head.headers['content-type'], head.body]).toEqual([200, 'text/event-stream', ''])
  })

  it('ends when the service stops, and another is refused', async () => {
    const { sessionId } = await (service === 'issuer' ? startIssuance(services) : startVerification(services))
    const streams = await Promise.all(Array.from({ length: 3 }, () => opened(`${urls[service]}${path}/${sessionId}`)))
    await streams[0]?.next(0)
    services[service].connections.endAfterAnswers()
    await Promise.all(streams.map(({ closed }) => closed))
    expect(streams[0]?.events().map(({ event }) => event)).toEqual(['status'])
    const refused = await opened(`${urls[service]}${path}/${sessionId}`)
    await refused.closed
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5'])
    expect(JSON.parse(refused.text())).toMatchObject({ error: 'temporarily_unavailable' })
  })

  it('keeps no server from closing', async () => {
    const { sessionId } = await (service === 'issuer' ? startIssuance(services) : startVerification(services))
    const stream = await opened(`${urls[service]}${path}/${sessionId}`)
    await stream.next(0)
    // The stream alone would stay open for longer than a test may take.
    await services[service].close()
    await stream.closed
  })
})

it('outlives a database that cannot be read for a while', async () => {
  const { sessionId, request: asked } = await startVerification(services)
  const stream = await verification(sessionId)
  await stream.next(0)
  const store = services.verifierStore
  const working = { ...store }
  let failed = 0
  Object.assign(store, {
    get: () => {
      failed += 1
      return Promise.reject(new Error('gone'))
    },
  })
  await expect.poll(() => failed).toBeGreaterThan(1)
  Object.assign(store, working)
  await postForm(services, asked.response_uri, { error: 'access_denied', state: asked.state })
  await stream.closed
  expect(stream.events().map(({ event }) => event)).toEqual(['status', 'status', 'end'])
  expect(lines('status_not_read')).toHaveLength(1)
  expect((await call(services, `${VERIFIER_URL}/presentation/oid4vp/status/${sessionId}`)).status).toBe(200)
})
