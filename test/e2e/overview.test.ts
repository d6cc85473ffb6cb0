/**
 * The overviews of both services: what is not well, what ends, what waits, and what became of the sessions of a day.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createIssuerClient, createVerifierClient } from '../../sdk/server/index.ts'
import { DamagedValueError } from '../../src/store/statements.ts'
import { expectIssued, readySession, requestWithProof, startedSession } from '../support/issuance.ts'
import { API_KEY, ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { withDamagedRows } from '../support/store.ts'
import { postForm, startIssuance, startVerification } from '../support/wire.ts'

describe('the overview', () => {
  let services: Services
  beforeEach(async () => {
    services = await startServices()
  })
  afterEach(() => services.close())

  const issuer = () => createIssuerClient({ url: ISSUER_URL, apiKey: API_KEY, fetch: services.fetch })
  const verifier = () => createVerifierClient({ url: VERIFIER_URL, apiKey: API_KEY, fetch: services.fetch })
  const wait = (seconds: number): void => {
    services.clock.now = new Date(services.clock.now.getTime() + seconds * 1000)
  }
  const seconds = () => Math.floor(services.clock.now.getTime() / 1000)
  const sum = (counts: readonly Record<string, number>[]): Record<string, number> => {
    const all: Record<string, number> = {}
    for (const each of counts) for (const [name, count] of Object.entries(each)) all[name] = (all[name] ?? 0) + count
    return all
  }

  it('is for those with an API key', async () => {
    for (const url of [ISSUER_URL, VERIFIER_URL]) {
      expect((await services.fetch(`${url}/operations/overview`)).status).toBe(401)
    }
  })

  it('says when certificates and anchors end, and that nothing has happened yet', async () => {
    const ofIssuer = await issuer().getOverview()
    expect(ofIssuer).toMatchObject({
      at: seconds(),
      ready: true,
      callbacks: { waiting: 0, dead: 0 },
      sessions: { looked_at: 0, is_complete: true },
      last_success: {},
      status_lists: { ttl_seconds: 300, current: [] },
    })
    expect(ofIssuer.sessions.hours).toHaveLength(24)
    expect(ofIssuer.certificates).toEqual([
      { key: 'signing', subject: expect.any(String) as string, not_after: expect.any(Number) as number },
    ])
    const ofVerifier = await verifier().getOverview()
    expect(ofVerifier.trust_anchors?.count).toBe(1)
    expect(ofVerifier.trust_anchors?.ending_first[0]).toEqual({
      subject: ofIssuer.certificates[0]?.subject,
      not_after: ofIssuer.certificates[0]?.not_after,
    })
  })

  it('counts the sessions of an issuer by hour and state, and what went wrong in those that did not succeed', async () => {
    await startIssuance(services)
    wait(25 * 3600)
    const refused = await startedSession(services, { tx_code: { value: '493536' } })
    const guess = { ...refused.form, tx_code: '000000' }
    await postForm(services, `${ISSUER_URL}/auth/token-endpoint/${refused.sessionId}`, guess)
    wait(3600)
    const ready = await readySession(services)
    await requestWithProof(ready, 'no JWT')
    await expectIssued(ready)
    const { sessions, last_success, status_lists } = await issuer().getOverview()
    expect([sessions.looked_at, sessions.is_complete]).toEqual([2, true])
    const [before, now] = sessions.hours.slice(-2)
    expect(now).toMatchObject({ states: { SUCCEEDED: 1 }, problems: {} })
    expect(before).toMatchObject({ states: { EXPIRED: 1 }, problems: { 'token: invalid_grant': 1 } })
    expect((now?.from ?? 0) - (before?.from ?? 0)).toBe(3600)
    expect(last_success).toEqual({ credential_issued_at: seconds() })
    expect(status_lists.current).toEqual([
      { list_id: expect.any(String) as string, entries: 131_072, given_out: expect.any(Number) as number },
    ])
  })

  it('counts a thousand sessions, and says that these are all unless there is another of the last 24 hours', async () => {
    const insert = (count: number) => {
      const createdAt = services.clock.now
      const expiresAt = createdAt.getTime() + 1000
      const value = { configurationIds: [], createdAt: createdAt.getTime(), expiresAt, issued: [] }
      return services.issuerStore.commit(
        Array.from({ length: count }, (_, n) => {
          const id = `at-${createdAt.getTime()}-${n}`
          return { insert: 'issuance_session', id, value, createdAt } as const
        }),
      )
    }
    const counted = async () => {
      const { looked_at: lookedAt, is_complete: isComplete } = (await issuer().getOverview()).sessions
      return [lookedAt, isComplete]
    }
    await insert(1)
    wait(25 * 3600)
    await insert(1000)
    expect(await counted()).toEqual([1000, true])
    wait(5)
    await insert(1)
    expect(await counted()).toEqual([1000, false])
  })

  it('counts the sessions of a verifier with the checks that failed, newest first and no more than a thousand', async () => {
    const { sessionId } = await startVerification(services)
    const url = `${VERIFIER_URL}/presentation/oid4vp/authorization-response/${sessionId}`
    await postForm(services, url, { error: 'access_denied', state: 'unknown' })
    const { sessions } = await verifier().getOverview()
    expect(sum(sessions.hours.map(({ states }) => states))).toEqual({ STARTED: 1 })
    expect(sessions).toMatchObject({ looked_at: 1, is_complete: true })
  })

  it('leaves out a session whose row is damaged', async () => {
    const damaged = await startVerification(services)
    await startVerification(services)
    const { verifierStore: store } = services
    Object.assign(
      store,
      withDamagedRows({ ...store }, (id) => id === damaged.sessionId),
    )
    const { sessions } = await verifier().getOverview()
    expect(sum(sessions.hours.map(({ states }) => states))).toEqual({ STARTED: 1 })
  })

  it('leaves out a session of whose progress the row is damaged, and fails where the database does not answer', async () => {
    await startIssuance(services)
    const { issuerStore: store } = services
    const answerOf = (error: Error) => {
      Object.assign(store, { get: () => Promise.reject(error) })
      wait(5)
      return issuer().getOverview()
    }
    const { sessions } = await answerOf(new DamagedValueError('a value is damaged'))
    expect([sessions.looked_at, sum(sessions.hours.map(({ states }) => states))]).toEqual([1, {}])
    await expect(answerOf(new Error('the database is away'))).rejects.toMatchObject({ status: 500 })
  })

  it('is kept for five seconds, so that no caller makes the service read much', async () => {
    expect((await issuer().getOverview()).sessions.looked_at).toBe(0)
    await startIssuance(services)
    expect((await issuer().getOverview()).sessions.looked_at).toBe(0)
    wait(5)
    expect((await issuer().getOverview()).sessions.looked_at).toBe(1)
  })
})
