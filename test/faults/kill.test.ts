/**
 * An issuer that is killed under load, again and again, while a client remembers the acknowledged answers: after each
 * restart all answers hold, and nothing was given out or accepted twice.
 */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { killRounds, reportFault } from '../support/faults.ts'
import { requestOf, startedSession, TOKEN_ENDPOINT, tokenOf } from '../support/issuance.ts'
import { endService, type Running, serviceDirectory, start } from '../support/service-process.ts'
import { ISSUER_URL, type Services } from '../support/services.ts'
import { act, type Reference, referenceOf } from '../support/status.ts'
import { databaseSettings } from '../support/store.ts'
import { dataset, declare, fetchNonce, holderSigner, postForm, requestCredential, statusOf } from '../support/wire.ts'

const CLIENTS = 8
/** The most answers of each kind that are sent again after a restart. */
const REPEATED = 10

const running: Running[] = []
afterEach(async () => {
  for (const service of running.splice(0)) await endService(service, 'SIGKILL')
})

/** The memory of the client, which has an answer once all of it has arrived. */
interface Memory {
  readonly sessions: Set<string>
  /** The sessions whose code was spent, and the form that spent it. */
  readonly spent: Map<string, Readonly<Record<string, string>>>
  readonly issued: Map<string, { readonly status: Reference; readonly again: () => Promise<Response> }>
  /** The sessions for which a revocation was sent, and those for which one was acknowledged. */
  readonly sent: Set<string>
  readonly revoked: Set<string>
}

describe('an issuer that is killed under load', () => {
  it('has all that it answered, each time, and gives nothing out twice', async ({ task }) => {
    const rounds = killRounds()
    const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL, ...databaseSettings() })
    const clock = { now: new Date() }
    const places: Reference[] = []
    let [acknowledged, lost] = [0, 0]
    let service = await start('issuer', directory)
    running.push(service)
    const fetchThere = (url: string, init?: RequestInit) => fetch(url.replace(ISSUER_URL, service.url), init)
    const services = { fetch: fetchThere, clock } as unknown as Services
    const configurationId = await declare(services)
    for (let round = 0; round < rounds; round += 1) {
      clock.now = new Date()
      const memory: Memory = {
        sessions: new Set(),
        spent: new Map(),
        issued: new Map(),
        sent: new Set(),
        revoked: new Set(),
      }
      const load = Array.from({ length: CLIENTS }, () =>
        untilKilled(() => useIssuer(services, configurationId, memory)),
      )
      // Another moment each time, while the other clients are somewhere else in theirs.
      const wanted = 1 + ((round * 7) % 23)
      await vi.waitUntil(() => memory.issued.size >= wanted, { timeout: 300_000, interval: 2 })
      await endService(service, 'SIGKILL')
      await Promise.all(load)
      service = await start('issuer', directory)
      running.push(service)
      const { sessions, spent, issued, revoked } = memory
      acknowledged += sessions.size + spent.size + issued.size + revoked.size
      const missing = await missingOf(services, memory)
      lost += missing.length
      expect(missing).toEqual([])
      await expectSpent(services, memory)
      places.push(...[...issued.values()].map(({ status }) => status))
    }
    expect(new Set(places.map(({ uri, idx }) => `${uri}#${idx}`)).size).toBe(places.length)
    // A session, a token and a credential in each round at least.
    expect(acknowledged).toBeGreaterThanOrEqual(3 * rounds)
    reportFault(task, { tried: rounds, acknowledged, lost })
  })
})

/** Repeats `use` until the service is gone. */
async function untilKilled(use: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await use()
    } catch (error) {
      // `fetch` rejects with a TypeError where a connection is refused or ends.
      if (error instanceof TypeError) return
      throw error
    }
  }
}

/** Takes a session through its life, and remembers each answer. */
async function useIssuer(services: Services, configurationId: string, memory: Memory): Promise<void> {
  const body = { credential_configurations: [configurationId], credential_dataset: dataset }
  const session = await startedSession(services, body)
  const { sessionId, form } = session
  memory.sessions.add(sessionId)
  const token = await tokenOf(session)
  memory.spent.set(sessionId, form)
  const nonce = await fetchNonce(services, sessionId)
  const ready = { ...session, token, nonce, holder: await holderSigner(), audience: `${ISSUER_URL}/${sessionId}` }
  const sent = await requestOf(ready)
  const response = await requestCredential(services, token, sent)
  const { credentials = [] } = (await response.json()) as { credentials?: readonly { readonly credential: string }[] }
  expect([response.status, credentials.length]).toEqual([200, 1])
  memory.issued.set(sessionId, {
    status: referenceOf('jwt_vc_json-ld', credentials[0]?.credential ?? '') as Reference,
    again: () => requestCredential(services, token, sent),
  })
  if (memory.issued.size % 3 > 0) return
  memory.sent.add(sessionId)
  const [status] = await act(services, 'revoke', sessionId)
  expect(status).toBe(200)
  memory.revoked.add(sessionId)
}

/** Returns the acknowledged answers that the service does not know any more, in words. */
async function missingOf(services: Services, { sessions, issued, sent, revoked }: Memory): Promise<readonly string[]> {
  const missing: string[] = []
  for (const id of sessions) {
    const { status, credentials = [] } = (await statusOf(services, ISSUER_URL, id)) as {
      status?: string
      credentials?: readonly { readonly credential_status?: string }[]
    }
    if (status === undefined) missing.push(`session ${id}`)
    if (!issued.has(id)) continue
    const state = credentials[0]?.credential_status
    if (status !== 'SUCCEEDED') missing.push(`credential of ${id}`)
    if (revoked.has(id) && state !== 'REVOKED') missing.push(`revocation of ${id}`)
    if (!sent.has(id) && state !== 'VALID') missing.push(`state of ${id}`)
  }
  return missing
}

/** Expects that codes and proofs that were used are refused. */
async function expectSpent(services: Services, { spent, issued }: Memory): Promise<void> {
  for (const [id, form] of [...spent].slice(-REPEATED)) {
    const response = await postForm(services, `${TOKEN_ENDPOINT}/${id}`, form)
    expect([response.status, await response.json()]).toEqual([400, expect.objectContaining({ error: 'invalid_grant' })])
  }
  for (const { again } of [...issued.values()].slice(-REPEATED)) {
    const response = await again()
    expect([response.status, await response.json()]).toEqual([400, expect.objectContaining({ error: 'invalid_nonce' })])
  }
}
