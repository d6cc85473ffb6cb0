/**
 * The records of the audit log: each administrative act with who did it, each final state, and of each no more than
 * that.
 */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type AuditRecord, hashSessionId } from '../../src/audit/record.ts'
import { type EventCollections, eventTypes } from '../../src/event/event.ts'
import { passOnEvents } from '../../src/event/pass-on.ts'
import { partOf, type Store } from '../../src/store/store.ts'
import { readySession, request } from '../support/issuance.ts'
import { API_KEY, ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { act, issueWithStatus } from '../support/status.ts'
import { retryOnConflict } from '../support/store.ts'
import {
  call,
  configuration,
  dataset,
  dcqlQuery,
  declare,
  holderSigner,
  issueCredential,
  postForm,
  presentationOf,
  startIssuance,
  startVerification,
} from '../support/wire.ts'

/** The acts with an API key; everything else comes of wallets, and of time. */
const ACTS = [
  'audit.read',
  'callback.redelivered',
  'configuration.created',
  'configuration.removed',
  'issuance.started',
  'issuance.completed',
  'issuance.denied',
  'credential.revoked',
  'credential.suspended',
  'credential.reinstated',
  'query.created',
  'verification.started',
  'presentation.verified',
]

/** The acts of a restore, which test/faults/backup.test.ts has. */
const AFTER_RESTORE = ['database.restored', 'status-list.unknown-revoked']

describe('the audit log', () => {
  let services: Services
  const sessionIds: string[] = []
  const records: AuditRecord[] = []

  beforeAll(async () => {
    services = await startServices()
    await issuances()
    await verifications()
    services.clock.now = new Date(services.clock.now.getTime() + 3_600_000)
    await services.runTasks()
    const { issuerStore, verifierStore } = services
    const event = { id: 'dead-1', type: 'issuance.succeeded', at: 1, queuedAt: 1 }
    const value = { sessionId: sessionIds[0] ?? '', event, problem: 'the receiver answered 503', diedAt: 1 }
    await issuerStore.commit([{ insert: 'dead_callback', id: 'dead-1', value }])
    await call(services, `${ISSUER_URL}/callbacks/redeliver/dead-1`, {})
    await call(services, `${ISSUER_URL}/audit/records`)
    await services.runTasks()
    const blocks = [...(await issuerStore.list('audit_block')), ...(await verifierStore.list('audit_block'))]
    records.push(...blocks.flatMap(({ value }) => value.records))
  })
  afterAll(() => services.close())

  async function issuances(): Promise<void> {
    const configurationId = await declare(services)
    const issued = await readySession(services, { credential_configurations: [configurationId] })
    const answer = await request(issued)
    const { notification_id } = (await answer.json()) as { readonly notification_id: string }
    await services.fetch(`${ISSUER_URL}/issuance/oid4vci/notification`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${issued.token}` },
      body: JSON.stringify({ notification_id, event: 'credential_accepted', event_description: 'words of a wallet' }),
    })
    for (const name of ['suspend', 'reinstate', 'revoke']) await act(services, name, issued.sessionId)
    await call(services, `${ISSUER_URL}/credential-configuration/remove/${configurationId}`, {})

    for (const decision of [{ credential_dataset: dataset }, { denied: true, reason: 'words of the application' }]) {
      const deferred = await readySession(services, { credential_dataset: undefined, deferred: true })
      expect((await request(deferred)).status).toBe(202)
      const url = `${ISSUER_URL}/issuance/oid4vci/complete/${deferred.sessionId}`
      expect((await call(services, url, decision)).status).toBe(200)
      sessionIds.push(deferred.sessionId)
    }
    const { sessionId } = await startIssuance(services, { expires_in: 1 })
    sessionIds.push(issued.sessionId, sessionId)
  }

  async function verifications(): Promise<void> {
    const holder = await holderSigner()
    const credential = await issueCredential(services, holder, { ...configuration, revocable: false })
    for (const by of [holder, await holderSigner()]) {
      const { sessionId, request: asked } = await startVerification(services)
      const presentation = await presentationOf(credential, by, asked, { now: services.clock.now })
      const vp_token = JSON.stringify({ card: [presentation] })
      await postForm(services, asked.response_uri, { vp_token, state: asked.state })
      sessionIds.push(sessionId)
    }
    const declined = await startVerification(services)
    const { response_uri, state } = declined.request
    await postForm(services, response_uri, { error: 'access_denied', error_description: 'words of a wallet', state })
    const expired = await startVerification(services)
    sessionIds.push(declined.sessionId, expired.sessionId)
    const held = { dcql_query: dcqlQuery, vp_token: { card: [credential] } }
    await call(services, `${VERIFIER_URL}/presentation/oid4vp/static-presentation`, held)
  }

  it('has every kind of event, from the first act to the last state', () => {
    const types = new Set([...records.map(({ type }) => type), ...AFTER_RESTORE])
    expect([...types].sort()).toEqual([...Object.keys(eventTypes), 'audit.started'].sort())
  })

  it('says who did what with an API key, by the label of the key', () => {
    for (const { type, caller } of records) {
      expect([type, caller]).toEqual([type, ACTS.includes(type) ? 'test' : undefined])
    }
  })

  it('says how the verification of a presentation without a session ended', () => {
    const outcomes = records.flatMap(({ type, outcome }) => (outcome === undefined ? [] : [[type, outcome]]))
    expect(outcomes).toEqual([['presentation.verified', 'failed']])
  })

  it('has no session id, no key, nothing of a person and nobody’s words', () => {
    const text = JSON.stringify(records)
    for (const id of [...sessionIds, API_KEY]) expect(text).not.toContain(id)
    expect(text).not.toMatch(/\bAda\b|Lovelace|words of/)
  })
})

describe('a clock that is set back by an hour', () => {
  it('changes the order of no events of a session, and holds none of them back', async () => {
    const posted: { readonly type: string; readonly data: { readonly session_id: string } }[] = []
    const services = await startServices({
      issuer: { sessionCallback: { url: 'http://localhost:9/events' } },
      outbound: ({ body }) => {
        posted.push(JSON.parse(String(body)) as (typeof posted)[number])
        return Promise.resolve({ status: 204, headers: {}, body: new Uint8Array() })
      },
    })
    onTestFinished(() => services.close())
    const setBack = () => {
      services.clock.now = new Date(services.clock.now.getTime() - 3_600_000)
    }
    const { sessionId } = await issueWithStatus(services)
    for (const name of ['suspend', 'reinstate', 'suspend', 'revoke']) {
      setBack()
      expect(await act(services, name, sessionId)).toMatchObject([200, {}])
    }
    setBack()
    const { sessionId: declined, request: asked } = await startVerification(services)
    setBack()
    await postForm(services, asked.response_uri, { error: 'access_denied', state: asked.state })
    await services.runTasks()
    const typesOf = async (store: Pick<Store<EventCollections>, 'list'>, id: string) => {
      const blocks = await store.list('audit_block')
      return blocks
        .flatMap(({ value }) => value.records)
        .flatMap(({ session, type }) => (session === hashSessionId(id) ? [type] : []))
    }
    const acts = ['credential.suspended', 'credential.reinstated', 'credential.suspended', 'credential.revoked']
    expect(await typesOf(services.issuerStore, sessionId)).toEqual(['issuance.started', 'issuance.succeeded', ...acts])
    expect(await typesOf(services.verifierStore, declined)).toEqual(['verification.started', 'verification.declined'])
    expect(posted.map(({ type }) => type)).toEqual(['issuance.succeeded', ...acts])

    // An event that waits for its first attempt does not wait for the hour to come again either.
    const { sessionId: later } = await issueWithStatus(services)
    const { issuerStore } = services
    await passOnEvents({
      store: partOf(issuerStore),
      retryOnConflict,
      hasCallback: true,
      now: () => services.clock.now,
      random: randomBytes,
    })
    setBack()
    await services.runTasks()
    expect(posted.at(-1)).toMatchObject({ type: 'issuance.succeeded', data: { session_id: later } })
  })

  it('changes the order of none of the events that come after the session was purged', async () => {
    const services = await startServices({ issuer: { retention: { sessionSeconds: 0 } } })
    onTestFinished(() => services.close())
    const { sessionId } = await issueWithStatus(services)
    await act(services, 'suspend', sessionId)
    services.clock.now = new Date(services.clock.now.getTime() + 7_200_000)
    await services.runTasks()
    await services.runTasks()
    expect(await services.issuerStore.get('issuance_session', sessionId)).toBe(undefined)
    for (const name of ['reinstate', 'suspend', 'revoke']) {
      services.clock.now = new Date(services.clock.now.getTime() - 3_600_000)
      await act(services, name, sessionId)
    }
    await services.runTasks()
    const blocks = await services.issuerStore.list('audit_block')
    const types = blocks.flatMap(({ value }) => value.records.map(({ type }) => type))
    expect(types.slice(-3)).toEqual(['credential.reinstated', 'credential.suspended', 'credential.revoked'])
  })
})
