/** The messages of `vouchsafe db` about databases of PostgreSQL. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { issuerMigrations } from '../../src/issuer/collections.ts'
import { openPostgres } from '../../src/store/postgres.ts'
import { withConnection } from '../../src/store/postgres-connections.ts'
import { startCommand } from '../support/command.ts'
import { endService, serviceDirectory, startForTest } from '../support/service-process.ts'
import { freshUrl, postgresOf, serverUrl } from '../support/store.ts'

const db = (cwd: string, ...words: readonly string[]) => startCommand(['db', ...words], { cwd }).ended

/** Makes the tables of an issuer, as `vouchsafe db migrate` does. */
async function migrate(url: string): Promise<void> {
  await (await openPostgres(postgresOf(url), issuerMigrations)).close()
}

/** The directory of an issuer with a file as its database, and a backup of it. */
let embedded: string
beforeAll(async () => {
  embedded = await serviceDirectory('issuer')
  for (const words of [['migrate'], ['backup', 'backup.db']]) expect((await db(embedded, ...words)).status).toBe(0)
})

it('a refusal of a copy into a file names the file alone', async () => {
  const url = freshUrl()
  const cwd = await serviceDirectory('issuer', { database: { url } })
  await migrate(url)
  const copy = () => db(cwd, 'copy', '--from', url, '--to', 'sqlite:to.db')
  writeFileSync(join(cwd, 'to.db'), 'not a database '.repeat(1000))
  expect((await copy()).stderr).toMatch(/^to\.db: file is not a database/)
})

it('a copy is not made into a schema with tables of something else', async () => {
  const url = freshUrl()
  const schema = new URL(url).searchParams.get('currentSchema') ?? 'none'
  const run = (text: string) => withConnection(postgresOf(serverUrl()), (query) => query({ text, values: [] }))
  await run(`create schema ${schema}`)
  await run(`create table ${schema}.customers (name text)`)
  const { status, stderr } = await db(embedded, 'copy', '--from', 'sqlite:data/issuer.db', '--to', url)
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
  await migrate(url)
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

describe('a restore as a user who is no superuser', () => {
  it('names tables that this user may not read', async () => {
    const { cwd, run, role, schema, setUser } = await restorable()
    setUser(role)
    await run(`revoke all on all tables in schema ${schema} from ${role}`)
    expect((await restore(cwd))[1]).toMatch(/ more belong to .*, and this user, writer_.*, may not move them/)
  })

  it('names the tables that belong to another user', async () => {
    const { cwd, role, schema, setUser } = await restorable()
    setUser(role)
    expect(await restore(cwd)).toEqual([
      2,
      expect.stringMatching(
        new RegExp(
          `: the table ${schema}.audit_block and [0-9]+ more belong to (\\S+), and this user, ${role}, may not move them; ` +
            `restore as \\1, or make ${role} the owner of each \\(alter table ${schema}.audit_block owner to ${role}\\)$`,
        ),
      ),
    ])
  })

  it('names the one function that belongs to another user', async () => {
    const { cwd, run, role, schema, setUser } = await restorable()
    setUser(role)
    await makeOwner(run, schema, role)
    const name = `${schema}.every_change_applied(integer[])`
    await run(`alter function ${name} owner to current_user`)
    const [status, message] = await restore(cwd)
    expect([status, message]).toEqual([2, expect.stringContaining(`the function ${name} belongs to `)])
    expect(message).toContain(`or make ${role} the owner of it (alter function ${name} owner to ${role})`)
  })

  it('leaves tables of others alone', async () => {
    const { cwd, run, role, schema, setUser } = await restorable()
    setUser(role)
    await makeOwner(run, schema, role)
    await run(`create table ${schema}.monitoring (name text)`)
    const [status, message] = await restore(cwd)
    // A slow restore says how far it is.
    expect([status, message.replace(/^\w+: \d+ rows? copied$/gm, '').trim()]).toEqual([0, ''])
    const [{ schemaname } = {}] = await run(`select schemaname from pg_tables where tablename = 'monitoring'`)
    expect(schemaname).toBe(schema)
  })
})

/** Makes a service with migrated tables, and a role that may use its schema and owns nothing. */
async function restorable() {
  const url = freshUrl()
  const cwd = await serviceDirectory('issuer', { database: { url } })
  await migrate(url)
  const role = `writer_${randomBytes(8).toString('hex')}`
  const run = (text: string) =>
    withConnection(
      postgresOf(serverUrl()),
      async (query) => (await query({ text, values: [] })).rows as readonly Readonly<Record<string, string>>[],
    )
  const schema = new URL(url).searchParams.get('currentSchema') ?? 'none'
  await run(`create role ${role} login password 'a'`)
  onTestFinished(async () => {
    await run(`drop owned by ${role} cascade`)
    await run(`drop role ${role}`)
  })
  await run(`grant usage, create on schema ${schema} to ${role}`)
  await run(`grant all on all tables in schema ${schema} to ${role}`)
  const [{ name } = {}] = await run('select quote_ident(current_database()) as name')
  await run(`grant create on database ${name} to ${role}`)
  const setUser = (username: string) => {
    const file = join(cwd, 'conf/server.json')
    const settings = JSON.parse(readFileSync(file, 'utf8')) as object
    const userUrl = Object.assign(new URL(url), { username, password: 'a' }).href
    writeFileSync(file, JSON.stringify({ ...settings, database: { url: userUrl } }))
  }
  return { cwd, run, role, schema, setUser }
}

async function makeOwner(
  run: (text: string) => Promise<readonly Readonly<Record<string, string>>[]>,
  schema: string,
  role: string,
): Promise<void> {
  for (const { tablename } of await run(`select tablename from pg_tables where schemaname = '${schema}'`))
    await run(`alter table ${schema}.${tablename} owner to ${role}`)
  await run(`alter function ${schema}.every_change_applied(integer[]) owner to ${role}`)
}

async function restore(cwd: string): Promise<readonly [number | null, string]> {
  const { status, stderr } = await db(cwd, 'restore', join(embedded, 'backup.db'))
  return [status, stderr.trim()]
}

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
