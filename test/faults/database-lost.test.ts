/**
 * Services whose embedded database is taken away, replaced, cut off, damaged, or cannot be written: they say so, and
 * answer for nothing.
 */
import { execFile, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { loadDriver } from '../../src/store/sqlite.ts'
import { COMMAND, endOf, startCommand } from '../support/command.ts'
import { componentFile, deployComponent, place } from '../support/engine-contracts.ts'
import { type EngineProcess, makeDirectory, makeEngine, waitUntilServed } from '../support/engine-process.ts'
import { faults } from '../support/faults.ts'
import { endService, listening, type Running, serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'
import { configuration, dcqlQuery } from '../support/wire.ts'

const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
const NOBODY = 65_534

const running: Running[] = []
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
})

type Name = 'issuer' | 'verifier'

async function started(name: Name): Promise<{ service: Running; directory: string; file: string }> {
  const directory = await serviceDirectory(name)
  const service = await start(name, directory)
  running.push(service)
  for (let n = 0; n < 5; n += 1) expect(await write(name, service)).toBe(201)
  return { service, directory, file: join(directory, 'data', `${name}.db`) }
}

/** Sends an administrative request that is answered once it is stored. */
async function write(name: Name, { url }: Running): Promise<number> {
  const [path, body] =
    name === 'issuer'
      ? ['/credential-configuration/create', configuration]
      : ['/verification-query/create', { dcql_query: dcqlQuery }]
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  await response.arrayBuffer()
  return response.status
}

async function ready({ url }: { readonly url: string }): Promise<number> {
  const response = await fetch(`${url}/health/ready`)
  await response.arrayBuffer()
  return response.status
}

async function vacuumed(file: string): Promise<string> {
  const Database = await loadDriver()
  const database = new Database(file)
  database.exec(`vacuum into '${file}.copy'`)
  database.close()
  return `${file}.copy`
}

/**
 * Takes the last pages away, which would not be missing if only the log had them: so all of the log is moved before.
 * The last page alone may be a free page, whose loss is no damage.
 */
async function cutOff(file: string): Promise<void> {
  await checkpointed(file)
  truncateSync(file, statSync(file).size - 2 * 4096)
}

/** Cuts the file off while a reader has SQLite append to the log, in which the missing pages stay. */
async function cutOffWhileRead(file: string): Promise<void> {
  const Database = await loadDriver()
  const reader = new Database(file)
  reader.exec('begin')
  reader.prepare('select count(*) from sqlite_master').get()
  await cutOff(file)
  setTimeout(() => reader.close(), 2000)
}

interface Checkpoint {
  readonly busy: number
  readonly log: number
  readonly checkpointed: number
}

/** Has all of the log moved into the file. Both counts are -1 while the service itself moves the log. */
async function checkpointed(file: string): Promise<void> {
  const Database = await loadDriver()
  const database = new Database(file)
  const moveLog = () => database.prepare('pragma wal_checkpoint(passive)').get() as unknown as Checkpoint
  await expect.poll(moveLog).toSatisfy((answer: Checkpoint) => answer.busy === 0 && answer.log === answer.checkpointed)
  database.close()
}

const changes: readonly (readonly [string, (file: string) => Promise<void> | void])[] = [
  ['taken away with all that is beside it', (file) => rmSync(join(file, '..'), { recursive: true })],
  ['moved away', (file) => renameSync(file, `${file}.old`)],
  ['replaced by a copy of the file itself', replaceFile],
  ['overwritten by a copy', async (file) => copyFileSync(await vacuumed(file), file)],
  ['cut off', cutOff],
  ['cut off while it is read', cutOffWhileRead],
  ['emptied', (file) => truncateSync(file, 0)],
  ['robbed of its log', (file) => rmSync(`${file}-wal`)],
  ['left with another log', (file) => replaceFile(`${file}-wal`)],
  ['left with a log that is cut off', (file) => truncateSync(`${file}-wal`, 40_000)],
  ['left with a log that is overwritten', (file) => overwrite(`${file}-wal`, 0)],
  ['damaged in a page that nobody reads', damagePage],
]

/** Overwrites the page of a table that has no rows. */
async function damagePage(file: string): Promise<void> {
  await checkpointed(file)
  const Database = await loadDriver()
  const database = new Database(file)
  const row = database.prepare("select rootpage from sqlite_master where name = 'issuance_session'").get()
  database.close()
  const page = Number(row?.rootpage) - 1
  overwrite(file, page, page)
}

function replaceFile(file: string): void {
  copyFileSync(file, `${file}.copy`)
  renameSync(`${file}.copy`, file)
}

/** Overwrites the pages of a file from `first` to `last`. */
function overwrite(file: string, first: number, last = Math.floor(statSync(file).size / 4096) - 1): void {
  const descriptor = openSync(file, 'r+')
  for (let page = first; page <= last; page++) writeSync(descriptor, Buffer.alloc(512, 0xa5), 0, 512, page * 4096)
  closeSync(descriptor)
}

/** The changes of one service are found in another by the same code, of which one change is enough to see it used. */
const some = changes.filter(([change]) => change === 'overwritten by a copy')

describe.each([
  ['issuer', changes],
  ['verifier', some],
] as const)('the database of the %s', (name, ways) => {
  it.each(faults(ways))('%s: is noticed, and nothing is answered for any more', async (_, change) => {
    const { service, directory, file } = await started(name)
    expect(await ready(service)).toBe(200)
    await change(file)
    await expect.poll(() => ready(service)).toBe(503)
    for (let n = 0; n < 5; n += 1) expect(await write(name, service)).toBe(500)
    expect((await fetch(`${service.url}/health/live`)).status).toBe(200)
    service.child.kill('SIGTERM')
    const { status, stdout } = await service.ended
    expect(status).toBe(1)
    expect(stdout.match(/"event":"database_lost"/g)).toHaveLength(1)
    if (readdirSync(directory).includes('data') && statSync(file, { throwIfNoEntry: false }) === undefined) {
      const again = await startCommand([name], { cwd: directory }).ended
      expect([again.status, again.stderr]).toEqual([2, expect.stringMatching(/missing or empty/)])
    }
  })
})

describe('the database of an engine', () => {
  /** Starts an engine that counts the requests to a contract. */
  async function startedEngine(): Promise<{ engine: EngineProcess; count: () => Promise<number> }> {
    const directory = makeDirectory('chain')
    const engine = await makeEngine({ chain: { type: 'local', directory } })
    await engine.start()
    running.push({ ...engine, child: engine.child, ended: engine.ended } as unknown as Running)
    const { file } = await componentFile(COUNTER)
    const contract = await deployComponent(await place({ dir: directory }), 'Component', file, [engine])
    await waitUntilServed([engine], contract)
    const count = async (): Promise<number> => {
      const response = await fetch(`${engine.url}/offchain/${contract}/`, { method: 'POST' })
      await response.arrayBuffer()
      return response.status
    }
    return { engine, count }
  }

  it.each(faults(some))('%s: is noticed, and nothing is answered for any more', async (_, change) => {
    const { engine, count } = await startedEngine()
    for (let n = 0; n < 5; n += 1) expect(await count()).toBe(200)
    expect(await ready(engine)).toBe(200)
    const file = join(engine.directory, 'data', 'engine.db')
    await change(file)
    await expect.poll(() => ready(engine)).toBe(503)
    for (let n = 0; n < 5; n += 1) expect(await count()).toBe(500)
    expect((await fetch(`${engine.url}/health/live`)).status).toBe(200)
    const { status, stdout } = await engine.kill('SIGTERM')
    expect(status).toBe(1)
    expect(stdout.match(/"event":"database_lost"/g)).toHaveLength(1)
    await engine.remove()
  })
})

const COUNTER = `
import { component, text } from 'vouchsafe/component'

component({
  http: (_request, context) => {
    const values = context.storage('counter')
    const before = Number(new TextDecoder().decode(values.get('count') ?? new Uint8Array(0)))
    values.set('count', String(before + 1))
    return text(200, String(before + 1))
  },
})
`

describe('a database that is put back beside the log of another', () => {
  it('is refused at the start, by every command, and is used once the log is gone', async () => {
    const { service, directory, file } = await started('issuer')
    const copy = await vacuumed(file)
    for (let n = 0; n < 5; n += 1) expect(await write('issuer', service)).toBe(201)
    service.child.kill('SIGKILL')
    await service.ended
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0)
    copyFileSync(copy, file)
    for (const words of [['issuer'], ['audit', 'export', '--service', 'issuer'], ['doctor', 'issuer']]) {
      const { status, stdout, stderr } = await startCommand(words, { cwd: directory }).ended
      expect([words, status]).toEqual([words, 2])
      expect(`${stdout}${stderr}`).toMatch(/issuer\.db-wal is the\s+log\s+of\s+another\s+state/)
    }
    rmSync(`${file}-wal`)
    rmSync(`${file}-shm`)
    running.push(await start('issuer', directory))
  })
})

describe('a log that is taken away after a service was killed', () => {
  const status = ['db', 'status', '--service', 'issuer']
  const doctor = ['doctor', 'issuer']

  it('is noticed at the next start alone, also after a command', async () => {
    let directory = ''
    for (const words of faults([[], status, doctor])) {
      directory = await serviceDirectory('issuer')
      await killAfterWriting(directory)
      for (const end of ['-wal', '-shm']) rmSync(join(directory, 'data', `issuer.db${end}`))
      if (words.length > 0) await startCommand(words, { cwd: directory }).ended
      const why = 'its log was taken away after a service had ended without closing it'
      expect([words, await startAndStop(directory)]).toEqual([words, expect.stringContaining(why)])
    }
    expect(await startAndStop(directory)).not.toContain('database_restored')
  })

  it('is not confused with one that a command has moved into the file', async () => {
    const directory = await serviceDirectory('issuer')
    for (const words of faults([status, ['db', 'backup', 'copy.db', '--service', 'issuer'], doctor])) {
      expect(await killAfterWriting(directory)).not.toContain('database_restored')
      await startCommand(words, { cwd: directory }).ended
    }
    expect(await startAndStop(directory)).not.toContain('database_restored')
  })
})

/** Kills a service that has written something, and returns its log. */
async function killAfterWriting(directory: string): Promise<string> {
  const service = await start('issuer', directory)
  expect(await write('issuer', service)).toBe(201)
  return (await endService(service, 'SIGKILL')).stdout
}

/** Starts and stops a service, and returns its log. */
async function startAndStop(directory: string): Promise<string> {
  return (await endService(await start('issuer', directory), 'SIGTERM')).stdout
}

describe('a database that is a directory', () => {
  it('is one finding of doctor among others', async () => {
    const directory = await serviceDirectory('issuer', { database: { url: 'sqlite:conf' } })
    const { status, stdout } = await startCommand(['doctor', 'issuer'], { cwd: directory }).ended
    expect([status, stdout]).toEqual([2, expect.stringMatching(/conf\s+cannot\s+be\s+used:\s+it\s+is\s+a\s+directory/)])
  })
})

describe('a damaged database', () => {
  it('is refused at the start, and told by doctor: in one page that the start does not need, and in most', async () => {
    const { service, directory, file } = await started('issuer')
    await endService(service, 'SIGTERM')
    const last = statSync(file).size / 4096 - 1
    for (const first of faults([last, 3])) {
      overwrite(file, first, last)
      for (const words of [['issuer'], ['doctor', 'issuer']]) {
        const { status, stdout, stderr } = await startCommand(words, { cwd: directory }).ended
        expect([first, words, status]).toEqual([first, words, 2])
        expect(stdout + stderr).toMatch(/damaged|malformed/)
      }
    }
  })
})

describe('a service that may only read its file or the directory', () => {
  it('is not ready until it may write again, and does not start on a file that it may only read, as doctor says', async () => {
    const directory = await serviceDirectory('issuer')
    const child = spawn(process.execPath, [COMMAND, 'issuer'], { cwd: directory, ...ownerOf(directory) })
    const service = await listening(child, endOf(child))
    running.push(service)
    const file = join(directory, 'data', 'issuer.db')
    expect([await ready(service), await write('issuer', service)]).toEqual([200, 201])
    for (const [path, mode] of faults([
      [file, 0o444],
      [dirname(file), 0o555],
    ] as const)) {
      const before = statSync(path).mode
      chmodSync(path, mode)
      await expect.poll(() => ready(service)).toBe(503)
      expect((await fetch(`${service.url}/health/live`)).status).toBe(200)
      chmodSync(path, before)
      await expect.poll(() => ready(service)).toBe(200)
      expect(await write('issuer', service)).toBe(201)
    }
    await endService(service, 'SIGTERM')
    chmodSync(file, 0o444)
    for (const words of [['issuer'], ['doctor', 'issuer']]) {
      const { code, text } = await asNobody(directory, words)
      expect([words, code]).toEqual([words, 2])
      expect(text).toMatch(/readonly|read-only|only be read/)
    }
  })
})

/** Gives everything in the directory to a user who is not root; the ids of that user, for a process. */
function ownerOf(directory: string): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {}
  for (const entry of ['.', ...readdirSync(directory, { recursive: true, encoding: 'utf8' })])
    chownSync(join(directory, entry), NOBODY, NOBODY)
  return { uid: NOBODY, gid: NOBODY }
}

/** Runs the command as the user to whom everything in the directory belongs, who is not root. */
async function asNobody(directory: string, words: readonly string[]): Promise<{ code: number; text: string }> {
  const options = { cwd: directory, ...ownerOf(directory) }
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [COMMAND, ...words], options)
    return { code: 0, text: stdout + stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, text: stdout + stderr }
  }
}
