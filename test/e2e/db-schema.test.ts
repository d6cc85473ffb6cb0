/** The schema of a database, which the command makes and checks without a service. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { issuerMigrations } from '../../src/issuer/collections.ts'
import { openPostgres } from '../../src/store/postgres.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import { type EndedCommand, startCommand } from '../support/command.ts'
import { moveSettingsToEnvironment, serviceDirectory, startForTest } from '../support/service-process.ts'
import { databaseSettings, postgresOf } from '../support/store.ts'

describe('the schema by the command', () => {
  it('is made and brought up to date without a service, and checked without a change', async () => {
    const directory = await serviceDirectory('issuer', databaseSettings())
    const db = (...words: readonly string[]) => startCommand(['db', ...words], { cwd: directory }).ended
    const { status, stdout } = await db('migrate', '--check', '--json')
    expect([status, (JSON.parse(stdout) as { missing: string[] }).missing]).toEqual([
      1,
      expect.arrayContaining(['issuer-0001']),
    ])
    expect((await done(db('migrate', '--json'))).added).toContain('issuer-0001')
    expect(await done(db('migrate', '--json'))).toMatchObject({ added: [] })
    expect(await done(db('migrate', '--check', '--json'))).toMatchObject({ missing: [] })
    const service = await startForTest('issuer', directory)
    expect((await fetch(`${service.url}/health/ready`)).status).toBe(200)
    const text = (await db('status')).stdout
    expect(text).toMatch(/schema +issuer-\d+, the newest/)
    expect(readFileSync(join(directory, 'conf', 'server.json'), 'utf8')).toContain('baseUrl')
  })
})

it('a schema of an older release is left as it is by every command but those that bring it up to date', async () => {
  const settings = databaseSettings()
  const directory = await serviceDirectory('issuer', settings)
  const run = (...words: readonly string[]) => startCommand(words, { cwd: directory }).ended
  mkdirSync(join(directory, 'data'))
  const [url, older] = [settings.database?.url, issuerMigrations.slice(0, -1)]
  const file = join(directory, 'data', 'issuer.db')
  const store = url === undefined ? await openSqlite(file, older) : await openPostgres(postgresOf(url), older)
  await store.close()
  for (const words of [
    ['audit', 'export'],
    ['callbacks', 'list'],
    ['status-list', 'export', 'lists'],
    ['status-list', 'revoke-unknown'],
  ]) {
    const { status, stderr } = await run(...words)
    const why =
      /the schema cannot be used: issuer-\d+; issuer-\d+ missing, which the service adds at its start, or .*db migrate/
    expect([words, status, stderr]).toEqual([words, 2, expect.stringMatching(why)])
  }
  const other = await run('callbacks', 'list', '--service', 'verifier')
  expect(other.status).toBe(2)
  expect((await run('db', 'migrate', '--check')).status).toBe(1)
  expect((await run('db', 'migrate')).status).toBe(0)
  expect((await run('audit', 'export')).status).toBe(0)
})

describe('every subcommand reads the settings of the environment, as a service does:', () => {
  const url = () => databaseSettings().database?.url ?? 'sqlite:elsewhere/own.db'

  async function tryEach(directory: string, env: NodeJS.ProcessEnv): Promise<void> {
    const db = (...words: readonly string[]) =>
      startCommand(['db', ...words, '--service', 'issuer', '--json'], { cwd: directory, env }).ended
    const { database } = await done(db('migrate'))
    expect(await done(db('status'))).toMatchObject({ database, schema: { missing: [] } })
    expect(await done(db('backup', 'backup.db'))).toMatchObject({ database })
    expect(await done(db('restore', 'backup.db'))).toMatchObject({ database, kept: expect.any(String) as string })
    const compaction = await db('compact')
    expect(compaction.stdout + compaction.stderr).toContain(database)
    expect(await done(db('copy', '--from', 'conf/server.json', '--to', 'sqlite:copy.db'))).toMatchObject({
      from: database,
    })
    expect(existsSync(join(directory, 'data', 'issuer.db'))).toBe(false)
  }

  it('the URL of the database', async () => {
    await tryEach(await serviceDirectory('issuer'), { VOUCHSAFE_DATABASE__URL: url() })
  })

  it('all of them, where there is no file', async () => {
    const directory = await serviceDirectory('issuer', { database: { url: url() } })
    await tryEach(directory, moveSettingsToEnvironment(directory))
  })
})

/** Returns what a command that succeeds prints. */
async function done(ended: Promise<EndedCommand>): Promise<Record<string, unknown>> {
  const { status, stdout, stderr } = await ended
  // The schemas of all tests are in one database, and one process at a time brings a schema up to date.
  const problems = stderr.replaceAll(/^.*: waiting for another process, which brings the schema up to date .*\n/gm, '')
  expect([status, problems, status === 0 || stdout]).toEqual([0, '', true])
  return JSON.parse(stdout) as Record<string, unknown>
}
