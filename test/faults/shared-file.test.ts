/** Two services on one SQLite file: processes of one service share it, and another service is refused. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { lockFileOf } from '../../src/bin/embedded-database/open-lock.ts'
import { lockFile } from '../../src/store/sqlite-lock.ts'
import { startCommand, vouchsafe } from '../support/command.ts'
import { killRounds, reportFault } from '../support/faults.ts'
import {
  countAnswers,
  countEntries,
  createIssuerMemory,
  expectSpent,
  findLostOfIssuer,
  servicesAt,
  useIssuer,
  useUntilKilled,
} from '../support/remembering-client.ts'
import { endService, type Running, serviceDirectory, start } from '../support/service-process.ts'
import { ISSUER_URL, VERIFIER_URL } from '../support/services.ts'
import { declare } from '../support/wire.ts'

const CLIENTS = 4
/** The pause of a client of the lasting process after each flow. */
const PAUSE_MS = 20
/** The time in which two processes come to wait for the turn of another; each waits for five seconds. */
const BOTH_WAIT_MS = 2500

const running: Running[] = []
afterEach(async () => {
  for (const service of running.splice(0)) await endService(service, 'SIGKILL')
})

async function started(directory: string): Promise<Running> {
  const service = await start('issuer', directory)
  running.push(service)
  return service
}

describe('two issuers on one file', () => {
  it('have all that either answered when one of them is killed under load, and give nothing out twice', async ({
    task,
  }) => {
    const rounds = killRounds()
    const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
    const clock = { now: new Date() }
    const lasting = await started(directory)
    const other = servicesAt(() => lasting.url, clock)
    const configurationId = await declare(other)
    const memory = createIssuerMemory()
    let isOver = false
    const load = Array.from({ length: CLIENTS }, async () => {
      while (!isOver) {
        await useIssuer(other, configurationId, memory)
        // The other process starts meanwhile.
        await setTimeout(PAUSE_MS)
      }
    })
    for (let round = 0; round < rounds; round += 1) {
      clock.now = new Date()
      const killed = await started(directory)
      let [url, issued] = [killed.url, 0]
      const killedServices = servicesAt(() => url, clock)
      const use = async () => {
        await useIssuer(killedServices, configurationId, memory)
        issued += 1
      }
      const killedLoad = Array.from({ length: CLIENTS }, () => useUntilKilled(use))
      const wanted = 1 + ((round * 7) % 23)
      await vi.waitUntil(() => issued >= wanted, { timeout: 300_000, interval: 2 })
      await endService(killed, 'SIGKILL')
      await Promise.all(killedLoad)
      // Requests that are sent again go to the process that is there.
      url = lasting.url
    }
    const before = memory.issued.size
    await vi.waitUntil(() => memory.issued.size >= before + 10, { timeout: 300_000 })
    isOver = true
    await Promise.all(load)
    const missing = await findLostOfIssuer(other, memory)
    expect(missing).toEqual([])
    await expectSpent(other, memory)
    expect(countEntries(memory)).toBe(memory.issued.size)
    reportFault(task, { tried: rounds, acknowledged: countAnswers(memory), lost: missing.length })
  })
})

describe('issuers that start on one file at the same moment', () => {
  it('take it for what it was, and no session ends', async () => {
    const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
    await endService(await started(directory), 'SIGTERM')
    const outputs: string[] = []
    // The issuers start after a stop, and then after a kill.
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const issuers = await Promise.all(Array.from({ length: 4 }, () => started(directory)))
      const ends = await Promise.all(issuers.map((issuer) => endService(issuer, signal)))
      outputs.push(...ends.map(({ stdout }) => stdout))
    }
    expect(outputs).toHaveLength(8)
    for (const output of outputs) expect(output).not.toContain('database_restored')
  })
})

describe('issuers that start at the same moment on one file whose log was taken away', () => {
  it('begin one generation', async () => {
    const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
    await endService(await started(directory), 'SIGTERM')
    const first = await started(directory)
    await declare(servicesAt(() => first.url))
    await endService(first, 'SIGKILL')
    rmSync(join(directory, 'data/issuer.db-wal'))
    // Both have seen that the log is gone before either has its turn.
    const endTurn = await lockFile(lockFileOf(join(directory, 'data/issuer.db')), 'immediate')
    const starting = [started(directory), started(directory)]
    await setTimeout(BOTH_WAIT_MS)
    endTurn?.()
    const ends = await Promise.all((await Promise.all(starting)).map((issuer) => endService(issuer, 'SIGTERM')))
    expect(ends.flatMap(({ stdout }) => stdout.match(/database_restored/g) ?? [])).toHaveLength(1)
  })
})

describe('a file that is a symbolic link', () => {
  it('is the file that the link leads to: for its log, for other processes, and for a restore', async () => {
    const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
    await endService(await started(directory), 'SIGTERM')
    const [file, disk] = [join(directory, 'data/issuer.db'), join(directory, 'disk')]
    mkdirSync(disk)
    for (const end of ['', '-generation']) renameSync(`${file}${end}`, join(disk, `real.db${end}`))
    symlinkSync('../disk/real.db', file)
    const first = await started(directory)
    await declare(servicesAt(() => first.url))
    expect((await vouchsafe(['db', 'backup', 'copy.db'], { cwd: directory })).status).toBe(0)
    await endService(first, 'SIGKILL')
    const byLink = await endService(await started(directory), 'SIGTERM')
    expect(byLink.stdout).not.toContain('database_restored')
    const configFile = join(directory, 'conf/server.json')
    const text = readFileSync(configFile, 'utf8')
    const byRealName = { ...(JSON.parse(text) as object), database: { url: `sqlite:${join(disk, 'real.db')}` } }
    writeFileSync(configFile, JSON.stringify(byRealName))
    expect((await endService(await started(directory), 'SIGTERM')).stdout).not.toContain('database_restored')
    writeFileSync(configFile, text)
    expect((await vouchsafe(['db', 'restore', 'copy.db'], { cwd: directory })).status).toBe(0)
    expect(lstatSync(file).isSymbolicLink()).toBe(true)
    expect(readdirSync(disk).filter((name) => name.startsWith('real.db.before-'))).toHaveLength(1)
    await endService(await started(directory), 'SIGTERM')
    rmSync(join(disk, 'real.db'))
    const { status, stderr } = await vouchsafe(['issuer'], { cwd: directory })
    expect([status, stderr]).toEqual([2, expect.stringContaining('a symbolic link to a file that is not there')])
  })
})

describe('a service that has its file open', () => {
  const isNotedOpen = (directory: string) =>
    /\nopen\n$/.test(readFileSync(join(directory, 'data/issuer.db-generation'), 'utf8'))

  it('is noted beside the file until the last process has stopped, whatever commands and other processes do', async () => {
    const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
    const lasting = await started(directory)
    const other = await started(directory)
    await endService(other, 'SIGTERM')
    expect(isNotedOpen(directory)).toBe(true)
    for (const words of [['doctor'], ['db', 'backup', 'copy.db'], ['db', 'migrate'], ['db', 'status']]) {
      await vouchsafe(words, { cwd: directory })
      expect([words, isNotedOpen(directory)]).toEqual([words, true])
    }
    await endService(lasting, 'SIGTERM')
    expect(isNotedOpen(directory)).toBe(false)
  })

  it('and whose log was taken away is a restored one, also after a start that is killed or refused', async () => {
    const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL, database: { generation: 1 } })
    const log = join(directory, 'data/issuer.db-wal')
    await endService(await started(directory), 'SIGTERM')
    await killWithoutLog(directory)
    const words = ['db', 'copy', '--from', 'sqlite:data/issuer.db', '--to', 'sqlite:copied.db']
    const copy = await vouchsafe(words, { cwd: directory })
    expect([copy.status, copy.stderr]).toEqual([2, expect.stringContaining('on which no service has started')])
    const failing = startCommand(['issuer'], { cwd: directory })
    await vi.waitUntil(() => existsSync(log), { timeout: 60_000, interval: 1 })
    failing.child.kill('SIGKILL')
    const { stdout } = await failing.ended
    const { stdout: later } = await endService(await started(directory), 'SIGTERM')
    expect(`${stdout}${later}`).toContain('database_restored')

    await killWithoutLog(directory)
    const configFile = join(directory, 'conf/server.json')
    const text = readFileSync(configFile, 'utf8')
    // A lower generation than that of the database is refused.
    writeFileSync(configFile, JSON.stringify({ ...(JSON.parse(text) as object), database: {} }))
    expect((await vouchsafe(['issuer'], { cwd: directory })).status).toBe(2)
    writeFileSync(configFile, text)
    const last = await endService(await started(directory), 'SIGTERM')
    expect(last.stdout).toContain('database_restored')
  })

  /** Kills an issuer that has written something, and takes its log away. */
  async function killWithoutLog(directory: string): Promise<void> {
    const issuer = await started(directory)
    await declare(servicesAt(() => issuer.url))
    await endService(issuer, 'SIGKILL')
    rmSync(join(directory, 'data/issuer.db-wal'))
  }
})

describe('a verifier on the file of an issuer', () => {
  it('does not start, says what to do, and leaves the issuer as it is', async () => {
    const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL, database: { url: 'sqlite:shared.db' } })
    const issuer = await started(directory)
    const services = servicesAt(() => issuer.url)
    const id = await declare(services)
    const file = join(directory, 'shared.db')
    const cwd = await serviceDirectory('verifier', { baseUrl: VERIFIER_URL, database: { url: `sqlite:${file}` } })
    const { status, stderr } = await vouchsafe(['verifier'], { cwd })
    expect([status, stderr]).toEqual([
      2,
      expect.stringMatching(/of another service.*give each service one of its own/s),
    ])
    const memory = createIssuerMemory()
    await useIssuer(services, id, memory)
    expect(await findLostOfIssuer(services, memory)).toEqual([])
  })
})
