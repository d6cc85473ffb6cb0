/** A service of several processes that share its port: they serve, start, stop and are measured as one. */
import { execFileSync, spawn } from 'node:child_process'
import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto'
import { cpSync, readdirSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { createServer } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { makeSelfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'
import { COMMAND, endOf, type StartedCommand, startCommand, temporaryDirectory, vouchsafe } from '../support/command.ts'
import { listening, type Running, serviceDirectory } from '../support/service-process.ts'
import { API_KEY, makeKey, pemOf } from '../support/services.ts'
import { freshUrl } from '../support/store.ts'
import { configuration, dataset, dcqlQuery } from '../support/wire.ts'

type Line = Readonly<Record<string, unknown>>

interface Shared extends Running {
  /** The lines of the log so far. */
  readonly lines: () => readonly Line[]
}

type Name = 'issuer' | 'verifier'
const CREATE = {
  issuer: ['/credential-configuration', configuration],
  verifier: ['/verification-query', { dcql_query: dcqlQuery }],
} as const

function directoryOf(name: Name, changes: Record<string, unknown> = {}): Promise<string> {
  const isOnServer = process.env.VOUCHSAFE_TEST_STORE !== undefined
  return serviceDirectory(name, { ...(isOnServer && { database: { url: freshUrl() } }), ...changes })
}

/** Starts a service with two workers, and kills it when the test has ended. */
function shared(name: Name, cwd: string, args: readonly string[] = ['--workers', '2'], env = {}): Promise<Shared> {
  return watched(startCommand([name, ...args], { cwd, env }))
}

/** Waits until a service that was started listens, and kills it when the test has ended. */
async function watched(command: StartedCommand): Promise<Shared> {
  onTestFinished(async () => {
    command.child.kill('SIGKILL')
    await command.ended
  })
  return logged(command)
}

/** Waits until a service that was started listens, and keeps its log. */
async function logged({ child, ended }: StartedCommand): Promise<Shared> {
  let log = ''
  child.stdout?.on('data', (text: string) => {
    log += text
  })
  const service = await listening(child, ended)
  return { ...service, lines: () => linesOf(log.slice(0, log.lastIndexOf('\n') + 1)) }
}

function linesOf(log: string): Line[] {
  return log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
}

/** Returns the last process of each worker that listened. */
function pidsOf({ lines }: Shared): Map<unknown, number> {
  const started = lines().filter(({ event }) => event === 'worker_listening')
  return new Map(started.map(({ worker, pid }) => [worker, Number(pid)]))
}

/** Kills a worker; `refusal` is the first line by which none follows, and `whenReplaced` waits until one does. */
function killWorker(service: Shared, worker: number) {
  const before = service.lines().length
  const killed = pidsOf(service).get(worker) ?? 0
  process.kill(killed, 'SIGKILL')
  return {
    refusal: () =>
      service
        .lines()
        .slice(before)
        .find(({ event }) => event === 'worker_not_started'),
    whenReplaced: () => expect.poll(() => pidsOf(service).get(worker)).not.toBe(killed),
  }
}

/** Sets how many files a process may have open. Its hard limit stays. */
function limitFiles(pid: number, most: number): void {
  execFileSync('prlimit', ['--pid', `${pid}`, `--nofile=${most}:`])
}

/** Returns the limit of open files under which a process can open `count` more. */
function limitWithFree(pid: number, count: number): number {
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number))
  let limit = 0
  for (let free = 0; free < count; limit += 1) if (!open.has(limit)) free += 1
  return limit
}

interface Answer {
  readonly status: number
  readonly text: string
}

/** Sends a request, on a connection of its own unless there is an agent; rejects when there is no answer. */
function ask(url: string, { body, agent = false }: { readonly body?: unknown; readonly agent?: Agent | false } = {}) {
  const method = body === undefined ? 'GET' : 'POST'
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
  return new Promise<Answer>((resolve, reject) => {
    const asked = request(url, { method, headers, agent, signal: AbortSignal.timeout(60_000) }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }))
      response.once('error', reject)
    })
    asked.once('error', reject).end(body === undefined ? '' : JSON.stringify(body))
  })
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A process that has ended is there until its parent has asked for its status.
    return process.platform !== 'linux' || !/^.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

describe.each(['issuer', 'verifier'] as const)('%s with two workers', (name) => {
  const [path, body] = CREATE[name]

  it('is one service on one port: what one worker made the other has, and one line says that it listens', async () => {
    const directory = await directoryOf(name)
    // The second start is tried for the issuer alone, since both services start alike.
    for (const start of ['the first', ...(name === 'issuer' ? ['another on the same database'] : [])]) {
      const service = await shared(name, directory)
      const { url, child, ended } = service
      const made = await Promise.all(Array.from({ length: 20 }, () => ask(`${url}${path}/create`, { body })))
      expect(new Set(made.map(({ status }) => status)), start).toEqual(new Set([201]))
      for (const { text } of made) expect((await ask(`${url}${path}/${text}`)).status).toBe(200)
      for (let n = 0; n < 20; n++) expect((await ask(`${url}${path}/${n}`)).status).toBe(404)
      expect(new Set(pidsOf(service).values()).size).toBe(2)
      // A terminal or an init system sends its signal to all processes, and the first of them alone decides.
      for (const pid of pidsOf(service).values()) process.kill(pid, 'SIGTERM')
      child.kill('SIGTERM')
      const end = await ended
      expect([end.status, end.stderr]).toEqual([0, ''])
      const lines = linesOf(end.stdout)
      const refused = lines.filter(({ message }) => message === 'request refused')
      expect(new Set(refused.map(({ worker }) => worker))).toEqual(new Set([1, 2]))
      const warned = 'configuration_warning'
      const ofPrimary = lines.filter((line) => line.worker === undefined && line.event !== warned)
      expect(ofPrimary.map(({ event }) => event)).toEqual(['listening', 'stopping', 'stopped'])
      expect(lines.filter(({ worker, event }) => worker !== undefined && event === warned)).toEqual([])
      // No worker takes the database for a backup that was put back, though each has opened it anew.
      expect(lines.filter(({ event }) => /restored|voided/.test(String(event)))).toEqual([])
    }
  })
})

describe('the workers of a service', () => {
  it('have on disk what they answered when one is killed, and another takes its place', async () => {
    const service = await shared('issuer', await directoryOf('issuer'))
    const { url } = service
    const { text: id } = await ask(`${url}/credential-configuration/create`, { body: configuration })
    const body = { credential_dataset: dataset, credential_configurations: [id] }
    const sessions: string[] = []
    const unexpected: Answer[] = []
    const lost: unknown[] = []
    let isOver = false
    const agent = new Agent({ keepAlive: true })
    onTestFinished(() => agent.destroy())
    const clients = Array.from({ length: 8 }, async (_, client) => {
      const options = { body, ...(client % 2 === 0 && { agent }) }
      while (!isOver && unexpected.length === 0) {
        const answer = await ask(`${url}/issuance/oid4vci/new-session`, options).catch((error: unknown) => {
          lost.push((error as NodeJS.ErrnoException).code)
        })
        if (answer === undefined) continue
        if (answer.status !== 200) unexpected.push(answer)
        else sessions.push((JSON.parse(answer.text) as { readonly session_id: string }).session_id)
      }
    })
    await expect.poll(() => sessions.length).toBeGreaterThan(40)
    expect(lost).toEqual([])
    const killed = pidsOf(service).get(2) ?? 0
    process.kill(killed, 'SIGKILL')
    await expect.poll(() => pidsOf(service).get(2)).not.toBe(killed)
    const before = sessions.length
    await expect.poll(() => sessions.length).toBeGreaterThan(before + 40)
    isOver = true
    await Promise.all(clients)
    expect(unexpected).toEqual([])
    // The clients of the killed worker hear of its end at once, and the other worker loses no request.
    expect(lost.filter((code) => code !== 'ECONNRESET' && code !== 'EPIPE')).toEqual([])
    expect(lost.length).toBeLessThanOrEqual(2 * clients.length)
    expect(service.lines()).toContainEqual(
      expect.objectContaining({ event: 'worker_ended', worker: 2, pid: killed, signal: 'SIGKILL' }),
    )
    for (const session of sessions) {
      expect((await ask(`${url}/issuance/oid4vci/status/${session}`, { agent })).status).toBe(200)
    }
  })

  it('answer all requests while they stop, as one that is alone', async () => {
    const service = await shared('verifier', await directoryOf('verifier', { stopping: { graceSeconds: 4 } }))
    const { url, child, ended } = service
    const agent = new Agent({ keepAlive: true })
    const statuses: number[] = []
    let isOver = false
    const clients = Array.from({ length: 8 }, async (_, client) => {
      const [path, body] = CREATE.verifier
      const options = client % 2 === 0 ? { agent } : {}
      while (!isOver) statuses.push((await ask(`${url}${path}/create`, { body, ...options })).status)
    })
    await expect.poll(() => statuses.length).toBeGreaterThan(20)
    child.kill('SIGTERM')
    const isReady = async (): Promise<boolean> => (await ask(`${url}/health/ready`)).status === 200
    await expect.poll(async () => (await isReady()) || (await isReady())).toBe(false)
    isOver = true
    await Promise.all(clients)
    agent.destroy()
    expect(new Set(statuses)).toEqual(new Set([201]))
    expect((await ended).status).toBe(0)
  })

  it('end with the primary process, however that ends', async () => {
    const service = await shared('issuer', await directoryOf('issuer'))
    const pids = [...pidsOf(service).values()]
    expect(pids.map(isRunning)).toEqual([true, true])
    service.child.kill('SIGKILL')
    await expect.poll(() => pids.map(isRunning)).toEqual([false, false])
    await expect(ask(`${service.url}/health/live`)).rejects.toThrow('ECONNREFUSED')
  })

  it('do not follow each other for ever: the service ends with 1', async () => {
    const service = await shared('issuer', await directoryOf('issuer'))
    let isOver = false as boolean
    const over = service.ended.then(() => {
      isOver = true
    })
    for (let killed = 0; !isOver; ) {
      const pid = pidsOf(service).get(1) ?? 0
      if (pid !== killed) process.kill(pid, 'SIGKILL')
      killed = pid
      await Promise.race([over, new Promise((resolve) => setTimeout(resolve, 50))])
    }
    const { status, stdout } = await service.ended
    expect(status).toBe(1)
    expect(linesOf(stdout).filter(({ event }) => event === 'worker_ended')).toHaveLength(5)
    expect(linesOf(stdout)).toContainEqual(expect.objectContaining({ event: 'worker_given_up', worker: 1 }))
  })

  it('all run the release of the start, also when the link to it leads to another by then', async () => {
    const link = join(temporaryDirectory(), 'vouchsafe')
    symlinkSync(dirname(COMMAND), link)
    const words = [join(link, basename(COMMAND)), 'issuer', '--workers', '2']
    const child = spawn(process.execPath, words, { cwd: await directoryOf('issuer') })
    const service = await watched({ child, ended: endOf(child) })
    unlinkSync(link)
    symlinkSync(temporaryDirectory(), link)
    const killed = pidsOf(service).get(1) ?? 0
    process.kill(killed, 'SIGKILL')
    await expect.poll(() => pidsOf(service).get(1)).not.toBe(killed)
    expect((await ask(`${service.url}/health/ready`)).status).toBe(200)
  })

  it('none follows with another version of the program, until that is put back', async () => {
    const copy = temporaryDirectory()
    cpSync(dirname(COMMAND), join(copy, 'dist'), { recursive: true })
    symlinkSync(join(dirname(COMMAND), '../node_modules'), join(copy, 'node_modules'))
    const command = join(copy, 'dist', basename(COMMAND))
    const words = [command, 'issuer', '--workers', '2']
    const child = spawn(process.execPath, words, { cwd: await directoryOf('issuer') })
    const service = await watched({ child, ended: endOf(child) })
    const program = readFileSync(command, 'utf8')
    writeFileSync(command, `${program}\nprocess.exit(1)\n`)
    const killed = pidsOf(service).get(1) ?? 0
    process.kill(killed, 'SIGKILL')
    const told = () => service.lines().find(({ event }) => event === 'worker_not_started')
    await expect.poll(told).toMatchObject({ worker: 1, mistakes: [expect.stringContaining('restart the service')] })
    unlinkSync(command)
    expect((await ask(`${service.url}/health/ready`)).status).toBe(200)
    writeFileSync(command, program)
    await expect.poll(() => pidsOf(service).get(1)).not.toBe(killed)
  })

  it('are as many as the setting says, also in the environment, unless the command line says another number', async () => {
    const directory = await directoryOf('issuer', { workers: 1 })
    const two = await shared('issuer', directory, [], { VOUCHSAFE_WORKERS: '2' })
    expect(pidsOf(two).size).toBe(2)
    two.child.kill('SIGTERM')
    await two.ended
    const one = await shared('issuer', directory, ['--workers', '1'], { VOUCHSAFE_WORKERS: '2' })
    expect(pidsOf(one).size).toBe(0)
  })
})

describe('two workers of one service', () => {
  const keys = { secretsFile: 'secretsFile', database: { encryptionKeyFile: 'database.encryptionKeyFile' } }
  let directory: string
  let service: Shared
  beforeAll(async () => {
    directory = await serviceDirectory('issuer', { ...keys, management: { port: 0 } })
    for (const name of [keys.secretsFile, keys.database.encryptionKeyFile]) writeKey(join(directory, name))
    service = await logged(startCommand(['issuer', '--workers', '2'], { cwd: directory }))
    return async () => {
      service.child.kill('SIGKILL')
      await service.ended
    }
  })

  function writeKey(file: string): string {
    const key = randomBytes(32).toString('base64')
    writeFileSync(file, `${key}\n`, { mode: 0o600 })
    return key
  }

  it('have metrics that are added up, but for those that all read from one place', async () => {
    // This test is the first that makes configurations.
    const [path, body] = CREATE.issuer
    for (let n = 0; n < 7; n++) await ask(`${service.url}${path}/create`, { body })
    const { status, text } = await ask(`http://127.0.0.1:${String(service.listening.managementPort)}/metrics`)
    expect(status).toBe(200)
    const counted = `{method="POST",route="${path}/create",status="201"} 7\n`
    expect(text).toContain(`vouchsafe_issuer_http_requests_total${counted}`)
    expect(text).toContain('vouchsafe_issuer_events_total{type="configuration.created"} 7\n')
    const [, expires] =
      /^vouchsafe_issuer_certificate_expires_seconds\{key="signing",certificate="own"\} (\d+)$/m.exec(text) ?? []
    // The certificate is good for a day.
    expect(Number(expires)).toBeLessThanOrEqual(86_400)
    expect(Number(expires)).toBeGreaterThan(0)
  })

  const readMetrics = () => ask(`http://127.0.0.1:${String(service.listening.managementPort)}/metrics`)
  const countCreated = async () => {
    const { text } = await readMetrics()
    return Number(/^vouchsafe_issuer_events_total\{type="configuration.created"\} (\d+)$/m.exec(text)?.[1])
  }

  it('have metrics without those of one that stands still, which is told, and counters that do not fall', async () => {
    const created = await countCreated()
    expect(created).toBeGreaterThan(0)
    const pid = pidsOf(service).get(1) ?? 0
    process.kill(pid, 'SIGSTOP')
    onTestFinished(() => void process.kill(pid, 'SIGCONT'))
    const readiness = async () => {
      const { status, text } = await readMetrics()
      return [status, /^vouchsafe_issuer_ready (\d)$/m.exec(text)?.[1]]
    }
    expect(await readiness()).toEqual([200, '0'])
    expect(await readiness()).toEqual([200, '0'])
    const silences = service.lines().filter(({ event }) => event === 'worker_silent')
    expect(silences).toEqual([expect.objectContaining({ level: 50, worker: 1, pid })])
    expect(await countCreated()).toBe(created)
    process.kill(pid, 'SIGCONT')
    expect(await readiness()).toEqual([200, '1'])
    expect(await countCreated()).toBe(created)
  })

  it('have counters that do not fall when one ends, however often', async () => {
    const created = await countCreated()
    for (let end = 0; end < 2; end += 1) {
      await killWorker(service, 2).whenReplaced()
      expect(await countCreated()).toBe(created)
    }
  })

  it('read certificates again, all of them, at one signal', async () => {
    const { child, lines } = service
    child.kill('SIGHUP')
    const renewed = () => lines().flatMap(({ event, worker }) => (event === 'renewed' ? [worker] : []))
    await expect.poll(() => renewed().sort()).toEqual([1, 2])
  })

  it.skipIf(process.platform !== 'linux')('one follows when the system starts processes again', async () => {
    const primary = service.child.pid ?? 0
    // A new process needs four descriptors of the primary, and the one that ends gives it one.
    limitFiles(primary, limitWithFree(primary, 1))
    onTestFinished(() => limitFiles(primary, 1024))
    const { refusal, whenReplaced } = killWorker(service, 1)
    await expect.poll(refusal).toMatchObject({ worker: 1, err: { code: 'EMFILE' } })
    expect((await ask(`${service.url}/health/ready`)).status).toBe(200)
    limitFiles(primary, 1024)
    await whenReplaced()
  })

  it('all sign with the key of the start: none follows with another, until that is put back', async () => {
    const file = join(directory, 'issuer.key')
    const first = readFileSync(file)
    writeFileSync(file, pemOf(await makeKey()))
    onTestFinished(() => writeFileSync(file, first))
    const { refusal, whenReplaced } = killWorker(service, 1)
    await expect.poll(refusal).toMatchObject({ worker: 1, mistakes: [expect.stringContaining('signing')] })
    expect((await ask(`${service.url}/health/ready`)).status).toBe(200)
    writeFileSync(file, first)
    await whenReplaced()
  })

  it('none follows with a certificate that has ended, until it is renewed', async () => {
    const file = join(directory, 'issuer.pem')
    const valid = readFileSync(file, 'utf8')
    const privateKey = createPrivateKey(readFileSync(join(directory, 'issuer.key')))
    const [notBefore, notAfter] = [new Date(0), new Date(1)]
    const content = { privateKey, publicKey: createPublicKey(privateKey), commonName: 'x', serial: randomBytes(16) }
    writeFileSync(file, toPem(makeSelfSignedCertificate({ ...content, notBefore, notAfter })))
    onTestFinished(() => writeFileSync(file, valid))
    const { refusal, whenReplaced } = killWorker(service, 1)
    await expect.poll(refusal).toMatchObject({
      mistakes: [expect.stringContaining('expired')],
      message: expect.stringContaining('is renewed') as string,
    })
    writeFileSync(file, valid)
    await whenReplaced()
  })

  it.each(['secretsFile', 'database.encryptionKeyFile'])('all have the %s of the start', async (setting) => {
    const file = join(directory, setting)
    const first = readFileSync(file, 'utf8')
    const written = writeKey(file)
    onTestFinished(() => writeFileSync(file, first))
    const { refusal, whenReplaced } = killWorker(service, 2)
    await expect.poll(refusal).toMatchObject({ worker: 2, mistakes: [expect.stringContaining(`${setting}: `)] })
    for (const secret of [first.trim(), written]) expect(JSON.stringify(service.lines())).not.toContain(secret)
    writeFileSync(file, first)
    await whenReplaced()
  })
})

describe('a service with two workers that cannot start', () => {
  it('tells its mistakes once, and ends with 2', async () => {
    const cwd = await directoryOf('issuer', { prot: 1 })
    const { status, stdout, stderr } = await vouchsafe(['issuer', '--workers', '2'], { cwd })
    expect([status, linesOf(stdout)]).toEqual([2, [expect.objectContaining({ event: 'refused_to_start' })]])
    expect(stderr.match(/^ {2}- /gm)).toHaveLength(1)
  })

  it.each(['port', 'management'])('tells once that the %s is taken, and ends with 75', async (which) => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void other.close())
    const { port } = other.address() as { port: number }
    const cwd = await directoryOf('issuer', which === 'port' ? { port } : { management: { port } })
    const { status, stdout, stderr } = await vouchsafe(['issuer', '--workers', '2'], { cwd })
    expect(status).toBe(75)
    expect(linesOf(stdout).filter(({ event }) => event === 'start_later')).toHaveLength(1)
    expect(linesOf(stdout).filter(({ event }) => event === 'listening')).toEqual([])
    expect(stderr).toMatch(/^ {2}- (management\.)?port: \d+ \(host 127\.0\.0\.1\) is in use/m)
  })

  it.each([
    [['issuer', '--workers', '0'], /^--workers 0: say how many processes share the port, as in --workers 2$/m],
    [['verifier', '--workers', 'many'], /^--workers many: say how many/m],
    [['issuer', '--workers', '257'], /workers: must be/],
    [['engine', '--workers', '2'], /^--workers is for issuer and verifier: an engine is one process/m],
    [
      ['verifier', '--workers', '256'],
      /workers: 256 is more than this machine runs at the same time; say a number from 1 to/,
    ],
  ])('refuses %j in words', async (args, words) => {
    const cwd = await directoryOf(args[0] === 'issuer' ? 'issuer' : 'verifier')
    const { status, stderr } = await vouchsafe(args, { cwd })
    expect([status, stderr]).toEqual([2, expect.stringMatching(words)])
  })
})

it('ends, with the workers that it has, where the system starts no further process', async () => {
  const preload = join(temporaryDirectory(), 'no-second-fork.cjs')
  writeFileSync(
    preload,
    `const cluster = require('node:cluster')
    const fork = cluster.fork
    let forks = 0
    if (cluster.isPrimary) cluster.fork = (...args) => {
      if (++forks === 2) throw new Error('spawn EAGAIN')
      return fork.apply(cluster, args)
    }`,
  )
  const options = { cwd: await directoryOf('issuer'), env: { NODE_OPTIONS: `--require=${preload}` } }
  const { status, stderr, stdout } = await startCommand(['issuer', '--workers', '2'], options).ended
  expect([status, stderr]).toEqual([75, expect.stringContaining('starts no process for a worker: spawn EAGAIN')])
  expect(stdout).toContain('worker_listening')
})
