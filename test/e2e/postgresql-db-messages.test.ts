/** The messages of `vouchsafe db` about databases of PostgreSQL. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { withConnection } from '../../src/store/postgres-connections.ts'
import { startCommand } from '../support/command.ts'
import { endService, serviceDirectory, startForTest } from '../support/service-process.ts'
import { freshUrl, postgresOf, serverUrl } from '../support/store.ts'

const db = (cwd: string, ...words: readonly string[]) => startCommand(['db', ...words], { cwd }).ended

it('a refusal of a copy into a file names the file alone', async () => {
  const url = freshUrl()
  const cwd = await serviceDirectory('issuer', { database: { url } })
  expect((await db(cwd, 'migrate')).status).toBe(0)
  const copy = () => db(cwd, 'copy', '--from', url, '--to', 'sqlite:to.db')
  writeFileSync(join(cwd, 'to.db'), 'not a database '.repeat(1000))
  expect((await copy()).stderr).toMatch(/^to\.db: file is not a database/)
})

it('a copy is not made into a schema with tables of something else', async () => {
  const url = freshUrl()
  const cwd = await serviceDirectory('issuer')
  expect((await db(cwd, 'migrate')).status).toBe(0)
  const schema = new URL(url).searchParams.get('currentSchema') ?? 'none'
  const run = (text: string) => withConnection(postgresOf(serverUrl()), (query) => query({ text, values: [] }))
  await run(`create schema ${schema}`)
  await run(`create table ${schema}.customers (name text)`)
  const { status, stderr } = await db(cwd, 'copy', '--from', 'sqlite:data/issuer.db', '--to', url)
  expect([status, stderr]).toEqual([
    2,
    expect.stringMatching(/: it is not empty: customers is a table of something else; name an empty database\n$/),
  ])
  const { rows } = await run(`select tablename from pg_tables where schemaname = '${schema}'`)
  expect(rows).toEqual([{ tablename: 'customers' }])
})

it('a table that the user may not read is named, and not taken for a missing one', async () => {
  const url = freshUrl()
  const cwd = await serviceDirectory('issuer', { database: { url } })
  expect((await db(cwd, 'migrate')).status).toBe(0)
  const role = `reader_${randomBytes(8).toString('hex')}`
  const run = (...texts: readonly string[]) =>
    withConnection(postgresOf(serverUrl()), async (query) => {
      for (const text of texts) await query({ text, values: [] })
    })
  const schema = new URL(url).searchParams.get('currentSchema') ?? 'none'
  await run(`create role ${role} login password 'a'`, `grant usage on schema ${schema} to ${role}`)
  onTestFinished(() => run(`drop owned by ${role}`, `drop role ${role}`))
  const file = join(cwd, 'conf/server.json')
  const settings = JSON.parse(readFileSync(file, 'utf8')) as object
  const readerUrl = Object.assign(new URL(url), { username: role, password: 'a' }).href
  writeFileSync(file, JSON.stringify({ ...settings, database: { url: readerUrl } }))
  const { status, stdout, stderr } = await db(cwd, 'status')
  expect([status, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(
    /^postgresql:\S+: PostgreSQL: permission denied for table migration; this user has not the rights .*\n$/,
  )
})

it('a restore as a user who does not own the tables says who does', async () => {
  const url = freshUrl()
  const cwd = await serviceDirectory('issuer', { database: { url } })
  expect((await db(cwd, 'migrate')).status).toBe(0)
  expect((await db(cwd, 'backup', 'backup.db')).status).toBe(0)
  const role = `writer_${randomBytes(8).toString('hex')}`
  const run = (...texts: readonly string[]) =>
    withConnection(postgresOf(serverUrl()), async (query) => {
      for (const text of texts) await query({ text, values: [] })
    })
  const schema = new URL(url).searchParams.get('currentSchema') ?? 'none'
  const grants = [`usage on schema ${schema}`, `all on all tables in schema ${schema}`]
  await run(`create role ${role} login password 'a'`, ...grants.map((each) => `grant ${each} to ${role}`))
  onTestFinished(() => run(`drop owned by ${role}`, `drop role ${role}`))
  const file = join(cwd, 'conf/server.json')
  const settings = JSON.parse(readFileSync(file, 'utf8')) as object
  const writerUrl = Object.assign(new URL(url), { username: role, password: 'a' }).href
  writeFileSync(file, JSON.stringify({ ...settings, database: { url: writerUrl } }))
  const { status, stderr } = await db(cwd, 'restore', 'backup.db')
  expect([status, stderr.trim()]).toEqual([
    2,
    expect.stringMatching(
      new RegExp(`: the tables belong to (\\S+), and this user, ${role}, may not move them; .*grant \\1 to ${role}$`),
    ),
  ])
})

it('a copy is not made of a dump that was put back, until a service has started on it', async () => {
  const url = freshUrl()
  const cwd = await serviceDirectory('issuer', { database: { url } })
  const copy = (to: string) => db(cwd, 'copy', '--from', url, '--to', `sqlite:${to}`)
  await endService(await startForTest('issuer', cwd), 'SIGTERM')
  expect(await copy('before.db')).toMatchObject({ status: 0 })
  const schema = new URL(url).searchParams.get('currentSchema') ?? 'none'
  await withConnection(postgresOf(url), async (run) => {
    // A dump that is restored makes the tables anew.
    await run({ text: `create table restored (like ${schema}.migration including all)`, values: [] })
    await run({ text: `insert into restored select * from ${schema}.migration`, values: [] })
    await run({ text: `drop table ${schema}.migration`, values: [] })
    await run({ text: 'alter table restored rename to migration', values: [] })
  })
  expect(await copy('refused.db')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(
      /^postgresql:\S+: it is a backup or another copy, on which no service has started \(it is a copy .*\); start/,
    ) as string,
  })
  expect(existsSync(join(cwd, 'refused.db'))).toBe(false)
  expect((await endService(await startForTest('issuer', cwd), 'SIGTERM')).stdout).toContain('database_restored')
  expect(await copy('after.db')).toMatchObject({ status: 0 })
})
