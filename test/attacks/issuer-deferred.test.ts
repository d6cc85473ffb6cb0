/**
 * Sessions whose data comes later: what the wallet and the application do, and what an attacker would like to.
 * OpenID4VCI 1.0, Deferred Credential Endpoint; facts section 5 item 9.
 */
import { exportJWK, generateKeyPair } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/codec/json.ts'
import type { Event } from '../../src/event/event.ts'
import { ACCESS_TOKEN_SECONDS } from '../../src/issuer/access/access-token.ts'
import { boundSession, dpopProof, requestProof, requestWith } from '../support/dpop.ts'
import { encryptedRequest } from '../support/encryption.ts'
import {
  dump,
  expectRefusal,
  expectWithoutEffect,
  oneCredential,
  proofOf,
  type Ready,
  readySession,
  request,
  startedSession,
  TOKEN_ENDPOINT,
} from '../support/issuance.ts'
import { decryptResponse } from '../support/oidf-issuer.ts'
import { API_KEY, ISSUER_URL, type Services, startServices } from '../support/services.ts'
import {
  call,
  configuration,
  dataset,
  declare,
  fetchNonce,
  holderSigner,
  postForm,
  startIssuance,
  statusOf,
} from '../support/wire.ts'

const DEFERRED_ENDPOINT = `${ISSUER_URL}/issuance/oid4vci/deferred-credential`
const DENIED = 'credential_request_denied'

let services: Services

const later = { credential_dataset: undefined, deferred: true }
const deferredSession = (more: object = {}): Promise<Ready> => readySession(services, { ...later, ...more })

function complete(sessionId: string, body: unknown = { credential_dataset: dataset }): Promise<Response> {
  return call(services, `${ISSUER_URL}/issuance/oid4vci/complete/${sessionId}`, body)
}

function fetchLater(token: string | undefined, body: unknown, type = 'application/json'): Promise<Response> {
  const authorized = token === undefined ? {} : { authorization: `Bearer ${token}` }
  if (body === undefined) return services.fetch(DEFERRED_ENDPOINT, { method: 'POST', headers: authorized })
  return services.fetch(DEFERRED_ENDPOINT, {
    method: 'POST',
    headers: { 'content-type': type, ...authorized },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

/** Asks, and is told to come again. */
async function wait(ready: Ready, members: object = {}): Promise<string> {
  const nonce = await fetchNonce(services, ready.sessionId)
  const response = await request({ ...ready, nonce }, { ...members })
  const body = (await response.json()) as { transaction_id: string; interval: number }
  expect([response.status, body]).toMatchObject([202, { transaction_id: expect.any(String) as string, interval: 5 }])
  expect(body).not.toHaveProperty('credentials')
  expect(response.headers.get('cache-control')).toBe('no-store')
  return body.transaction_id
}

async function waiting(): Promise<Ready & { readonly id: string }> {
  const ready = await deferredSession()
  return { ...ready, id: await wait(ready) }
}

async function keysIn(response: Response): Promise<unknown[]> {
  const { credentials } = (await response.json()) as { credentials: { credential: string }[] }
  return credentials.map(({ credential }) => {
    const payload = JSON.parse(Buffer.from(credential.split('.')[1] ?? '', 'base64url').toString()) as JsonObject
    return (payload.cnf as JsonObject).jwk
  })
}

async function eventsOf({ sessionId }: Pick<Ready, 'sessionId'>): Promise<readonly Event['type'][]> {
  const all = (await services.issuerStore.list('event')).map(({ value }) => value)
  return all.filter((event) => event.sessionId === sessionId).map(({ type }) => type)
}

const seconds = (): number => Math.floor(services.clock.now.getTime() / 1000)
const statusOfSession = ({ sessionId }: Ready) => statusOf(services, ISSUER_URL, sessionId)

beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services.close())

describe('a deferred session', () => {
  it('lets the wallet wait until the application has the data, and then gives it once', async () => {
    const ready = await deferredSession()
    const status = await statusOfSession(ready)
    expect(status).toMatchObject({
      status: 'STARTED',
      credentials: [],
      deferred: { state: 'PENDING', waiting_requests: 0 },
    })
    // The offer lasts ten minutes, and the session as long as its tokens.
    expect(Number(status.expires_at)).toBeGreaterThan(seconds() + 6 * 86_400)
    const id = await wait(ready)
    expect(await statusOfSession(ready)).toMatchObject({ status: 'STARTED', deferred: { waiting_requests: 1 } })
    const again = await fetchLater(ready.token, { transaction_id: id, unknown: true })
    expect([again.status, await again.json()]).toEqual([202, { transaction_id: id, interval: 5 }])

    const completed = await complete(ready.sessionId)
    expect([completed.status, await completed.json()]).toEqual([
      200,
      expect.objectContaining({
        status: 'STARTED',
        deferred: { state: 'COMPLETED', waiting_requests: 1, decided_at: seconds() },
      }),
    ])
    const response = await fetchLater(ready.token, { transaction_id: id })
    expect([response.status, await response.clone().json()]).toEqual([200, oneCredential])
    expect(await keysIn(response)).toEqual([ready.holder.jwk])
    expect(await statusOfSession(ready)).toMatchObject({
      status: 'SUCCEEDED',
      credentials: [{ credential_configuration_id: ready.configurationId, credential_status: 'VALID' }],
      deferred: { state: 'COMPLETED', waiting_requests: 0 },
    })
    expect((await eventsOf(ready)).toSorted()).toEqual([
      'issuance.completed',
      'issuance.deferred',
      'issuance.started',
      'issuance.succeeded',
    ])
    const spent = await fetchLater(ready.token, { transaction_id: id })
    await expectRefusal(spent, { status: 400, error: 'invalid_transaction_id', why: /new credential request/ })
  })

  it('issues at once when it was completed before the wallet came, and to a wallet that lost the answer', async () => {
    const ready = await deferredSession()
    expect((await complete(ready.sessionId)).status).toBe(200)
    for (let copy = 0; copy < 2; copy += 1) {
      const nonce = await fetchNonce(services, ready.sessionId)
      const response = await request({ ...ready, nonce })
      expect([response.status, await response.json()]).toEqual([200, oneCredential])
    }
  })

  it('gives a batch to the keys that were proved when it was asked for', async () => {
    const id = await declare(services, { ...configuration, batch_size: 3 })
    const ready = await deferredSession({ credential_configurations: [id] })
    const holders = [await holderSigner(), await holderSigner(), await holderSigner()]
    const jwt = await Promise.all(holders.map((holder) => proofOf({ ...ready, holder })))
    const asked = await request(ready, { proof: undefined, proofs: { jwt } })
    const { transaction_id: transaction } = (await asked.json()) as { transaction_id: string }
    await complete(ready.sessionId)
    // The issuer does not look at the other members of the request.
    const thief = await proofOf({ ...ready, holder: await holderSigner() })
    const body = { transaction_id: transaction, proofs: { jwt: [thief] }, credential_configuration_id: 'x' }
    expect(await keysIn(await fetchLater(ready.token, body))).toEqual(holders.map(({ jwk }) => jwk))
  })

  it('gives one of 20 that fetch at the same time the credential', async () => {
    const ready = await waiting()
    await complete(ready.sessionId)
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => fetchLater(ready.token, { transaction_id: ready.id })),
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const response of responses.filter(({ status }) => status !== 200)) {
      await expectRefusal(response, { status: 400, error: 'invalid_transaction_id' })
    }
    expect((await statusOfSession(ready)).credentials).toHaveLength(1)
  })

  it('gives out ten copies, those that wait among them', async () => {
    const ready = await deferredSession()
    const ids: string[] = []
    for (let copy = 0; copy < 10; copy += 1) ids.push(await wait(ready))
    const eleventh = async () => {
      const response = await request({ ...ready, nonce: await fetchNonce(services, ready.sessionId) })
      await expectRefusal(response, { status: 400, error: DENIED, why: /10 times/ })
    }
    await eleventh()
    await complete(ready.sessionId)
    for (const id of ids) expect((await fetchLater(ready.token, { transaction_id: id })).status).toBe(200)
    await eleventh()
    expect((await statusOfSession(ready)).credentials).toHaveLength(10)
    expect((await eventsOf(ready)).filter((type) => type === 'issuance.deferred')).toHaveLength(1)
  })

  it('gives ten copies to a wallet that lost all its transaction ids before the decision, and no eleventh', async () => {
    const ready = await deferredSession()
    const ids: string[] = []
    for (let copy = 0; copy < 10; copy += 1) ids.push(await wait(ready))
    await complete(ready.sessionId)
    const ask = async () => request({ ...ready, nonce: await fetchNonce(services, ready.sessionId) })
    for (let copy = 0; copy < 10; copy += 1) expect((await ask()).status).toBe(200)
    const denied = { status: 400, error: DENIED, why: /10 times/ }
    await expectRefusal(await ask(), denied)
    await expectRefusal(await fetchLater(ready.token, { transaction_id: ids[0] ?? '' }), denied)
    expect((await statusOfSession(ready)).credentials).toHaveLength(10)
  })

  it('that is denied tells every wallet so, in the words of the application, which are in no log', async () => {
    const ready = await waiting()
    const reason = 'The examination board has not met.'
    const denied = await complete(ready.sessionId, { denied: true, reason })
    expect([denied.status, await denied.json()]).toEqual([
      200,
      expect.objectContaining({ deferred: { state: 'DENIED', waiting_requests: 1, decided_at: seconds() } }),
    ])
    const refusal = { status: 400, error: DENIED, why: new RegExp(`^${reason}$`) }
    await expectRefusal(await fetchLater(ready.token, { transaction_id: ready.id }), refusal)
    const nonce = await fetchNonce(services, ready.sessionId)
    await expectRefusal(await request({ ...ready, nonce }), refusal)
    expect(await eventsOf(ready)).toContain('issuance.denied')
    expect(services.logLines.join('')).not.toContain('examination')
    expect((await statusOfSession(ready)).status).toBe('STARTED')
  })

  it('that is denied without a reason says no more than that', async () => {
    const ready = await waiting()
    await complete(ready.sessionId, { denied: true })
    const response = await fetchLater(ready.token, { transaction_id: ready.id })
    await expectRefusal(response, { status: 400, error: DENIED, why: /decided not to issue/ })
  })

  it('can be completed days later, and forgets who waits when a week is over', async () => {
    const { now } = services.clock
    const ready = await waiting()
    services.clock.now = new Date(now.getTime() + 6 * 86_400_000)
    expect(await statusOfSession(ready)).toMatchObject({ status: 'STARTED' })
    await services.runTasks()
    const { sessionId } = ready
    expect(await services.issuerStore.get('deferred_transaction', ready.id)).toMatchObject({ value: { sessionId } })
    services.clock.now = new Date(now.getTime() + 7 * 86_400_000)
    expect(await statusOfSession(ready)).toMatchObject({ status: 'EXPIRED' })
    // An access token of the last moment would have been good until then.
    services.clock.now = new Date(now.getTime() + 7 * 86_400_000 + ACCESS_TOKEN_SECONDS * 1000)
    await services.runTasks()
    expect(await services.issuerStore.get('deferred_transaction', ready.id)).toBeUndefined()
    services.clock.now = now
  })

  it('is good for a wallet that comes back with a refreshed token, and keys that it proved with the first', async () => {
    const { now } = services.clock
    const session = await startedSession(services, later)
    const endpoint = `${TOKEN_ENDPOINT}/${session.sessionId}`
    const first = (await (await postForm(services, endpoint, session.form)).json()) as Record<string, string>
    const nonce = await fetchNonce(services, session.sessionId)
    const audience = `${ISSUER_URL}/${session.sessionId}`
    const holder = await holderSigner()
    const id = await wait({ ...session, token: first.access_token ?? '', nonce, audience, holder })
    services.clock.now = new Date(now.getTime() + 3 * 86_400_000)
    await services.runTasks()
    expect((await complete(session.sessionId)).status).toBe(200)
    await expectRefusal(await fetchLater(first.access_token, { transaction_id: id }), {
      status: 401,
      error: 'invalid_token',
    })
    const form = { grant_type: 'refresh_token', refresh_token: first.refresh_token ?? '' }
    const second = (await (await postForm(services, endpoint, form)).json()) as Record<string, string>
    const response = await fetchLater(second.access_token, { transaction_id: id })
    expect(response.status).toBe(200)
    expect(await keysIn(response)).toEqual([holder.jwk])
    services.clock.now = now
  })

  it('is good until the access token of the last refresh is over', async () => {
    const { now } = services.clock
    const session = await startedSession(services, { ...later, refresh_seconds: 600 })
    const endpoint = `${TOKEN_ENDPOINT}/${session.sessionId}`
    const first = (await (await postForm(services, endpoint, session.form)).json()) as Record<string, string>
    const ready = { ...session, holder: await holderSigner(), audience: `${ISSUER_URL}/${session.sessionId}` }
    const id = await wait({ ...ready, token: first.access_token ?? '', nonce: '' })
    services.clock.now = new Date(now.getTime() + 599_000)
    const form = { grant_type: 'refresh_token', refresh_token: first.refresh_token ?? '' }
    const last = (await (await postForm(services, endpoint, form)).json()) as Record<string, string>
    services.clock.now = new Date(now.getTime() + 599_000 + (ACCESS_TOKEN_SECONDS - 1) * 1000)
    await services.runTasks()
    expect((await complete(session.sessionId)).status).toBe(200)
    expect((await fetchLater(last.access_token, { transaction_id: id })).status).toBe(200)
    services.clock.now = now
  })

  it('takes each DPoP proof once, also while nothing is decided', async () => {
    const ready = await boundSession(services, later)
    const asked = await requestWith(ready, {
      authorization: `DPoP ${ready.token}`,
      dpop: await requestProof(ready),
    })
    const { transaction_id: id } = (await asked.json()) as { transaction_id: string }
    const { key, dpop: nonce, token } = ready
    const makeProof = () => dpopProof({ services, key, url: DEFERRED_ENDPOINT, nonce, token })
    const fetchWith = (dpop: string) =>
      services.fetch(DEFERRED_ENDPOINT, {
        method: 'POST',
        headers: { authorization: `DPoP ${token}`, dpop, 'content-type': 'application/json' },
        body: JSON.stringify({ transaction_id: id }),
      })
    const proof = await makeProof()
    expect((await fetchWith(proof)).status).toBe(202)
    const again = await fetchWith(proof)
    expect([again.status, await again.json()]).toEqual([401, expect.objectContaining({ error: 'invalid_dpop_proof' })])
    await complete(ready.sessionId)
    expect((await fetchWith(proof)).status).toBe(401)
    expect((await fetchWith(await makeProof())).status).toBe(200)
  })

  it('can be asked for in encryption, and answers each request as that one wants it', async () => {
    const ready = await deferredSession()
    const metadata = (await (
      await services.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer`)
    ).json()) as JsonObject
    expect(metadata.deferred_credential_endpoint).toBe(DEFERRED_ENDPOINT)
    const { privateKey, publicKey } = await generateKeyPair('ECDH-ES', { crv: 'P-256' })
    const jwk = { ...(await exportJWK(publicKey)), kid: 'suite', use: 'enc', alg: 'ECDH-ES' }
    const credential_response_encryption = { jwk, enc: 'A128GCM' }
    const id = await wait(ready)
    const ask = async () => {
      const body = JSON.stringify({ transaction_id: id, credential_response_encryption })
      return fetchLater(ready.token, await encryptedRequest(metadata, body, { enc: 'A256GCM' }), 'application/jwt')
    }
    const pending = await decryptResponse(await ask(), privateKey)
    expect([pending.status, await pending.json()]).toEqual([202, { transaction_id: id, interval: 5 }])
    // A stranger on the way cannot have the answer encrypted to a key of their own.
    const inClear = await fetchLater(ready.token, { transaction_id: id, credential_response_encryption })
    await expectRefusal(inClear, { status: 400, error: 'invalid_encryption_parameters' })
    await complete(ready.sessionId)
    const issued = await decryptResponse(await ask(), privateKey)
    expect([issued.status, await issued.json()]).toEqual([200, oneCredential])
  })
})

describe('a request for a deferred credential that is wrong', () => {
  it('in its proof is refused without effect, although nothing would be issued', async () => {
    const ready = await deferredSession()
    const before = await dump(services)
    const jwt = await proofOf(ready, { payload: { aud: 'https://other.example' } })
    const response = await request(ready, { proof: { proof_type: 'jwt', jwt } })
    await expectRefusal(response, { status: 400, error: 'invalid_proof' })
    expect(await dump(services)).toBe(before)
    await request(ready)
    await expectRefusal(await request(ready), { status: 400, error: 'invalid_nonce' })
  })

  it.each<[string, (mine: Ready & { id: string }, other: Ready & { id: string }) => unknown, string]>([
    ['of another session', (_, { id }) => ({ transaction_id: id }), 'invalid_transaction_id'],
    ['that is made up', () => ({ transaction_id: 'a'.repeat(32) }), 'invalid_transaction_id'],
    ['that is empty', () => ({ transaction_id: '' }), 'invalid_transaction_id'],
    ['that is missing', () => ({}), 'invalid_credential_request'],
    ['that is a list', ({ id }) => ({ transaction_id: [id] }), 'invalid_credential_request'],
    ['in a list', ({ id }) => [id], 'invalid_credential_request'],
    ['in no JSON', () => '{', 'invalid_credential_request'],
    ['in no body', () => undefined, 'invalid_credential_request'],
  ])('with a transaction id %s: refused without effect', async (_, body, error) => {
    const [mine, other] = [await waiting(), await waiting()]
    await complete(mine.sessionId)
    await complete(other.sessionId)
    await expectWithoutEffect(services, () => fetchLater(mine.token, body(mine, other)), { status: 400, error })
    expect((await fetchLater(mine.token, { transaction_id: mine.id })).status).toBe(200)
  })

  it('with a refreshed token that was narrowed to another credential is refused without effect', async () => {
    const ids = [await declare(services), await declare(services)]
    const session = await startedSession(services, { ...later, credential_configurations: ids })
    const endpoint = `${TOKEN_ENDPOINT}/${session.sessionId}`
    const first = (await (await postForm(services, endpoint, session.form)).json()) as Record<string, string>
    const ready = { ...session, holder: await holderSigner(), audience: `${ISSUER_URL}/${session.sessionId}` }
    const id = await wait({ ...ready, token: first.access_token ?? '', nonce: '' })
    await complete(session.sessionId)
    const narrowed = async (configurationId: string | undefined) => {
      const detail = { type: 'openid_credential', credential_configuration_id: configurationId }
      const form = { grant_type: 'refresh_token', refresh_token: first.refresh_token ?? '' }
      return postForm(services, endpoint, { ...form, authorization_details: JSON.stringify([detail]) })
    }
    const { access_token: token } = (await (await narrowed(ids[1])).json()) as Record<string, string>
    await expectWithoutEffect(services, () => fetchLater(token, { transaction_id: id }), {
      status: 403,
      error: 'insufficient_scope',
      why: /narrowed/,
    })
  })

  it('without the token of the session is refused without effect', async () => {
    const ready = await waiting()
    await complete(ready.sessionId)
    const before = await dump(services)
    for (const token of [undefined, 'abc', API_KEY]) {
      const response = await fetchLater(token, { transaction_id: ready.id })
      await expectRefusal(response, { status: 401, error: 'invalid_token' })
    }
    expect(await dump(services)).toBe(before)
  })
})

describe('a mistake of the application that decides', () => {
  const bad = (why: RegExp) => ({ status: 400, error: 'invalid_request', why })
  it.each<[string, unknown, RegExp]>([
    ['nothing', {}, /either credential_dataset, or denied/],
    ['both', { credential_dataset: dataset, denied: true }, /either credential_dataset, or denied/],
    ['denied: false', { denied: false }, /denied: must be true/],
    ['a reason alone', { reason: 'a' }, /either/],
    ['a reason with the data', { credential_dataset: dataset, reason: 'a' }, /reason: goes with denied/],
    ['a reason that a wallet cannot be told', { denied: true, reason: 'a "b"' }, /reason/],
    ['a long reason', { denied: true, reason: 'a'.repeat(301) }, /reason/],
    ['a dataset that does not fit', { credential_dataset: {} }, /credentialSubject/],
    ['a dataset that is a text', { credential_dataset: 'a' }, /credential_dataset/],
    ['a field that nobody knows', { credential_dataset: dataset, retain: true }, /retain/],
  ])('with %s is refused, and leaves the session undecided', async (_, body, why) => {
    const ready = await waiting()
    const before = await dump(services)
    await expectRefusal(await complete(ready.sessionId, body), bad(why))
    expect(await dump(services)).toBe(before)
    expect((await complete(ready.sessionId)).status).toBe(200)
  })

  it('twice, or about a session that has its data, is an invalid_state', async () => {
    const conflict = { status: 409, error: 'invalid_state' }
    const [completed, denied] = [await waiting(), await waiting()]
    await complete(completed.sessionId)
    await complete(denied.sessionId, { denied: true })
    const { sessionId } = await startIssuance(services)
    const before = await dump(services)
    for (const id of [completed.sessionId, denied.sessionId, sessionId]) {
      for (const body of [{ credential_dataset: dataset }, { denied: true }]) {
        await expectRefusal(await complete(id, body), conflict)
      }
    }
    expect(await dump(services)).toBe(before)
  })

  it('twice at the same time counts once', async () => {
    const ready = await waiting()
    const bodies = Array.from({ length: 20 }, (_, n) =>
      n % 2 === 0 ? { denied: true } : { credential_dataset: dataset },
    )
    const responses = await Promise.all(bodies.map((body) => complete(ready.sessionId, body)))
    expect(responses.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 19 }, () => 409)])
    const decisions = (await eventsOf(ready)).filter((type) => /completed|denied/.test(type))
    expect(decisions).toHaveLength(1)
  })

  it('about a session that is unknown or over is told so', async () => {
    await expectRefusal(await complete('unknown'), { status: 404, error: 'not_found' })
    const { sessionId } = await startIssuance(services, later)
    const { now } = services.clock
    services.clock.now = new Date(now.getTime() + 600_000)
    const gone = { status: 410, error: 'gone', why: /expired/ }
    await expectRefusal(await complete(sessionId), gone)
    // Once that is recorded, no clock that goes back revives it.
    await services.runTasks()
    services.clock.now = now
    const before = await dump(services)
    for (const body of [{ credential_dataset: dataset }, { denied: true }]) {
      await expectRefusal(await complete(sessionId, body), gone)
    }
    expect(await dump(services)).toBe(before)
  })

  it('already when it starts the session is refused', async () => {
    const id = await declare(services)
    const before = await dump(services)
    for (const [body, why] of [
      [{ credential_dataset: dataset, deferred: true }, /leave it out/],
      [{ deferred: false }, /credential_dataset: required/],
      [{ deferred: 'yes' }, /deferred/],
    ] as const) {
      const response = await call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, {
        credential_configurations: [id],
        ...body,
      })
      await expectRefusal(response, bad(why))
    }
    expect(await dump(services)).toBe(before)
  })
})
