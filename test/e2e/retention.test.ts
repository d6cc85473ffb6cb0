/** The end of sessions, and what is left of them afterwards. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { hashSessionId } from '../../src/audit/record.ts'
import { type CallbackCollections, makeEnqueueChange } from '../../src/callback/queue.ts'
import { ACCESS_TOKEN_SECONDS } from '../../src/issuer/access/access-token.ts'
import { type IssuerCollections, issuerMigrations } from '../../src/issuer/collections.ts'
import type { IssuerConfig } from '../../src/issuer/config.ts'
import { sweepIssuanceSessions } from '../../src/issuer/retention.ts'
import { thumbprint } from '../../src/keys/jwk.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import { partOf } from '../../src/store/store.ts'
import type { DescribedCheckResult, DescribedReport } from '../../src/verifier/check-descriptions.ts'
import { type VerifierCollections, verifierMigrations } from '../../src/verifier/collections.ts'
import type { VerifierConfig } from '../../src/verifier/config.ts'
import { sweepVerificationSessions as sweepVerifications } from '../../src/verifier/retention.ts'
import { checksOf } from '../../src/verifier/verification.ts'
import { vouchsafe } from '../support/command.ts'
import { boundSession } from '../support/dpop.ts'
import { haipVerifier } from '../support/haip.ts'
import { readySession, request, startedSession, tokenOf } from '../support/issuance.ts'
import { type Running, serviceDirectory, start as startProcess } from '../support/service-process.ts'
import { ISSUER_URL, type ServiceOptions, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { openTestStore, retryOnConflict, withDamagedRows } from '../support/store.ts'
import {
  authorization,
  configuration,
  dataset,
  dcqlQuery,
  fetchNonce,
  holderSigner,
  issueCredential,
  postForm,
  presentationOf,
  startIssuance,
  startVerification,
  statusOf,
} from '../support/wire.ts'

const DAY = 86_400
/** Without an entry in a status list, which would be looked up. */
const unlisted = { ...configuration, revocable: false }
const MONTH = 30 * DAY
let services: Services
const start = async (options: ServiceOptions = {}) => {
  services = await startServices(options)
  closing.push(services)
  return services
}
const closing: Services[] = []
afterEach(() => Promise.all(closing.splice(0).map((each) => each.close())))

/** Sets the clock to so many seconds after the start, less a millisecond where it says so, and runs a round. */
async function at(begun: Date, seconds: number, less = 0): Promise<void> {
  services.clock.now = new Date(begun.getTime() + seconds * 1000 - less)
  await services.runTasks()
}

/** The events are in the form of the audit log. */
const events = async (store: Services['issuerStore'] | Services['verifierStore'], type: string) =>
  (await (store as Services['issuerStore']).list('audit_block'))
    .flatMap(({ value }) => value.records)
    .filter((each) => each.type === type)
const inSeconds = (begun: Date, count: number) => new Date(begun.getTime() + count * 1000).toISOString()
const datasetOf = async (sessionId: string) => (await services.issuerStore.get('issuance_dataset', sessionId))?.value
const codeOfStatus = async (base: string, sessionId: string) => {
  const kind = base === ISSUER_URL ? 'issuance/oid4vci' : 'presentation/oid4vp'
  return (await services.fetch(`${base}/${kind}/status/${sessionId}`, { headers: authorization })).status
}
const linesOf = (event: string) =>
  services.logLines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((line) => line.event === event)
const seconds = () => Math.floor(services.clock.now.getTime() / 1000)

describe('an issuance session that nobody redeems', () => {
  it('expires at its second, with one event, and its dataset is erased', async () => {
    const { clock } = await start()
    const begun = clock.now
    const { sessionId } = await startIssuance(services, { expires_in: 100 })
    await at(begun, 100, 1)
    expect(await statusOf(services, ISSUER_URL, sessionId)).toMatchObject({ status: 'STARTED' })
    expect(await datasetOf(sessionId)).toEqual(dataset)
    expect(await events(services.issuerStore, 'issuance.expired')).toEqual([])
    // A reader between the end and the sweep learns of the end as well.
    clock.now = new Date(begun.getTime() + 100_000)
    const between = await statusOf(services, ISSUER_URL, sessionId)
    expect(between).toMatchObject({ status: 'EXPIRED' })
    expect(between).not.toHaveProperty('erased_at')
    await at(begun, 100)
    await at(begun, 101)
    const status = await statusOf(services, ISSUER_URL, sessionId)
    expect(status).toMatchObject({ status: 'EXPIRED', erased_at: seconds() - 1, credentials: [] })
    expect(await datasetOf(sessionId)).toBe(null)
    expect(await events(services.issuerStore, 'issuance.expired')).toEqual([
      expect.objectContaining({ at: inSeconds(begun, 100), session: hashSessionId(sessionId) }),
    ])
  })

  it('is over for another process too, whose clock is behind', async () => {
    const { clock } = await start()
    const begun = clock.now
    const session = await startedSession(services, { expires_in: 100 })
    await at(begun, 100)
    clock.now = new Date(begun.getTime() + 99_000)
    expect(await statusOf(services, ISSUER_URL, session.sessionId)).toMatchObject({ status: 'EXPIRED' })
    const answer = await postForm(services, `${ISSUER_URL}/auth/token-endpoint`, { ...session.form })
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: 'invalid_grant' }])
  })

  it('is gone after its time, and not a millisecond before', async () => {
    const { clock } = await start()
    const begun = clock.now
    const { sessionId } = await startIssuance(services, { expires_in: 100 })
    await at(begun, 100)
    await at(begun, 100 + MONTH, 1)
    expect(await codeOfStatus(ISSUER_URL, sessionId)).toBe(200)
    await at(begun, 100 + MONTH)
    expect(await codeOfStatus(ISSUER_URL, sessionId)).toBe(404)
    expect(await datasetOf(sessionId)).toBe(undefined)
    expect(linesOf('sessions_purged')).toEqual([expect.objectContaining({ level: 30, sessions: 1 })])
  })

  it('has its event also when nothing ran until after it should be gone', async () => {
    const { clock } = await start()
    const begun = clock.now
    const { sessionId } = await startIssuance(services, { expires_in: 100 })
    await at(begun, 101 + MONTH)
    expect(await events(services.issuerStore, 'issuance.expired')).toHaveLength(1)
    await at(begun, 103 + MONTH)
    expect(await codeOfStatus(ISSUER_URL, sessionId)).toBe(404)
    expect(await datasetOf(sessionId)).toBe(undefined)
    expect(await events(services.issuerStore, 'issuance.expired')).toHaveLength(1)
  })
})

describe('an issuance session that was locked', () => {
  it('ends with the fifth wrong transaction code, and forgets what was asked for', async () => {
    const { clock, issuerStore } = await start()
    const session = await startedSession(services, { tx_code: { value: '123456', description: 'Sent to A. L.' } })
    const guess = { ...session.form, tx_code: '000000' }
    for (let n = 0; n < 5; n += 1) await postForm(services, `${ISSUER_URL}/auth/token-endpoint`, guess)
    await at(clock.now, 0)
    expect(await events(issuerStore, 'issuance.expired')).toHaveLength(1)
    const row = await issuerStore.get('issuance_session', session.sessionId)
    expect(row?.value).toMatchObject({ erasedAt: clock.now.getTime(), lockedAt: clock.now.getTime() })
    expect(row?.value).not.toHaveProperty('txCode')
  })
})

describe('an issuance session whose code was redeemed', () => {
  it('lives as long as its token', async () => {
    const { clock } = await start()
    const begun = clock.now
    const session = await startedSession(services, { expires_in: 100 })
    clock.now = new Date(begun.getTime() + 99_000)
    await tokenOf(session)
    await at(begun, 99 + ACCESS_TOKEN_SECONDS, 1)
    expect(await statusOf(services, ISSUER_URL, session.sessionId)).toMatchObject({ status: 'STARTED' })
    expect(await datasetOf(session.sessionId)).toEqual(dataset)
    await at(begun, 99 + ACCESS_TOKEN_SECONDS)
    expect(await statusOf(services, ISSUER_URL, session.sessionId)).toMatchObject({ status: 'EXPIRED' })
    expect(await datasetOf(session.sessionId)).toBe(null)
  })

  it('ends with its token, also where its offer was good for longer', async () => {
    const { clock } = await start()
    const begun = clock.now
    const session = await startedSession(services, { expires_in: 7 * DAY })
    await tokenOf(session)
    await at(begun, ACCESS_TOKEN_SECONDS, 1)
    expect(await statusOf(services, ISSUER_URL, session.sessionId)).toMatchObject({ status: 'STARTED' })
    await at(begun, ACCESS_TOKEN_SECONDS)
    expect(await statusOf(services, ISSUER_URL, session.sessionId)).toMatchObject({
      status: 'EXPIRED',
      erased_at: seconds(),
    })
    expect(await events(services.issuerStore, 'issuance.expired')).toHaveLength(1)
    expect(await datasetOf(session.sessionId)).toBe(null)
  })

  it('names the key of the wallet until its end, and not after it', async () => {
    const { clock } = await start()
    const begun = clock.now
    const { key, sessionId } = await boundSession(services)
    const storedToken = async () => (await services.issuerStore.get('issuance_session', sessionId))?.value.token
    expect(await storedToken()).toHaveProperty('jkt', thumbprint(key.jwk))
    await at(begun, ACCESS_TOKEN_SECONDS)
    expect(await storedToken()).toMatchObject({ digest: expect.any(String) as string })
    expect((await storedToken())?.jkt).toBe(undefined)
  })

  it('lives as long as its refresh token, and then as long as the last token of that', async () => {
    const { clock } = await start()
    const begun = clock.now
    const session = await startedSession(services, { expires_in: 10, refresh_seconds: 1000 })
    const redeemed = await postForm(services, `${ISSUER_URL}/auth/token-endpoint`, { ...session.form })
    const { refresh_token: refreshToken } = (await redeemed.json()) as { refresh_token: string }
    await at(begun, 1000, 1)
    expect(await statusOf(services, ISSUER_URL, session.sessionId)).toMatchObject({ status: 'STARTED' })
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken }
    expect((await postForm(services, `${ISSUER_URL}/auth/token-endpoint`, form)).status).toBe(200)
    await at(begun, 1000 + ACCESS_TOKEN_SECONDS, 2)
    expect(await statusOf(services, ISSUER_URL, session.sessionId)).toMatchObject({ status: 'STARTED' })
    expect(await datasetOf(session.sessionId)).toEqual(dataset)
    await at(begun, 1000 + ACCESS_TOKEN_SECONDS, 1)
    expect(await statusOf(services, ISSUER_URL, session.sessionId)).toMatchObject({ status: 'EXPIRED' })
    expect(await datasetOf(session.sessionId)).toBe(null)
  })

  it('gives out copies until its end, then is erased without an event, and stays SUCCEEDED', async () => {
    const { clock } = await start()
    const begun = clock.now
    const ready = await readySession(services, { expires_in: 10 })
    expect((await request(ready)).status).toBe(200)
    await at(begun, ACCESS_TOKEN_SECONDS, 1)
    expect(await datasetOf(ready.sessionId)).toEqual(dataset)
    await at(begun, ACCESS_TOKEN_SECONDS)
    expect(await datasetOf(ready.sessionId)).toBe(null)
    expect(await statusOf(services, ISSUER_URL, ready.sessionId)).toMatchObject({
      status: 'SUCCEEDED',
      erased_at: seconds(),
      credentials: [{ credential_configuration_id: ready.configurationId }],
    })
    expect(await events(services.issuerStore, 'issuance.expired')).toEqual([])
    // Another process whose clock is behind takes the token still, and has nothing to issue.
    clock.now = new Date(begun.getTime() + (ACCESS_TOKEN_SECONDS - 1) * 1000)
    const late = await request({ ...ready, nonce: await fetchNonce(services, ready.sessionId) })
    expect([late.status, await late.json()]).toMatchObject([401, { error: 'invalid_token' }])
  })

  it('keeps its dataset for as long as the setting says', async () => {
    const { clock } = await start({ issuer: { retention: { personalDataSeconds: 50, sessionSeconds: 70 } } })
    const begun = clock.now
    const ready = await readySession(services)
    expect((await request(ready)).status).toBe(200)
    await at(begun, ACCESS_TOKEN_SECONDS)
    await at(begun, ACCESS_TOKEN_SECONDS + 50, 1)
    expect(await datasetOf(ready.sessionId)).toEqual(dataset)
    await at(begun, ACCESS_TOKEN_SECONDS + 50)
    expect(await datasetOf(ready.sessionId)).toBe(null)
    await at(begun, ACCESS_TOKEN_SECONDS + 70, 1)
    expect(await codeOfStatus(ISSUER_URL, ready.sessionId)).toBe(200)
    await at(begun, ACCESS_TOKEN_SECONDS + 70)
    expect(await codeOfStatus(ISSUER_URL, ready.sessionId)).toBe(404)
  })
})

/** Makes a session that has had its presentation, with a transaction and a way back. */
async function presented(more: object = {}) {
  const holder = await holderSigner()
  const credential = await issueCredential(services, holder, unlisted)
  const { sessionId, request: asked } = await startVerification(services, dcqlQuery, more)
  const presentation = await presentationOf(credential, holder, asked, { now: services.clock.now })
  const form = { vp_token: JSON.stringify({ card: [presentation] }), state: asked.state }
  const answer = await postForm(services, asked.response_uri, form)
  expect(answer.status).toBe(200)
  return { sessionId, redirect: ((await answer.json()) as { redirect_uri?: string }).redirect_uri }
}

describe('a verification session without a response', () => {
  it('expires at its second, with one event, and forgets the key that nobody encrypted to', async () => {
    const { clock } = await start(haipVerifier)
    const begun = clock.now
    const { sessionId } = await startVerification(services, dcqlQuery, { expires_in: 100 })
    const stored = async () => (await services.verifierStore.get('verification_session', sessionId))?.value
    await at(begun, 100, 1)
    expect(await stored()).toHaveProperty('encryptionKey.d')
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'STARTED' })
    await at(begun, 100)
    await at(begun, 101)
    expect(await stored()).not.toHaveProperty('encryptionKey')
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'EXPIRED' })
    expect(await events(services.verifierStore, 'verification.expired')).toEqual([
      expect.objectContaining({ at: inSeconds(begun, 100), session: hashSessionId(sessionId) }),
    ])
    clock.now = new Date(begun.getTime() + 99_000)
    const late = await services.fetch(`${VERIFIER_URL}/presentation/oid4vp/authorization-request/${sessionId}`)
    expect(late.status).toBe(410)
  })
})

describe('a verification session with a result', () => {
  it('shows what was disclosed for a day, then how it went and nothing of the person, then nothing', async () => {
    const { clock } = await start()
    const begun = clock.now
    const { sessionId } = await presented()
    await at(begun, DAY, 1)
    const before = (await statusOf(services, VERIFIER_URL, sessionId)) as {
      result: DescribedReport
      [member: string]: unknown
    }
    expect(JSON.stringify(before.result.credentials)).toContain('Ada')
    await at(begun, DAY)
    const [report] = before.result.credentials.card ?? []
    const { format, issuer_certificate, type, checks = [] } = report ?? {}
    const withoutDetail = ({ id, asks, spec, level, outcome }: DescribedCheckResult) => ({
      id,
      asks,
      spec,
      level,
      outcome,
    })
    expect(checks.some(({ detail }) => detail !== undefined)).toBe(true)
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toEqual({
      ...before,
      erased_at: seconds(),
      result: {
        ...before.result,
        checks: before.result.checks.map(withoutDetail),
        credentials: { card: [{ format, issuer_certificate, type, checks: checks.map(withoutDetail) }] },
      },
    })
    expect(await events(services.verifierStore, 'verification.expired')).toEqual([])
    await at(begun, MONTH, 1)
    expect(await codeOfStatus(VERIFIER_URL, sessionId)).toBe(200)
    expect(linesOf('sessions_purged')).toEqual([])
    await at(begun, MONTH)
    expect(await codeOfStatus(VERIFIER_URL, sessionId)).toBe(404)
    expect(linesOf('sessions_purged')).toEqual([expect.objectContaining({ level: 30, sessions: 1 })])
  })

  it('keeps asking for the code of its redirect, of which only the origin is left', async () => {
    const { clock } = await start()
    const begun = clock.now
    const { sessionId, redirect } = await presented({ redirect_uri: 'https://shop.example/done?order=1' })
    await at(begun, DAY)
    const row = await services.verifierStore.get('verification_session', sessionId)
    expect(row?.value.redirectUri).toBe('https://shop.example')
    expect(await statusOf(services, VERIFIER_URL, sessionId)).not.toHaveProperty('result')
    const search = new URL(redirect ?? '').searchParams.get('response_code')
    expect(await statusOf(services, VERIFIER_URL, `${sessionId}?response_code=${search}`)).toHaveProperty(
      'result.verified',
      true,
    )
  })

  it('forgets what a wallet said in words of its own', async () => {
    const { clock } = await start()
    const begun = clock.now
    const { sessionId, request: asked } = await startVerification(services)
    const said = { error: 'access_denied', error_description: 'Ada does not want to', state: asked.state }
    await postForm(services, asked.response_uri, said)
    const other = await startVerification(services)
    const words = { error: 'Ada does not want to', state: other.request.state }
    await postForm(services, other.request.response_uri, words)
    await at(begun, DAY)
    const { wallet_error: left } = await statusOf(services, VERIFIER_URL, sessionId)
    expect(left).toEqual({ error: 'access_denied' })
    const { wallet_error: replaced } = await statusOf(services, VERIFIER_URL, other.sessionId)
    expect(replaced).toEqual({ error: 'unregistered_error' })
  })

  it('forgets what was wrong with a presentation in particular, of which only the outcome of each check is left', async () => {
    const { clock } = await start()
    const begun = clock.now
    const { sessionId, request: asked } = await startVerification(services)
    const disclosure = Buffer.from('["salt","Ada Lovelace",1]').toString('base64url')
    const jwt = `${Buffer.from('{"typ":"vc+sd-jwt"}').toString('base64url')}.e30.AAAA`
    const form = { vp_token: JSON.stringify({ card: [`${jwt}~${disclosure}~`] }), state: asked.state }
    expect((await postForm(services, asked.response_uri, form)).status).toBe(400)
    const before = (await statusOf(services, VERIFIER_URL, sessionId)) as unknown as { result: DescribedReport }
    expect(JSON.stringify(before.result)).toContain('"detail"')
    await at(begun, DAY)
    const after = (await statusOf(services, VERIFIER_URL, sessionId)) as unknown as { result: DescribedReport }
    expect(JSON.stringify(after.result)).not.toContain('"detail"')
    const outcomes = ({ result }: { result: DescribedReport }) =>
      checksOf(result).map(({ id, outcome }) => [id, outcome])
    expect(outcomes(after)).toEqual(outcomes(before))
  })

  it('is erased at once where nothing is to be kept, but not before the application has heard of it', async () => {
    const { clock, verifierStore: store } = await start()
    const { sessionId } = await presented()
    const retention = { personalDataSeconds: 0, sessionSeconds: 100 }
    const sweepOnce = (pending: boolean) => {
      const effects = { ...unused, store, now: () => clock.now }
      return sweepVerifications({ retention } as VerifierConfig, effects, (id) =>
        Promise.resolve(pending && id === sessionId),
      )
    }
    await store.commit([await dueNow(sessionId)])
    await sweepOnce(true)
    const claimsOf = async () =>
      /\bAda\b/.test(JSON.stringify((await store.get('verification_session', sessionId))?.value))
    expect(await claimsOf()).toBe(true)
    const erasedAt = clock.now.getTime() + 60_000
    clock.now = new Date(erasedAt)
    await sweepOnce(false)
    expect(await claimsOf()).toBe(false)
    clock.now = new Date(clock.now.getTime() + 40_000)
    await sweepOnce(true)
    expect(await store.get('verification_session', sessionId)).toMatchObject({ value: { erasedAt } })
    clock.now = new Date(clock.now.getTime() + 60_000)
    await sweepOnce(false)
    expect(await store.get('verification_session', sessionId)).toBe(undefined)
  })

  it('is erased a day late where events cannot be passed on, and keeps no other waiting until then', async () => {
    const { clock, verifierStore: store } = await start()
    const { sessionId } = await presented()
    const sweepOnce = () => {
      const effects = { ...unused, store, now: () => clock.now }
      const retention = { personalDataSeconds: 0, sessionSeconds: 10 * 86_400 }
      const refused = () => Promise.reject(new Error('the audit log was set back'))
      return sweepVerifications({ retention } as VerifierConfig, effects, refused)
    }
    await store.commit([await dueNow(sessionId)])
    await sweepOnce()
    expect(await store.listDue('verification_session', clock.now, 9)).toEqual([])
    const value = async () => (await store.get('verification_session', sessionId))?.value
    expect(await value()).not.toHaveProperty('erasedAt')
    clock.now = new Date(clock.now.getTime() + DAY * 1000)
    await sweepOnce()
    expect(await value()).toHaveProperty('erasedAt', clock.now.getTime())
  })

  it('that comes while the sweep begins is told all the same, and erased afterwards', async () => {
    const store = await openTestStore<VerifierCollections>(verifierMigrations)
    const nothing = (): Promise<unknown> => Promise.resolve()
    let meanwhile = nothing
    const posted: string[] = []
    await start({
      verifierStore: {
        ...store,
        listDue: async (collection, now, limit) => {
          if (collection === 'verification_session') await meanwhile()
          return store.listDue(collection, now, limit)
        },
      },
      verifier: {
        retention: { personalDataSeconds: 0, sessionSeconds: 100 },
        sessionCallback: { url: 'https://app.example/events', apiKey: 'a-key' },
      },
      outbound: ({ body = '' }) => {
        posted.push(body)
        return Promise.resolve({ status: 204, headers: {}, body: new Uint8Array() })
      },
    })
    let sessionId = ''
    meanwhile = async () => {
      meanwhile = nothing
      sessionId = (await presented()).sessionId
    }
    await services.runTasks()
    expect(posted).toEqual([expect.stringContaining('Ada')])
    services.clock.now = new Date(services.clock.now.getTime() + 60_000)
    await services.runTasks()
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toHaveProperty('erased_at')
  })

  it('is erased in its time where the event of another session cannot be read', async () => {
    const store = await openTestStore<VerifierCollections>(verifierMigrations)
    const damaged = 'a'.repeat(26)
    await start({
      verifierStore: withDamagedRows(store, (id) => id === damaged),
      verifier: {
        retention: { personalDataSeconds: 60, sessionSeconds: 600 },
        sessionCallback: { url: 'https://app.example/events', apiKey: 'a-key' },
      },
      outbound: () => Promise.resolve({ status: 204, headers: {}, body: new Uint8Array() }),
    })
    const { clock } = services
    const { sessionId } = await presented()
    const event = { type: 'verification.succeeded', at: clock.now.getTime(), sessionId: 'other' } as const
    await store.commit([{ insert: 'event', id: damaged, value: event, dueAt: clock.now }])
    await expect(services.runTasks()).rejects.toThrow('a value is damaged')
    clock.now = new Date(clock.now.getTime() + 60_000)
    await expect(services.runTasks()).rejects.toThrow('a value is damaged')
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toHaveProperty('erased_at')
  })

  it('is erased in its time where a callback waits and the service has no receiver any more', async () => {
    const { clock, verifierStore: store } = await start()
    const begun = clock.now
    const { sessionId } = await presented()
    const event = { id: 'e', type: 'verification.succeeded', at: begun.getTime(), queuedAt: begun.getTime() }
    const queue = partOf<VerifierCollections, CallbackCollections>(store)
    await queue.commit([await makeEnqueueChange(queue, sessionId, [event], begun)])
    await at(begun, DAY)
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toHaveProperty('erased_at')
    await at(begun, MONTH)
    expect(await codeOfStatus(VERIFIER_URL, sessionId)).toBe(404)
  })
})

const unused = {
  retryOnConflict,
  outbound: () => Promise.reject(new Error('unused')),
  random: randomBytes,
  log: pino({ enabled: false }),
}

async function dueNow(sessionId: string) {
  const row = await services.verifierStore.get('verification_session', sessionId)
  if (row === undefined) throw new Error('no session')
  return {
    update: 'verification_session',
    id: sessionId,
    version: row.version,
    value: row.value,
    dueAt: services.clock.now,
  } as const
}

describe('the files of the database', () => {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-retention-'))
  const namesIn = (name: string) =>
    [name, `${name}-wal`]
      .map((each) => join(directory, each))
      .map((path) => (existsSync(path) ? readFileSync(path, 'latin1') : ''))
      .flatMap((bytes) => [...new Set(bytes.match(/Name-\d+-/g))])

  it('hold nothing of a dataset or of a claim after they were erased', async () => {
    const { clock } = await start({
      issuerStore: await openSqlite(join(directory, 'issuer.db'), issuerMigrations),
      verifierStore: await openSqlite(join(directory, 'verifier.db'), verifierMigrations),
    })
    const begun = clock.now
    // Some are longer than a page.
    const names = Array.from({ length: 12 }, (_, n) => `Name-${n}-`.repeat(1 + n * 60))
    const holder = await holderSigner()
    for (const name of names) {
      const credential = await issueCredential(services, holder, unlisted, { credentialSubject: { given_name: name } })
      const { request: asked } = await startVerification(services)
      const presentation = await presentationOf(credential, holder, asked, { now: clock.now })
      const form = { vp_token: JSON.stringify({ card: [presentation] }), state: asked.state }
      expect((await postForm(services, asked.response_uri, form)).status).toBe(200)
    }
    await at(begun, ACCESS_TOKEN_SECONDS - 1)
    for (const database of ['issuer.db', 'verifier.db']) expect(namesIn(database).length).toBeGreaterThan(10)
    await at(begun, DAY + 1)
    for (const database of ['issuer.db', 'verifier.db']) expect(namesIn(database)).toEqual([])
  })
})

describe('the sweep', () => {
  const config = { retention: { personalDataSeconds: 0, sessionSeconds: MONTH } } as IssuerConfig
  const freshFile = () => join(mkdtempSync(join(tmpdir(), 'vouchsafe-retention-')), 'test.db')
  const value = { configurationIds: ['a'], createdAt: 0, expiresAt: 1000, issued: [] }

  it('makes one event of each session when two processes run it at once, and drains more than one turn', async () => {
    const file = freshFile()
    const issuerStore = await openSqlite<IssuerCollections>(file, issuerMigrations)
    const other = await openSqlite<IssuerCollections>(file, issuerMigrations)
    const ids = Array.from({ length: 130 }, (_, n) => `session-${n}`)
    const inserts = ids.flatMap((id) => [
      { insert: 'issuance_session', id, value, dueAt: new Date(1000) } as const,
      { insert: 'issuance_dataset', id, value: dataset } as const,
    ])
    expect(await issuerStore.commit(inserts)).toBe(undefined)
    const run = (store: typeof other) => sweepIssuanceSessions(config, { ...unused, store, now: () => new Date(5000) })
    await Promise.all([run(issuerStore), run(other), run(issuerStore)])
    await run(other)
    const found = (await issuerStore.list('event')).map(({ value: event }) => event)
    for (const { sessionId, type, data } of found)
      expect([type, data]).toMatchObject([
        'issuance.expired',
        { session_id: sessionId, status: 'EXPIRED', erased_at: 5 },
      ])
    expect(found.map(({ sessionId }) => sessionId).sort()).toEqual([...ids].sort())
    expect((await issuerStore.list('issuance_dataset')).filter(({ value: left }) => left !== null)).toEqual([])
    await Promise.all([issuerStore.close(), other.close()])
  })

  it('finds sessions that an earlier release began', async () => {
    const file = freshFile()
    const older = await openSqlite<IssuerCollections>(file, issuerMigrations.slice(0, 3))
    await older.commit([{ insert: 'issuance_session', id: 'old', value }])
    await older.close()
    const issuerStore = await openSqlite<IssuerCollections>(file, issuerMigrations)
    await sweepIssuanceSessions(config, { ...unused, store: issuerStore, now: () => new Date(5000) })
    expect((await issuerStore.get('issuance_session', 'old'))?.value.expiredAt).toBe(5000)
    await issuerStore.close()
    const other = freshFile()
    const before = await openSqlite<VerifierCollections>(other, verifierMigrations.slice(0, 3))
    const session = { queryId: 'q', createdAt: 0, expiresAt: 1000, nonce: 'n', state: 's', clientId: 'c' }
    await before.commit([{ insert: 'verification_session', id: 'old', value: session }])
    await before.close()
    const store = await openSqlite<VerifierCollections>(other, verifierMigrations)
    const now = () => new Date(5000)
    await sweepVerifications(config as unknown as VerifierConfig, { ...unused, store, now }, () =>
      Promise.resolve(false),
    )
    expect((await store.get('verification_session', 'old'))?.value.expiredAt).toBe(5000)
    await store.close()
  })

  it('lets one session that fails keep no other from its end', async () => {
    const { issuerStore } = await start()
    const broken = { ...value, issued: undefined } as unknown as typeof value
    await issuerStore.commit([
      { insert: 'issuance_session', id: 'broken', value: broken, dueAt: new Date(1) },
      { insert: 'issuance_session', id: 'good', value, dueAt: new Date(1000) },
    ])
    const effects = { ...unused, store: issuerStore, now: () => new Date(5000) }
    await expect(sweepIssuanceSessions(config, effects)).rejects.toThrow()
    expect((await issuerStore.get('issuance_session', 'good'))?.value.expiredAt).toBe(5000)
  })
})

describe('the command', () => {
  it('records the end of a session that came while it was down, keeps it encrypted, and does not start without its key', async () => {
    const database = { url: 'sqlite:data/issuer.db', encryptionKeyFile: 'database.key' }
    const directory = await serviceDirectory('issuer', { database })
    writeFileSync(join(directory, 'database.key'), randomBytes(32).toString('base64'))
    const first = await startProcess('issuer', directory)
    const sessionId = await newSession(first)
    const endOfSession = Date.now() + 1000
    await stop(first)
    await vi.waitUntil(() => Date.now() > endOfSession, { timeout: 60_000 })
    const file = join(directory, 'data', 'issuer.db')
    expect(readFileSync(file, 'latin1').includes('Lovelace')).toBe(false)
    const second = await startProcess('issuer', directory)
    const status = async () =>
      (await (
        await fetch(`${second.url}/issuance/oid4vci/status/${sessionId}`, { headers: authorization })
      ).json()) as Record<string, unknown>
    await expect.poll(status).toMatchObject({ status: 'EXPIRED', erased_at: expect.any(Number) as number })
    await stop(second)
    writeFileSync(join(directory, 'database.key'), randomBytes(32).toString('base64'))
    const { status: code, stderr } = await vouchsafe(['issuer'], { cwd: directory })
    expect(code).toBe(2)
    expect(stderr).toMatch(/database\.encryptionKeyFile: the database is encrypted with the key \S+, which is not in/)
  })

  async function newSession({ url }: Running): Promise<string> {
    const headers = { ...authorization, 'content-type': 'application/json' }
    const post = (path: string, body: object) =>
      fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    const id = await (await post('/credential-configuration/create', configuration)).text()
    const body = { credential_dataset: dataset, credential_configurations: [id], expires_in: 1 }
    const response = await post('/issuance/oid4vci/new-session', body)
    return ((await response.json()) as { session_id: string }).session_id
  }

  async function stop({ child, ended }: Running): Promise<void> {
    child.kill('SIGTERM')
    expect((await ended).status).toBe(0)
  }
})
