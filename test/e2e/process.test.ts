/**
 * The command itself: how it starts, what it says when it cannot, how it stops, and what survives. Interface section 1.
 */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { type EndedCommand, startCommand, vouchsafe } from '../support/command.ts'
import {
  endService,
  listening,
  moveSettingsToEnvironment,
  type Running,
  serviceDirectory,
  start,
} from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'
import { configuration, dataset, dcqlQuery, GRANT } from '../support/wire.ts'

const running: Running[] = []
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
})

async function started(
  service: 'issuer' | 'verifier',
  directory: string,
  args: readonly string[] = [],
): Promise<Running> {
  const service_ = await start(service, directory, args)
  running.push(service_)
  return service_
}

const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }

async function post(url: string, body: unknown): Promise<Response> {
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function newSession({ url }: Running): Promise<string> {
  const id = await (await post(`${url}/credential-configuration/create`, configuration)).text()
  const body = { credential_dataset: dataset, credential_configurations: [id] }
  const response = await post(`${url}/issuance/oid4vci/new-session`, body)
  return ((await response.json()) as { session_id: string }).session_id
}

/** Returns the mistakes that the command lists on stderr, each on a line of its own. */
function mistakesIn({ stderr }: EndedCommand): string[] {
  return [...stderr.matchAll(/^ {2}- (.*)$/gm)].map(([, mistake]) => mistake ?? '')
}

function events({ stdout }: EndedCommand): Record<string, unknown>[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

describe('vouchsafe issuer and verifier', () => {
  it.each(['issuer', 'verifier'] as const)('%s says in one JSON line that it listens, and where', async (service) => {
    const { listening, url, child, ended } = await started(service, await serviceDirectory(service, { port: 0 }))
    expect(listening).toMatchObject({ event: 'listening', service, port: expect.any(Number) as number })
    expect(listening.port).toBeGreaterThan(0)
    expect((await fetch(`${url}/health/ready`)).status).toBe(200)
    child.kill('SIGTERM')
    const end = await ended
    expect([end.status, end.signal, end.stderr]).toEqual([0, null, ''])
    expect(events(end).map(({ event }) => event)).toEqual(expect.arrayContaining(['listening', 'stopping', 'stopped']))
  })

  it('reads another file and another directory, with paths relative to the working directory', async () => {
    const directory = await serviceDirectory('issuer')
    const elsewhere = join(directory, 'elsewhere')
    mkdirSync(elsewhere)
    const file = join(directory, 'conf', 'server.json')
    const value = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
    const signing = { keyFile: '../issuer.key', certificateFiles: ['../issuer.pem'] }
    const other = join(directory, 'other.json')
    writeFileSync(other, JSON.stringify({ ...value, signing, database: { url: 'jdbc:sqlite:store/a.db' } }))
    const { url } = await started('issuer', elsewhere, ['--config', '../other.json'])
    expect((await fetch(`${url}/openapi`)).status).toBe(200)
    expect(statSync(join(elsewhere, 'store', 'a.db')).isFile()).toBe(true)
    expect(statSync(join(elsewhere, 'store')).mode & 0o077).toBe(0)
  })

  it('ends with 2 and lists every mistake with its path, and no API key', async () => {
    const directory = await serviceDirectory('issuer', {
      prot: 1,
      baseUrl: 'http://127.0.0.1/',
      profile: 'haip',
      signing: { keyFile: 'nowhere.key', certificateFiles: ['issuer.pem', 'nowhere.pem'] },
      integrations: { authentication: { 'a secret': 'shop' } },
    })
    const end = await vouchsafe(['issuer'], { cwd: directory })
    expect(end.status).toBe(2)
    const paths = mistakesIn(end).map((mistake) => mistake.split(': ')[0])
    expect(paths.sort()).toEqual([
      'authentication',
      'baseUrl',
      'integrations.authentication',
      'prot',
      'signing.certificateFiles[1]',
      'signing.keyFile',
      'walletProviderTrustAnchors',
    ])
    expect(events(end)).toEqual([expect.objectContaining({ event: 'refused_to_start', mistakes: mistakesIn(end) })])
    expect(end.stdout + end.stderr).not.toContain('a secret')
  })

  it.each([
    ['no file', undefined, /server\.json: the file cannot be read/],
    ['a file that is not JSON', '{"port":', /server\.json: it is not JSON/],
    ['a file that is not an object', '[]', /must be a JSON object/],
  ])('ends with 2 for %s', async (_, text, mistake) => {
    const directory = await serviceDirectory('verifier')
    const config = text === undefined ? 'nowhere/server.json' : 'conf/server.json'
    if (text !== undefined) writeFileSync(join(directory, config), text)
    const end = await vouchsafe(['verifier', '--config', config], { cwd: directory })
    expect([end.status, mistakesIn(end)]).toEqual([2, [expect.stringMatching(mistake)]])
    expect(end.stderr).not.toContain('settings are those of the environment')
  })

  it('says that there is no file where the environment has settings, whether they are enough or not', async () => {
    const directory = await serviceDirectory('verifier', { port: 0 })
    const words = ['verifier', '--config', 'conf/sever.json']
    const hint = `there is no file ${join(directory, words[2] ?? '')}: all settings are those of the environment`
    const refused = await vouchsafe(words, { cwd: directory, env: { VOUCHSAFE_PORT: '0' } })
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining(`\n${hint}\n`)])
    const { child, ended } = startCommand(words, { cwd: directory, env: moveSettingsToEnvironment(directory) })
    const end = await endService(await listening(child, ended), 'SIGINT')
    expect(events(end)).toContainEqual(
      expect.objectContaining({ event: 'no_configuration_file', level: 30, message: hint }),
    )
  })

  it('ends with 75 when the port is taken, and says so', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as { port: number }
    const end = await vouchsafe(['issuer'], { cwd: await serviceDirectory('issuer', { port }) })
    other.close()
    expect([end.status, mistakesIn(end)]).toEqual([75, [expect.stringMatching(new RegExp(`^port: .*${port}.*in use`))]])
  })

  it.each([
    // The machine may get the address later, and its DNS may answer later.
    ['203.0.113.1', [75], /^host: 203\.0\.113\.1 is not an address of this machine; name one of its own/],
    [
      'nohost.invalid',
      [2, 75],
      /^host: nohost\.invalid (is not an address of this machine; name one of its own|could not be looked up)/,
    ],
    ['127.0.0.1:80', [2], /^host: 127\.0\.0\.1:80 is not an address of this machine; say 127\.0\.0\.1 alone/],
  ])('says that the address %s is not of this machine, and ends with %j', async (host, statuses, mistake) => {
    const end = await vouchsafe(['issuer'], { cwd: await serviceDirectory('issuer', { host }) })
    expect(statuses).toContain(end.status)
    expect(mistakesIn(end)).toEqual([expect.stringMatching(mistake)])
  })

  it('ends with 2 when the database cannot be opened, and names it', async () => {
    const directory = await serviceDirectory('issuer', { database: { url: 'sqlite:issuer.pem' } })
    const end = await vouchsafe(['issuer'], { cwd: directory })
    expect([end.status, mistakesIn(end)]).toEqual([2, [expect.stringMatching(/^database\.url: .*issuer\.pem/)]])
  })

  it('keeps its database from other users, also in a directory that they can read', async () => {
    const directory = await serviceDirectory('issuer')
    mkdirSync(join(directory, 'data'), { mode: 0o755 })
    const { url } = await started('issuer', directory, [])
    await post(`${url}/credential-configuration/create`, configuration)
    const names = readdirSync(join(directory, 'data'))
    expect(names).toContain('issuer.db')
    for (const name of names) expect(statSync(join(directory, 'data', name)).mode & 0o777).toBe(0o600)
  })

  it('listens on all interfaces when no host is named', async () => {
    const { port } = await started('issuer', await serviceDirectory('issuer', { host: undefined }))
    expect((await fetch(`http://127.0.0.1:${port}/health/live`)).status).toBe(200)
  })

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'finishes the request that runs when %s comes, then ends with 0',
    async (signal) => {
      const directory = await serviceDirectory('issuer')
      const { port, child, ended } = await started('issuer', directory)
      const body = JSON.stringify(configuration)
      const silent = connect(port, '127.0.0.1')
      const idle = await keptAlive(port)
      const slow = connect(port, '127.0.0.1')
      const head = `POST /credential-configuration/create HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${API_KEY}\r\n`
      // The server's "100 Continue" says that the request has begun.
      slow.write(
        `${head}Expect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
      )
      await received(slow, / 100 Continue\r\n\r\n$/)
      slow.write(body.slice(0, 20))
      child.kill(signal)
      await refusesConnections(port)
      const answer = received(slow, /\r\n\r\n[\w-]{22}$/)
      slow.write(body.slice(20))
      expect(await answer).toMatch(/^HTTP\/1\.1 201 /)
      const end = await ended
      expect([end.status, end.stderr]).toEqual([0, ''])
      // The connection that was kept alive for the slow request is not waited for.
      expect(end.stdout).toContain('"event":"stopped"')
      expect(end.stdout).not.toContain('stopping_hard')
      for (const socket of [silent, idle, slow]) socket.destroy()
      const id = (await answer).split('\r\n\r\n')[1] ?? ''
      const again = await started('issuer', directory)
      expect((await fetch(`${again.url}/credential-configuration/${id}`, { headers })).status).toBe(200)
    },
  )

  it('speaks TLS when it is given a key for it, and stops as quickly', async () => {
    const tls = { keyFile: 'issuer.key', certificateFiles: ['issuer.pem'] }
    const { port, child, ended } = await started('issuer', await serviceDirectory('issuer', { tls }))
    const waiting = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    await new Promise((resolve) => waiting.once('secureConnect', resolve))
    const used = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    used.write('GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(await received(used, /\}$/)).toMatch(/^HTTP\/1\.1 200 /)
    child.kill('SIGTERM')
    expect((await ended).status).toBe(0)
  })

  it('has on disk what it answered, also when it is killed in that moment', async () => {
    const directory = await serviceDirectory('issuer')
    const issuer = await started('issuer', directory)
    const first = await newSession(issuer)
    const offer = (url: string, id: string) => fetch(`${url}/issuance/oid4vci/credential-offer/${id}`)
    const { grants } = (await (await offer(issuer.url, first)).json()) as {
      grants: Record<string, Record<string, string>>
    }
    const code = grants[GRANT]?.['pre-authorized_code'] ?? ''
    const token = await redeem(issuer, first, code)
    expect(token.status).toBe(200)
    const second = await newSession(issuer)
    issuer.child.kill('SIGKILL')
    expect((await issuer.ended).signal).toBe('SIGKILL')

    const again = await started('issuer', directory)
    const status = await fetch(`${again.url}/issuance/oid4vci/status/${second}`, { headers })
    expect(await status.json()).toMatchObject({ session_id: second, status: 'STARTED' })
    expect((await offer(again.url, second)).status).toBe(200)
    expect((await offer(again.url, first)).status).toBe(410)
    expect(await (await redeem(again, first, code)).json()).toMatchObject({ error: 'invalid_grant' })
    const unproved = await fetch(`${again.url}/issuance/oid4vci/credential-request`, {
      method: 'POST',
      headers: {
        ...headers,
        authorization: `Bearer ${((await token.json()) as { access_token: string }).access_token}`,
      },
      body: '{}',
    })
    expect(await unproved.json()).toMatchObject({ error: 'invalid_credential_request' })
  })

  it('keeps queries and sessions of the verifier over a kill, too', async () => {
    const directory = await serviceDirectory('verifier')
    const verifier = await started('verifier', directory)
    const query = await (await post(`${verifier.url}/verification-query/create`, { dcql_query: dcqlQuery })).text()
    const response = await post(`${verifier.url}/presentation/oid4vp/new-session`, { verification_query_id: query })
    const { session_id: session } = (await response.json()) as { session_id: string }
    verifier.child.kill('SIGKILL')
    await verifier.ended
    const again = await started('verifier', directory)
    const status = await fetch(`${again.url}/presentation/oid4vp/status/${session}`, { headers })
    expect(await status.json()).toMatchObject({ status: 'STARTED', verification_query_id: query })
  })

  it('refuses a word that is not a command', async () => {
    for (const word of ['toString', '__proto__', 'constructor']) {
      const { status, stderr } = await vouchsafe([word])
      expect([status, stderr]).toEqual([2, expect.stringContaining(`There is no command ${word}.`)])
    }
    const wrong = await vouchsafe(['issuer', '--confg', 'a'])
    expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringMatching(/--confg/)])
  })
})

function redeem({ url }: Running, session: string, code: string): Promise<Response> {
  const form = new URLSearchParams({ grant_type: GRANT, 'pre-authorized_code': code })
  return fetch(`${url}/auth/token-endpoint/${session}`, { method: 'POST', body: form })
}

async function refusesConnections(port: number): Promise<void> {
  const isOpen = () =>
    fetch(`http://127.0.0.1:${port}/health/live`).then(
      () => true,
      () => false,
    )
  while (await isOpen()) await new Promise((resolve) => setTimeout(resolve, 20))
}

/** Opens a connection that has had an answer and waits for more requests. */
async function keptAlive(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n')
  await received(socket, /\}$/)
  return socket
}

function received(socket: Socket, until: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`closed after ${text}`)))
    socket.on('data', (chunk) => {
      text += String(chunk)
      if (until.test(text)) resolve(text)
    })
  })
}
