import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { temporaryDirectory } from '../../../test/support/command.ts'
import { loadDriver, openSqlite } from '../../store/sqlite.ts'
import { createCollection, type Store } from '../../store/store.ts'
import { findFileProblem, openDatabaseFile } from './database-file.ts'

const migrations = [{ id: '1', statements: createCollection('thing') }]
type Things = { thing: { n: number } }

const open = (file: string) => openSqlite<Things>(file, migrations)

/** Makes a directory, and a copy of its files at a moment: as a process leaves them that is killed. */
function place() {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-file-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'test.db')
  const killed = (name: string) => {
    for (const end of ['', '-wal']) copyFileSync(`${file}${end}`, join(directory, `${name}${end}`))
    return join(directory, name)
  }
  return { file, killed, at: (name: string) => join(directory, name) }
}

async function write(store: Store<Things>, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n += 1)
    expect(await store.commit([{ insert: 'thing', id: `${n}`, value: { n } }])).toBe(undefined)
}

describe('the log beside a database file', () => {
  it('belongs to it wherever the process was killed, and is read', async () => {
    const { file, killed } = place()
    const store = await open(file)
    // Across several moves of the log into the file.
    for (let n = 0; n < 1300; n += 1) {
      await write(store, n, 1)
      if (n % 50 !== 0 && n % 400 > 3) continue
      const copy = killed(`at ${n}`)
      expect([n, findFileProblem(copy)]).toEqual([n, undefined])
      const again = await open(copy)
      expect(await again.list('thing')).toHaveLength(n + 1)
      await again.close()
    }
    await store.tidy?.()
    expect(findFileProblem(killed('tidy'))).toBe(undefined)
    await store.close()
    expect(findFileProblem(file)).toBe(undefined)
  })

  it('belongs to it where two processes write, and one reads', async () => {
    const { file, killed } = place()
    const [first, second, third] = [await open(file), await open(file), await open(file)]
    for (let n = 0; n < 900; n += 20) {
      await write(first, n, 10)
      await write(second, n + 10, 10)
      if (n % 200 === 0) await third.tidy?.().catch(() => undefined)
      expect([n, findFileProblem(killed('both'))]).toEqual([n, undefined])
    }
    await Promise.all([first, second, third].map((each) => each.close()))
  })

  it('may be emptied and taken away by another process while it is looked at', async () => {
    const { file, killed, at } = place()
    const store = await open(file)
    await write(store, 0, 50)
    const copy = killed('killed')
    await store.close()
    const work = `const { copyFileSync, renameSync, rmSync, truncateSync } = require('node:fs')
      const [log, kept, next] = process.argv.slice(1)
      copyFileSync(log, kept)
      process.stdout.write('begun')
      for (;;) {
        copyFileSync(kept, next)
        renameSync(next, log)
        truncateSync(log, 0)
        rmSync(log)
      }`
    const other = spawn(process.execPath, ['-e', work, `${copy}-wal`, at('kept'), at('next')])
    onTestFinished(() => void other.kill('SIGKILL'))
    await once(other.stdout, 'data')
    const end = performance.now() + 1500
    while (performance.now() < end) expect(findFileProblem(copy)).toBe(undefined)
  })

  it('is refused beside every copy that was made before it was begun', async () => {
    const { file, killed, at } = place()
    const Database = await loadDriver()
    const vacuum = (name: string) => {
      const database = new Database(file)
      database.exec(`vacuum into '${at(name)}'`)
      database.close()
    }
    let store = await open(file)
    await write(store, 0, 50)
    vacuum('vacuumed')
    await store.close()
    copyFileSync(file, at('stopped'))
    store = await open(file)
    await write(store, 50, 500)
    copyFileSync(file, at('copied while it ran'))
    await write(store, 550, 900)
    vacuum('vacuumed later')
    const { file: log } = { file: `${killed('killed')}-wal` }
    await store.close()
    for (const name of ['vacuumed', 'stopped', 'copied while it ran', 'vacuumed later']) {
      const file = at(name)
      expect([name, findFileProblem(file)]).toEqual([name, undefined])
      copyFileSync(log, `${file}-wal`)
      expect([name, findFileProblem(file)]).toEqual([name, expect.stringMatching(/log of another state/)])
    }
  })

  it('is refused beside no file, and beside an empty one', async () => {
    const { file, killed } = place()
    const store = await open(file)
    await write(store, 0, 10)
    const copy = killed('killed')
    await store.close()
    truncateSync(copy, 0)
    expect(findFileProblem(copy)).toMatch(/missing or empty, and its log/)
    rmSync(copy)
    expect(findFileProblem(copy)).toMatch(/missing or empty, and its log/)
  })
})

describe('a log that begins with what is purged', () => {
  it('is told from that of another state', async () => {
    const { file, killed, at } = place()
    const store = await open(file)
    await store.commit(
      Array.from({ length: 900 }, (_, n) => ({ insert: 'thing', id: `old ${n}`, value: { n }, dueAt: new Date(0) })),
    )
    await store.tidy?.()
    copyFileSync(file, at('before'))
    await store.purge('thing', new Date(1))
    await store.tidy?.()
    copyFileSync(file, at('between'))
    await store.purge('thing', new Date(1))
    await write(store, 0, 20)
    const copy = killed('killed')
    expect(findFileProblem(copy)).toBe(undefined)
    copyFileSync(`${copy}-wal`, `${at('before')}-wal`)
    expect(findFileProblem(at('before'))).toMatch(/log of another state/)
    await store.close()
  })
})

/** Changes a database whose journal is no log, and copies its files in the middle of that. */
async function cutOffChange(file: string, copy: string, sql: string): Promise<void> {
  // A closed connection may keep its lock until its statements are collected.
  const changed = `${file}.changed`
  copyFileSync(file, changed)
  const database = new (await loadDriver())(changed)
  database.exec('pragma journal_mode = delete; pragma cache_size = 5; begin')
  database.exec(sql)
  // The cache holds few pages: the others are written to the file, and their earlier state to the journal.
  database.exec("update thing set value = json_set(value, '$.more', hex(zeroblob(500)))")
  for (const end of ['', '-journal']) copyFileSync(`${changed}${end}`, `${copy}${end}`)
  database.exec('rollback')
  database.close()
}

describe('the journal beside a database file', () => {
  it.each([
    ['without the first page', ''],
    ['with the first page', 'create table more (id text)'],
  ])('belongs to it where a change was cut off, and is refused beside another state: %s', async (_, sql) => {
    const { file, at } = place()
    let store = await open(file)
    await write(store, 0, 200)
    await store.close()
    copyFileSync(file, at('before'))
    store = await open(file)
    await write(store, 200, 200)
    await store.close()
    copyFileSync(file, at('later'))
    await cutOffChange(file, at('cut off'), sql)
    copyFileSync(`${at('cut off')}-journal`, `${at('before')}-journal`)
    expect(findFileProblem(at('before'))).toMatch(/before-journal is the journal of another state/)
    expect(findFileProblem(at('cut off'))).toBe(undefined)
    const again = await open(at('cut off'))
    expect(await again.list('thing')).toHaveLength(400)
    await again.close()
    expect(findFileProblem(at('cut off'))).toBe(undefined)
  })

  it('belongs to it wherever a rewrite of the file was killed', async () => {
    const { file: first, at } = place()
    const store = await open(first)
    await store.commit(Array.from({ length: 2000 }, (_, n) => ({ insert: 'thing', id: `${n}`, value: { n } })))
    await store.close()
    const file = at('copy')
    copyFileSync(first, file)
    let journals = 0
    for (let delay = 0; delay < 40; delay += 2) {
      const child = spawn(process.execPath, ['-e', REWRITING, file], { stdio: ['ignore', 'pipe', 'inherit'] })
      await once(child.stdout, 'data')
      await new Promise((resolve) => setTimeout(resolve, delay))
      child.kill('SIGKILL')
      await once(child, 'close')
      if (existsSync(`${file}-journal`)) journals += 1
      expect([delay, findFileProblem(file)]).toEqual([delay, undefined])
    }
    expect(journals).toBeGreaterThan(0)
    expect(await (await open(file)).list('thing')).toHaveLength(2000)
  })

  it('is refused beside no file, and beside an empty one', async () => {
    const { file, at } = place()
    const store = await open(file)
    await write(store, 0, 200)
    await store.close()
    await cutOffChange(file, at('cut off'), '')
    truncateSync(at('cut off'), 0)
    expect(findFileProblem(at('cut off'))).toMatch(/missing or empty, and its journal/)
    rmSync(at('cut off'))
    expect(findFileProblem(at('cut off'))).toMatch(/missing or empty, and its journal/)
    truncateSync(`${at('cut off')}-journal`, 0)
    expect(findFileProblem(at('cut off'))).toBe(undefined)
  })
})

describe('a database file', () => {
  it('is refused when it was cut off', async () => {
    const { file } = place()
    const store = await open(file)
    await write(store, 0, 300)
    await store.close()
    expect(findFileProblem(file)).toBe(undefined)
    truncateSync(file, 8192)
    expect(findFileProblem(file)).toMatch(/it was cut off; put back a backup/)
  })
})

/** The program of a process that rewrites a database again and again. */
const REWRITING = `
  const { DatabaseSync } = process.getBuiltinModule?.('node:sqlite') ?? require('@photostructure/sqlite')
  const database = new DatabaseSync(process.argv[1])
  database.exec('pragma journal_mode = delete; pragma cache_size = 5')
  console.log('begins')
  for (;;) database.exec('vacuum')
`

/** The program of a process that lets a database grow, and moves each change into the file at once. */
const GROWING = `
  const { DatabaseSync } = process.getBuiltinModule?.('node:sqlite') ?? require('@photostructure/sqlite')
  const database = new DatabaseSync(process.argv[1])
  database.exec('pragma synchronous = off')
  const insert = database.prepare("insert into thing (id, value, version) values (?, ?, 0)")
  console.log('begins')
  for (let n = 0; ; n++) {
    insert.run(String(n), JSON.stringify({ note: 'x'.repeat(20_000) }))
    database.prepare('pragma wal_checkpoint(passive)').get()
  }
`

describe('what a file states about itself', () => {
  it('is whole at each look while another process moves its log into it, which lets it grow', async () => {
    const { file } = place()
    await (await open(file)).close()
    const other = spawn(process.execPath, ['-e', GROWING, file], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void other.kill('SIGKILL'))
    await once(other.stdout, 'data')
    const bytesBefore = statSync(file).size
    const openedFile = openDatabaseFile(file)
    onTestFinished(() => openedFile.close())
    for (let look = 0; look < 30_000; look += 1) expect(openedFile.readState()?.isWhole).toBe(true)
    expect(statSync(file).size).toBeGreaterThan(bytesBefore)
  })

  it('is whole while its last page is in the log alone, because another reads an earlier state of it', async () => {
    const { file } = place()
    await (await open(file)).close()
    const Database = await loadDriver()
    const [writer, reader] = [new Database(file), new Database(file)]
    const openedFile = openDatabaseFile(file)
    onTestFinished(() => {
      for (const each of [reader, writer, openedFile]) each.close()
    })
    writer.exec('pragma wal_autocheckpoint = 0')
    const insert = writer.prepare('insert into thing (id, value, version) values (?, ?, 0)')
    for (const id of ['a', 'b', 'c']) insert.run(id, JSON.stringify({ note: 'x'.repeat(20_000) }))
    reader.exec('begin')
    reader.prepare('select count(*) from thing').get()
    // The pages of this row are written again, beyond what the reader sees and a checkpoint may move.
    writer.prepare("update thing set value = ? where id = 'c'").run(JSON.stringify({ note: 'y'.repeat(20_000) }))
    writer.prepare('pragma wal_checkpoint(passive)').get()
    const pages = Number(reader.prepare('pragma page_count').get()?.page_count)
    const pageBytes = Number(reader.prepare('pragma page_size').get()?.page_size)
    expect(statSync(file).size).toBeLessThan(pages * pageBytes)
    expect(openedFile.readState()?.isWhole).toBe(true)
    truncateSync(file, 2 * pageBytes)
    expect(openedFile.readState()?.isWhole).toBe(false)
  })

  it('is that it was cut off, once it is', async () => {
    const { file } = place()
    const store = await open(file)
    await write(store, 0, 500)
    await store.close()
    const openedFile = openDatabaseFile(file)
    onTestFinished(() => openedFile.close())
    expect(openedFile.readState()).toMatchObject({ isWhole: true, hasWal: true })
    truncateSync(file, statSync(file).size - 4096)
    expect(openedFile.readState()).toMatchObject({ isWhole: false })
    truncateSync(file, 99)
    expect(openedFile.readState()).toBe(undefined)
  })
})

it('is never a device or a directory', () => {
  expect(findFileProblem('/dev/null')).toBe('it is not a regular file; name a file')
  expect(findFileProblem(temporaryDirectory())).toBe('it is a directory; name a file')
})
