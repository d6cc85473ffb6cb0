/** Tests `vouchsafe/server` against real services. */
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { setImmediate as immediately } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, expectTypeOf, it, onTestFinished, vi } from 'vitest'
import { signatureHeaders } from '../../src/callback/post.ts'
import type { EventType, eventTypes } from '../../src/event/event.ts'
import { bring, newVisitor, push, SCOPE, startCodeFlow, walletAsking } from '../../test/support/code-flow.ts'
import { fakeTimersOf } from '../../test/support/fake-timers.ts'
import { API_KEY, ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../../test/support/services.ts'
import {
  configuration,
  dataset,
  dcqlQuery,
  fetchNonce,
  holderSigner,
  issueCredential,
  keyProof,
  postForm,
  presentationOf,
  type RequestObject,
  redeem,
  requestCredential,
} from '../../test/support/wire.ts'
import {
  type CallbackEvent,
  callbackHandler,
  createIssuerClient,
  createVerifierClient,
  nodeCallbackHandler,
  readCallback,
  ServiceError,
} from './index.ts'

let services: Services
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services.close())

const issuer = (fetch = services.fetch) => createIssuerClient({ url: `${ISSUER_URL}/`, apiKey: API_KEY, fetch })
/** A service that never answers. */
const hang: typeof globalThis.fetch = (_, init) =>
  new Promise((_, reject) =>
    init?.signal?.addEventListener('abort', () => {
      reject(init.signal?.reason as Error)
    }),
  )
const verifier = (fetch = services.fetch) => createVerifierClient({ url: VERIFIER_URL, apiKey: API_KEY, fetch })

/** Sends the credential request of a wallet that has redeemed the offer of the session. */
async function receiveCredential(sessionId: string, id: string): Promise<number> {
  const token = await redeem(services, sessionId)
  const nonce = await fetchNonce(services, sessionId)
  const audience = `${ISSUER_URL}/${sessionId}`
  const proof = await keyProof({ holder: await holderSigner(), nonce, audience }, services.clock.now)
  const body = { credential_configuration_id: id, proof: { proof_type: 'jwt', jwt: proof } }
  return (await requestCredential(services, token, body)).status
}

describe('the client of an issuer', () => {
  it('declares, starts, waits, suspends, reinstates, revokes and removes', async () => {
    const client = issuer()
    const id = await client.createConfiguration(configuration)
    expect(await client.getConfiguration(id)).toEqual(configuration)
    const { session_id: sessionId, credential_offer_uri: link } = await client.startSession({
      credential_configurations: [id],
      credential_dataset: dataset,
    })
    expect(link).toMatch(/^haip-vci:/)
    expect((await client.getSession(sessionId)).status).toBe('STARTED')
    const waiting = client.waitForSession(sessionId, { everyMilliseconds: 10 })
    expect(await receiveCredential(sessionId, id)).toBe(200)
    expect(await waiting).toMatchObject({ status: 'SUCCEEDED', credentials: [{ credential_status: 'VALID' }] })
    expect(await client.suspend(sessionId)).toMatchObject({ credential_status: 'SUSPENDED' })
    expect(await client.reinstate(sessionId)).toMatchObject({ credential_status: 'VALID' })
    expect(await client.revoke(sessionId)).toMatchObject({ credential_status: 'REVOKED' })
    await expect(client.reinstate(sessionId)).rejects.toMatchObject({ status: 409, code: 'invalid_state' })
    await client.removeConfiguration(id)
    await expect(client.getConfiguration(id)).rejects.toMatchObject({ status: 404, code: 'not_found' })
  })

  it('completes a deferred session', async () => {
    const client = issuer()
    const id = await client.createConfiguration(configuration)
    const { session_id } = await client.startSession({ credential_configurations: [id], deferred: true })
    expect(await client.completeSession(session_id, { credential_dataset: dataset })).toMatchObject({
      deferred: { state: 'COMPLETED' },
    })
  })

  it('reads an interaction of a wallet, and completes it', async () => {
    const coding = await startCodeFlow()
    try {
      const client = issuer(coding.fetch)
      const id = await client.createConfiguration({ ...configuration, scope: SCOPE })
      const requestUri = await push(coding, walletAsking().form)
      const interaction = await bring(coding, newVisitor(), { requestUri })
      expect(await client.getInteraction(interaction)).toMatchObject({ credential_configurations: [id] })
      const completed = await client.completeInteraction(interaction, { credential_dataset: dataset })
      expect(completed.redirect_uri).toContain(`/auth/return/${interaction}?completion=`)
      await expect(client.getInteraction(interaction)).rejects.toMatchObject({ status: 410, code: 'gone' })
    } finally {
      await coding.close()
    }
  })

  it('gives up waiting at its deadline and when it is told to', async () => {
    const client = issuer()
    const id = await client.createConfiguration(configuration)
    const session = { credential_configurations: [id], credential_dataset: dataset }
    const { session_id } = await client.startSession(session)
    const options = { everyMilliseconds: 5, timeoutMilliseconds: 30 }
    await expect(client.waitForSession(session_id, options)).rejects.toMatchObject({ code: 'deadline' })
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(client.waitForSession(session_id, { signal })).rejects.toThrow('enough')
    const controller = new AbortController()
    const longPause = { everyMilliseconds: 600_000, signal: controller.signal }
    const waiting = client.waitForSession(session_id, longPause)
    setTimeout(() => controller.abort(new Error('enough of the pause')), 200)
    await expect(waiting).rejects.toThrow('enough of the pause')
  })

  it('gives up waiting also while the service says nothing', async () => {
    const client = createIssuerClient({ url: ISSUER_URL, apiKey: API_KEY, fetch: hang })
    await expect(client.waitForSession('any', { timeoutMilliseconds: 20 })).rejects.toMatchObject({
      code: 'deadline',
      message: expect.stringContaining('the session has not ended') as string,
    })
    const controller = new AbortController()
    const waiting = client.waitForSession('any', { everyMilliseconds: 600_000, signal: controller.signal })
    controller.abort(new Error('enough of the silence'))
    await expect(waiting).rejects.toThrow('enough of the silence')
  })

  it('says what the service refused, with the id of the request, and never the key', async () => {
    const refused = await issuer()
      .startSession({ credential_configurations: ['none'], credential_dataset: dataset })
      .catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ServiceError)
    expect(refused).toMatchObject({
      code: 'invalid_request',
      status: 400,
      requestId: expect.stringMatching(/^.{16}$/) as string,
    })
    expect((refused as Error).message).toContain('none')
    const wrong = createIssuerClient({ url: ISSUER_URL, apiKey: 'a-wrong-key', fetch: services.fetch })
    const unauthorized = await wrong.getSession('x').catch((error: unknown) => error)
    expect(unauthorized).toMatchObject({ code: 'unauthorized', status: 401 })
    expect(`${JSON.stringify(unauthorized)} ${(unauthorized as Error).stack ?? ''}`).not.toContain('a-wrong-key')
  })

  it('keeps ids inside of their part of the path', async () => {
    await expect(issuer().getSession('../../health/live')).rejects.toMatchObject({ status: 404 })
  })
})

describe('the list of sessions', () => {
  it('is walked over its pages, by a filter and until the loop ends', async () => {
    const client = issuer()
    const id = await client.createConfiguration(configuration)
    const started: string[] = []
    for (let n = 0; n < 120; n += 1) {
      const session = { credential_configurations: [id], credential_dataset: dataset }
      started.unshift((await client.startSession(session)).session_id)
    }
    const listed: string[] = []
    for await (const session of client.listSessions({ credential_configuration_id: id }))
      listed.push(session.session_id)
    expect([...listed].sort()).toEqual([...started].sort())
    for await (const { status } of client.listSessions({ status: 'STARTED' })) {
      expect(status).toBe('STARTED')
      break
    }
    const query = await verifier().createQuery(dcqlQuery)
    const { session_id } = await verifier().startSession({ verification_query_id: query })
    for await (const session of verifier().listSessions({ verification_query_id: query })) {
      expect(session).toMatchObject({ session_id, status: 'STARTED' })
    }
  })
})

describe('the endpoints for whoever operates', () => {
  it('list the callbacks, and deliver each again that was given up, however many there are', async () => {
    const diedAt = services.clock.now.getTime()
    const rows = Array.from({ length: 130 }, (_, n) => {
      const event = { id: `dead-${n}`, type: 'issuance.succeeded', at: diedAt, queuedAt: diedAt }
      const value = { sessionId: `session-${n}`, event, problem: 'the receiver answered 503', diedAt }
      const [dueAt, createdAt] = [new Date(diedAt + 30 * 86_400_000), new Date(diedAt)]
      return { insert: 'dead_callback', id: event.id, value, dueAt, createdAt } as const
    })
    await services.issuerStore.commit(rows)
    const countOf = async (entries: AsyncGenerator<{ readonly callback_id: string }>) => {
      const ids = new Set<string>()
      for await (const { callback_id: id } of entries) ids.add(id)
      return ids.size
    }
    const client = issuer()
    expect(await countOf(client.listDeadCallbacks())).toBe(130)
    await client.redeliverCallback('dead-7')
    await expect(client.redeliverCallback('dead-7')).rejects.toMatchObject({ code: 'not_found' })
    expect(await client.redeliverDeadCallbacks()).toBe(129)
    expect([await countOf(client.listDeadCallbacks()), await countOf(client.listWaitingCallbacks())]).toEqual([0, 130])
  })

  it('read and verify the audit log, list the trust anchors, and test a chain', async () => {
    const client = verifier()
    await client.createQuery(dcqlQuery)
    await services.runTasks()
    const first = await client.readAuditRecords({ limit: 1 })
    expect(first).toMatchObject({
      records: [{ sequence: first.head?.sequence }],
      checkpoint: { at: expect.any(String) as string },
    })
    expect((await client.readAuditRecords({ cursor: first.next ?? '' })).records[0]?.sequence).toBe(
      (first.head?.sequence ?? 0) - 1,
    )
    for await (const { intact, problems } of client.verifyAuditLog('start'))
      expect([intact, problems]).toEqual([true, []])
    expect(await client.listTrustAnchors()).toMatchObject({ trust: 'anchors', anchors: [{ file: '0.pem' }] })
    expect(await client.testChain(services.files.get('issuer.pem') ?? '')).toMatchObject({ trusted: true })
  })
})

describe('a request that may arrive twice', () => {
  /** Makes a `fetch` whose first calls fail in turn, after the service has done the work where `isDone`. */
  function failing(failures: readonly (Error | Response)[], isDone = false) {
    const calls: string[] = []
    let at = 0
    const fetch: typeof globalThis.fetch = async (input, init) => {
      calls.push(new Request(input).url)
      const failure = failures[at]
      at += 1
      if (failure === undefined) return services.fetch(input, init)
      if (isDone) await services.fetch(input, init)
      if (failure instanceof Error) throw failure
      return failure
    }
    return { fetch, calls }
  }
  const busy = (retryAfter: string) =>
    Response.json(
      { error: 'temporarily_unavailable', error_description: 'busy' },
      { status: 503, headers: { 'retry-after': retryAfter } },
    )

  it('starts one session when the answer is lost', async () => {
    const id = await issuer().createConfiguration(configuration)
    const { fetch, calls } = failing([new TypeError('fetch failed')], true)
    const session = { credential_configurations: [id], credential_dataset: dataset }
    const before = (await services.issuerStore.list('issuance_session')).length
    const { session_id } = await issuer(fetch).startSession(session)
    expect(calls).toHaveLength(2)
    expect((await services.issuerStore.list('issuance_session')).length).toBe(before + 1)
    expect((await issuer().getSession(session_id)).status).toBe('STARTED')
  })

  it('is sent again after 503, as late as the service asks for', async () => {
    const missing = Response.json({ error: 'not_found', error_description: 'none' }, { status: 404 })
    const { fetch, calls } = failing([busy('1'), missing])
    const countTimers = fakeTimersOf(1000)
    const refusal = expect(issuer(fetch).getSession('none')).rejects.toMatchObject({ status: 404 })
    while (countTimers() === 0) await immediately()
    await vi.advanceTimersByTimeAsync(999)
    expect(calls).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    await refusal
    expect(calls).toHaveLength(2)
  })

  it('is sent again until the deadline, however often it fails before', async () => {
    const failures = Array.from({ length: 9 }, () => new TypeError('fetch failed'))
    const { fetch, calls } = failing(failures)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const state = { hasEnded: false }
    const refusal = expect(issuer(fetch).getSession('none'))
      .rejects.toMatchObject({ status: 404 })
      .finally(() => {
        state.hasEnded = true
      })
    while (!state.hasEnded) {
      await vi.advanceTimersByTimeAsync(4000)
      await immediately()
    }
    await refusal
    expect(calls).toHaveLength(10)
  })

  it('is no end of the wait for a session when it fails for a while', async () => {
    const id = await issuer().createConfiguration(configuration)
    const session = { credential_configurations: [id], credential_dataset: dataset }
    const { session_id } = await issuer().startSession(session)
    const { fetch, calls } = failing([busy('60'), busy('60')])
    const options = { everyMilliseconds: 5, timeoutMilliseconds: 200 }
    await expect(issuer(fetch).waitForSession(session_id, options)).rejects.toMatchObject({ code: 'deadline' })
    expect(calls.length).toBeGreaterThan(2)
  })

  it('is given up at the deadline', async () => {
    const client = createIssuerClient({ url: ISSUER_URL, apiKey: API_KEY, fetch: hang, timeoutMilliseconds: 50 })
    await expect(client.getSession('none')).rejects.toMatchObject({ code: 'deadline' })
  })

  it('is refused at once where the service asks to come back after the deadline', async () => {
    const { fetch, calls } = failing([busy('30')])
    const client = createIssuerClient({ url: ISSUER_URL, apiKey: API_KEY, fetch, timeoutMilliseconds: 20_000 })
    await expect(client.getSession('none')).rejects.toMatchObject({ status: 503, retryAfterSeconds: 30 })
    expect(calls).toHaveLength(1)
  })

  it.each([
    ['refused', Response.json({ error: 'invalid_request', error_description: 'wrong' }, { status: 400 }), /wrong/],
    ['answered by something else', new Response('<html>', { status: 200 }), /is this the address of the service/],
  ])('is not sent again when it is %s', async (_, answer, message) => {
    const { fetch, calls } = failing([answer])
    await expect(issuer(fetch).getSession('none')).rejects.toThrow(message)
    expect(calls).toHaveLength(1)
  })

  it('has in its error no address with the id of a session, whatever a runtime says', async () => {
    const address = `${ISSUER_URL}/issuance/oid4vci/status/planted?x=planted`
    const answer = new Response('<html>', { status: 200 })
    Object.defineProperty(answer, 'url', { value: address })
    const ends = [answer, new TypeError(`error sending request for url (${address}): connection refused`)]
    for (const end of ends) {
      const { fetch } = failing([end], true)
      const client = createIssuerClient({ url: ISSUER_URL, apiKey: API_KEY, fetch, timeoutMilliseconds: 50 })
      const error = (await client.getSession('planted').catch((refusal: unknown) => refusal)) as ServiceError
      const { cause } = error
      const texts = [error.message, cause instanceof Error ? `${cause.message} ${String(cause.cause)}` : '']
      expect(texts.join(' ')).not.toContain('planted')
    }
  })

  it('is refused at once with a key that cannot be sent', async () => {
    const client = createIssuerClient({ url: 'http://localhost:8079', apiKey: 'k', fetch: () => expect.unreachable() })
    for (const idempotencyKey of ['order №4711', 'x'.repeat(256)]) {
      const starting = client.startSession({ credential_configurations: [] }, { idempotencyKey })
      await expect(starting).rejects.toThrow(TypeError)
    }
  })

  it('has a key of its own each time where the application has none, as of a column that is null', async () => {
    const keys: (string | null)[] = []
    const fetch = (_: unknown, init?: RequestInit): Promise<Response> => {
      keys.push(new Headers(init?.headers).get('idempotency-key'))
      return Promise.resolve(Response.json({}))
    }
    const client = createIssuerClient({ url: ' http://localhost:8079/ ', apiKey: 'k', fetch })
    for (const key of [null, undefined]) {
      await client.startSession({ credential_configurations: [] }, { idempotencyKey: key as never })
    }
    expect(keys).toEqual([expect.stringMatching(/^[\da-f-]{36}$/), expect.stringMatching(/^[\da-f-]{36}$/)])
    expect(keys[0]).not.toBe(keys[1])
  })

  it('is unlike a configuration, which would be stored twice', async () => {
    const { fetch, calls } = failing([new TypeError('fetch failed')], true)
    await expect(issuer(fetch).createConfiguration(configuration)).rejects.toMatchObject({ code: 'unreachable' })
    expect(calls).toHaveLength(1)
  })

  it('takes its key nowhere else', async () => {
    const elsewhere = createServer((_, response) => response.end('{}')).listen(0)
    const { port } = elsewhere.address() as AddressInfo
    const here = createServer((_, response) =>
      response.writeHead(307, { location: `http://127.0.0.1:${port}/` }).end(),
    ).listen(0)
    const url = `http://127.0.0.1:${(here.address() as AddressInfo).port}`
    let asked = 0
    elsewhere.on('request', () => (asked += 1))
    const client = createIssuerClient({ url, apiKey: API_KEY, timeoutMilliseconds: 300 })
    await expect(client.getSession('x')).rejects.toBeInstanceOf(ServiceError)
    expect(asked).toBe(0)
    for (const server of [here, elsewhere]) server.close()
  })
})

describe('the client of a verifier', () => {
  it('asks, waits and reads the report; and verifies what the application holds', async () => {
    const client = verifier()
    const holder = await holderSigner()
    const credential = await issueCredential(services, holder)
    const query = await client.createQuery(dcqlQuery)
    expect(await client.getQuery(query)).toEqual(dcqlQuery)
    expect(await client.simulate({ dcql_query: dcqlQuery, credentials: [credential] })).toMatchObject({
      satisfied: true,
    })
    const { session_id } = await client.startSession({ verification_query_id: query })
    const address = `${VERIFIER_URL}/presentation/oid4vp/authorization-request/${session_id}`
    const jwt = await (await services.fetch(address)).text()
    const request = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()) as RequestObject
    const waiting = client.waitForSession(session_id, { everyMilliseconds: 10 })
    const presentation = await presentationOf(credential, holder, request, { now: services.clock.now })
    const form = { vp_token: JSON.stringify({ card: [presentation] }), state: request.state }
    expect((await postForm(services, request.response_uri, form)).status).toBe(200)
    const { status, result } = await waiting
    expect([status, result?.verified]).toEqual(['VERIFICATION_SUCCEEDED', true])
    const checked = await client.verifyPresentation({
      dcql_query: dcqlQuery,
      vp_token: { card: [presentation] },
      nonce: request.nonce,
      audience: request.client_id,
    })
    expect(checked.verified).toBe(true)
  })

  it('starts a session for the browser, without a link where it is asked to', async () => {
    const client = verifier()
    const query = await client.createQuery(dcqlQuery)
    const session = { verification_query_id: query, origin: 'https://shop.example' }
    const both = await client.startSession(session)
    expect(both.request_uri).toContain(both.session_id)
    const { session_id, digital_credentials_uri: uri, ...rest } = await client.startSession({ ...session, link: false })
    expect(uri).toBe(`${VERIFIER_URL}/presentation/oid4vp/digital-credentials/${session_id}`)
    expect(rest).toEqual({})
  })

  it('reads the result of a session with a redirect_uri by its response code alone', async () => {
    const client = verifier()
    const query = await client.createQuery(dcqlQuery)
    const { session_id } = await client.startSession({
      verification_query_id: query,
      redirect_uri: 'https://app.example/done',
    })
    const session = await client.getSession(session_id, { responseCode: 'a code & more' })
    expect(session).not.toHaveProperty('result')
  })

  it('asks without a response code when the address of the browser has none', async () => {
    const asked: string[] = []
    const send: typeof fetch = (input) => {
      asked.push(input as string)
      return Promise.resolve(Response.json({ status: 'DECLINED' }))
    }
    const client = createVerifierClient({ url: 'http://verifier.test', apiKey: 'k', fetch: send })
    await client.getSession('s', { responseCode: new URLSearchParams().get('response_code') })
    expect(asked).toEqual(['http://verifier.test/presentation/oid4vp/status/s'])
  })
})

describe('a callback', () => {
  const secretBytes = Buffer.alloc(32, 7)
  const secret = `whsec_${secretBytes.toString('base64')}`
  const event = {
    id: 'e1',
    type: 'issuance.succeeded',
    timestamp: '2026-05-01T08:00:00.000Z',
    data: { session_id: 's' },
  }
  const body = JSON.stringify(event)
  const at = new Date()
  const signed = (changes: Record<string, string> = {}) =>
    new Headers({ ...signatureHeaders('e1', at, body, secretBytes), ...changes })

  it('is read when its signature or its API key is right', async () => {
    expect(await readCallback({ headers: signed(), body }, { secret })).toEqual(event)
    const bare = { secret: secretBytes.toString('base64') }
    expect(await readCallback({ headers: signed(), body }, bare)).toEqual(event)
    const headers = signed({ authorization: 'Bearer k' })
    expect(await readCallback({ headers, body }, { apiKey: 'k' })).toEqual(event)
    expect(await readCallback({ headers, body }, { apiKey: 'k', secret })).toEqual(event)
    const both = signed({ 'webhook-signature': `v1,${'A'.repeat(43)}= ${signed().get('webhook-signature')}` })
    expect(await readCallback({ headers: both, body }, { secret })).toEqual(event)
  })

  it.each([
    ['another body', signed(), body.replace('succeeded', 'expired')],
    ['another id', signed({ 'webhook-id': 'e2' }), body],
    ['another time', signed({ 'webhook-timestamp': String(Math.floor(at.getTime() / 1000) + 1) }), body],
    ['no signature', signed({ 'webhook-signature': '' }), body],
    ['a signature of another version', signed({ 'webhook-signature': `v2,${'A'.repeat(43)}=` }), body],
    ['half a signature', signed({ 'webhook-signature': 'v1,AAAA' }), body],
    ['a key of another', new Headers(signatureHeaders('e1', at, body, Buffer.alloc(32, 8))), body],
    ['a time that is not a number', signed({ 'webhook-timestamp': '1e9' }), body],
  ])('is refused with %s', async (_, headers, text) => {
    expect(await readCallback({ headers, body: text }, { secret })).toBeUndefined()
  })

  it('has a type for each event that a service posts, and no other', () => {
    type Posted = { [T in EventType]: (typeof eventTypes)[T]['isPosted'] extends true ? T : never }[EventType]
    expectTypeOf<CallbackEvent['type']>().toEqualTypeOf<Posted>()
  })

  it('is read when one of several secrets signed it, as while a secret is replaced', async () => {
    const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
    for (const secrets of [[secret, other], [other, secret], [secret]]) {
      expect(await readCallback({ headers: signed(), body }, { secret: secrets })).toEqual(event)
      const request = new Request('http://localhost/events', { method: 'POST', headers: signed(), body })
      expect((await callbackHandler({ secret: secrets }, () => undefined)(request)).status).toBe(204)
    }
    expect(await readCallback({ headers: signed(), body }, { secret: [other] })).toBeUndefined()
    const late = new Date(at.getTime() + 301_000)
    expect(await readCallback({ headers: signed(), body }, { secret: [other, secret] }, late)).toBeUndefined()
  })

  it('is refused when it is old, from the future, or no event', async () => {
    for (const seconds of [-301, 301]) {
      const now = new Date(at.getTime() + seconds * 1000)
      expect(await readCallback({ headers: signed(), body }, { secret }, now)).toBeUndefined()
    }
    for (const text of ['{', 'null', '{"id":1}', '[]']) {
      const headers = new Headers(signatureHeaders('e1', at, text, secretBytes))
      expect(await readCallback({ headers, body: text }, { secret })).toBeUndefined()
    }
  })

  it('is refused with another API key, and nobody is believed without a key', async () => {
    const headers = signed({ authorization: 'Bearer k2' })
    expect(await readCallback({ headers, body }, { apiKey: 'k' })).toBeUndefined()
    expect(await readCallback({ headers: new Headers(), body }, { apiKey: 'k' })).toBeUndefined()
    await expect(readCallback({ headers, body }, {})).rejects.toThrow(/secret or the apiKey/)
    await expect(readCallback({ headers, body }, { secret: '' })).rejects.toThrow(/secret or the apiKey/)
  })

  it.each([
    ['204 once it is received', 204],
    ['500 when receiving fails, so that it comes again', 500],
  ])('gets %s, from either handler', async (_, status) => {
    const received: CallbackEvent[] = []
    const full = new Error('full')
    const handle = (each: CallbackEvent): void => {
      received.push(each)
      if (status === 500) throw full
    }
    const shown = vi.spyOn(console, 'error').mockReturnValue(undefined)
    const request = new Request('http://localhost/events', { method: 'POST', headers: signed(), body })
    expect((await callbackHandler({ secret }, handle)(request)).status).toBe(status)
    const statuses = await overNode(handle, [{ headers: signed(), body }])
    expect([statuses, received]).toEqual([[status], [event, event]])
    expect(shown.mock.calls).toEqual(status === 500 ? [[full], [full]] : [])
    shown.mockRestore()
  })

  it('tells the application what it threw itself, where the application wants it', async () => {
    const [full, told] = [new Error('full'), [] as unknown[]]
    const handler = callbackHandler(
      { secret },
      () => Promise.reject(full),
      (error) => told.push(error),
    )
    await handler(new Request('http://localhost/events', { method: 'POST', headers: signed(), body }))
    expect(told).toEqual([full])
  })

  it('gets 401 when it is not signed, and 413 when it is huge, from either handler', async () => {
    const received: CallbackEvent[] = []
    const handle = (each: CallbackEvent) => void received.push(each)
    const posts = [
      { headers: new Headers(), body },
      { headers: signed(), body: 'a'.repeat(4 * 1024 * 1024 + 1) },
    ]
    const answers = posts.map((init) =>
      callbackHandler({ secret }, handle)(new Request('http://localhost/', { method: 'POST', ...init })),
    )
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([401, 413])
    expect(await overNode(handle, posts)).toEqual([401, 413])
    expect(received).toEqual([])
  })

  it('says that the body was read before it, as by express.json()', async () => {
    const errors: unknown[] = []
    const request = new Request('http://app.example/', { method: 'POST', body: '{}' })
    await request.json()
    const answer = await callbackHandler(
      { secret },
      () => expect.unreachable(),
      (error) => errors.push(error),
    )(request)
    const handler = nodeCallbackHandler(
      { secret },
      () => expect.unreachable(),
      (error) => errors.push(error),
    )
    const server = createServer((incoming, response) => {
      void readText(incoming).then(() => handler(incoming, response))
    }).listen(0)
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const { status } = await fetch(url, { method: 'POST', body: '{}' })
    server.close()
    server.closeAllConnections()
    expect([answer.status, status]).toEqual([500, 500])
    expect(errors.map(String)).toEqual(Array(2).fill(expect.stringContaining('express.json()')))
  })

  it('leaves the process alone when its sender goes in the middle of a body', async () => {
    const ends: Promise<void>[] = []
    const handler = nodeCallbackHandler({ secret }, () => undefined)
    const server = createServer((request, response) => void ends.push(handler(request, response))).listen(0)
    const { port } = server.address() as AddressInfo
    const socket = connect(port, '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf')
    await vi.waitUntil(() => ends.length > 0, { timeout: 60_000, interval: 5 })
    socket.destroy()
    await expect(Promise.all(ends)).resolves.toEqual([undefined])
    server.close()
  })

  it.each([
    ['without a key', {}],
    ['with a secret that is not base64', { secret: 'whsec_?' }],
    ['with a list of no secrets', { secret: [] }],
    ['with an empty secret beside a good one', { secret: [secret, ''] }],
    ['with an API key and a secret that is missing', { apiKey: 'k', secret: [undefined as unknown as string] }],
  ])('has no handler %s, which the start of the application shows', (_, keys) => {
    for (const make of [nodeCallbackHandler, callbackHandler]) {
      expect(() => make(keys, () => undefined)).toThrow(TypeError)
    }
  })

  /** Returns the statuses by which a handler of `node:http` answers. */
  async function overNode(
    receive: (event: CallbackEvent) => void | Promise<void>,
    posts: readonly { readonly headers: Headers; readonly body: string }[],
  ): Promise<number[]> {
    const handler = nodeCallbackHandler({ secret }, receive)
    const server = createServer((request, response) => void handler(request, response)).listen(0)
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const statuses: number[] = []
    for (const init of posts) statuses.push((await fetch(url, { method: 'POST', ...init })).status)
    server.close()
    server.closeAllConnections()
    return statuses
  }
})

const at = (url: string) => [{ url, apiKey: 'k' }, /^url has to be an address, without user, password/] as const

it.each<readonly [object, string | RegExp]>([
  [{ url: undefined, apiKey: 'k' }, 'url is undefined; is its environment variable set?'],
  [{ url: 'http://localhost:8079', apiKey: '' }, 'apiKey is empty; is its environment variable set?'],
  [{ url: 'localhost:8079', apiKey: 'k' }, 'url has to begin with http:// or https://'],
  [{ url: 'issuer.example', apiKey: 'k' }, 'url has to begin with http:// or https://'],
  ...[
    'http://user:secret@issuer.example',
    'http://issuer.example?x',
    'http://issuer.example#x',
    'http://issuer.example?',
  ].map((url) => at(url)),
  ...['http://127.0.0.1:99999', 'http://local host'].map((url) => at(url)),
  [{ url: 'http://localhost:8079', apiKey: 'secret-1\nsecret-2' }, /^apiKey has a character .* one whole key\?$/],
  [{ url: 'http://localhost:8079', apiKey: '…' }, /^apiKey has a character/],
])('a client of %j says at once which option is not there or cannot be used', (options, message) => {
  expect(() => createIssuerClient(options as { url: string; apiKey: string })).toThrow(message)
})
