/**
 * The commands of docs/operating.md, callbacks.md, console.md and verifying.md do what the pages say, with services of
 * their own.
 */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { hashSessionId } from '../src/audit/record.ts'
import { COMMAND, temporaryDirectory, vouchsafe } from './support/command.ts'
import { snippetWith } from './support/documents.ts'
import { type Running, start } from './support/service-process.ts'
import { runShell } from './support/shell.ts'
import { dcqlQuery } from './support/wire.ts'

const OPERATING = 'docs/operating.md'

interface Place {
  readonly directory: string
  readonly apiKey: string
}

/** The directory in which `init` made each service, in a folder of its name. */
let initialised: string
beforeAll(async () => {
  initialised = mkdtempSync(join(tmpdir(), 'vouchsafe-operating-'))
  for (const service of ['issuer', 'verifier'])
    expect((await vouchsafe(['init', service, '--dir', service], { cwd: initialised })).status).toBe(0)
  return () => rmSync(initialised, { recursive: true })
})

/** Makes the directory of a service as `init` does, with any free port and more settings. */
async function made(service: 'issuer' | 'verifier', more: object = {}): Promise<Place> {
  const directory = temporaryDirectory()
  await cp(join(initialised, service), directory, { recursive: true })
  const file = join(directory, 'conf/server.json')
  const config = JSON.parse(readFileSync(file, 'utf8')) as { integrations: { authentication: Record<string, string> } }
  // A verifier trusts nobody until it has an anchor, and starts without the setting.
  writeFileSync(file, JSON.stringify({ ...config, issuerTrustAnchors: undefined, port: 0, ...more }))
  return { directory, apiKey: Object.keys(config.integrations.authentication)[0] ?? '' }
}

async function started(service: 'issuer' | 'verifier', { directory }: Place): Promise<Running> {
  const running = await start(service, directory)
  onTestFinished(() => void running.child.kill('SIGKILL'))
  return running
}

interface Session {
  readonly id: string
  /** Answers the request with what is not a presentation. */
  readonly fail: () => Promise<void>
}

/** Starts a session at a verifier. */
async function newSession({ url }: Running, { apiKey }: Place): Promise<Session> {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
  const post = async (path: string, body: object) =>
    (await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })).text()
  const query = await post('/dcql-query/create', dcqlQuery)
  const session = await post('/presentation/oid4vp/new-session', { verification_query_id: query })
  const { session_id: id } = JSON.parse(session) as { readonly session_id: string }
  return {
    id,
    fail: async () => {
      const request = await (await fetch(`${url}/presentation/oid4vp/authorization-request/${id}`)).text()
      const { state } = JSON.parse(Buffer.from(request.split('.')[1] ?? '', 'base64url').toString()) as Record<
        string,
        string
      >
      const body = new URLSearchParams({ vp_token: '{"card":["no presentation"]}', state: state ?? '' })
      const answer = await fetch(`${url}/presentation/oid4vp/authorization-response/${id}`, { method: 'POST', body })
      expect(answer.status).toBe(400)
    },
  }
}

describe('keys and secrets', () => {
  it('a CA gets a request that names the issuer', async () => {
    const cwd = temporaryDirectory()
    mkdirSync(join(cwd, 'conf'))
    await runShell(snippetWith(OPERATING, 'openssl req -new'), cwd)
    const text = execFileSync('openssl', ['req', '-in', 'issuer.csr', '-noout', '-verify', '-text'], { cwd })
    expect(text.toString()).toMatch(
      /CN ?= ?Example University[\s\S]*ASN1 OID: prime256v1[\s\S]*URI:https:\/\/issuer\.example/,
    )
  })

  it('a service starts with the key of a database', async () => {
    const setting = JSON.parse(`{${snippetWith(OPERATING, '"encryptionKeyFile"')}}`) as object
    const place = await made('issuer', setting)
    await runShell(snippetWith(OPERATING, 'conf/database.key)'), place.directory)
    await started('issuer', place)
    const doctor = await vouchsafe(['doctor', 'issuer'], { cwd: place.directory })
    expect(doctor.stdout).toMatch(/encrypt/)
  })

  it('a query names an authority by the key identifier in the certificate of an issuer', async () => {
    const cwd = temporaryDirectory()
    const make = (...args: string[]) => execFileSync('openssl', args, { cwd, stdio: 'pipe' })
    const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout']
    make('req', '-x509', ...newKey, 'ca.key', '-out', 'ca.pem', '-subj', '/CN=CA')
    make('req', '-new', ...newKey, 'issuer.key', '-out', 'issuer.csr', '-subj', '/CN=I')
    const [, own = ''] =
      /Identifier: *\n\s*([\w:]+)/.exec(
        make('x509', '-in', 'ca.pem', '-noout', '-ext', 'subjectKeyIdentifier').toString(),
      ) ?? []
    // CAs of companies often name the issuer and its serial number as well.
    for (const members of ['keyid', 'keyid:always,issuer:always']) {
      writeFileSync(join(cwd, 'extensions'), `authorityKeyIdentifier = ${members}`)
      make(
        ...'x509 -req -in issuer.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile extensions -out issuer.pem'.split(
          ' ',
        ),
      )
      const printed = await runShell(snippetWith('docs/verifying.md', 'authorityKeyIdentifier'), cwd)
      expect(Buffer.from(printed.trim(), 'base64url').toString('hex')).toBe(own.replaceAll(':', '').toLowerCase())
    }
  })
})

describe('a backup of an embedded database', () => {
  it('is made while the service runs, and put back', async () => {
    const place = await made('issuer')
    const before = await started('issuer', place)
    const making = snippetWith(OPERATING, 'vouchsafe db backup').replace('/backup/', '')
    expect(await runShell(making, place.directory)).toMatch(/is a backup of data\/issuer\.db/)
    before.child.kill('SIGTERM')
    await before.ended
    const [backup = ''] = readdirSync(place.directory).filter((name) => name.endsWith('.db'))
    const restoring = snippetWith('docs/how-to/restore-a-backup.md', 'db restore')
    const printed = await runShell(restoring, place.directory, { BACKUP: backup })
    expect(printed).toMatch(/restored from .*Sessions that were open in the backup, and are void now: 0\./s)
    const after = await started('issuer', place)
    expect((await fetch(`${after.url}/health/ready`)).status).toBe(200)
    after.child.kill('SIGTERM')
    expect((await after.ended).status).toBe(0)
  })
})

describe('records of the audit log that a restore lost', () => {
  it('are found by what the copy before it has, and the one after it has not', async () => {
    const directory = temporaryDirectory()
    const record = (sequence: number, type: string): string => `${JSON.stringify({ sequence, type })}\n`
    const kept = Array.from({ length: 12 }, (_, index) => record(index + 1, 'issuance.succeeded'))
    const lost = [record(13, 'issuance.succeeded'), record(14, 'credential.revoked')]
    writeFileSync(join(directory, 'before.jsonl'), [...kept, ...lost].join(''))
    writeFileSync(join(directory, 'restored.jsonl'), [...kept, record(13, 'database.restored')].join(''))
    const printed = await runShell(snippetWith('docs/how-to/restore-a-backup.md', 'comm -13'), directory)
    expect(printed.trim()).toBe('1')
    expect(readFileSync(join(directory, 'lost.jsonl'), 'utf8')).toBe(lost.join(''))
  })
})

describe('sessions', () => {
  it('are named in the log by what the command makes of their id', async () => {
    const env = { SESSION_ID: 'nhJDp6zx3bWKxAwMAWcmJmZU3lBLhcVc' }
    const printed = await runShell(snippetWith(OPERATING, 'openssl dgst'), temporaryDirectory(), env)
    expect(printed.trim()).toBe(hashSessionId(env.SESSION_ID))
  })

  it('are listed, and have the members that the page shows', async () => {
    const place = await made('verifier')
    const service = await started('verifier', place)
    for (let count = 0; count < 2; count++) await (await newSession(service, place)).fail()
    const env = { API_KEY: place.apiKey, VERIFIER: service.url }
    const printed = await runShell(snippetWith(OPERATING, 'sessions?status='), place.directory, env)
    expect(shapeOf(JSON.parse(printed))).toEqual(shapeOf(JSON.parse(snippetWith(OPERATING, '"failed_checks"'))))
  })

  it('are watched from the beginning to the end', async () => {
    const place = await made('verifier')
    const service = await started('verifier', place)
    const { id, fail } = await newSession(service, place)
    const env = { API_KEY: place.apiKey, VERIFIER: service.url, SESSION_ID: id }
    const watching = runShell(snippetWith(OPERATING, '/events/$SESSION_ID'), place.directory, env)
    await expect.poll(() => fetch(`${service.url}/health/live`).then(({ status }) => status)).toBe(200)
    await fail()
    const shown = linesOf(snippetWith(OPERATING, 'retry: 2000')).join('\n').replace('SUCCEEDED', 'FAILED')
    // Where the end came before the first look, the stream begins with it.
    const expected = [shown, shown.replace('event: status\ndata: STARTED\n', '')]
    expect(expected).toContain(linesOf(await watching).join('\n'))
  })
})

/** Returns the lines of a stream of events; of data only what state they tell. */
function linesOf(stream: string): string[] {
  const lines = stream.split('\n').filter((line) => line !== '' && !line.startsWith(':'))
  const told = lines.map((line) => line.replace(/^data: .*"status":"(\w+)".*/, 'data: $1'))
  return told.filter((line, index) => line !== 'event: status' || told[index + 1]?.startsWith('data: ') === true)
}

/** Returns the names of the members of a value, at every depth. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member)]))
}

it('the audit log is exported, and verified with the certificate and the log of the service', async () => {
  const place = await made('verifier')
  const service = await started('verifier', place)
  await (await newSession(service, place)).fail()
  service.child.kill('SIGTERM')
  writeFileSync(join(place.directory, 'service.log'), (await service.ended).stdout)
  const commands = snippetWith(OPERATING, 'vouchsafe audit export').replaceAll('issuer.pem', 'verifier.pem')
  const printed = await runShell(commands, place.directory)
  expect(printed.match(/intact/g)?.length).toBe(2)
})

it('callbacks that wait are listed and tried again', async () => {
  const sessionCallback = { url: 'http://127.0.0.1:9/events', secret: `whsec_${Buffer.alloc(32).toString('base64')}` }
  const place = await made('verifier', { sessionCallback })
  const service = await started('verifier', place)
  await (await newSession(service, place)).fail()
  let listed: readonly { readonly id?: string }[] = []
  const list = async () => {
    const { stdout } = await vouchsafe(['callbacks', 'list', '--json'], { cwd: place.directory })
    listed = JSON.parse(stdout) as typeof listed
    return listed
  }
  await expect.poll(list).toHaveLength(1)
  const id = listed[0]?.id ?? ''
  const printed = await runShell(snippetWith('docs/callbacks.md', 'callbacks retry').replace('ID', id), place.directory)
  expect(printed).toContain('verification.failed')
})

it('the console prints a link that signs in', async () => {
  const place = await made('verifier')
  const { url } = await started('verifier', place)
  const commands = snippetWith('docs/console.md', 'VOUCHSAFE_ISSUER_API_KEY=…')
  const [keys = '', line = ''] = commands.trim().split('\n')
  expect(keys).toMatch(/^export VOUCHSAFE_ISSUER_API_KEY=… VOUCHSAFE_VERIFIER_API_KEY=…$/)
  const words = line
    .replace('--issuer http://localhost:8079 ', '')
    .replace('http://localhost:8081', url)
    .split(' ')
    .slice(1)
  const env = { ...process.env, VOUCHSAFE_VERIFIER_API_KEY: place.apiKey }
  const child = spawn(process.execPath, [COMMAND, ...words, '--port', '0'], { cwd: place.directory, env })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await expect.poll(() => output).toMatch(/http:\/\/\S+/)
  const answer = await fetch(/http:\/\/\S+/.exec(output)?.[0] ?? '', { redirect: 'manual' })
  expect([answer.status, output]).toEqual([expect.toSatisfy((status: number) => status < 400), output])
})
