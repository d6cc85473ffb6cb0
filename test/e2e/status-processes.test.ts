/** Two processes of the issuance service on one database: whatever one gives out or revokes, the other has not. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEntryAllocator } from '../../src/issuer/status-list/allocation.ts'
import { createSigner } from '../../src/keys/file-signer.ts'
import { expectRefusal, proofOf, type Ready, readySession } from '../support/issuance.ts'
import { type Processes, startProcesses } from '../support/processes.ts'
import { ISSUER_URL, makeKey, type Services } from '../support/services.ts'
import { act, readList, referenceOf } from '../support/status.ts'
import { retryOnConflict } from '../support/store.ts'
import { declare, fetchNonce, requestCredential } from '../support/wire.ts'

const KEYS = { current: { kid: 'a' }, oldest: { kid: 'a' } }

describe('two processes on one database', () => {
  let first: Services
  let second: Services
  let configurationId: string
  let processes: Processes

  beforeAll(async () => {
    processes = await startProcesses()
    ;({ first, second } = processes)
    configurationId = await declare(first)
  })
  afterAll(() => processes.close())

  it('give out every index of a list once, from the first to the last', async () => {
    const stores = [first.issuerStore, second.issuerStore]
    const allocators = [...stores, ...stores].map((store) =>
      createEntryAllocator({ store, retryOnConflict, now: () => new Date(), random: randomBytes }, 1024, () => KEYS),
    )
    const all: Awaited<ReturnType<(typeof allocators)[number]>>[number][] = []
    const byList = new Map<string, number[]>()
    // Entries that are leased and not yet given out are missing in the lists that were begun last.
    const fullLists = () => [...byList.values()].filter((indices) => indices.length === 1024)
    // How many lists are begun side by side is chance: entries are given out until one of them is full.
    while (fullLists().length === 0) {
      const entries = await Promise.all(
        allocators.flatMap((allocate) => Array.from({ length: 600 }, (_, count) => allocate((count % 3) + 1))),
      )
      expect(entries.flat()).toHaveLength(4 * 1200)
      all.push(...entries.flat())
      for (const { listId, index } of entries.flat()) byList.set(listId, [...(byList.get(listId) ?? []), index])
    }
    expect(new Set(all.map(({ listId, index }) => `${listId} ${index}`)).size).toBe(all.length)
    for (const indices of fullLists()) {
      expect([...indices].sort((a, b) => a - b)).toEqual(Array.from({ length: 1024 }, (_, index) => index))
    }
  })

  it('begin one list, and not two, when both begin at once', async () => {
    const allocators = [first, second].map(({ issuerStore: store }) =>
      createEntryAllocator({ store, retryOnConflict, now: () => new Date(), random: randomBytes }, 2048, () => KEYS),
    )
    const entries = await Promise.all(allocators.map((allocate) => allocate(1)))
    expect(new Set(entries.flat().map(({ listId }) => listId)).size).toBe(1)
    const lists = await first.issuerStore.list('status_list')
    expect(lists.filter(({ value }) => value.entries === 2048)).toHaveLength(1)
  })

  it('issue three hundred credentials, a hundred at once, all with an entry of their own', async () => {
    const holder = createSigner(await makeKey(), [])
    const issueOne = async (ready: Ready) => {
      const jwt = await proofOf({ ...ready, holder })
      const proof = { proof_type: 'jwt', jwt }
      const body = { credential_configuration_id: configurationId, proof }
      const response = await requestCredential(ready.services, ready.token, body)
      const answer = (await response.json()) as { credentials: { credential: string }[] }
      expect({ status: response.status, answer }).toMatchObject({ status: 200 })
      return referenceOf('jwt_vc_json-ld', answer.credentials[0]?.credential ?? '')
    }
    // Three copies of a session each, and each of a hundred at once is of another session.
    const sessions = await Promise.all(
      Array.from({ length: 100 }, (_, count) =>
        readySession(count % 2 === 0 ? first : second, { credential_configurations: [configurationId] }),
      ),
    )
    const ready = await Promise.all(
      sessions.flatMap((session, at) =>
        Array.from({ length: 3 }, async (_, count) => {
          const services = (at + count) % 2 === 0 ? first : second
          return { ...session, services, nonce: await fetchNonce(services, session.sessionId) }
        }),
      ),
    )
    const references = []
    for (let copy = 0; copy < 3; copy++) {
      references.push(...(await Promise.all(ready.filter((_, at) => at % 3 === copy).map(issueOne))))
    }
    expect(references).toHaveLength(300)
    expect(new Set(references.map((each) => `${each?.uri} ${each?.idx}`)).size).toBe(300)
    const rows = await first.issuerStore.list('credential_status')
    const kept = rows.flatMap(({ value }) => value.entries.map(({ listId, index }) => `${listId} ${index}`))
    const known = new Set(kept)
    expect(known.size).toBe(kept.length)
    const named = references.map((each) => `${each?.uri.slice(`${ISSUER_URL}/status-list/`.length)} ${each?.idx}`)
    expect(named.filter((each) => !known.has(each))).toEqual([])
  })

  it('revoke and issue at once, and nothing is lost', async () => {
    const sessions = await Promise.all(
      Array.from({ length: 60 }, (_, count) =>
        readySession(count % 2 === 0 ? first : second, { credential_configurations: [configurationId] }),
      ),
    )
    const holder = createSigner(await makeKey(), [])
    const issue = async (ready: Ready, services: Services): Promise<number> => {
      const fresh = { ...ready, holder, nonce: await fetchNonce(services, ready.sessionId) }
      const body = {
        credential_configuration_id: configurationId,
        proof: { proof_type: 'jwt', jwt: await proofOf(fresh) },
      }
      const response = await requestCredential(services, ready.token, body)
      if (response.status === 200) return 200
      await expectRefusal(response, { status: 400, error: 'credential_request_denied', why: /revoked/ })
      return 400
    }
    for (const ready of sessions) expect(await issue(ready, first)).toBe(200)
    const outcomes = await Promise.all(
      sessions.flatMap((ready, count) => [
        issue(ready, first),
        count % 3 === 0 ? Promise.resolve(200) : act(second, 'revoke', ready.sessionId).then(([status]) => status),
        issue(ready, second),
        count % 3 === 1 ? act(first, 'revoke', ready.sessionId).then(([status]) => status) : Promise.resolve(200),
      ]),
    )
    expect(outcomes.filter((status) => status !== 200 && status !== 400)).toEqual([])
    for (const [count, { sessionId }] of sessions.entries()) {
      const row = await second.issuerStore.get('credential_status', sessionId)
      const revoked = count % 3 !== 0
      expect(row?.value.state).toBe(revoked ? 'REVOKED' : 'VALID')
      const session = await first.issuerStore.get('issuance_session', sessionId)
      // The entry of every credential that went out is known.
      expect(row?.value.entries).toHaveLength(session?.value.issued.length ?? -1)
      for (const { listId, index } of row?.value.entries ?? []) {
        const uri = `${ISSUER_URL}/status-list/${listId}`
        for (const services of [first, second]) expect((await list(services, uri))[index]).toBe(revoked ? 1 : 0)
      }
    }
  })

  it('serve the change of the other at once', async () => {
    const ready = await readySession(first, { credential_configurations: [configurationId] })
    const jwt = await proofOf(ready)
    await requestCredential(first, ready.token, {
      credential_configuration_id: configurationId,
      proof: { proof_type: 'jwt', jwt },
    })
    const row = await first.issuerStore.get('credential_status', ready.sessionId)
    const [entry] = row?.value.entries ?? []
    const uri = `${ISSUER_URL}/status-list/${entry?.listId}`
    const before = await first.fetch(uri)
    expect((await second.fetch(uri)).headers.get('etag')).toBe(before.headers.get('etag'))
    await act(second, 'suspend', ready.sessionId)
    const after = await first.fetch(uri, { headers: { 'if-none-match': before.headers.get('etag') ?? '' } })
    expect(after.status).toBe(200)
    expect((await readList(first, uri))[entry?.index ?? -1]).toBe(2)
  })

  /** Read once: the lists are long, and many ask. */
  const lists = new Map<string, readonly number[]>()
  async function list(services: Services, uri: string): Promise<readonly number[]> {
    const key = `${services === first ? 1 : 2} ${uri}`
    const known = lists.get(key) ?? (await readList(services, uri))
    lists.set(key, known)
    return known
  }
})
