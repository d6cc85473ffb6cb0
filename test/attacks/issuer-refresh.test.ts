/**
 * Refresh tokens: a credential anew within the policy of its session, and attacks on that. A token that is used again
 * ends what came of it; an answer that was lost does not lock a wallet out. RFC 6749 section 6, RFC 9700 section
 * 4.14.2.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { IssuanceSession } from '../../src/issuer/session.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { declareWithScope } from '../support/code-flow.ts'
import {
  boundSession,
  dpopNonce,
  dpopProof,
  expectIssuedBound,
  postToken,
  requestProof,
  requestWith,
} from '../support/dpop.ts'
import {
  dump,
  expectRefusal,
  type Ready,
  request,
  type Session,
  startedSession,
  TOKEN_ENDPOINT,
} from '../support/issuance.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import {
  attestedHeaders,
  makeInstance,
  makeProvider,
  postAttested,
  trustingProvider,
  type WalletInstance,
} from '../support/wallet-attestation.ts'
import { call, dataset, declare, fetchNonce, holderSigner, postForm, startIssuance, statusOf } from '../support/wire.ts'

interface TokenBody {
  readonly access_token: string
  readonly refresh_token: string
  readonly [member: string]: unknown
}

interface Refreshable extends Ready {
  readonly refresh: string
}

const DAY = 86_400

describe('a refresh token', () => {
  let services: Services
  let configurationId: string
  beforeAll(async () => {
    services = await startServices()
    configurationId = await declare(services)
  })
  afterAll(() => services.close())
  const body = (more = {}) => ({ credential_configurations: [configurationId], refresh_seconds: 30 * DAY, ...more })

  const at = async <T>(seconds: number, run: () => Promise<T>): Promise<T> => {
    const real = services.clock.now
    services.clock.now = new Date(real.getTime() + seconds * 1000)
    return run().finally(() => {
      services.clock.now = real
    })
  }

  async function redeemed(more = {}): Promise<Refreshable> {
    const session = await startedSession(services, body(more))
    const response = await postForm(services, endpoint(session), session.form)
    return withToken(session, (await response.json()) as TokenBody)
  }
  async function withToken(session: Session, { access_token: token, refresh_token: refresh }: TokenBody) {
    const nonce = await fetchNonce(services, session.sessionId)
    const audience = `${ISSUER_URL}/${session.sessionId}`
    return { ...session, token, refresh, nonce, audience, holder: await holderSigner() }
  }
  const endpoint = ({ sessionId }: Session) => `${TOKEN_ENDPOINT}/${sessionId}`
  const refreshForm = (refresh: string, more = {}) => ({ grant_type: 'refresh_token', refresh_token: refresh, ...more })
  const post = (ready: Refreshable, refresh = ready.refresh, more = {}) =>
    postForm(services, endpoint(ready), refreshForm(refresh, more))
  async function refreshed(ready: Refreshable, refresh = ready.refresh): Promise<Refreshable> {
    const response = await post(ready, refresh)
    const given = (await response.json()) as TokenBody
    expect([response.status, given]).toEqual([
      200,
      {
        access_token: expect.any(String) as string,
        token_type: 'Bearer',
        expires_in: 300,
        refresh_token: expect.any(String) as string,
      },
    ])
    return withToken(ready, given)
  }
  const stored = async ({ sessionId }: Session) =>
    (await services.issuerStore.get('issuance_session', sessionId))?.value as IssuanceSession
  const issues = async (ready: Ready) => {
    const response = await request(ready)
    expect(`${response.status} ${await response.clone().text()}`).toMatch(/^200 /)
    return response
  }
  const refused = async (response: Response, why: RegExp) =>
    expectRefusal(response, { status: 400, error: 'invalid_grant', why })

  it.each([0, -1, 31_536_001, 0.5, '60', null])('is not for sessions with refresh_seconds of %j', async (seconds) => {
    const response = await call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, {
      credential_dataset: dataset,
      credential_configurations: [configurationId],
      refresh_seconds: seconds,
    })
    await expectRefusal(response, { status: 400, error: 'invalid_request', why: /refresh_seconds/ })
  })

  it('is not given where the session has no policy, and the metadata names the grant', async () => {
    const session = await startedSession(services, { credential_configurations: [configurationId] })
    const response = await postForm(services, endpoint(session), session.form)
    expect(Object.keys((await response.json()) as object)).toEqual(['access_token', 'token_type', 'expires_in'])
    const metadata = await services.fetch(`${ISSUER_URL}/.well-known/oauth-authorization-server`)
    expect(await metadata.json()).toMatchObject({ grant_types_supported: [expect.any(String), 'refresh_token'] })
  })

  it('gets the credential anew after a month less a second, and the status says until when', async () => {
    const ready = await redeemed()
    await issues(ready)
    const until = Math.floor(services.clock.now.getTime() / 1000) + 30 * DAY
    expect(await statusOf(services, ISSUER_URL, ready.sessionId)).toMatchObject({
      status: 'SUCCEEDED',
      refresh_until: until,
    })
    await at(30 * DAY - 1, async () => {
      await expectRefusal(await request(ready), { status: 401, error: 'invalid_token' })
      const again = await refreshed(ready)
      expect(again.refresh).not.toBe(ready.refresh)
      await issues(again)
    })
    const { credentials } = (await statusOf(services, ISSUER_URL, ready.sessionId)) as { credentials: unknown[] }
    expect(credentials).toHaveLength(2)
  })

  it('is over with a revocation, and the data is kept no longer for it', async () => {
    const ready = await redeemed()
    await issues(ready)
    await call(services, `${ISSUER_URL}/credential-status/revoke/${ready.sessionId}`, {})
    const now = Math.floor(services.clock.now.getTime() / 1000)
    expect(await statusOf(services, ISSUER_URL, ready.sessionId)).toMatchObject({ refresh_until: now })
    expect(await services.issuerStore.get('issuance_dataset', ready.sessionId)).toMatchObject({ value: dataset })
    await at(DAY, async () => {
      await services.runTasks()
      expect(await statusOf(services, ISSUER_URL, ready.sessionId)).toHaveProperty('erased_at')
    })
  })

  it('says nothing of a time before the code is redeemed', async () => {
    const { sessionId } = await startIssuance(services, body())
    expect(Object.keys(await statusOf(services, ISSUER_URL, sessionId))).not.toContain('refresh_until')
  })

  it('keeps a session without a credential open', async () => {
    const ready = await redeemed()
    await at(DAY, async () => {
      expect(await statusOf(services, ISSUER_URL, ready.sessionId)).toMatchObject({ status: 'STARTED' })
      await issues(await refreshed(ready))
    })
    await at(31 * DAY, async () => {
      const other = await statusOf(services, ISSUER_URL, ready.sessionId)
      expect(other).toMatchObject({ status: 'SUCCEEDED' })
    })
  })

  it('is refused when the time is up, and an access token made just before lives on', async () => {
    const ready = await redeemed({ refresh_seconds: 400 })
    const last = await at(399, () => refreshed(ready))
    await at(400, async () => {
      const before = await dump(services)
      await refused(await post(ready, last.refresh), /time is up/)
      expect(await dump(services)).toBe(before)
      await issues({ ...last, nonce: await fetchNonce(services, last.sessionId) })
    })
  })

  it.each([
    ['its time was up', () => Promise.resolve(), 400, /the time of the refresh is up/],
    [
      'its credentials were revoked',
      async (ready: Refreshable) => {
        await issues(ready)
        await call(services, `${ISSUER_URL}/credential-status/revoke/${ready.sessionId}`, {})
      },
      0,
      /the credentials of the session were revoked/,
    ],
    [
      'a used one came again',
      async (ready: Refreshable) => {
        await refreshed(await refreshed(ready))
        await refused(await post(ready), /used/)
      },
      0,
      /came again, which may be stolen/,
    ],
  ] as const)('tells the application and the log, but not the wallet, that %s', async (_, end, seconds, reason) => {
    const ready = await redeemed({ refresh_seconds: 400 })
    await end(ready)
    await at(seconds, async () => {
      const response = await post(ready, ready.refresh)
      const told = (await response.json()) as Record<string, string>
      expect([told.error, told.error_description]).toEqual(['invalid_grant', expect.not.stringMatching(reason)])
      const { problem } = await statusOf(services, ISSUER_URL, ready.sessionId)
      expect((problem as Record<string, string>).error_description).toMatch(reason)
      const line = services.logLines.findLast((each) => each.includes('"refused"'))
      expect(JSON.parse(line ?? '{}')).toMatchObject({ cause: expect.stringMatching(reason) as string })
    })
  })

  it('works at the endpoint without a session, and of another session nowhere else', async () => {
    const [a, b] = [await redeemed(), await redeemed()]
    const before = await dump(services)
    await refused(await postForm(services, endpoint(b), refreshForm(a.refresh)), /unknown/)
    expect(await dump(services)).toBe(before)
    const response = await postForm(services, TOKEN_ENDPOINT, refreshForm(a.refresh))
    expect(response.status).toBe(200)
  })

  it.each([
    ['none', {}, 'invalid_request', /refresh_token is missing/],
    ['an empty one', { refresh_token: '' }, 'invalid_request', /refresh_token is missing/],
    ['a word', { refresh_token: 'token' }, 'invalid_grant', /unknown/],
    ['a dot', { refresh_token: '.' }, 'invalid_grant', /unknown/],
    ['a zero byte', { refresh_token: '\0.a' }, 'invalid_grant', /unknown/],
  ] as const)('is refused when it is %s', async (_, members, error, why) => {
    const response = await postForm(services, TOKEN_ENDPOINT, { grant_type: 'refresh_token', ...members })
    await expectRefusal(response, { status: 400, error, why })
  })

  it('is refused when it is forged, an access token, or a code, and nothing changes', async () => {
    const ready = await redeemed()
    const before = await dump(services)
    const forgeries = [
      `${ready.sessionId}.x`,
      `${ready.sessionId}.`,
      ready.sessionId,
      `${ready.refresh}x`,
      ready.refresh.slice(0, -1),
      ready.token,
      ready.code,
    ]
    for (const forged of forgeries) await refused(await post(ready, forged), /unknown/)
    expect(await dump(services)).toBe(before)
    await issues(await refreshed(ready))
  })

  it('is refused where the session gave none', async () => {
    const session = await startedSession(services, { credential_configurations: [configurationId] })
    await refused(await postForm(services, TOKEN_ENDPOINT, refreshForm(`${session.sessionId}.x`)), /unknown/)
  })

  it('is not stored, and reaches no log', async () => {
    const first = await redeemed()
    const second = await refreshed(first)
    const all = (await dump(services)) + services.logLines.join('')
    for (const text of [first.refresh, second.refresh]) expect(all).not.toContain(text.split('.')[1])
  })

  it('takes the access token before it away', async () => {
    const first = await redeemed()
    const second = await refreshed(first)
    await expectRefusal(await request(first), { status: 401, error: 'invalid_token' })
    await issues(second)
  })

  describe('whose answer was lost', () => {
    it('may be sent again, any number of times, and gets the same successor', async () => {
      const ready = await redeemed()
      const lost = await refreshed(ready)
      const again = await refreshed(ready)
      const third = await refreshed(ready)
      expect([again.refresh, third.refresh]).toEqual([lost.refresh, lost.refresh])
      await expectRefusal(await request(lost), { status: 401, error: 'invalid_token' })
      await issues(third)
      await refreshed(third)
    })

    it('leads to one working access token when it is sent 20 times at once, and every answer leads on', async () => {
      const ready = await redeemed()
      const responses = await Promise.all(Array.from({ length: 20 }, () => post(ready)))
      const bodies = (await Promise.all(responses.map((response) => response.json()))) as TokenBody[]
      expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
      expect(new Set(bodies.map((each) => each.refresh_token)).size).toBe(1)
      const results = []
      for (const each of bodies) results.push((await request(await withToken(ready, each))).status)
      expect(results.filter((status) => status === 200)).toHaveLength(1)
      await refreshed(ready, bodies[0]?.refresh_token)
    })
  })

  describe('that is used up', () => {
    const shown = {
      'by its successor': (next: Refreshable) => refreshed(next),
      'by a credential': async (next: Refreshable) => {
        await issues(next)
        return next
      },
    }

    it.each(Object.entries(shown))(
      'ends all that came of it when it comes again after it was shown %s',
      async (_, use) => {
        const first = await redeemed()
        const last = await use(await refreshed(first))
        await refused(await post(first), /used/)
        await refused(await post(last), /time is up/)
        await expectRefusal(await request(last), { status: 401, error: 'invalid_token' })
        const { refresh_until: until } = await statusOf(services, ISSUER_URL, first.sessionId)
        expect(until).toBe(Math.floor(services.clock.now.getTime() / 1000))
      },
    )

    it('a long time ago is unknown, and ends nothing', async () => {
      const first = await redeemed()
      let last = first
      for (let times = 0; times < 13; times++) last = await refreshed(last)
      expect((await stored(first)).refresh?.spent).toHaveLength(10)
      await refused(await post(first), /unknown/)
      await refreshed(last)
    })

    it('ends nothing of another session', async () => {
      const [a, b] = [await redeemed(), await redeemed()]
      await refreshed(await refreshed(a))
      await refused(await post(a), /used/)
      await issues(await refreshed(b))
    })
  })

  it('brings ten copies more, and no more than ten', async () => {
    const ready = await redeemed()
    const take = async (current: Refreshable) => {
      const nonce = await fetchNonce(services, current.sessionId)
      return (await request({ ...current, nonce })).status
    }
    const statuses = []
    for (let times = 0; times < 11; times++) statuses.push(await take(ready))
    const next = await refreshed(ready)
    for (let times = 0; times < 11; times++) statuses.push(await take(next))
    const ten = Array.from({ length: 10 }, () => 200)
    expect(statuses).toEqual([...ten, 400, ...ten, 400])
  })

  it('gives each copy an entry of its own in a status list', async () => {
    const ready = await redeemed()
    await issues(ready)
    await issues(await refreshed(ready))
    const { entries } = (await services.issuerStore.get('credential_status', ready.sessionId))?.value ?? { entries: [] }
    expect(new Set(entries.map(({ index }) => index)).size).toBe(2)
  })

  it.each(['suspend', 'revoke'])('is refused after %s, and nothing changes', async (act) => {
    const ready = await redeemed()
    await issues(ready)
    await call(services, `${ISSUER_URL}/credential-status/${act}/${ready.sessionId}`, {})
    const before = await dump(services)
    await refused(await post(ready), act === 'revoke' ? /cannot be refreshed any more/ : /suspended/)
    expect(await dump(services)).toBe(before)
    if (act === 'revoke') return
    await call(services, `${ISSUER_URL}/credential-status/reinstate/${ready.sessionId}`, {})
    await issues(await refreshed(ready))
  })

  it('keeps to the authorization details of the first token, and never widens them', async () => {
    const other = await declare(services)
    const detail = (id: string) => ({ type: 'openid_credential', credential_configuration_id: id })
    const session = await startedSession(services, body({ credential_configurations: [configurationId, other] }))
    const details = (...ids: string[]) => ({ authorization_details: JSON.stringify(ids.map(detail)) })
    const response = await postForm(services, endpoint(session), { ...session.form, ...details(other) })
    const first = (await response.json()) as TokenBody
    const wide = await postForm(services, TOKEN_ENDPOINT, refreshForm(first.refresh_token, details(configurationId)))
    await expectRefusal(wide, { status: 400, error: 'invalid_authorization_details' })
    const next = (await (
      await postForm(services, TOKEN_ENDPOINT, refreshForm(first.refresh_token))
    ).json()) as TokenBody
    expect(next.authorization_details).toEqual(first.authorization_details)
  })

  describe('that asks for a part of what it may', () => {
    let other: string
    let scoped: string
    beforeAll(async () => {
      ;[scoped, other] = [await declareWithScope(services, 'card'), await declareWithScope(services, 'ticket')]
    })
    const both = () => redeemed({ credential_configurations: [scoped, other] })
    const asksFor = async (ready: Refreshable, id: string) => {
      const nonce = await fetchNonce(services, ready.sessionId)
      return (await request({ ...ready, nonce }, { credential_configuration_id: id })).status
    }
    const detailed = (id: string) => ({
      authorization_details: JSON.stringify([{ type: 'openid_credential', credential_configuration_id: id }]),
    })

    it.each<[string, () => object, object]>([
      ['a scope', () => ({ scope: 'card' }), { scope: 'card' }],
      ['authorization details', () => detailed(scoped), {}],
      ['both', () => ({ scope: 'card', ...detailed(scoped) }), { scope: 'card' }],
    ])('gets that by %s, which the answer names, and all of it the next time', async (_, part, named) => {
      const ready = await both()
      const response = await post(ready, ready.refresh, part())
      const given = (await response.json()) as TokenBody
      expect([response.status, given]).toMatchObject([
        200,
        { ...named, authorization_details: [{ credential_configuration_id: scoped }] },
      ])
      const narrow = await withToken(ready, given)
      expect([await asksFor(narrow, scoped), await asksFor(narrow, other)]).toEqual([200, 403])
      const wide = await refreshed(narrow)
      expect([await asksFor(wide, scoped), await asksFor(wide, other)]).toEqual([200, 200])
    })

    it('gets all of it by all of its scopes, in any order and with spaces between', async () => {
      const ready = await both()
      const given = (await (await post(ready, ready.refresh, { scope: ' ticket  card' })).json()) as TokenBody
      expect(given).toMatchObject({ scope: 'ticket card' })
      expect(given).not.toHaveProperty('authorization_details')
      const wide = await withToken(ready, given)
      expect([await asksFor(wide, scoped), await asksFor(wide, other)]).toEqual([200, 200])
    })

    it.each(['other', 'card other', 'card\tticket'])(
      'gets nothing with the scope "%s", never granted',
      async (scope) => {
        const ready = await both()
        const before = await dump(services)
        const response = await post(ready, ready.refresh, { scope })
        await expectRefusal(response, { status: 400, error: 'invalid_scope', why: /scope/ })
        expect(await dump(services)).toBe(before)
        await refreshed(ready)
      },
    )

    it('gets nothing with the scope of a credential that its first token was not for', async () => {
      const session = await startedSession(services, body({ credential_configurations: [scoped, other] }))
      const first = await postForm(services, endpoint(session), { ...session.form, ...detailed(scoped) })
      const ready = await withToken(session, (await first.json()) as TokenBody)
      const response = await post(ready, ready.refresh, { scope: 'ticket' })
      await expectRefusal(response, { status: 400, error: 'invalid_scope', why: /ticket|scope/ })
    })
  })

  it('serves a wallet of draft 13', async () => {
    const older = await startServices({ issuer: { compatibility: ['draft13'] } })
    try {
      const session = await startedSession(older, { refresh_seconds: 60 })
      const first = (await (await postForm(older, TOKEN_ENDPOINT, session.form)).json()) as TokenBody
      const next = (await (await postForm(older, TOKEN_ENDPOINT, refreshForm(first.refresh_token))).json()) as TokenBody
      expect(next).toMatchObject({ token_type: 'Bearer', c_nonce: expect.any(String) as string })
    } finally {
      await older.close()
    }
  })

  describe('of a wallet that uses DPoP', () => {
    const url = (session: Session) => endpoint(session)
    const formOf = (session: Session, refresh: unknown) => ({ ...session, form: refreshForm(refresh as string) })

    it('stays bound: it takes a proof by the same key, and gives a token bound to it', async () => {
      const ready = await boundSession(services, body())
      const refresh = ready.response.refresh_token
      const nonce = await dpopNonce(services)
      const stranger = await dpopProof({ services, key: await holderSigner(), url: url(ready), nonce })
      const before = await dump(services)
      await expectRefusal(await postToken(formOf(ready, refresh), undefined), {
        status: 400,
        error: 'invalid_dpop_proof',
        why: /missing/,
      })
      await refused(await postToken(formOf(ready, refresh), stranger), /another key/)
      expect(await dump(services)).toBe(before)
      const right = await dpopProof({ services, key: ready.key, url: url(ready), nonce })
      const response = await postToken(formOf(ready, refresh), right)
      const given = (await response.json()) as TokenBody
      expect([response.status, given.token_type]).toEqual([200, 'DPoP'])
      await expectIssuedBound({ ...ready, token: given.access_token })
    })

    it('that is used up is refused and ends nothing: nobody else has the key', async () => {
      const ready = await boundSession(services, body())
      const proofed = async (refresh: unknown) => {
        const dpop = await dpopProof({ services, key: ready.key, url: url(ready), nonce: await dpopNonce(services) })
        return postToken(formOf(ready, refresh), dpop)
      }
      const first = ready.response.refresh_token
      const second = (await (await proofed(first)).json()) as TokenBody
      const third = (await (await proofed(second.refresh_token)).json()) as TokenBody
      await refused(await proofed(first), /used/)
      const headers = async (token: string) => ({
        authorization: `DPoP ${token}`,
        dpop: await requestProof({ ...ready, token }),
      })
      expect((await requestWith(ready, await headers(third.access_token))).status).toBe(200)
      expect((await proofed(third.refresh_token)).status).toBe(200)
    })

    it('that a thief has bound to a key of his own ends all tokens when the wallet comes with it', async () => {
      const ready = await redeemed()
      const key = await holderSigner()
      const proof = async () => dpopProof({ services, key, url: url(ready), nonce: await dpopNonce(services) })
      const stolen = (await (await postToken(formOf(ready, ready.refresh), await proof())).json()) as TokenBody
      expect(stolen.token_type).toBe('DPoP')
      // The response may have been lost: the same sender may ask again.
      expect((await postToken(formOf(ready, ready.refresh), await proof())).status).toBe(200)
      await refused(await post(ready), /none of this session is good any more/)
      const again = await postToken(formOf(ready, stolen.refresh_token), await proof())
      await expectRefusal(again, { status: 400, error: 'invalid_grant' })
    })

    it.each([
      ['the one before', 1],
      ['an older one', 3],
    ])('that a thief has bound ends all tokens when the wallet comes with %s', async (_, refreshes) => {
      const ready = await redeemed()
      let last = ready.refresh
      for (let count = 0; count < refreshes; count++)
        last = ((await (await post(ready, last)).json()) as TokenBody).refresh_token
      const key = await holderSigner()
      const proof = async () => dpopProof({ services, key, url: url(ready), nonce: await dpopNonce(services) })
      const stolen = (await (await postToken(formOf(ready, last), await proof())).json()) as TokenBody
      expect(stolen.token_type).toBe('DPoP')
      await refused(await post(ready), /none of this session is good any more/)
      const again = await postToken(formOf(ready, stolen.refresh_token), await proof())
      await expectRefusal(again, { status: 400, error: 'invalid_grant' })
    })

    it('that a thief has bound to an instance of his own ends all tokens when the wallet comes with it', async () => {
      const provider = await makeProvider()
      const lenient = await startServices(trustingProvider(provider, 'optional'))
      const id = await declare(lenient)
      const session = await startedSession(lenient, { credential_configurations: [id], refresh_seconds: 30 * DAY })
      const first = (await (await postForm(lenient, endpoint(session), session.form)).json()) as TokenBody
      const thief = await makeInstance(provider)
      const byThief = async (refresh: string) =>
        postAttested(session, { ...(await attestedHeaders(thief, session)) }, refreshForm(refresh))
      const stolen = (await (await byThief(first.refresh_token)).json()) as TokenBody
      await refused(
        await postAttested(session, {}, refreshForm(first.refresh_token)),
        /none of this session is good any more/,
      )
      await expectRefusal(await byThief(stolen.refresh_token), { status: 400, error: 'invalid_grant' })
      await lenient.close()
    })

    it('is bound to the key until the wallet authenticates itself, and from then on to its instance', async () => {
      const provider = await makeProvider()
      const lenient = await startServices(trustingProvider(provider, 'optional'))
      onTestFinished(() => lenient.close())
      const id = await declare(lenient)
      const ready = await boundSession(lenient, { credential_configurations: [id], refresh_seconds: 30 * DAY })
      const refreshed = async (refresh: unknown, key: Signer, instance: WalletInstance) => {
        const dpop = await dpopProof({ services: lenient, key, url: url(ready), nonce: await dpopNonce(lenient) })
        return postAttested(ready, { ...(await attestedHeaders(instance, ready)), dpop }, refreshForm(String(refresh)))
      }
      const [thief, wallet] = [await makeInstance(provider), await makeInstance(provider)]
      await refused(await refreshed(ready.response.refresh_token, await holderSigner(), thief), /another key/)
      const first = (await (await refreshed(ready.response.refresh_token, ready.key, wallet)).json()) as TokenBody
      await refused(await refreshed(first.refresh_token, ready.key, thief), /another wallet instance/)
      const second = await refreshed(first.refresh_token, await holderSigner(), wallet)
      expect([second.status, await second.json()]).toMatchObject([200, { token_type: 'DPoP' }])
    })

    it('binds from then on when the first token was not bound', async () => {
      const ready = await redeemed()
      const key = await holderSigner()
      const proof = async () => dpopProof({ services, key, url: url(ready), nonce: await dpopNonce(services) })
      const next = (await (await postToken(formOf(ready, ready.refresh), await proof())).json()) as TokenBody
      expect(next.token_type).toBe('DPoP')
      await expectRefusal(await postToken(formOf(ready, next.refresh_token), undefined), {
        status: 400,
        error: 'invalid_dpop_proof',
      })
      expect((await postToken(formOf(ready, next.refresh_token), await proof())).status).toBe(200)
    })
  })
})
