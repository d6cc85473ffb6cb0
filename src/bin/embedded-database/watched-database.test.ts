import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync, symlinkSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { openSqlite } from '../../store/sqlite.ts'
import { findDamage } from '../../store/sqlite-check.ts'
import { createCollection, type Store } from '../../store/store.ts'
import { watchDatabase } from './watched-database.ts'

interface Things {
  readonly thing: { readonly text: string }
}

const migrations = [{ id: '1', statements: createCollection('thing') }]
const insert = { insert: 'thing', id: 'a', value: { text: '' } } as const

function watch(store: Store<Things>, file: string, find = findIn): Store<Things> {
  return watchDatabase(store, { file }, pino({ enabled: false }), find)
}

const findIn = (file: string) => findDamage(file, Infinity, { readOnly: true })

/** Opens a database on a disk whose writes fail with the result code of SQLite. */
async function onDisk(errcode: number) {
  const file = join(mkdtempSync(join(tmpdir(), 'vouchsafe-watched-')), 'test.db')
  const store = await openSqlite<Things>(file, migrations)
  const refusal = () => Promise.reject(Object.assign(new Error('no room'), { errcode }))
  return { store: watch({ ...store, commit: refusal }, file), file }
}

describe('a database on a disk that has refused a write', () => {
  it.each([
    ['is full', 13],
    ['is broken, in an extended code', 778],
    ['can only be read', 8],
  ])('is known to take nothing for a while where the disk %s', async (_, errcode) => {
    const { store } = await onDisk(errcode)
    await store.checkDisk?.()
    await expect(store.commit([insert])).rejects.toThrow('no room')
    await expect(store.checkDisk?.()).rejects.toMatchObject({
      message: expect.stringMatching(/: the disk has refused a write$/) as string,
      cause: { message: 'no room', errcode },
    })
    await store.close()
  })

  it('is nothing of the kind where the database was busy', async () => {
    const { store } = await onDisk(5)
    await expect(store.commit([insert])).rejects.toThrow('no room')
    await store.checkDisk?.()
    await store.close()
  })
})

describe('a database that SQLite finds damaged', () => {
  it.each([
    ['in a page', 11],
    ['as a whole', 26],
    ['in a log that is shorter than it was', 522],
  ])('answers for nothing any more, and is left as it is: %s', async (_, errcode) => {
    const { store, file } = await onDisk(errcode)
    await expect(store.commit([insert])).rejects.toThrow('no room')
    for (const work of [() => store.get('thing', 'a'), () => store.checkDisk?.(), () => store.commit([])]) {
      await expect(work()).rejects.toThrow('the database is damaged; put back a backup')
    }
    await expect(store.close()).rejects.toThrow('the database is damaged')
    expect(existsSync(`${file}-wal`)).toBe(true)
  })
})

it('a database whose configured link is changed to another file answers for nothing any more', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-watched-'))
  const [file, link] = [join(directory, 'test.db'), join(directory, 'link.db')]
  symlinkSync('test.db', link)
  const opened = await openSqlite<Things>(file, migrations)
  const store = watchDatabase(opened, { file, link }, pino({ enabled: false }), findIn)
  await store.commit([insert])
  copyFileSync(file, join(directory, 'other.db'))
  rmSync(link)
  symlinkSync('other.db', link)
  await expect.poll(() => store.checkDisk?.().then(String, String)).toMatch(/another file was put in the place/)
  await expect(store.close()).rejects.toThrow('another file was put in the place')
})

it('a database whose file cannot be looked at is not ready until it can, and the process lives on', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-watched-'))
  const [file, link] = [join(directory, 'test.db'), join(directory, 'link.db')]
  symlinkSync('test.db', link)
  const lines: { readonly event?: string; readonly err?: { readonly code?: string } }[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) })
  const store = watchDatabase(await openSqlite<Things>(file, migrations), { file, link }, log, findIn)
  const medium = () => store.checkDisk?.().then(String, String)
  const leadTo = (target: string) => {
    rmSync(link)
    symlinkSync(target, link)
  }
  // A link to itself gives another error than a file that is gone, also to root.
  leadTo('link.db')
  await expect.poll(medium).toMatch(/test\.db: this process cannot look at the file/)
  await store.commit([insert])
  await setTimeout(1200)
  expect(lines).toMatchObject([{ event: 'database_unchecked', err: { code: 'ELOOP' } }])
  leadTo('test.db')
  await expect.poll(medium).toBe('undefined')
  leadTo('link.db')
  await store.close()
  expect(statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0)
})

describe('the pages of a database that is watched', () => {
  it('are checked when the file has changed, and damage is noticed that nobody reads', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'vouchsafe-watched-')), 'test.db')
    const store = watch(await openSqlite<Things>(file, migrations), file)
    await store.commit([insert])
    await store.tidy?.()
    await promisify(execFile)(process.execPath, ['-e', DAMAGE, file])
    const medium = () => store.checkDisk?.().then(String, String)
    await expect.poll(medium).toMatch(/the database is damaged; put back a backup/)
    await expect(store.close()).rejects.toThrow('the database is damaged')
  })

  it('are not checked when only the log has changed, or the file is large', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'vouchsafe-watched-')), 'test.db')
    let checks = 0
    const store = watch(await openSqlite<Things>(file, migrations), file, (checkedFile) => {
      checks += 1
      return findIn(checkedFile)
    })
    await store.commit([insert])
    await setTimeout(1200)
    truncateSync(file, 65 * 1024 * 1024)
    await setTimeout(1200)
    expect(checks).toBe(0)
    await store.close()
  })
})

it('a database that cannot be written is told with the code of the system', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'vouchsafe-watched-')), 'test.db')
  const store = watch(await openSqlite<Things>(file, migrations), file)
  rmSync(file)
  await expect(store.checkDisk?.()).rejects.toMatchObject({
    message: `${file}: this user may not write it, or the directory that it is in (ENOENT)`,
    cause: { code: 'ENOENT' },
  })
  await expect(store.close()).rejects.toThrow('the database file was taken away')
})

it('a database that is watched is in use for other processes, which leave its log where it is', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'vouchsafe-watched-')), 'test.db')
  const store = watch(await openSqlite<Things>(file, migrations), file)
  await store.commit([insert])
  // Some looks at the file.
  await setTimeout(1200)
  await promisify(execFile)(process.execPath, ['-e', VISIT, file])
  expect(existsSync(`${file}-wal`)).toBe(true)
  await store.commit([{ ...insert, id: 'b' }])
  const ids = await promisify(execFile)(process.execPath, ['-e', VISIT, file])
  expect(ids.stdout).toBe('a,b\n')
  await store.close()
})

/** A process that overwrites the page of a table. */
const DAMAGE = `
  const { openSync, writeSync } = require('node:fs')
  const { DatabaseSync } = process.getBuiltinModule?.('node:sqlite') ?? require('@photostructure/sqlite')
  const database = new DatabaseSync(process.argv[1])
  const { rootpage } = database.prepare("select rootpage from sqlite_master where name = 'thing'").get()
  database.close()
  writeSync(openSync(process.argv[1], 'r+'), Buffer.alloc(512, 0xa5), 0, 512, (rootpage - 1) * 4096)
`

/** A process that opens a database, prints the ids of its rows, and closes it. */
const VISIT = `
  const { DatabaseSync } = process.getBuiltinModule?.('node:sqlite') ?? require('@photostructure/sqlite')
  const database = new DatabaseSync(process.argv[1])
  console.log(database.prepare('select id from thing order by id').all().map(({ id }) => id).join())
  database.close()
`
