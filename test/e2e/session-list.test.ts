/** The lists of sessions of both services: every session once, the filter, the cursor, and how much a page reads. */
import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { digestOf } from '../../src/codec/digest.ts'
import type { IssuanceSession } from '../../src/issuer/session.ts'
import { voidIssuanceSessions } from '../../src/issuer/voiding.ts'
import type { VerificationSession } from '../../src/verifier/session.ts'
import { voidVerificationSessions } from '../../src/verifier/voiding.ts'
import { readySession, request } from '../support/issuance.ts'
import { findRevealed } from '../support/revealed.ts'
import { ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { retryOnConflict } from '../support/store.ts'
import {
  call,
  dataset,
  dcqlQuery,
  declare,
  holderSigner,
  issueCredential,
  postForm,
  presentationOf,
  redeem,
  startIssuance,
  startVerification,
  statusOf,
} from '../support/wire.ts'

interface SessionPage {
  readonly sessions: readonly Readonly<Record<string, unknown>>[]
  readonly next?: string
}

const ISSUANCE = `${ISSUER_URL}/issuance/oid4vci/sessions`
const VERIFICATION = `${VERIFIER_URL}/presentation/oid4vp/sessions`

let services: Services
beforeEach(async () => {
  services = await startServices()
})
afterEach(() => services.close())

const page = async (url: string, query: Record<string, string> = {}): Promise<SessionPage> => {
  const response = await call(services, `${url}?${new URLSearchParams(query).toString()}`)
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
  return response.json() as Promise<SessionPage>
}

/** Returns the ids of all pages; `between` runs after each. */
async function walk(
  url: string,
  query: Record<string, string> = {},
  between: () => Promise<unknown> = () => Promise.resolve(),
): Promise<readonly (readonly unknown[])[]> {
  const pages: unknown[][] = []
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const { sessions, next }: SessionPage = await page(url, { ...query, ...(cursor && { cursor }) })
    pages.push(sessions.map(({ session_id: id }) => id))
    await between()
    cursor = next
  }
  return pages
}

/** Starts sessions a second apart, and gives their ids, the newest first. */
async function startMany(count: number, start: () => Promise<{ sessionId: string }>): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n += 1) {
    services.clock.now = new Date(services.clock.now.getTime() + 1000)
    ids.unshift((await start()).sessionId)
  }
  return ids
}

async function starters() {
  const configuration = await declare(services)
  const query = (await startVerification(services)).sessionId
  const { verification_query_id: queryId } = (await page(VERIFICATION)).sessions[0] ?? {}
  const issuance = () => startIssuance(services, { credential_configurations: [configuration] })
  const verification = async () => {
    const url = `${VERIFIER_URL}/presentation/oid4vp/new-session`
    const started = (await (await call(services, url, { verification_query_id: queryId })).json()) as {
      session_id: string
    }
    return { sessionId: started.session_id }
  }
  return { issuance, verification, configuration, first: query }
}

describe('a walk through all pages', () => {
  it('of issuance sessions has each once, newest first, also when others are added meanwhile', async () => {
    const { issuance } = await starters()
    const ids = await startMany(120, issuance)
    expect((await walk(ISSUANCE)).map((each) => each.length)).toEqual([50, 50, 20])
    expect((await walk(ISSUANCE, { limit: '40' })).map((each) => each.length)).toEqual([40, 40, 40])
    expect((await walk(ISSUANCE, { limit: '100' })).flat()).toEqual(ids)
    expect((await walk(ISSUANCE, { limit: '7' }, issuance)).flat()).toEqual(ids)
  })

  it('of verification sessions has each once, newest first, also when others are added meanwhile', async () => {
    const { verification, first } = await starters()
    const ids = [...(await startMany(119, verification)), first]
    expect((await walk(VERIFICATION, { limit: '100' })).flat()).toEqual(ids)
    expect((await walk(VERIFICATION, { limit: '11' }, verification)).flat()).toEqual(ids)
  })

  it('goes on after a session that was deleted', async () => {
    const { issuance } = await starters()
    const ids = await startMany(3, issuance)
    const { next = '' } = await page(ISSUANCE, { limit: '2' })
    await services.issuerStore.commit([{ delete: 'issuance_session', id: ids[1] ?? '', version: 0 }])
    expect((await page(ISSUANCE, { cursor: next })).sessions).toMatchObject([{ session_id: ids[2] }])
  })
})

describe('the list of issuance sessions', () => {
  it('says what became of each, and has a filter by status and configuration', async () => {
    const expired = await startIssuance(services, { expires_in: 1 })
    services.clock.now = new Date(services.clock.now.getTime() + 2000)
    const at = () => Math.floor(services.clock.now.getTime() / 1000)
    const issued = await readySession(services)
    await request(issued)
    services.clock.now = new Date(services.clock.now.getTime() + 1000)
    const open = await startIssuance(services)
    await postForm(services, `${ISSUER_URL}/auth/token-endpoint/${open.sessionId}`, { grant_type: 'unknown' })
    expect((await page(ISSUANCE)).sessions).toEqual([
      {
        session_id: open.sessionId,
        status: 'STARTED',
        created_at: at(),
        expires_at: at() + 600,
        credential_configurations: [open.id],
        problem: { endpoint: 'token', error: 'unsupported_grant_type', at: at() },
      },
      {
        session_id: issued.sessionId,
        status: 'SUCCEEDED',
        created_at: at() - 1,
        // The access token of the used offer is good for five minutes.
        expires_at: at() + 299,
        ended_at: at() - 1,
        credential_configurations: [expect.any(String)],
      },
      {
        session_id: expired.sessionId,
        status: 'EXPIRED',
        created_at: at() - 3,
        expires_at: at() - 2,
        ended_at: at() - 2,
        credential_configurations: [expired.id],
      },
    ])
    const idsOf = async (query: Record<string, string>) => (await walk(ISSUANCE, { ...query, limit: '1' })).flat()
    expect(await idsOf({ status: 'STARTED' })).toEqual([open.sessionId])
    expect(await idsOf({ status: 'SUCCEEDED' })).toEqual([issued.sessionId])
    expect(await idsOf({ status: 'EXPIRED' })).toEqual([expired.sessionId])
    expect(await idsOf({ credential_configuration_id: expired.id })).toEqual([expired.sessionId])
    expect(await idsOf({ credential_configuration_id: expired.id, status: 'STARTED' })).toEqual([])
  })

  it('reads a bounded number of rows however many there are, and goes on where a filter stopped', async () => {
    const value: IssuanceSession = { configurationIds: ['a'], createdAt: 0, expiresAt: 1, issued: [] }
    const rare = randomBytes(8).toString('hex')
    const commitRows = (from: number, to: number) =>
      services.issuerStore.commit(
        Array.from({ length: to - from }, (_, n) => {
          const row = { ...value, ...(from + n === 30 && { configurationIds: [rare] }) }
          return { insert: 'issuance_session', id: `s${from + n}`, value: row, createdAt: new Date(from + n) } as const
        }),
      )
    let rowsRead = 0
    const original = { ...services.issuerStore }
    Object.assign(services.issuerStore, {
      listNewest: async (...args: Parameters<typeof original.listNewest>) => {
        const rows = await original.listNewest(...args)
        rowsRead += rows.length
        return rows
      },
    })
    const rowsOf = async (query: Record<string, string>) => {
      rowsRead = 0
      await page(ISSUANCE, query)
      return rowsRead
    }
    await commitRows(0, 200)
    const few = await rowsOf({ limit: '50' })
    await commitRows(200, 2500)
    expect([few, await rowsOf({ limit: '50' })]).toEqual([51, 51])
    expect(await rowsOf({ credential_configuration_id: rare })).toBe(1000)
    const pages = await walk(ISSUANCE, { credential_configuration_id: rare })
    expect(pages).toEqual([[], [], ['s30']])
  })

  it('leaves out a session that cannot be read, logs it by the digest of its id, and has the others', async () => {
    const { issuance } = await starters()
    const [second, first] = await startMany(2, issuance)
    const broken = { insert: 'issuance_session', id: 'broken', value: null as never } as const
    await services.issuerStore.commit([{ ...broken, createdAt: services.clock.now }])
    expect((await page(ISSUANCE)).sessions.map(({ session_id: id }) => id)).toEqual([second, first])
    const lines = services.logLines.filter((line) => line.includes('row_unreadable'))
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { collection: 'issuance_session', row: digestOf('broken') },
    ])
  })
})

describe('the list of verification sessions', () => {
  it('says what became of each, and has a filter by status and query', async () => {
    const holder = await holderSigner()
    const credential = await issueCredential(services, holder)
    const answer = (sessionId: string, form: Record<string, string>) =>
      postForm(services, `${VERIFIER_URL}/presentation/oid4vp/authorization-response/${sessionId}`, form)
    const present = async (nonce?: string) => {
      const { sessionId, request: object } = await startVerification(services)
      const now = services.clock.now
      const asked = { ...object, ...(nonce === undefined ? {} : { nonce }) }
      const token = { card: [await presentationOf(credential, holder, asked, { now })] }
      await answer(sessionId, { vp_token: JSON.stringify(token), state: object.state })
      return sessionId
    }
    const later = (seconds: number) => {
      services.clock.now = new Date(services.clock.now.getTime() + seconds * 1000)
    }
    const { sessionId: expired } = await startVerification(services, dcqlQuery, { expires_in: 1 })
    later(2)
    const succeeded = await present()
    later(1)
    const failed = await present('another nonce')
    later(1)
    const { sessionId: declined, request: object } = await startVerification(services)
    const words = 'Ada Lovelace does not want to'
    await answer(declined, { error: 'access_denied', error_description: words, state: object.state })
    later(1)
    const { sessionId: open } = await startVerification(services)
    const { sessions } = await page(VERIFICATION)
    const at = Math.floor(services.clock.now.getTime() / 1000)
    const common = { verification_query_id: expect.any(String) as string }
    const times = (created: number, ended?: number) => ({
      created_at: at - created,
      expires_at: at - created + 600,
      ...(ended === undefined ? {} : { ended_at: at - ended }),
    })
    expect(sessions).toEqual([
      { session_id: open, status: 'STARTED', ...common, ...times(0) },
      {
        session_id: declined,
        status: 'DECLINED',
        ...common,
        ...times(1, 1),
        wallet_error: { error: 'access_denied' },
      },
      { session_id: failed, status: 'VERIFICATION_FAILED', ...common, ...times(2, 2), failed_checks: ['holder.nonce'] },
      { session_id: succeeded, status: 'VERIFICATION_SUCCEEDED', ...common, ...times(3, 3) },
      { session_id: expired, status: 'EXPIRED', ...common, ...times(5, 4), expires_at: at - 4 },
    ])
    for (const { session_id: id, status, verification_query_id: queryId } of sessions) {
      expect((await walk(VERIFICATION, { status: String(status), limit: '1' })).flat()).toEqual([id])
      expect((await walk(VERIFICATION, { verification_query_id: String(queryId) })).flat()).toEqual([id])
    }
  })

  it('has sessions of earlier releases last, with what is known of them', async () => {
    const { first } = await starters()
    const old = { queryId: 'q', createdAt: 5000, expiresAt: 9000, nonce: 'n', state: 's', clientId: 'c' }
    const value: VerificationSession = { ...old, outcome: { walletError: { error: 'a word of a wallet' } } }
    await services.verifierStore.commit([{ insert: 'verification_session', id: 'old', value }])
    expect((await page(VERIFICATION)).sessions).toEqual([
      expect.objectContaining({ session_id: first }),
      {
        session_id: 'old',
        status: 'VERIFICATION_FAILED',
        verification_query_id: 'q',
        created_at: 5,
        expires_at: 9,
        wallet_error: { error: 'unregistered_error' },
      },
    ])
  })
})

describe('a list of sessions', () => {
  it.each([ISSUANCE, VERIFICATION])('at %s refuses whoever has no API key, before anything else', async (url) => {
    for (const headers of [{}, { authorization: 'Bearer wrong' }] as Record<string, string>[]) {
      for (const query of ['', '?limit=0', '?cursor=x', '?unknown=1']) {
        const response = await services.fetch(url + query, { headers })
        expect([query, response.status]).toEqual([query, 401])
        expect(response.headers.get('www-authenticate')).toBe('Bearer')
        expect(await response.json()).toMatchObject({ error: 'unauthorized' })
      }
    }
  })

  it('refuses a cursor that was changed, cut off, made up, or brought to another filter or list', async () => {
    const { issuance, verification } = await starters()
    await startMany(2, issuance)
    await startMany(2, verification)
    const { next = '' } = await page(ISSUANCE, { limit: '1' })
    const { next: other = '' } = await page(VERIFICATION, { limit: '1' })
    const refused = async (url: string, query: Record<string, string>) => {
      const response = await call(services, `${url}?${new URLSearchParams(query).toString()}`)
      const body = (await response.json()) as Record<string, string>
      expect([query, response.status, body.error]).toEqual([query, 400, 'invalid_request'])
      expect(body.error_description).toMatch(/^cursor: /)
    }
    expect(next.length).toBeLessThan(200)
    for (let place = 0; place < next.length; place += 1) {
      const changed = next[place] === 'A' ? 'B' : 'A'
      await refused(ISSUANCE, { cursor: next.slice(0, place) + changed + next.slice(place + 1) })
    }
    const encoded = (text: string) => Buffer.from(text).toString('base64url')
    const [digest = '', time = '', id = ''] = Buffer.from(next, 'base64url').toString().split('.')
    for (const cursor of [
      '',
      'x',
      next.slice(0, -1),
      `${next}A`,
      `${next}=`,
      encoded(`${digest}.NaN.${id}`),
      encoded(`${digest}.${time}.`),
      encoded(`${digest}.1e3.${id}`),
      encoded(`${digest}.${time}.${id}\0`),
      '%00',
      'x'.repeat(201),
      other,
    ]) {
      await refused(ISSUANCE, { cursor })
    }
    // A person who knows how a cursor is made can make one, of a position alone.
    const forged = (place: string) =>
      encoded(`${digestOf(JSON.stringify([JSON.stringify(['issuance_session']), place])).slice(0, 12)}.${place}`)
    expect(forged(`${time}.${id}`)).toBe(next)
    for (const place of [`NaN.${id}`, `-1.${id}`, `${'9'.repeat(16)}.${id}`, `${time}.a\0`, `${time}.`, time]) {
      await refused(ISSUANCE, { cursor: forged(place) })
    }
    await refused(ISSUANCE, { cursor: next, status: 'STARTED' })
    await refused(VERIFICATION, { cursor: next })
    // The limit may change from page to page.
    expect((await page(ISSUANCE, { cursor: next, limit: '9' })).sessions).toHaveLength(1)
  })

  it.each([
    ['limit=0', 'limit: must be a number from 1 to 100'],
    ['limit=101', 'limit: must be a number from 1 to 100'],
    ['limit=', 'limit: must be a number from 1 to 100'],
    ['limit=1.5', 'limit: must be a number from 1 to 100'],
    ['limit=-1', 'limit: must be a number from 1 to 100'],
    ['limit=1e1', 'limit: must be a number from 1 to 100'],
    ['limit=5&limit=6', 'limit: given more than once'],
    ['status=STARTED&status=EXPIRED', 'status: given more than once'],
    ['status=OPEN', /^status: must be /],
    ['stauts=STARTED', 'stauts: unknown setting or field; did you mean status?'],
    ['__proto__=1', /__proto__: unknown/],
  ])('refuses %s', async (query, description) => {
    for (const url of [ISSUANCE, VERIFICATION]) {
      const response = await call(services, `${url}?${query}`)
      const body = (await response.json()) as Record<string, string>
      expect([response.status, body.error]).toEqual([400, 'invalid_request'])
      if (typeof description === 'string') expect(body.error_description).toBe(description)
      else expect(body.error_description).toMatch(description)
    }
  })
})

describe('what a list of sessions reveals', () => {
  it('is not a claim, code, token, nonce, key or word of anybody, whatever happened in the sessions', async () => {
    const later = await startIssuance(services, {
      tx_code: { value: '83649271', description: 'In the letter to Ada' },
      'pre-authorized_code': 'code-of-another-server-1',
    })
    await postForm(services, `${ISSUER_URL}/auth/token-endpoint/${later.sessionId}`, {
      grant_type: 'urn:ietf:params:oauth:grant-type:pre-authorized_code',
      'pre-authorized_code': 'code-of-another-server-1',
      tx_code: '71946382',
    })
    const ready = await readySession(services, { refresh_seconds: 600 })
    await request(ready, { proof: { proof_type: 'jwt', jwt: 'Lovelace' } })
    await request(ready)
    const token = await redeem(services, (await startIssuance(services)).sessionId)
    const holder = await holderSigner()
    const credential = await issueCredential(services, holder)
    const { sessionId, request: object } = await startVerification(services, dcqlQuery, {
      redirect_uri: 'https://shop.example/Lovelace',
    })
    const presentation = await presentationOf(credential, holder, object, { now: services.clock.now })
    const response = await postForm(
      services,
      `${VERIFIER_URL}/presentation/oid4vp/authorization-response/${sessionId}`,
      { vp_token: JSON.stringify({ card: [presentation] }), state: object.state },
    )
    const { redirect_uri: redirect = '' } = (await response.json()) as { redirect_uri?: string }
    const listed = JSON.stringify([await page(ISSUANCE), await page(VERIFICATION)])
    const cursors = await Promise.all([ISSUANCE, VERIFICATION].map((url) => page(url, { limit: '1' })))
    const text = listed + cursors.map(({ next = '' }) => next + Buffer.from(next, 'base64url').toString()).join()
    expect(text).toContain('"invalid_grant"')
    expect(text).toContain('"VERIFICATION_SUCCEEDED"')
    const secrets = [
      ...[ready.code, ready.token, ready.nonce, token, '83649271', '71946382', 'code-of-another-server-1'],
      ...[object.nonce, object.state, redirect.split('response_code=')[1] ?? '-', 'shop.example', 'letter'],
      ...[...Object.values(dataset.credentialSubject), 'London', 'Ada'].map(String),
      ...credential.split(/[.~]/).filter((part) => part.length > 10),
    ]
    expect(findRevealed(text, secrets)).toEqual([])
  })
})

it('says that a session which a restore made void ended then, and an expired one at its time', async () => {
  const [issuance, verification] = [await startIssuance(services), await startVerification(services)]
  services.clock.now = new Date(services.clock.now.getTime() + 1000)
  const { sessionId: expired } = await startVerification(services, dcqlQuery, { expires_in: 5 })
  const later = new Date(services.clock.now.getTime() + 10_000)
  services.clock.now = later
  const effects = { now: () => later, random: randomBytes, retryOnConflict }
  expect(await voidIssuanceSessions({ store: services.issuerStore, ...effects }, later)).toBe(1)
  expect(await voidVerificationSessions({ store: services.verifierStore, ...effects }, later)).toBe(1)
  await services.runTasks()
  const at = Math.floor(later.getTime() / 1000)
  expect((await page(ISSUANCE)).sessions).toMatchObject([{ session_id: issuance.sessionId, ended_at: at }])
  const ends = (await page(VERIFICATION)).sessions.map(({ session_id: id, ended_at: end }) => [id, end])
  expect(ends).toEqual([
    [expired, at - 5],
    [verification.sessionId, at],
  ])
  for (const [id, end] of ends) {
    expect(await statusOf(services, VERIFIER_URL, String(id))).toMatchObject({ status: 'EXPIRED', ended_at: end })
  }
})
