/**
 * Bodies that arrive after their headers were let in: by then the token has expired, been replaced or ended, or the
 * session was denied or revoked. Each request is refused, and issues and records nothing.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ACCESS_TOKEN_SECONDS } from '../../src/issuer/access/access-token.ts'
import { claimsOf, makeTestKey, SERVER, signToken, testServer } from '../support/authorization-server.ts'
import { boundSession, requestProof } from '../support/dpop.ts'
import {
  CREDENTIAL_ENDPOINT,
  expectIssued,
  expectRefusal,
  type Ready,
  type Refusal,
  request,
  requestOf,
  type Session,
  startedSession,
  TOKEN_ENDPOINT,
} from '../support/issuance.ts'
import { listen, postLate } from '../support/late-body.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { call, dataset, declare, fetchNonce, holderSigner, postForm, startIssuance } from '../support/wire.ts'

const OID4VCI = `${ISSUER_URL}/issuance/oid4vci`
const DEFERRED = `${OID4VCI}/deferred-credential`
const NOTIFICATION = `${OID4VCI}/notification`
const INVALID = { status: 401, error: 'invalid_token' } as const
const DENIED = { status: 400, error: 'credential_request_denied' } as const
const EXPIRED = { ...INVALID, why: /has expired/ }
const REPLACED = { ...INVALID, why: /the access token is unknown or was replaced; request a new one/ }

let services: Services

interface Refreshable extends Ready {
  readonly refreshToken: string
}

async function withToken(session: Session, form: Readonly<Record<string, string>>): Promise<Refreshable> {
  const answer = await postForm(services, TOKEN_ENDPOINT, form)
  const { access_token: token = '', refresh_token: refreshToken = '' } = (await answer.json()) as Record<string, string>
  expect(answer.status).toBe(200)
  const nonce = await fetchNonce(services, session.sessionId)
  const audience = `${ISSUER_URL}/${session.sessionId}`
  return { ...session, token, refreshToken, nonce, audience, holder: await holderSigner() }
}

async function redeemed(more: Record<string, unknown> = {}): Promise<Refreshable> {
  const session = await startedSession(services, { refresh_seconds: 6000, ...more })
  return withToken(session, session.form)
}

function refresh(ready: Refreshable, more: Record<string, string> = {}): Promise<Refreshable> {
  return withToken(ready, { grant_type: 'refresh_token', refresh_token: ready.refreshToken, ...more })
}

/** Posts with the token of the session, and runs `between` before the body. */
function post(ready: Ready, url: string, body: object, between: () => unknown): Promise<Response> {
  const headers = { authorization: `Bearer ${ready.token}`, 'content-type': 'application/json' }
  return postLate(services.issuer, { path: new URL(url).pathname, headers, body: JSON.stringify(body) }, between)
}

/** Returns what the session has been given and has said, as far as it is stored. */
async function recorded(sessionId: string): Promise<unknown> {
  const session = (await services.issuerStore.get('issuance_session', sessionId))?.value
  const entries = (await services.issuerStore.get('credential_status', sessionId))?.value.entries
  const waiting = await services.issuerStore.list('deferred_transaction')
  return [session?.issued, entries, waiting.map(({ id }) => id)]
}

async function expectNothing({ sessionId }: Ready, attack: Promise<Response>, refusal: Refusal): Promise<void> {
  const before = await recorded(sessionId)
  await expectRefusal(await attack, refusal)
  expect(await recorded(sessionId)).toEqual(before)
}

function pass(seconds: number): void {
  services.clock.now = new Date(services.clock.now.getTime() + seconds * 1000)
}

const complete = ({ sessionId }: Ready, body: object): Promise<Response> =>
  call(services, `${OID4VCI}/complete/${sessionId}`, body)

interface Change {
  readonly what: string
  readonly change: (ready: Refreshable) => unknown
  readonly refusal: Refusal
}

/** The events that end the token of a session while a body is on its way. */
const changes: readonly Change[] = [
  { what: 'has expired', change: () => pass(2), refusal: EXPIRED },
  { what: 'was replaced', change: (ready) => refresh(ready), refusal: REPLACED },
]

describe('a body that arrives late, of a token that', () => {
  beforeEach(async () => {
    services = await startServices()
    await listen(services.issuer)
  })
  afterEach(() => services.close())

  /** Moves the session near the end of its token, with a nonce that is fresh. */
  async function nearEnd(ready: Refreshable): Promise<Refreshable> {
    pass(ACCESS_TOKEN_SECONDS - 1)
    return { ...ready, nonce: await fetchNonce(services, ready.sessionId) }
  }

  it('is good still, has its credential', async () => {
    const ready = await redeemed()
    expect((await post(ready, CREDENTIAL_ENDPOINT, await requestOf(ready), () => undefined)).status).toBe(200)
  })

  it.each(changes)('$what: no credential', async ({ change, refusal }) => {
    const ready = await nearEnd(await redeemed())
    const body = await requestOf(ready)
    await expectNothing(
      ready,
      post(ready, CREDENTIAL_ENDPOINT, body, () => change(ready)),
      refusal,
    )
  })

  it.each(changes)('$what: no transaction', async ({ change, refusal }) => {
    const ready = await nearEnd(await redeemed({ credential_dataset: undefined, deferred: true }))
    const body = await requestOf(ready)
    await expectNothing(
      ready,
      post(ready, CREDENTIAL_ENDPOINT, body, () => change(ready)),
      refusal,
    )
  })

  it.each(changes)('$what: no deferred credential', async ({ change, refusal }) => {
    const ready = await redeemed({ credential_dataset: undefined, deferred: true })
    const { transaction_id: id } = (await (await request(ready)).json()) as { transaction_id: string }
    expect((await complete(ready, { credential_dataset: dataset })).status).toBe(200)
    const last = await nearEnd(ready)
    await expectNothing(
      last,
      post(last, DEFERRED, { transaction_id: id }, () => change(last)),
      refusal,
    )
    const { sessionId } = last
    expect(await services.issuerStore.get('deferred_transaction', id)).toMatchObject({ value: { sessionId } })
  })

  it.each(changes)('$what: no notification', async ({ change, refusal }) => {
    const ready = await redeemed()
    const { notification_id: id } = (await (await request(ready)).json()) as { notification_id: string }
    const last = await nearEnd(ready)
    const body = { notification_id: id, event: 'credential_failure' }
    await expectNothing(
      last,
      post(last, NOTIFICATION, body, () => change(last)),
      refusal,
    )
  })

  it('was ended, as a refresh token came again: no credential', async () => {
    const first = await redeemed()
    const ready = await refresh(await refresh(first))
    const form = { grant_type: 'refresh_token', refresh_token: first.refreshToken }
    const steal = () => postForm(services, TOKEN_ENDPOINT, form)
    await expectNothing(ready, post(ready, CREDENTIAL_ENDPOINT, await requestOf(ready), steal), EXPIRED)
  })

  it('was narrowed to another credential: none of the first', async () => {
    const [first, other] = [await declare(services), await declare(services)]
    const ready = await redeemed({ credential_configurations: [first, other] })
    const details = [{ type: 'openid_credential', credential_configuration_id: other }]
    const narrow = () => refresh(ready, { authorization_details: JSON.stringify(details) })
    await expectNothing(ready, post(ready, CREDENTIAL_ENDPOINT, await requestOf(ready), narrow), REPLACED)
  })

  it('is of a session that was denied: no transaction', async () => {
    const ready = await redeemed({ credential_dataset: undefined, deferred: true })
    const deny = () => complete(ready, { denied: true })
    await expectNothing(ready, post(ready, CREDENTIAL_ENDPOINT, await requestOf(ready), deny), DENIED)
  })

  it('is of a session whose credentials were revoked: not another one', async () => {
    const ready = await redeemed()
    await expectIssued(ready)
    const again = { ...ready, nonce: await fetchNonce(services, ready.sessionId) }
    const revoke = () => call(services, `${ISSUER_URL}/credential-status/revoke/${ready.sessionId}`, {})
    await expectNothing(again, post(again, CREDENTIAL_ENDPOINT, await requestOf(again), revoke), DENIED)
  })

  it('is bound to a key and was replaced: refused with the challenge of DPoP', async () => {
    const ready = await boundSession(services)
    pass(280)
    const nonce = await fetchNonce(services, ready.sessionId)
    const headers = {
      authorization: `DPoP ${ready.token}`,
      dpop: await requestProof(ready),
      'content-type': 'application/json',
    }
    const body = JSON.stringify(await requestOf({ ...ready, nonce }))
    const path = new URL(CREDENTIAL_ENDPOINT).pathname
    const attack = postLate(services.issuer, { path, headers, body }, () => pass(20))
    await expectNothing(ready, attack, { ...EXPIRED, challenge: /^DPoP error="invalid_token"/ })
  })
})

describe('a body that arrives late, with a token of another server that', () => {
  it.each([
    ['has expired', { exp: 30 }, /it has expired/],
    ['is of a session that has expired', { exp: 9000 }, /its session has expired/],
  ])('%s: no credential', async (_, { exp }, why) => {
    const key = await makeTestKey('ES256', 'one')
    const { outbound } = testServer([key])
    services = await startServices({ issuer: { authorizationServer: { issuer: SERVER } }, outbound })
    try {
      await listen(services.issuer)
      const id = await declare(services)
      const started = {
        credential_configurations: [id],
        'pre-authorized_code': 'a-code-of-the-server',
        expires_in: 3600,
      }
      const { sessionId } = await startIssuance(services, started)
      const claims = claimsOf('a-code-of-the-server', services.clock)
      const token = await signToken(key, { ...claims, exp: (claims.iat as number) + exp })
      const lifetime = exp < 3600 ? exp + 60 : 3600
      pass(lifetime - 1)
      const nonce = await fetchNonce(services, sessionId)
      const session = { services, configurationId: id, sessionId, code: '', form: {}, token, nonce }
      const ready = { ...session, holder: await holderSigner(), audience: `${ISSUER_URL}/${sessionId}` }
      const attack = post(ready, CREDENTIAL_ENDPOINT, await requestOf(ready), () => pass(2))
      await expectNothing(ready, attack, { ...INVALID, why })
    } finally {
      await services.close()
    }
  })
})
