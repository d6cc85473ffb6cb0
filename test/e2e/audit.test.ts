/** What the audit log has: each administrative act with who did it, each final state, and of each no more than that. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AuditRecord } from '../../src/audit/record.ts'
import { carriedByCallback } from '../../src/event/event.ts'
import { readySession, request } from '../support/issuance.ts'
import { API_KEY, ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { act } from '../support/status.ts'
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

/** What somebody with an API key does; everything else comes of wallets, and of time. */
const ACTS = [
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

describe('the audit log', () => {
  let services: Services
  const sessionIds: string[] = []
  const records: AuditRecord[] = []

  beforeAll(async () => {
    services = await startServices()
    await issuances()
    await verifications()
    services.clock.now = new Date(services.clock.now.getTime() + 3_600_000)
    await services.upkeep()
    const { issuerStore, verifierStore } = services
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
    const types = new Set(records.map(({ type }) => type))
    expect([...types].sort()).toEqual([...Object.keys(carriedByCallback), 'audit.started'].sort())
  })

  it('says who did what with an API key, by the label of the key', () => {
    for (const { type, caller } of records) {
      expect([type, caller]).toEqual([type, ACTS.includes(type) ? 'test' : undefined])
    }
  })

  it('has no session id, no key, nothing of a person and nobody’s words', () => {
    const text = JSON.stringify(records)
    for (const id of [...sessionIds, API_KEY]) expect(text).not.toContain(id)
    expect(text).not.toMatch(/Ada|Lovelace|words of/)
  })
})
