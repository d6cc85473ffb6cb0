/** The messages of `vouchsafe db` about what is no database of a service, or may not be used. */
import { chmodSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { loadDriver } from '../../src/store/sqlite.ts'
import { startCommand } from '../support/command.ts'
import { serviceDirectory } from '../support/service-process.ts'

/** Whether modes of files mean nothing to this user. */
const IS_ROOT = process.getuid?.() === 0

let cwd: string

const db = (...words: readonly string[]) => startCommand(['db', ...words], { cwd }).ended

async function refusal(...words: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await db(...words)
  expect([words, status, stdout]).toEqual([words, 2, ''])
  return stderr
}

/** Returns the words of every command about a database that a configuration names. */
function commandsOn(name: string): readonly (readonly string[])[] {
  const config = ['--config', `conf/${name}.json`]
  return [
    ['status', ...config],
    ['migrate', ...config],
    ['migrate', '--check', ...config],
    ['compact', ...config],
    ['backup', 'out.db', ...config],
    ['copy', '--from', `conf/${name}.json`, '--to', 'sqlite:to.db', '--service', 'issuer'],
  ]
}

beforeAll(async () => {
  cwd = await serviceDirectory('issuer')
  const settings = async (name: string): Promise<void> => {
    const directory = await serviceDirectory('issuer', { database: { url: `sqlite:${name}` } })
    writeFileSync(join(cwd, `conf/${name}.json`), readFileSync(join(directory, 'conf/server.json')))
  }
  for (const name of ['folder', 'text.db', 'secret.db', 'half.db']) await settings(name)
  expect((await db('migrate')).status).toBe(0)
  expect((await db('backup', 'backup.db')).status).toBe(0)
  mkdirSync(join(cwd, 'folder'))
  writeFileSync(join(cwd, 'text.db'), 'not a database '.repeat(1000))
  writeFileSync(join(cwd, 'secret.db'), 'not to be read')
  chmodSync(join(cwd, 'secret.db'), 0)
})

describe('every command of a database names', () => {
  it('a directory in the place of its file', async () => {
    for (const words of [...commandsOn('folder'), ['restore', 'folder'], ['restore', 'backup.db', ...config('folder')]])
      expect([words, await refusal(...words)]).toEqual([
        words,
        expect.stringContaining('folder: it is a directory; name'),
      ])
  })

  it('a file that is no database', async () => {
    for (const words of [...commandsOn('text.db'), ['restore', 'text.db']])
      expect([words, await refusal(...words)]).toEqual([words, expect.stringMatching(/text\.db: .*not a database/)])
  })

  it.skipIf(IS_ROOT)('a file that its user may not read', async () => {
    for (const words of [...commandsOn('secret.db'), ['restore', 'secret.db']])
      expect([words, await refusal(...words)]).toEqual([words, expect.stringContaining('secret.db: this user may not')])
  })
})

describe('callbacks, audit and status-list', () => {
  it('name such a path in the words of vouchsafe db', async () => {
    for (const words of [
      ['callbacks', 'list'],
      ['audit', 'export'],
      ['status-list', 'export', 'lists'],
    ]) {
      const { status, stderr } = await startCommand([...words, ...config('folder')], { cwd }).ended
      expect([words, status, stderr]).toEqual([words, 2, 'folder: it is a directory; name a file\n'])
    }
  })
})

function config(name: string): readonly string[] {
  return ['--config', `conf/${name}.json`]
}

describe('a backup', () => {
  it('into a directory that is missing says to make it', async () => {
    expect(await refusal('backup', 'gone/out.db')).toContain(
      'gone/out.db.partial: it cannot be made (ENOENT); make its ',
    )
  })

  it('whose name leaves no room for the files beside it says so each time, and leaves nothing', async () => {
    const name = 'b'.repeat(240)
    const first = await refusal('backup', name)
    expect(first).toMatch(/^b+\.partial: a file beside it cannot be removed: ENAMETOOLONG.*; choose a shorter path\n$/)
    expect(await refusal('backup', name)).toBe(first)
    expect(readdirSync(cwd).filter((each) => each.startsWith('bb'))).toEqual([])
  })

  it('is not made of a database into which a copy has not ended', async () => {
    expect((await db('migrate', ...config('half.db'))).status).toBe(0)
    const database = new (await loadDriver())(join(cwd, 'half.db'))
    database.exec("insert into migration (id) values ('unfinished-copy')")
    database.close()
    expect(await refusal('backup', 'out.db', ...config('half.db'))).toMatch(
      /half\.db: a copy into the database has not ended; run the same vouchsafe db copy again, or empty the database and copy anew, and then this/,
    )
  })
})

describe('a restore', () => {
  it('is not made from the database itself by another name', async () => {
    symlinkSync('issuer.db', join(cwd, 'data/restored-symbolic.db'))
    linkSync(join(cwd, 'data/issuer.db'), join(cwd, 'data/restored-hard.db'))
    for (const name of ['data/issuer.db', 'data/restored-symbolic.db', 'data/restored-hard.db'])
      expect(await refusal('restore', name)).toBe(`${name}: it is the database itself; name a backup of it\n`)
  })
})

describe('a copy', () => {
  it('is not made into the same file by another name', async () => {
    symlinkSync('issuer.db', join(cwd, 'data/symbolic.db'))
    linkSync(join(cwd, 'data/issuer.db'), join(cwd, 'data/hard.db'))
    for (const name of ['./data/issuer.db', join(cwd, 'data/issuer.db'), 'data/symbolic.db', 'data/hard.db'])
      expect([name, await refusal('copy', '--from', 'sqlite:data/issuer.db', '--to', `sqlite:${name}`)]).toEqual([
        name,
        '--from and --to name the same database: data/issuer.db\n',
      ])
  })

  it('is not made into PostgreSQL without a user, whatever the variables of the service say', async () => {
    const env = { VOUCHSAFE_DATABASE__USER: 'vouchsafe', VOUCHSAFE_DATABASE__PASSWORD: 'not for other servers' }
    const words = ['db', 'copy', '--from', 'sqlite:data/issuer.db', '--to', 'postgresql://127.0.0.1:1/copied']
    expect(await startCommand(words, { cwd, env }).ended).toMatchObject({
      status: 2,
      stdout: '',
      stderr:
        '--to: it names no user; write postgresql://user@host/name, or in a configuration database.user beside it\n',
    })
  })

  it('is refused by the mistake in the URL of an option, which is no setting', async () => {
    for (const [url, why] of [
      ['postgresql://ada@127.0.0.1', 'it must be postgresql://host:port/name, with or without jdbc: before it'],
      [
        'postgresql://ada:1/2@127.0.0.1/a',
        'it must be postgresql://host:port/name, with or without jdbc: before it; a user or a password in it has %2F for /, %3F for ?, %23 for # and %25 for %',
      ],
      ['mysql://ada@127.0.0.1/a', 'it must be sqlite:path or postgresql://host/name, with or without jdbc: before it'],
      ['postgresql://ada@127.0.0.1/a?user=bob', 'it names two users; leave one out'],
    ] as const)
      expect(await refusal('copy', '--from', url, '--to', 'sqlite:to.db')).toBe(`--from: ${why}\n`)
  })

  it('says of two configurations with one database that a variable goes before both', async () => {
    const env = { VOUCHSAFE_DATABASE__URL: 'sqlite:data/issuer.db' }
    const words = ['db', 'copy', '--from', 'conf/server.json', '--to', 'conf/text.db.json']
    expect(await startCommand(words, { cwd, env }).ended).toMatchObject({
      status: 2,
      stderr:
        '--from and --to name the same database: data/issuer.db; VOUCHSAFE_DATABASE__URL goes before database.url of conf/server.json and conf/text.db.json: name each database by its URL\n',
    })
  })

  it('is made from a file into the database of the variables, as in a container', async () => {
    const env = { VOUCHSAFE_DATABASE__URL: 'sqlite:data/moved.db' }
    const words = ['db', 'copy', '--from', 'sqlite:data/issuer.db', '--to', 'conf/server.json']
    expect(await startCommand(words, { cwd, env }).ended).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('data/moved.db has all of data/issuer.db') as string,
    })
  })

  it('is not made into a file with tables of something else', async () => {
    const database = new (await loadDriver())(join(cwd, 'shop.db'))
    database.exec('create table customers (name text)')
    expect(await refusal('copy', '--from', 'sqlite:data/issuer.db', '--to', 'sqlite:shop.db')).toBe(
      'shop.db: it is not empty: customers is a table of something else; name an empty database\n',
    )
    const names = database.prepare('select name from sqlite_master').all()
    database.close()
    expect(names).toEqual([{ name: 'customers' }])
  })
})
