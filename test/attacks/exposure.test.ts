/**
 * Attacks by strangers beside the protocol: what they can learn, claim or make a service do by logs, names, markup, and
 * the database.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issuerMigrations } from '../../src/issuer/collections.ts'
import { openPostgres } from '../../src/store/postgres.ts'
import { withConnection } from '../../src/store/postgres-connections.ts'
import { loadDriver, openSqlite } from '../../src/store/sqlite.ts'
import type { Migration } from '../../src/store/store.ts'
import { verifierMigrations } from '../../src/verifier/collections.ts'
import { boundSession, dpopProof, postToken } from '../support/dpop.ts'
import {
  dump,
  expectIssued,
  proofOf,
  readySession,
  request,
  requestOf,
  startedSession,
  TOKEN_ENDPOINT,
} from '../support/issuance.ts'
import type { JwtChanges } from '../support/jwt.ts'
import { ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { freshUrl, postgresOf } from '../support/store.ts'
import { call, dataset, fetchNonce, postForm, startIssuance, startVerification } from '../support/wire.ts'

describe('a service', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  it('logs no session id, code, token, nonce or proof of an issuance, whether it went well or not', async () => {
    const ready = await readySession(services)
    const proof = await proofOf(ready)
    await expectIssued(ready)
    await request(ready, { proof: { proof_type: 'jwt', jwt: proof } })
    await request({ ...ready, token: `${ready.token}x` })
    const lines = services.logLines.join('\n')
    expect(lines).toContain('"event"')
    const secrets = [ready.sessionId, ready.code, ready.token, ready.nonce, ...proof.split('.')]
    expect(secrets.filter((secret) => lines.includes(secret))).toEqual([])
  })

  it('logs nothing either of what comes later and of what is bound, whether it went well or not', async () => {
    const supplied = 'code-of-another-server-1'
    const [txCode, later] = ['83649271', { credential_dataset: undefined, deferred: true }]
    const ready = await boundSession(services, { ...later, refresh_seconds: 600 })
    const session = await startedSession(services, { 'pre-authorized_code': supplied, tx_code: { value: txCode } })
    const wrong = '71946382'
    for (const tx of [wrong, txCode]) await postToken(session, undefined, { tx_code: tx })
    const proofs: string[] = []
    const ask = async (path: string, body: object, changes: JwtChanges = {}) => {
      const { key, dpop: nonce, token } = ready
      const url = `${ISSUER_URL}/issuance/oid4vci/${path}`
      const dpop = await dpopProof({ services, key, url, nonce, token }, changes)
      proofs.push(...dpop.split('.'))
      const headers = { authorization: `DPoP ${token}`, dpop, 'content-type': 'application/json' }
      const response = await services.fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
      return (response.status === 204 ? {} : await response.json()) as Record<string, string>
    }
    const { transaction_id: id = '' } = await ask('credential-request', await requestOf(ready))
    const said = 'Ada has no room for it.'
    const reason = 'Her examination is next week.'
    await ask('deferred-credential', { transaction_id: `${id}x` })
    await ask('deferred-credential', { transaction_id: id }, { payload: { htu: 'https://x.example' } })
    await call(services, `${ISSUER_URL}/issuance/oid4vci/complete/${ready.sessionId}`, { credential_dataset: dataset })
    const { notification_id: notification = '' } = await ask('deferred-credential', { transaction_id: id })
    const told = { notification_id: notification, event: 'credential_failure', event_description: said }
    await ask('notification', told)
    await ask('notification', { ...told, notification_id: `${notification}x` })
    const { sessionId: denied } = await startIssuance(services, later)
    for (const body of [{ reason }, { denied: true, reason }]) {
      await call(services, `${ISSUER_URL}/issuance/oid4vci/complete/${denied}`, body)
    }
    const refresh = ready.response.refresh_token as string
    for (const refresh_token of [refresh, `${refresh}x`]) {
      await postForm(services, TOKEN_ENDPOINT, { grant_type: 'refresh_token', refresh_token })
    }
    const lines = services.logLines.join('\n')
    expect([id, notification].filter((each) => each === '')).toEqual([])
    const sessions = [ready.sessionId, session.sessionId, denied]
    const texts = [
      ready.token,
      refresh,
      refresh.split('.')[1] ?? '',
      id,
      notification,
      supplied,
      txCode,
      wrong,
      said,
      reason,
    ]
    const secrets = [...sessions, ...texts, ready.dpop, ...proofs, 'Lovelace']
    expect(secrets.filter((secret) => lines.includes(secret))).toEqual([])
  })

  it('names itself by its configuration, whatever Host and X-Forwarded-* say', async () => {
    const { sessionId } = await startIssuance(services)
    const { sessionId: verification } = await startVerification(services)
    const headers = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'gopher',
      forwarded: 'host=evil.example;proto=gopher',
    }
    for (const [app, url] of [
      [services.issuer, `/.well-known/openid-credential-issuer/${sessionId}`],
      [services.issuer, `/.well-known/oauth-authorization-server/${sessionId}`],
      [services.issuer, `/issuance/oid4vci/credential-offer/${sessionId}`],
      [services.verifier, `/presentation/oid4vp/authorization-request/${verification}`],
    ] as const) {
      const { statusCode, body } = await app.inject({ method: 'GET', url, headers })
      const text = body.startsWith('{') ? body : Buffer.from(body.split('.')[1] ?? '', 'base64url').toString()
      expect([url, statusCode]).toEqual([url, 200])
      expect(text).toContain(app === services.issuer ? ISSUER_URL : VERIFIER_URL)
      expect(text).not.toMatch(/evil\.example|gopher/)
    }
  })

  it('makes nonces without storing anything', async () => {
    const { sessionId } = await startIssuance(services)
    const before = await dump(services)
    const nonces = await Promise.all(Array.from({ length: 200 }, () => fetchNonce(services, sessionId)))
    expect(new Set(nonces).size).toBe(200)
    expect(await dump(services)).toBe(before)
  })

  it('answers markup with JSON that no browser takes for a page', async () => {
    const markup = '<script>alert(1)</script>'
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    for (const app of [services.issuer, services.verifier]) {
      for (const injected of [
        { method: 'GET', url: `/${encodeURIComponent(markup)}` },
        { method: 'GET', url: `/.well-known/openid-credential-issuer/${encodeURIComponent(markup)}` },
        { method: 'GET', url: `/presentation/oid4vp/authorization-request/${encodeURIComponent(markup)}` },
        { method: 'POST', url: '/auth/token-endpoint', headers: form, payload: `grant_type=${markup}` },
        { method: 'POST', url: '/issuance/oid4vci/credential-request', headers: { authorization: markup } },
      ] as const) {
        const { headers, statusCode, body } = await app.inject(injected)
        expect(statusCode).toBeGreaterThanOrEqual(400)
        expect(JSON.parse(body)).toMatchObject({ error: expect.any(String) as unknown })
        expect(headers['content-type']).toMatch(/^application\/json\b/)
        expect(headers['x-content-type-options']).toBe('nosniff')
      }
    }
  })

  it('asks the database a dozen times for a whole issuance', async () => {
    const counted = services.issuerStore
    const calls = { get: 0, commit: 0 }
    // Timers of the issuer ask too; only what the requests of this test lead to counts.
    const issuance = new AsyncLocalStorage<boolean>()
    const original = { ...counted }
    Object.assign(counted, {
      get: (...args: Parameters<typeof original.get>) => {
        if (issuance.getStore()) calls.get += 1
        return original.get(...args)
      },
      commit: (...args: Parameters<typeof original.commit>) => {
        // The progress of wallets is written beside the requests, for many sessions at a time.
        if (issuance.getStore() && !JSON.stringify(args).includes('issuance_progress')) calls.commit += 1
        return original.commit(...args)
      },
    })
    try {
      await issuance.run(true, async () => request(await readySession(services)))
    } finally {
      Object.assign(counted, original)
    }
    // The configuration, the session, the token, and the credential with its nonce.
    expect(calls.commit).toBe(4)
    expect(calls.get).toBeGreaterThan(3)
    expect(calls.get).toBeLessThanOrEqual(12)
  })
})

describe('a database with many sessions in it', () => {
  it.each([
    [
      'issuer',
      issuerMigrations,
      [
        'issuance_session',
        'issuance_dataset',
        'credential_configuration',
        'spent_nonce',
        'issuance_progress',
        'credential_status',
        'status_list',
        'status_chunk',
        'status_space',
      ],
    ],
    ['verifier', verifierMigrations, ['verification_session', 'verification_query', 'verification_progress']],
  ] as const)('of the %s is searched by an index, never as a whole', async (name, migrations, collections) => {
    const { plan, byIndex, close } = await plansOf(name, migrations)
    for (const collection of collections) {
      expect(await plan(`select value, version from ${collection} where id = 'a'`)).toMatch(byIndex)
      expect(await plan(`update ${collection} set version = 1 where id = 'a' and version = 0`)).toMatch(byIndex)
      const due = `select id from ${collection} where due_at <= 1 order by due_at`
      expect(await plan(due)).toMatch(byIndex)
      expect(await plan(`delete from ${collection} where due_at <= 1`)).toMatch(byIndex)
      expect(await plan(`delete from ${collection} where id in (${due} limit 9)`)).toMatch(byIndex)
    }
    // Sessions are listed by an index that has them in their order: no row beside the page is read or sorted.
    const sessions = collections.find((collection) => collection.endsWith('_session')) ?? ''
    const page = `select id, value, created_at from ${sessions} where (created_at, id) < (1, 'a')`
    const listing = await plan(`${page} order by created_at desc, id desc limit 9`)
    expect(listing).toMatch(byIndex)
    expect(listing).toMatch(/_created_at/)
    expect(listing).not.toMatch(/sort|temp b-tree/i)
    await close()
  })
})

interface Plans {
  readonly plan: (sql: string) => Promise<string>
  readonly byIndex: RegExp
  readonly close: () => Promise<void>
}

/** Returns how the database that these tests are about would answer a statement. */
async function plansOf(name: string, migrations: readonly Migration[]): Promise<Plans> {
  if (process.env.VOUCHSAFE_TEST_STORE !== undefined) return postgresPlans(migrations)
  const file = join(mkdtempSync(join(tmpdir(), 'vouchsafe-index-')), `${name}.db`)
  await (await openSqlite(file, migrations)).close()
  const Driver = await loadDriver()
  const database = new Driver(file)
  return {
    plan: (sql) => {
      const steps = database.prepare(`explain query plan ${sql}`).all()
      return Promise.resolve(steps.map(({ detail }) => String(detail)).join())
    },
    byIndex: /^(?!.*SCAN).*SEARCH .* USING .*INDEX/,
    close: () => {
      database.close()
      return Promise.resolve()
    },
  }
}

async function postgresPlans(migrations: readonly Migration[]): Promise<Plans> {
  const options = postgresOf(freshUrl())
  await (await openPostgres(options, migrations)).close()
  return {
    plan: (sql) =>
      withConnection(options, async (run) => {
        // The tables are empty, and it would read them whole; now it does so only where there is no index.
        await run({ text: 'set enable_seqscan = off', values: [] })
        const { rows } = await run({ text: `explain ${sql}`, values: [] })
        return rows.map((row) => String(row['QUERY PLAN'])).join()
      }),
    byIndex: /^(?!.*Seq Scan).*Index/,
    close: () => Promise.resolve(),
  }
}
