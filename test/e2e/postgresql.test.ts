/**
 * Services as processes on one PostgreSQL database, with nothing else that they share: interface section 2, `database`.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { openingFailureOf, openServiceDatabase } from '../../src/bin/database/checked-database.ts'
import { diagnose } from '../../src/bin/doctor/diagnosis.ts'
import { filesIn } from '../../src/bin/effects.ts'
import { withConnection } from '../../src/store/postgres-connections.ts'
import { startCommand, vouchsafe } from '../support/command.ts'
import { endService, listening, type Running, serviceDirectory, start } from '../support/service-process.ts'
import { ISSUER_URL, type Services, VERIFIER_URL } from '../support/services.ts'
import { freshUrl, postgresOf, serverUrl } from '../support/store.ts'
import {
  codeOf,
  declare,
  fetchNonce,
  GRANT,
  holderSigner,
  keyProof,
  postForm,
  requestCredential,
  startIssuance,
  startVerification,
  statusOf,
} from '../support/wire.ts'

/** The issuers, which started at once where nothing was yet; and the verifiers. Each kind has one database. */
let issuers: readonly Running[] = []
let verifiers: readonly Running[] = []
const running: Running[] = []
const issuerUrl = freshUrl()
beforeAll(async () => {
  issuers = await startAll(4, 'issuer', await directoryOn('issuer', issuerUrl))
  verifiers = await startAll(2, 'verifier', await directoryOn('verifier', freshUrl(), { management: { port: 0 } }))
})
afterAll(async () => {
  for (const each of running) await endService(each, 'SIGKILL')
})

/** Makes a directory whose database is in the form of JDBC, with user and password beside the address. */
function directoryOn(service: 'issuer' | 'verifier', address: string, more: object = {}): Promise<string> {
  const url = new URL(address)
  const { username: user, password } = url
  Object.assign(url, { username: '', password: '' })
  const database = {
    persistenceUnitName: 'a',
    driver: 'org.postgresql.Driver',
    url: `jdbc:${url.href}`,
    user,
    password,
  }
  return serviceDirectory(service, {
    baseUrl: service === 'issuer' ? ISSUER_URL : VERIFIER_URL,
    database,
    ...more,
  })
}

function startAll(count: number, service: 'issuer' | 'verifier', directory: string): Promise<Running[]> {
  const startOne = async () => {
    const started = await start(service, directory)
    running.push(started)
    return started
  }
  return Promise.all(Array.from({ length: count }, startOne))
}

/** Makes what the steps of a wallet need of the services: each request goes to the next of the processes. */
function overAll(processes: readonly Running[]): Services {
  let requests = 0
  const fetchFromNext = (input: string, init?: RequestInit): Promise<Response> => {
    const { url } = processes[requests++ % processes.length] as Running
    return fetch(input.replace(/^http:\/\/\w+\.localhost/, url), init)
  }
  return { fetch: fetchFromNext, clock: { now: new Date() } } as unknown as Services
}

it('says in its metrics how many connections it has', async () => {
  const port = String(verifiers[0]?.listening.managementPort)
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const counts = [...metrics.matchAll(/^vouchsafe_verifier_database_connections\{state="(\w+)"\} (\d+)$/gm)]
  expect(counts.map(([, state]) => state)).toEqual(['busy', 'idle', 'waiting'])
  expect(counts.reduce((sum, [, , count]) => sum + Number(count), 0)).toBeGreaterThan(0)
})

const fifty = <T>(work: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: 50 }, work))

/** Counts the answers by status. */
async function counts(responses: readonly Response[]): Promise<Record<number, number>> {
  const result: Record<number, number> = {}
  for (const response of responses) {
    await response.arrayBuffer()
    result[response.status] = (result[response.status] ?? 0) + 1
  }
  return result
}

describe('on one database', () => {
  it('four processes start at once where nothing is yet', async () => {
    const ready = await Promise.all(issuers.map(({ url }) => fetch(`${url}/health/ready`)))
    expect(ready.map(({ status }) => status)).toEqual(Array(4).fill(200))
    const id = await declare(overAll(issuers))
    const statuses = await Promise.all(issuers.map((each) => declareAgain(overAll([each]), id)))
    expect(statuses).toEqual(Array(4).fill(200))
  })

  it('processes issue together, and take each code and each nonce once', async () => {
    const services = overAll(issuers)
    const { sessionId, id } = await startIssuance(services)
    const form = { grant_type: GRANT, 'pre-authorized_code': await codeOf(services, sessionId) }
    const tokens = await fifty(() => postForm(services, `${ISSUER_URL}/auth/token-endpoint/${sessionId}`, form))
    const won = tokens.find(({ status }) => status === 200) as Response
    const { access_token: token } = (await won.clone().json()) as { access_token: string }
    expect(await counts(tokens)).toEqual({ 200: 1, 400: 49 })
    const proof = { holder: await holderSigner(), nonce: await fetchNonce(services, sessionId), audience: '' }
    const jwt = await keyProof({ ...proof, audience: `${ISSUER_URL}/${sessionId}` }, new Date())
    const body = { credential_configuration_id: id, proof: { proof_type: 'jwt', jwt } }
    expect(await counts(await fifty(() => requestCredential(services, token, body)))).toEqual({ 200: 1, 400: 49 })
    expect(await statusOf(services, ISSUER_URL, sessionId)).toMatchObject({ status: 'SUCCEEDED' })
  })

  it('two processes verify together, and take one response of a session', async () => {
    const services = overAll(verifiers)
    const { sessionId, request } = await startVerification(services)
    const form = { error: 'access_denied', state: request.state }
    const responses = await fifty(() => postForm(services, request.response_uri, form))
    expect((await counts(responses))[200]).toBe(1)
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'DECLINED' })
  })
})

async function declareAgain(services: Services, id: string): Promise<number> {
  const response = await services.fetch(`${ISSUER_URL}/credential-configuration/${id}`, {
    headers: { authorization: `Bearer ${'k'.repeat(64)}` },
  })
  return response.status
}

describe('a service that cannot use its database', () => {
  const { username: user, password } = new URL(serverUrl())

  it.each([
    ['with another password', {}, /password authentication failed.*; see database\.user/, 2],
    ['with another port', { url: 'postgresql://127.0.0.1:1/issuer' }, /ECONNREFUSED.*; see whether the server/, 75],
  ])('%s does not start, and says why without the password', async (_, changes, reason, status) => {
    const database = { user, password: 'wrong-password', url: serverUrl().replace(/\/\/.*@/, '//'), ...changes }
    const end = await vouchsafe(['issuer'], { cwd: await serviceDirectory('issuer', { database }) })
    expect(end.status).toBe(status)
    expect(end.stderr).toMatch(/ {2}- database\.url: postgresql:\/\/127\.0\.0\.1:\d+\/\w+: PostgreSQL: /)
    expect(end.stderr).toMatch(reason)
    expect(end.stdout + end.stderr).not.toContain('wrong-password')
  })

  it.each([
    ['without a password', { password: '' }, /; the server asks for a password: write it into database\.password/],
    ['with a database that does not exist', { pathname: '/missing' }, /database "missing" does not exist; make the/],
    ['with TLS and a CA that is not known', { search: 'sslmode=verify-full' }, /certificate/],
  ])('%s says why without the password', async (_, changes, reason) => {
    const database = postgresOf(Object.assign(new URL(serverUrl()), changes).href)
    const options = { log: pino({ level: 'silent' }), onReplaced: () => Promise.reject(new Error('replaced')) }
    const error: unknown = await openServiceDatabase(database, [], options).catch((error: unknown) => error)
    const { mistake, isTemporary } = openingFailureOf(database, error)
    expect([mistake, isTemporary]).toEqual([expect.stringMatching(reason), false])
    expect(mistake).not.toContain(password)
  })

  it('since the other service has it ends with 2, and says what to do', async () => {
    const end = await vouchsafe(['verifier'], { cwd: await directoryOn('verifier', issuerUrl) })
    expect([end.status, end.stderr]).toEqual([2, expect.stringMatching(/another service.*one of its own/)])
  })
})

/** Returns what the doctor finds of the issuer, a line for each finding. */
async function examine(directory: string): Promise<string> {
  const configFile = join(directory, 'conf', 'server.json')
  const value: unknown = JSON.parse(readFileSync(configFile, 'utf8'))
  const findings = await diagnose({ service: 'issuer', value, configFile }, filesIn(directory), new Date())
  return findings.map(({ outcome, subject, text }) => `${outcome} ${subject}: ${text}`).join('\n')
}

describe('vouchsafe doctor', () => {
  it('says what it found of a database, and changes nothing in it', async () => {
    const url = freshUrl()
    const doctor = async (directory: Promise<string>) =>
      (await vouchsafe(['doctor'], { cwd: await directory })).stdout.replace(/\s+/g, ' ')
    expect(await doctor(directoryOn('issuer', url))).toMatch(
      /note database: postgresql:\S+ is reached; its schema is brought up to date/,
    )
    const tables = await withConnection(postgresOf(url), (query) =>
      query({ text: 'select current_schema() as name', values: [] }),
    )
    expect(tables.rows).toEqual([{ name: null }])
    const text = await doctor(directoryOn('issuer', issuerUrl))
    expect(text).toMatch(/ok database: postgresql:\S+ is reached; its schema is issuer-\d+, the newest/)
    expect(text).toMatch(/ok database: PostgreSQL 18\S*; the connection is not encrypted/)
    expect(text).not.toContain(postgresOf(url).password)
    expect(await doctor(directoryOn('verifier', issuerUrl))).toMatch(/problem database: .* of another service/)
  })

  it('says which key of an encrypted database is missing', async () => {
    const url = freshUrl()
    const line = () => `${randomBytes(32).toString('base64')}\n`
    const lines = [line(), line()]
    const encrypted = async (text: string) => {
      const directory = await directoryOn('issuer', url)
      writeFileSync(join(directory, 'database.key'), text, { mode: 0o600 })
      const file = join(directory, 'conf', 'server.json')
      const settings = JSON.parse(readFileSync(file, 'utf8')) as { database: object }
      const database = { ...settings.database, ...(text !== '' && { encryptionKeyFile: 'database.key' }) }
      writeFileSync(file, JSON.stringify({ ...settings, database }))
      return directory
    }
    for (const text of [lines[0] ?? '', lines.toReversed().join('')]) {
      const issuer = await start('issuer', await encrypted(text))
      issuer.child.kill('SIGTERM')
      await issuer.ended
    }
    const doctor = async (text: string) => examine(await encrypted(text))
    expect(await doctor(lines.join(''))).toMatch(/ok database.encryptionKeyFile: personal data is encrypted with/)
    expect(await doctor('')).toMatch(/problem database.encryptionKeyFile: the database is encrypted; name the file/)
    expect(await doctor(lines[1] ?? '')).toMatch(
      /problem database.encryptionKeyFile: .* which is not in this file; add its line, which is needed until/,
    )
  })

  it('says what is wrong with a database', async () => {
    const examineDatabase = async (changes: object, pool = {}) => {
      const url = Object.assign(new URL(serverUrl()), changes).href
      return examine(await serviceDirectory('issuer', { database: { url, pool } }))
    }
    const missing = await examineDatabase({ pathname: '/missing' })
    expect(missing).toMatch(/problem database: postgresql:\S+ cannot be used: PostgreSQL: database "missing" does not/)
    const wrong = await examineDatabase({ password: 'wrong-password' })
    expect(wrong).toMatch(/problem database: .*password authentication failed.*; see database\.user/)
    expect(wrong).not.toContain('wrong-password')
    const many = await examineDatabase({ search: 'currentSchema=missing' }, { maxConnections: 1000 })
    expect(many).toMatch(/warning database: pool\.maxConnections is 1000, and the server takes \d+/)
  })
})

describe('while another process brings the schema up to date', () => {
  const MIGRATION_LOCK = 0x766f7563

  /** Starts the command, and ends the migration of the other process once `stream` of the command has the text. */
  const startedMeanwhile = (words: readonly string[], stream: 'stdout' | 'stderr', text: string) =>
    withConnection(postgresOf(serverUrl()), async (run) => {
      const url = freshUrl()
      const schema = new URL(url).searchParams.get('currentSchema')
      await run({ text: 'begin', values: [] })
      await run({ text: 'select pg_advisory_xact_lock($1, hashtext($2))', values: [MIGRATION_LOCK, schema] })
      const command = startCommand(words, { cwd: await directoryOn('issuer', url) })
      let output = ''
      command.child[stream]?.on('data', (chunk: string) => {
        output += chunk
      })
      await vi.waitUntil(() => output.includes(text), { timeout: 60_000 })
      await run({ text: 'commit', values: [] })
      return command
    })

  it('a service logs once what it waits for, and starts then', async () => {
    const { child, ended } = await startedMeanwhile(['issuer'], 'stdout', 'migration_awaited')
    const { stdout } = await endService(await listening(child, ended), 'SIGTERM')
    const lines = stdout.split('\n').filter((line) => line.includes('migration_awaited'))
    const message = expect.stringMatching(/^postgresql:\S+: waiting for another process/) as string
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([expect.objectContaining({ message })])
  })

  let from: string
  beforeAll(async () => {
    from = await serviceDirectory('issuer')
    for (const words of [['migrate'], ['backup', 'backup.db']])
      expect((await vouchsafe(['db', ...words], { cwd: from })).status).toBe(0)
  })

  it.each(['migrate', 'restore', 'copy'])('db %s says on stderr what it waits for', async (word) => {
    const rest = {
      migrate: [],
      restore: [join(from, 'backup.db')],
      copy: ['--from', `sqlite:${join(from, 'data/issuer.db')}`, '--to', 'conf/server.json', '--service', 'issuer'],
    }[word]
    const { ended } = await startedMeanwhile(['db', word, ...(rest ?? [])], 'stderr', 'another process')
    const { status, stderr } = await ended
    const told = /^postgresql:\S+: waiting for another process.*\n(\S+: \d+ rows? copied\n)*$/
    expect([status, stderr]).toEqual([0, expect.stringMatching(told)])
  })
})
