/**
 * Fifty requests at once for each thing that is good once, half of them at each of two processes on one database: one
 * of them gets what there is, and nothing of the others is left.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { digestOf } from '../../src/codec/digest.ts'
import { type BoundReady, dpopNonce, dpopProof, postToken, requestProof, requestWith } from '../support/dpop.ts'
import {
  proofOf,
  type Ready,
  request,
  type Session,
  startedSession,
  TOKEN_ENDPOINT,
  tokenOf,
} from '../support/issuance.ts'
import { type Processes, startProcesses } from '../support/processes.ts'
import { ISSUER_URL, type Services } from '../support/services.ts'
import {
  authorization,
  call,
  configuration,
  dataset,
  declare,
  fetchNonce,
  holderSigner,
  postForm,
  statusOf,
} from '../support/wire.ts'

const MANY = 50
const OID4VCI = `${ISSUER_URL}/issuance/oid4vci`

describe('two processes on one database', () => {
  let processes: Processes
  let first: Services
  let configurationId: string
  beforeAll(async () => {
    processes = await startProcesses()
    ;({ first } = processes)
    configurationId = await declare(first, { ...configuration, batch_size: 3 })
  })
  afterAll(() => processes.close())

  const started = (more: object = {}): Promise<Session> =>
    startedSession(first, { credential_configurations: [configurationId], ...more })
  const later = { credential_dataset: undefined, deferred: true }

  async function ready(more: object = {}): Promise<Ready> {
    const session = await started(more)
    const { sessionId } = session
    const [token, nonce] = [await tokenOf(session), await fetchNonce(first, sessionId)]
    return { ...session, token, nonce, holder: await holderSigner(), audience: `${ISSUER_URL}/${sessionId}` }
  }

  async function bound(): Promise<BoundReady> {
    const session = await started()
    const { sessionId } = session
    const [key, dpop] = [await holderSigner(), await dpopNonce(first)]
    const url = `${TOKEN_ENDPOINT}/${sessionId}`
    const answer = await postToken(session, await dpopProof({ services: first, key, url, nonce: dpop }))
    const response = (await answer.json()) as Record<string, unknown>
    const [token, nonce] = [response.access_token as string, await fetchNonce(first, sessionId)]
    const audience = `${ISSUER_URL}/${sessionId}`
    return { ...session, key, dpop, response, token, nonce, holder: await holderSigner(), audience }
  }

  /** Counts the answers by status and error. */
  async function atOnce(ask: (services: Services, index: number) => Promise<Response>) {
    const { second } = processes
    const responses = await Promise.all(
      Array.from({ length: MANY }, (_, index) => ask(index % 2 === 0 ? first : second, index)),
    )
    const counts: Record<string, number> = {}
    for (const response of responses) {
      const body = (await response.clone().json()) as { error?: string }
      const outcome = [response.status, ...(body.error === undefined ? [] : [body.error])].join(' ')
      counts[outcome] = (counts[outcome] ?? 0) + 1
    }
    return { counts, responses }
  }

  const copiesOf = async (sessionId: string) =>
    ((await statusOf(first, ISSUER_URL, sessionId)).credentials as object[]).length
  const entriesOf = async (sessionId: string) =>
    (await first.issuerStore.get('credential_status', sessionId))?.value.entries.length ?? 0

  it('redeem a code once', async () => {
    const { form, sessionId } = await started()
    const { counts } = await atOnce((services) => postForm(services, `${TOKEN_ENDPOINT}/${sessionId}`, form))
    expect(counts).toEqual({ '200': 1, '400 invalid_grant': MANY - 1 })
  })

  it('spend a nonce once, whichever key it was proved with', async () => {
    const wallet = await ready()
    const { counts } = await atOnce(async (services) => request({ ...wallet, services, holder: await holderSigner() }))
    expect(counts).toEqual({ '200': 1, '400 invalid_nonce': MANY - 1 })
    expect([await copiesOf(wallet.sessionId), await entriesOf(wallet.sessionId)]).toEqual([1, 1])
  })

  it('spend a nonce once for each configuration of the session', async () => {
    const ids = [configurationId, await declare(first, { format: 'dc+sd-jwt', vct: 'urn:example:card' })]
    const wallet = await ready({ credential_configurations: ids })
    const { counts } = await atOnce((services, index) =>
      request({ ...wallet, services, configurationId: ids[Math.floor(index / 2) % 2] ?? '' }),
    )
    expect(counts).toEqual({ '200': 2, '400 invalid_nonce': MANY - 2 })
    expect([await copiesOf(wallet.sessionId), await entriesOf(wallet.sessionId)]).toEqual([2, 2])
  })

  it('give out ten copies of a batch, and keep the entries of those alone', async () => {
    const wallet = await ready()
    const { counts } = await atOnce(async (services) => {
      const nonce = await fetchNonce(services, wallet.sessionId)
      const proofs = Array.from({ length: 3 }, async () => proofOf({ ...wallet, nonce, holder: await holderSigner() }))
      return request({ ...wallet, services }, { proof: undefined, proofs: { jwt: await Promise.all(proofs) } })
    })
    expect(counts).toEqual({ '200': 10, '400 credential_request_denied': MANY - 10 })
    expect([await copiesOf(wallet.sessionId), await entriesOf(wallet.sessionId)]).toEqual([30, 30])
  })

  it('take a DPoP proof once, at the credential endpoint', async () => {
    const wallet = await bound()
    const headers = { authorization: `DPoP ${wallet.token}`, dpop: await requestProof(wallet) }
    const { counts } = await atOnce(async (services) => {
      const nonce = await fetchNonce(services, wallet.sessionId)
      return requestWith({ ...wallet, services, nonce }, headers)
    })
    expect(counts).toEqual({ '200': 1, '401 invalid_dpop_proof': MANY - 1 })
    expect(await entriesOf(wallet.sessionId)).toBe(1)
  })

  it('take a DPoP proof once, at the token endpoint for many sessions', async () => {
    const sessions = await Promise.all(Array.from({ length: MANY }, () => started()))
    const [key, nonce] = [await holderSigner(), await dpopNonce(first)]
    const proof = await dpopProof({ services: first, key, url: TOKEN_ENDPOINT, nonce })
    const { counts } = await atOnce((services, index) =>
      postToken({ ...(sessions[index] as Session), services }, proof, {}, TOKEN_ENDPOINT),
    )
    expect(counts).toEqual({ '200': 1, '400 invalid_dpop_proof': MANY - 1 })
  })

  it('give one successor for a refresh token, and one access token that is good', async () => {
    const session = await started({ refresh_seconds: 600 })
    const made = (await (await postForm(first, TOKEN_ENDPOINT, session.form)).json()) as Record<string, string>
    const form = { grant_type: 'refresh_token', refresh_token: made.refresh_token ?? '' }
    // Each request changes the session, so that one may conflict with others until it is asked to try again.
    const refresh = async (services: Services): Promise<Response> => {
      const response = await postForm(services, TOKEN_ENDPOINT, form)
      return response.status === 503 ? refresh(services) : response
    }
    const { counts, responses } = await atOnce(refresh)
    expect(counts).toEqual({ '200': MANY })
    const bodies = (await Promise.all(responses.map((each) => each.json()))) as Record<string, string>[]
    expect(new Set(bodies.map((each) => each.refresh_token)).size).toBe(1)
    const digest = (await first.issuerStore.get('issuance_session', session.sessionId))?.value.token?.digest
    const opened = await Promise.all(
      bodies.map(async ({ access_token: token }) => {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
        const url = `${OID4VCI}/credential-request`
        return (await processes.second.fetch(url, { method: 'POST', headers, body: '{}' })).status
      }),
    )
    const good = bodies.filter((_, at) => opened[at] !== 401)
    expect(good.map(({ access_token: token = '' }) => digestOf(token))).toEqual([digest])
  })

  it('count each wrong transaction code, and void the code with the fifth', async () => {
    const { form, sessionId } = await started({ tx_code: { value: '493536' } })
    const { counts } = await atOnce((services, index) =>
      postForm(services, TOKEN_ENDPOINT, { ...form, tx_code: String(100_000 + index) }),
    )
    expect(counts).toEqual({ '400 invalid_grant': MANY })
    const session = (await first.issuerStore.get('issuance_session', sessionId))?.value
    expect([session?.txCode?.wrong, session?.lockedAt === undefined]).toEqual([5, false])
    const right = await postForm(processes.second, TOKEN_ENDPOINT, { ...form, tx_code: '493536' })
    expect(right.status).toBe(400)
  })

  it('fetch what a transaction waits for once, after it was decided once', async () => {
    const wallet = await ready(later)
    const asked = (await (await request(wallet)).json()) as { transaction_id: string }
    const decided = await atOnce((services, index) => {
      const body = index % 3 === 0 ? { denied: true } : { credential_dataset: dataset }
      return call(services, `${OID4VCI}/complete/${wallet.sessionId}`, body)
    })
    expect(decided.counts).toEqual({ '200': 1, '409 invalid_state': MANY - 1 })
    const { state } = (await statusOf(first, ISSUER_URL, wallet.sessionId)).deferred as { state: string }
    const fetched = await atOnce((services) =>
      services.fetch(`${OID4VCI}/deferred-credential`, {
        method: 'POST',
        headers: { authorization: `Bearer ${wallet.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ transaction_id: asked.transaction_id }),
      }),
    )
    const given = { '200': 1, '400 invalid_transaction_id': MANY - 1 }
    expect(fetched.counts).toEqual(state === 'COMPLETED' ? given : { '400 credential_request_denied': MANY })
    expect(await copiesOf(wallet.sessionId)).toBe(state === 'COMPLETED' ? 1 : 0)
    const events = (await first.issuerStore.list('event')).map(({ value }) => value)
    const ofSession = events.filter((event) => event.sessionId === wallet.sessionId).map(({ type }) => type)
    expect(ofSession.filter((type) => /completed|denied/.test(type))).toHaveLength(1)
  })

  it('let ten requests wait, with a transaction for each and no more', async () => {
    const wallet = await ready(later)
    const before = (await first.issuerStore.list('deferred_transaction')).length
    const { counts } = await atOnce(async (services) => {
      const nonce = await fetchNonce(services, wallet.sessionId)
      return request({ ...wallet, services, nonce })
    })
    expect(counts).toEqual({ '202': 10, '400 credential_request_denied': MANY - 10 })
    expect((await first.issuerStore.list('deferred_transaction')).length - before).toBe(10)
  })

  it('start one session for a code that the application brings, and one for an idempotency key', async () => {
    const body = { credential_dataset: dataset, credential_configurations: [configurationId] }
    const supplied = { ...body, 'pre-authorized_code': 'code-of-another-server' }
    const start = (services: Services, sent: object, headers: Record<string, string> = {}) =>
      services.fetch(`${OID4VCI}/new-session`, {
        method: 'POST',
        headers: { ...authorization, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(sent),
      })
    const sessions = async () => (await first.issuerStore.list('issuance_session')).length
    const before = await sessions()
    expect((await atOnce((services) => start(services, supplied))).counts).toEqual({
      '200': 1,
      '409 invalid_state': MANY - 1,
    })
    const { responses } = await atOnce((services) => start(services, body, { 'idempotency-key': 'one' }))
    expect(new Set(await Promise.all(responses.map((each) => each.text()))).size).toBe(1)
    expect((await sessions()) - before).toBe(2)
  })
})
