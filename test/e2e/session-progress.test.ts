/**
 * Tests what an application and an operator see of a session that does not get on: the offer fetched or not, the last
 * refusal, the log.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { digestOf } from '../../src/codec/digest.ts'
import { type IssuerCollections, issuerMigrations } from '../../src/issuer/collections.ts'
import { planPresentation, sendPresentation } from '../../src/wallet/present.ts'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { snippetWith } from '../support/documents.ts'
import { boundSession, dpopProof, postToken } from '../support/dpop.ts'
import {
  expectIssued,
  readySession,
  requestWithProof,
  type Session,
  startedSession,
  TOKEN_ENDPOINT,
  tokenOf,
} from '../support/issuance.ts'
import { startProcesses } from '../support/processes.ts'
import { ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { act } from '../support/status.ts'
import { openTestStore } from '../support/store.ts'
import { testWallet } from '../support/wallet.ts'
import {
  authorization,
  call,
  dcqlQuery,
  holderSigner,
  postForm,
  startIssuance,
  startVerification,
  statusOf,
} from '../support/wire.ts'

interface LogLine {
  readonly event: string
  readonly session?: string
  readonly request?: string
  readonly error?: string
}

describe('an issuance session', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  const seconds = () => Math.floor(services.clock.now.getTime() / 1000)
  const statusAt = (sessionId: string) => statusOf(services, ISSUER_URL, sessionId)
  const guess = ({ sessionId, form }: Session, txCode: string) =>
    postForm(services, `${TOKEN_ENDPOINT}/${sessionId}`, { ...form, tx_code: txCode })
  const linesOf = (sessionId: string): LogLine[] =>
    services.logLines
      .map((line) => JSON.parse(line) as LogLine)
      .filter(({ session }) => session === digestOf(sessionId))

  it('says when its offer was fetched first, and nothing before', async () => {
    const { sessionId } = await startIssuance(services)
    expect(await statusAt(sessionId)).not.toHaveProperty('offer_fetched_at')
    const fetched = seconds()
    const url = `${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`
    const offer = () => services.fetch(url)
    // A preview of the link is no fetch by a wallet.
    expect((await services.fetch(url, { method: 'HEAD' })).status).toBe(200)
    expect(await statusAt(sessionId)).not.toHaveProperty('offer_fetched_at')
    await offer()
    const started = await statusAt(sessionId)
    expect(started).toMatchObject({ status: 'STARTED', offer_fetched_at: fetched })
    expect(Object.keys(started)[0]).toBe('session_id')
    services.clock.now = new Date(services.clock.now.getTime() + 5000)
    await offer()
    const status = await statusAt(sessionId)
    expect(status).toMatchObject({ offer_fetched_at: fetched })
    expect(status).not.toHaveProperty('problem')
  })

  it('says when its offer was fetched, also where the token is taken before that is written', async () => {
    const { sessionId, form } = await startedSession(services)
    await services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`)
    expect((await postForm(services, `${TOKEN_ENDPOINT}/${sessionId}`, form)).status).toBe(200)
    expect(await statusAt(sessionId)).toMatchObject({ offer_fetched_at: seconds() })
  })

  it('says why a wallet was refused, and how often, and that the fifth wrong code ended it', async () => {
    const session = await startedSession(services, { tx_code: { value: '493536' } })
    await guess(session, '000000')
    const problem = { endpoint: 'token', error: 'invalid_grant', at: seconds() }
    expect(await statusAt(session.sessionId)).toMatchObject({
      status: 'STARTED',
      problem: { ...problem, error_description: 'tx_code: this is not the transaction code', count: 1 },
    })
    for (const code of ['000001', '000002', '000003', '000004']) await guess(session, code)
    const status = await statusAt(session.sessionId)
    expect(status).toMatchObject({ status: 'EXPIRED', problem: { ...problem, count: 5 } })
    expect((status.problem as Record<string, string>).error_description).toMatch(
      /not the transaction code; .* have ended this offer/,
    )
    await services.runTasks()
    expect(await statusAt(session.sessionId)).toMatchObject({ status: 'EXPIRED', problem: { ...problem, count: 5 } })
    expect(JSON.stringify(status)).not.toMatch(/\b(00000\d|493536)\b/)
  })

  it('has the last refusal, counts it alone, and keeps it when it then goes well', async () => {
    const ready = await readySession(services)
    const later = { payload: { nonce: 'made up' } }
    for (const changes of [later, later, 'no JWT']) await requestWithProof(ready, changes)
    const problem = { endpoint: 'credential', error: 'invalid_proof', count: 1 }
    expect(await statusAt(ready.sessionId)).toMatchObject({ status: 'STARTED', problem })
    await requestWithProof(ready, later)
    await requestWithProof(ready, later)
    const again = { ...problem, error: 'invalid_nonce', count: 2 }
    expect(await statusAt(ready.sessionId)).toMatchObject({ problem: again })
    await expectIssued(ready)
    expect(await statusAt(ready.sessionId)).toMatchObject({ status: 'SUCCEEDED', problem: again })
  })

  it('has the refusals before the last one too, each kind once, and no more than nine of them', async () => {
    const ready = await readySession(services)
    const misbehaviours = [{ payload: { nonce: 'made up' } }, 'no JWT'] as const
    for (let turn = 0; turn < 12; turn++) await requestWithProof(ready, misbehaviours[turn % 2] ?? 'no JWT')
    await requestWithProof(ready, 'no JWT')
    const status = await statusAt(ready.sessionId)
    expect(status).toMatchObject({ problem: { endpoint: 'credential', error: 'invalid_proof', count: 2 } })
    const earlier = status.earlier_problems as { error: string; count: number }[]
    expect(earlier.map(({ error, count }) => [error, count])).toEqual(
      Array.from({ length: 9 }, (_, index) => [index % 2 === 0 ? 'invalid_nonce' : 'invalid_proof', 1]),
    )
    await services.runTasks()
    expect(await statusAt(ready.sessionId)).toMatchObject({ earlier_problems: earlier })
  })

  it('says until when verifiers may not have seen a revocation yet', async () => {
    const ready = await readySession(services)
    await expectIssued(ready)
    expect(await statusAt(ready.sessionId)).not.toHaveProperty('credential_status_seen_by')
    const change = async (act: string): Promise<unknown> => {
      services.clock.now = new Date(services.clock.now.getTime() + 5000)
      const url = `${ISSUER_URL}/credential-status/${act}/${ready.sessionId}`
      expect((await services.fetch(url, { method: 'POST', headers: authorization })).status).toBe(200)
      return (await statusAt(ready.sessionId)).credential_status_seen_by
    }
    // A cache on the way may keep the list for the ttl, and the verifier for the ttl after that.
    expect(await change('suspend')).toBe(Math.ceil(services.clock.now.getTime() / 1000) + 600)
    const revoked = await change('revoke')
    expect(revoked).toBe(Math.ceil(services.clock.now.getTime() / 1000) + 600)
    expect(await change('revoke')).toBe(revoked)
  })

  it.each<[string, (session: Session) => Promise<unknown>, object]>([
    [
      'of a body that cannot be read',
      ({ sessionId }) => postForm(services, `${TOKEN_ENDPOINT}/${sessionId}`, 'grant_type=a&grant_type=b'),
      { endpoint: 'token', error: 'invalid_request' },
    ],
    [
      'of a code at the endpoint without a session in its path',
      ({ form }) => postForm(services, TOKEN_ENDPOINT, { ...form, tx_code: '1234' }),
      { endpoint: 'token', error: 'invalid_request' },
    ],
    [
      'of an access token that has expired',
      async (session) => {
        const token = await tokenOf(session)
        services.clock.now = new Date(services.clock.now.getTime() + 301_000)
        const holder = await holderSigner()
        await requestWithProof({ ...session, token, holder, nonce: 'a', audience: ISSUER_URL }, {})
      },
      { endpoint: 'credential', error: 'invalid_token' },
    ],
    [
      'of a notification',
      async (session) => {
        const headers = { authorization: `Bearer ${await tokenOf(session)}`, 'content-type': 'application/json' }
        const body = JSON.stringify({ notification_id: 'made up', event: 'credential_accepted' })
        await services.fetch(`${ISSUER_URL}/issuance/oid4vci/notification`, { method: 'POST', headers, body })
      },
      { endpoint: 'notification', error: 'invalid_notification_id' },
    ],
    [
      'of an offer that has been used',
      async (session) => {
        await tokenOf(session)
        await services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${session.sessionId}`)
      },
      { endpoint: 'credential-offer', error: 'gone' },
    ],
  ])('says the refusal %s', async (_, misbehave, problem) => {
    const session = await startedSession(services)
    await misbehave(session)
    expect((await statusAt(session.sessionId)).problem).toMatchObject({ ...problem, count: 1 })
  })

  it('says of our own failure that it was one, and nothing of its text, which may have claims in it', async () => {
    const store = await openTestStore<IssuerCollections>(issuerMigrations)
    const failing = await startServices({ issuerStore: { ...store, commit: (changes) => commit(changes) } })
    let commit: typeof store.commit = (changes) => store.commit(changes)
    const { sessionId, form } = await startedSession(failing)
    commit = (changes) =>
      changes.some((change) => 'update' in change && change.update === 'issuance_session')
        ? Promise.reject(new Error('the row of Ada Lovelace is damaged'))
        : store.commit(changes)
    expect((await postForm(failing, `${TOKEN_ENDPOINT}/${sessionId}`, form)).status).toBe(500)
    const { problem } = await statusOf(failing, ISSUER_URL, sessionId)
    expect(problem).toMatchObject({ endpoint: 'token', error: 'server_error' })
    expect(JSON.stringify(problem)).not.toContain('Lovelace')
    await failing.close()
  })

  it('takes what belongs to a DPoP proof for no problem', async () => {
    const session = await startedSession(services)
    const key = await holderSigner()
    const url = `${TOKEN_ENDPOINT}/${session.sessionId}`
    const proof = await dpopProof({ services, key, url, nonce: 'made up' })
    const refused = await postToken(session, proof)
    expect(await refused.json()).toMatchObject({ error: 'use_dpop_nonce' })
    expect(await statusAt(session.sessionId)).not.toHaveProperty('problem')
  })

  it('counts every refusal of many at once', async () => {
    const session = await startedSession(services)
    await Promise.all(Array.from({ length: 200 }, () => guess(session, '1234')))
    expect(await statusAt(session.sessionId)).toMatchObject({ problem: { error: 'invalid_request', count: 200 } })
  })

  it('has log lines by the digest of its id, when it goes well and when it does not', async () => {
    const ready = await readySession(services)
    await requestWithProof(ready, 'no JWT')
    await expectIssued(ready)
    const lines = linesOf(ready.sessionId)
    expect(lines.map(({ event, error }) => error ?? event)).toEqual([
      'administered',
      'token_given',
      'invalid_proof',
      'credential_issued',
    ])
    expect(lines.filter(({ request: id }) => !/^[\w-]{16}$/.test(id ?? ''))).toEqual([])
  })

  it('has one log line for each change of the status of its credentials', async () => {
    const ready = await readySession(services)
    await expectIssued(ready)
    for (const name of ['suspend', 'reinstate', 'revoke']) {
      expect((await act(services, name, ready.sessionId))[0]).toBe(200)
    }
    const lines = linesOf(ready.sessionId).slice(-3)
    expect(lines).toMatchObject([
      { event: 'credential_suspended', caller: 'test' },
      { event: 'credential_reinstated', caller: 'test' },
      { event: 'credential_revoked', caller: 'test' },
    ])
    expect(new Set(lines.map(({ request }) => request)).size).toBe(3)
    expect(services.logLines.join('\n')).not.toContain(ready.sessionId)
  })

  it('has log lines by the same digest where the session stands in the token alone', async () => {
    const ready = await boundSession(services, { credential_dataset: undefined, deferred: true })
    const body = { credential_configuration_id: ready.configurationId }
    const headers = { authorization: `Bearer ${ready.token}`, 'content-type': 'application/json' }
    const url = `${ISSUER_URL}/issuance/oid4vci/credential-request`
    await services.fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(linesOf(ready.sessionId).at(-1)).toMatchObject({ event: 'refused', error: 'invalid_token' })
  })
})

describe('a verification session', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  const statusAt = (sessionId: string) => statusOf(services, VERIFIER_URL, sessionId)
  const seconds = () => Math.floor(services.clock.now.getTime() / 1000)

  const startUnfetched = async () => {
    const created = await call(services, `${VERIFIER_URL}/verification-query/create`, { dcql_query: dcqlQuery })
    const session = { verification_query_id: await created.text() }
    const started = await call(services, `${VERIFIER_URL}/presentation/oid4vp/new-session`, session)
    return (await started.json()) as { readonly session_id: string }
  }

  it.each(['GET', 'POST'])(
    'says when its request object was fetched first, by %s, and nothing before',
    async (method) => {
      const { session_id: sessionId } = await startUnfetched()
      const url = `${VERIFIER_URL}/presentation/oid4vp/authorization-request/${sessionId}`
      expect((await services.fetch(url, { method: 'HEAD' })).status).toBe(200)
      expect(await statusAt(sessionId)).not.toHaveProperty('request_fetched_at')
      const fetched = seconds()
      const fetchRequest = async () => (method === 'GET' ? services.fetch(url) : postForm(services, url, {}))
      expect((await fetchRequest()).status).toBe(200)
      expect(await statusAt(sessionId)).toMatchObject({ status: 'STARTED', request_fetched_at: fetched })
      await services.runTasks()
      services.clock.now = new Date(services.clock.now.getTime() + 5000)
      await fetchRequest()
      const status = await statusAt(sessionId)
      expect(status).toMatchObject({ request_fetched_at: fetched })
      expect(status).not.toHaveProperty('problem')
    },
  )

  it('says why it has no response yet, and after the response what its result says alone', async () => {
    const { wallet } = testWallet(services.fetch, services.clock)
    const { link: offer } = await startIssuance(services)
    await receiveOffer(wallet, offer)
    const { sessionId, link, request } = await startVerification(services)
    const at = seconds()
    await postForm(services, request.response_uri, 'vp_token=a&vp_token=b')
    const foreign = { vp_token: '{}', state: 'made up' }
    for (let turn = 0; turn < 2; turn++) await postForm(services, request.response_uri, foreign)
    const problem = { endpoint: 'authorization-response', error: 'invalid_request', at, count: 3 }
    expect(await statusAt(sessionId)).toMatchObject({
      status: 'STARTED',
      problem: { ...problem, error_description: 'state is not the one of the request' },
    })
    const shown = JSON.parse(snippetWith('docs/verifying.md', '"endpoint": "authorization-response"')) as object
    expect(Object.keys((await statusAt(sessionId)).problem as object)).toEqual(Object.keys(shown))
    const page = await services.fetch(`${VERIFIER_URL}/presentation/oid4vp/sessions`, { headers: authorization })
    const { sessions } = (await page.json()) as { readonly sessions: readonly { readonly session_id: string }[] }
    const listedProblem = { endpoint: problem.endpoint, error: problem.error, at }
    expect(sessions.find(({ session_id: id }) => id === sessionId)).toMatchObject({ problem: listedProblem })
    const overview = await services.fetch(`${VERIFIER_URL}/operations/overview`, { headers: authorization })
    expect(JSON.stringify(await overview.json())).toContain('authorization-response: invalid_request')
    await sendPresentation(wallet, await planPresentation(wallet, link))
    const status = await statusAt(sessionId)
    expect(status).toMatchObject({ status: 'VERIFICATION_SUCCEEDED', request_fetched_at: at })
    expect(status).not.toHaveProperty('problem')
  })

  it('has log lines by the digest of its id, with what became of it', async () => {
    const { wallet } = testWallet(services.fetch, services.clock)
    const { link: offer } = await startIssuance(services)
    await receiveOffer(wallet, offer)
    const { sessionId, link } = await startVerification(services)
    const response = `${VERIFIER_URL}/presentation/oid4vp/authorization-response/${sessionId}`
    await postForm(services, response, { state: 'made up' })
    await sendPresentation(wallet, await planPresentation(wallet, link))
    const lines = services.logLines.map((line) => JSON.parse(line) as LogLine & { readonly status?: string })
    const ours = lines.filter(({ session }) => session === digestOf(sessionId))
    expect(ours.map(({ event, status, error }) => [event, status ?? error])).toEqual([
      ['administered', undefined],
      ['refused', 'invalid_request'],
      ['session_finished', 'VERIFICATION_SUCCEEDED'],
    ])
    expect(ours.at(-1)).toMatchObject({ request: expect.stringMatching(/^[\w-]{16}$/) as string, failed: [] })
    expect(services.logLines.join('\n')).not.toContain(sessionId)
  })

  it('that failed has a line with the checks that failed, by the request of its line of refusal', async () => {
    const { wallet, sent } = testWallet(services.fetch, services.clock)
    const { link: offer } = await startIssuance(services)
    await receiveOffer(wallet, offer)
    const other = await startVerification(services)
    await sendPresentation(wallet, await planPresentation(wallet, other.link))
    const { sessionId, request } = await startVerification(services)
    const form = new URLSearchParams(sent.find(({ to }) => to.includes('authorization-response'))?.body)
    form.set('state', request.state)
    expect((await postForm(services, request.response_uri, form.toString())).status).toBe(400)
    // The report says what failed, so that the refusal is no problem of its own.
    const status = await statusAt(sessionId)
    expect(status).toMatchObject({ status: 'VERIFICATION_FAILED', request_fetched_at: seconds() })
    expect(status).not.toHaveProperty('problem')
    await services.verifier.close()
    const row = await services.verifierStore.get('verification_progress', sessionId)
    expect(row?.value.problem).toBe(undefined)
    const ours = services.logLines
      .map((line) => JSON.parse(line) as LogLine & { readonly failed?: readonly string[] })
      .filter(({ session }) => session === digestOf(sessionId))
    const finished = ours.find(({ event }) => event === 'session_finished')
    expect(finished?.failed).toContain('holder.nonce')
    expect(ours.find(({ event }) => event === 'refused')?.request).toBe(finished?.request)
  })
})

describe('two processes on one database', () => {
  it('tell of the refusals at either', async () => {
    const processes = await startProcesses()
    const { first, second } = processes
    try {
      const session = await startedSession(first)
      const refuse = (services: Services) =>
        postForm(services, `${TOKEN_ENDPOINT}/${session.sessionId}`, { ...session.form, tx_code: '1234' })
      await Promise.all(Array.from({ length: 20 }, (_, index) => refuse(index % 2 === 0 ? first : second)))
      await first.issuer.close()
      expect(await statusOf(second, ISSUER_URL, session.sessionId)).toMatchObject({ problem: { count: 20 } })
    } finally {
      await processes.close()
    }
  })
})
