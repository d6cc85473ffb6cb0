/** Backups by the command, and restoring them as docs/how-to/restore-a-backup.md says, on both databases. */

import { spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { loadDriver } from '../../src/store/sqlite.ts'
import { COMMAND, type EndedCommand, endOf, startCommand } from '../support/command.ts'
import { faults, longFault } from '../support/faults.ts'
import { startedSession, tokenOf } from '../support/issuance.ts'
import { type InStatusLists, inStatusLists } from '../support/restored.ts'
import { type Running, serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY, ISSUER_URL, type Services } from '../support/services.ts'
import { act, copyOf, type IssuedCredential, readList } from '../support/status.ts'
import { freshUrl } from '../support/store.ts'
import { call, declare, postForm } from '../support/wire.ts'

const IS_POSTGRESQL = process.env.VOUCHSAFE_TEST_STORE !== undefined

const running: Running[] = []
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
})

/** An issuer that runs, and the commands of its operator. */
interface Place {
  readonly directory: string
  readonly services: Services
  readonly lists: InStatusLists
  readonly service: () => Running
  readonly start: () => Promise<void>
  readonly stop: () => Promise<EndedCommand>
  readonly db: (...words: readonly string[]) => Promise<EndedCommand>
  readonly revokeUnknown: () => Promise<EndedCommand>
}

async function startedIssuer(): Promise<Place> {
  const database = IS_POSTGRESQL ? { database: { url: freshUrl() } } : {}
  const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL, ...database })
  let service: Running | undefined
  const url = (): string => service?.url ?? 'none'
  const fetchThere = (address: string, init?: RequestInit) => fetch(address.replace(ISSUER_URL, url()), init)
  const place: Place = {
    directory,
    services: { fetch: fetchThere, clock: { now: new Date() } } as unknown as Services,
    lists: inStatusLists(url),
    service: () => service as Running,
    start: async () => {
      service = await start('issuer', directory)
      running.push(service)
    },
    stop: () => {
      service?.child.kill('SIGTERM')
      return (service as Running).ended
    },
    db: (...words) => startCommand(['db', ...words], { cwd: directory }).ended,
    revokeUnknown: () => startCommand(['status-list', 'revoke-unknown', '--json'], { cwd: directory }).ended,
  }
  await place.start()
  return place
}

async function done(ended: Promise<EndedCommand>): Promise<Record<string, unknown>> {
  const { status, stdout, stderr } = await ended
  expect([status, stderr, status === 0 || stdout]).toEqual([0, '', true])
  return JSON.parse(stdout) as Record<string, unknown>
}

/** Starts a session by a configuration, and returns its id. */
async function startOne({ services }: Place, configurationId: string): Promise<string> {
  const body = {
    credential_configurations: [configurationId],
    credential_dataset: { credentialSubject: { name: 'A' } },
  }
  const response = await call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, body)
  expect(response.status).toBe(200)
  return ((await response.json()) as { session_id: string }).session_id
}

/** Starts sessions, which fill more pages than a small cache has. */
async function startMany(place: Place): Promise<{ configurationId: string; sessionIds: readonly string[] }> {
  const configurationId = await declare(place.services)
  const sessionIds: string[] = []
  while (sessionIds.length < 40) sessionIds.push(await startOne(place, configurationId))
  return { configurationId, sessionIds }
}

/** Starts sessions until `work` is done; `before` has the ids of those that were acknowledged before it began. */
async function underLoad<T>(place: Place, work: () => Promise<T>): Promise<{ result: T; before: readonly string[] }> {
  const { configurationId, sessionIds } = await startMany(place)
  let isOver = false
  const load = Array.from({ length: 2 }, async () => {
    while (!isOver) await startOne(place, configurationId)
  })
  const result = await work().finally(() => {
    isOver = true
  })
  await Promise.all(load)
  return { result, before: sessionIds }
}

async function statusOf({ services }: Place, sessionId: string): Promise<string> {
  const response = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/status/${sessionId}`, {
    headers: { authorization: `Bearer ${API_KEY}` },
  })
  return ((await response.json()) as { status: string }).status
}

describe('a backup by the command', () => {
  it('of a service under load is consistent, and restored gives no entry twice and nothing open', async () => {
    const place = await startedIssuer()
    const early = await place.lists.issue(3)
    const offer = await startedSession(place.services)
    const taken = await startedSession(place.services)
    const { result, before } = await underLoad(place, () => done(place.db('backup', 'backup.db', '--json')))
    expect(result).toMatchObject({ file: 'backup.db', rows: expect.any(Number) as number })
    expect(statSync(join(place.directory, 'backup.db')).mode & 0o777).toBe(0o600)
    const backupEnd = Date.now()
    await tokenOf(taken)
    await place.lists.issue(4)

    expect(await place.db('restore', 'backup.db')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/(another process|a service).*(database|connected).*stop/) as string,
    })
    expect((await place.stop()).status).toBe(0)
    const restored = await done(place.db('restore', 'backup.db', '--json'))
    // The number has those of the load that the backup has, and the two offers.
    expect(restored.voided).toBeGreaterThanOrEqual(before.length + 2)
    expect(restored.rows_of_backup).toBe(result.rows)
    expect(restored.rows).toBeGreaterThan(Number(result.rows))
    expect(restored.kept).toMatch(/before/)
    expect(Date.parse(String(restored.newest))).toBeGreaterThan(Date.now() - 60_000)
    expect(Date.parse(String(restored.newest))).toBeLessThan(backupEnd)
    await place.start()

    await place.lists.issue(4)
    place.lists.expectNoneTwice()
    expect(place.lists.listIds()).toHaveLength(2)
    await place.lists.expectServed(early)
    for (const session of [offer, taken]) {
      const response = await postForm(
        place.services,
        `${ISSUER_URL}/auth/token-endpoint/${session.sessionId}`,
        session.form,
      )
      expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_grant' }])
    }
    for (const sessionId of before.slice(0, 5)) expect(await statusOf(place, sessionId)).toBe('EXPIRED')
    const { stdout } = await place.stop()
    // The command has done it all.
    expect(stdout).not.toMatch(/database_restored|open_sessions_voided/)
    expect(await done(place.db('status', '--json'))).toMatchObject({
      service: 'issuer',
      generation: { restored_at: expect.any(String) as string },
    })
  })

  it('leaves credentials that were issued since valid, until the operator revokes all that are not known', async () => {
    const place = await startedIssuer()
    const early = await place.lists.issue(3)
    await done(place.db('backup', 'backup.db', '--json'))
    const later = await place.lists.issue(2)
    await act(place.services, 'revoke', later.sessionId)
    const copyOfEarly = await copyOf(early)
    expect(await done(place.revokeUnknown())).toMatchObject({ lists: [] })
    await place.stop()
    await done(place.db('restore', 'backup.db', '--json'))
    await place.start()
    const recent = await place.lists.issue(1)
    const states = async (...credentials: readonly IssuedCredential[]): Promise<(number | undefined)[]> =>
      Promise.all(credentials.map(async ({ status: { uri, idx } }) => (await readList(place.services, uri))[idx]))
    expect(await states(early, later, copyOfEarly, recent)).toEqual([0, 0, 0, 0])

    const { lists } = await done(place.revokeUnknown())
    expect(lists).toEqual([{ list_id: early.status.uri.split('/').at(-1), entries: 131_072, revoked: 131_072 - 3 }])
    expect(await states(early, later, copyOfEarly, recent)).toEqual([0, 1, 1, 0])
    expect(await done(place.revokeUnknown())).toMatchObject({ lists: [{ revoked: 0 }] })
    expect(await act(place.services, 'suspend', early.sessionId)).toMatchObject([200, {}])
    expect(await states(early, later, recent)).toEqual([2, 1, 0])
    // A later copy is in the new list, of which nothing is revoked.
    expect(await states(await copyOf(recent))).toEqual([0])
    await place.stop()
    const { stdout } = await startCommand(['audit', 'export'], { cwd: place.directory }).ended
    const acts = [...stdout.matchAll(/"type":"(database\.restored|status-list\.[\w-]+)"/g)].map(([, type]) => type)
    expect(acts).toEqual(['database.restored', 'status-list.unknown-revoked'])
    expect(stdout).toContain(`"subject":"${early.status.uri.split('/').at(-1) ?? 'none'}","type":"status-list.`)
  })

  it.skipIf(IS_POSTGRESQL)('that is put back by hand is known as one only to a service that has started', async () => {
    const place = await startedIssuer()
    await place.lists.issue(1)
    await done(place.db('backup', 'backup.db', '--json'))
    const { status } = await place.lists.issue(1)
    await place.stop()
    const file = join(place.directory, 'data', 'issuer.db')
    for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true })
    copyFileSync(join(place.directory, 'backup.db'), file)
    expect(await place.revokeUnknown()).toMatchObject({
      status: 2,
      stdout: expect.stringMatching(/put back.*start the service first/) as string,
    })
    await place.start()
    await done(place.revokeUnknown())
    expect((await readList(place.services, status.uri))[status.idx]).toBe(1)
  })

  it('that cannot be restored is refused with the reason, and changes nothing', async () => {
    const place = await startedIssuer()
    await place.lists.issue(1)
    await done(place.db('backup', 'good.db', '--json'))
    expect(await place.db('backup', 'good.db')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/already/) as string,
    })
    const inFolder = (name: string): string => join(place.directory, name)
    writeFileSync(inFolder('text.db'), 'not a database '.repeat(1000))
    for (const name of ['damaged.db', 'cut.db', 'newer.db', 'other.db'])
      copyFileSync(inFolder('good.db'), inFolder(name))
    const damaged = openSync(inFolder('damaged.db'), 'r+')
    for (let page = 2; page < 12; page += 1) writeSync(damaged, Buffer.alloc(512, 0xa5), 0, 512, page * 4096)
    closeSync(damaged)
    truncateSync(inFolder('cut.db'), statSync(inFolder('cut.db')).size - 4096)
    await changed(inFolder('newer.db'), "insert into migration values ('issuer-9999')")
    await changed(inFolder('other.db'), "update migration set id = replace(id, 'issuer', 'verifier')")
    await place.stop()
    const before = await place.db('status', '--json')
    const refused = [
      ['damaged.db', /damaged|malformed/],
      ['newer.db', /newer release.*issuer-9999/],
      ['nowhere.db', /no such file; name a backup/],
      ['text.db', /not a database of SQLite.*a dump of PostgreSQL is put back by pg_restore or psql/s],
      ['cut.db', /cut off/],
      ['other.db', /another service.*verifier-/],
    ] as const
    for (const [name, why] of faults<(typeof refused)[number]>(refused, 2)) {
      const { status, stdout, stderr } = await place.db('restore', name)
      expect([name, status, stdout]).toEqual([name, 2, ''])
      expect(stderr).toMatch(why)
    }
    expect(await place.db('status', '--json')).toEqual(before)
    await place.start()
    await place.lists.issue(1)
    expect(place.lists.listIds()).toHaveLength(1)
  })

  longFault('fails on a full disk, leaves no file, and a restore there changes nothing', async () => {
    const place = await startedIssuer()
    await startMany(place)
    await done(place.db('backup', 'good.db', '--json'))
    const limited = (...words: readonly string[]): Promise<EndedCommand> => {
      const child = spawn('sh', ['-c', 'ulimit -f 200 && exec "$0" "$@"', process.execPath, COMMAND, 'db', ...words], {
        cwd: place.directory,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      return endOf(child)
    }
    expect(await limited('backup', 'more.db')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/more\.db: not made: .*(full|large|I\/O)/i) as string,
    })
    expect(existsSync(join(place.directory, 'more.db'))).toBe(false)
    expect(existsSync(join(place.directory, 'more.db.partial'))).toBe(false)
    await place.stop()
    // PostgreSQL may tidy its files meanwhile.
    const stateOf = async () => ({ ...(await done(place.db('status', '--json'))), bytes: undefined })
    const before = await stateOf()
    expect((await limited('restore', 'good.db')).status).toBe(2)
    expect(await stateOf()).toEqual(before)
  })
})

describe.skipIf(IS_POSTGRESQL)('the journal of a database that was moved away', () => {
  it('is refused at the start beside a backup, and a restore keeps it and does not read it', async () => {
    const place = await startedIssuer()
    await startMany(place)
    await done(place.db('backup', 'backup.db', '--json'))
    await place.stop()
    const file = join(place.directory, 'data', 'issuer.db')
    await journalBeside(file)
    copyFileSync(join(place.directory, 'backup.db'), file)
    for (const words of [['issuer'], ['doctor', 'issuer'], ['db', 'status']]) {
      const { status, stdout, stderr } = await startCommand(words, { cwd: place.directory }).ended
      expect([words, status]).toEqual([words, 2])
      expect(`${stdout}${stderr}`).toMatch(/issuer\.db-journal is\s+the\s+journal\s+of\s+another\s+state/)
    }
    rmSync(`${file}-journal`)
    await place.start()

    await place.stop()
    await journalBeside(file)
    renameSync(file, join(place.directory, 'elsewhere.db'))
    await done(place.db('restore', 'backup.db', '--json'))
    expect(existsSync(`${file}-journal`)).toBe(false)
    expect(readdirSync(join(place.directory, 'data'))).toContainEqual(expect.stringMatching(/before-\d+-journal$/))
    await place.start()
    await place.lists.issue(1)
  })
})

describe.skipIf(IS_POSTGRESQL)('a restored file', () => {
  it('is for the user of the service alone, whatever the mode of the backup, also where root restores it', async () => {
    const place = await startedIssuer()
    await done(place.db('backup', 'backup.db', '--json'))
    await place.stop()
    const inData = (name: string): string => join(place.directory, 'data', name)
    for (const mode of [0o444, 0o664]) {
      chmodSync(join(place.directory, 'backup.db'), mode)
      await done(place.db('restore', 'backup.db', '--json'))
      expect(statSync(inData('issuer.db')).mode & 0o777).toBe(0o600)
    }
    await place.start()
    await place.stop()
    const owner = process.getuid?.() === 0 ? 65_534 : process.getuid?.()
    for (const name of ['issuer.db', 'issuer.db-generation'])
      chownSync(inData(name), owner ?? -1, owner === 65_534 ? owner : -1)
    await done(place.db('restore', 'backup.db', '--json'))
    const written = readdirSync(join(place.directory, 'data')).filter((name) => !name.includes('.before'))
    expect(written).toEqual(expect.arrayContaining(['issuer.db', 'issuer.db-generation']))
    for (const name of written) expect([name, statSync(inData(name)).uid]).toEqual([name, owner])
  })
})

describe.skipIf(IS_POSTGRESQL)('a command that was interrupted', () => {
  it('leaves nothing that spoils the next one, once the file that the message names is deleted', async () => {
    const place = await startedIssuer()
    await startMany(place)
    await done(place.db('backup', 'backup.db', '--json'))
    const file = join(place.directory, 'data', 'issuer.db')
    const unfinished = `${file}.restoring`
    // A log of another state, as an interrupted restore leaves one of an older backup.
    copyFileSync(`${file}-wal`, `${unfinished}-wal`)
    await place.stop()
    writeFileSync(unfinished, '')
    expect(await place.db('restore', 'backup.db')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/restoring: another restore is running.*delete this file/) as string,
    })
    expect(existsSync(unfinished)).toBe(true)
    rmSync(unfinished)
    await done(place.db('restore', 'backup.db', '--json'))
    expect(readdirSync(join(place.directory, 'data')).filter((name) => name.includes('restoring'))).toEqual([])
    await place.start()
  })

  it('is never the other one of two backups to the same file', async () => {
    const place = await startedIssuer()
    await startMany(place)
    const ends = await Promise.all([1, 2, 3].map(() => place.db('backup', 'backup.db')))
    expect(ends.filter(({ status }) => status === 0)).toHaveLength(1)
    for (const { stderr } of ends.filter(({ status }) => status !== 0)) {
      expect(stderr).toMatch(/another backup is running|there is such a file already/)
    }
    const names = readdirSync(place.directory).filter((name) => name.startsWith('backup.db'))
    expect(names).toEqual(['backup.db'])
  })
})

/** Rewrites the file, and leaves the journal as a process does that is killed meanwhile. */
async function journalBeside(file: string): Promise<void> {
  const database = new (await loadDriver())(file)
  database.exec('pragma journal_mode = delete; pragma cache_size = 5; begin')
  database.exec('create table more (id text)')
  database.exec("update issuance_session set value = json_set(value, '$.more', hex(zeroblob(500)))")
  copyFileSync(`${file}-journal`, `${file}-kept`)
  database.exec('rollback')
  database.close()
  renameSync(`${file}-kept`, `${file}-journal`)
}

describe.runIf(IS_POSTGRESQL)('a restore that is ended', () => {
  it('by a signal leaves no copy of the backup, and by force one that the next restore names', async () => {
    const place = await startedIssuer()
    await done(place.db('backup', 'backup.db', '--json'))
    await place.stop()
    const temporary = join(place.directory, 'temporary')
    mkdirSync(temporary)
    const options = { cwd: place.directory, env: { TMPDIR: temporary } }
    const restore = (...words: string[]) => startCommand(['db', 'restore', 'backup.db', ...words], options)
    const { child, ended } = restore()
    await expect.poll(() => readdirSync(temporary), { interval: 2 }).toHaveLength(1)
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ status: null, signal: 'SIGINT' })
    expect(readdirSync(temporary)).toEqual([])

    const leftover = join(temporary, 'vouchsafe-restore-killed')
    mkdirSync(leftover)
    expect(await done(restore('--json').ended)).toMatchObject({ leftovers: [leftover] })
    expect((await restore().ended).stdout).toContain(
      `\n${leftover} has the backup of a restore that was killed; delete this directory if no restore is running.\n`,
    )
  })
})

async function changed(file: string, sql: string): Promise<void> {
  const database = new (await loadDriver())(file)
  database.exec(sql)
  database.close()
}

describe.skipIf(IS_POSTGRESQL)('compacting by the command', () => {
  it('makes the file smaller and nothing void, is refused while the service runs, and hides no copy', async () => {
    const place = await startedIssuer()
    const { sessionId } = await startedSession(place.services)
    expect(await place.db('compact')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/stop the service/) as string,
    })
    await place.stop()
    const file = join(place.directory, 'data', 'issuer.db')
    await changed(file, 'insert into migration select hex(zeroblob(500000))')
    await changed(file, 'delete from migration where length(id) > 1000')
    const { before, bytes } = await done(place.db('compact', '--json'))
    expect(Number(before) - Number(bytes)).toBeGreaterThan(900_000)
    await place.start()
    expect(await statusOf(place, sessionId)).toBe('STARTED')
    expect((await place.stop()).stdout).not.toMatch(/database_restored|open_sessions_voided/)

    await changed(file, `vacuum into '${file}.copy'`)
    copyFileSync(`${file}.copy`, file)
    await done(place.db('compact', '--json'))
    expect(existsSync(`${file}-journal`)).toBe(false)
    await place.start()
    expect((await place.stop()).stdout).toMatch(/"why":"it is a copy.*\n.*open_sessions_voided/)
  })
})
