import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { Database, type DatabaseConfig, describeDatabase, readDatabase } from './database.ts'

const PEM = '-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n'
const links: Readonly<Record<string, string | undefined>> = { 'link.db': '/disk/real.db', 'loose.db': undefined }
const files = {
  read: (path: string) => {
    if (path === 'ca.pem') return PEM
    if (path === 'key.pem') return 'no certificate'
    throw new Error('no such file')
  },
  list: () => [],
  resolveLink: (path: string) => (path in links ? links[path] : path),
}
const read = (database: object) => readDatabase(database, 'data/service.db', files)
const mistakesOf = (database: object) => {
  const result = read(database)
  return 'mistakes' in result ? result.mistakes : []
}
const login = { user: 'u', password: 'p' }
const plain = { kind: 'postgresql', host: 'db', port: 5432, database: 'issuer', ...login, tls: { mode: 'disable' } }

describe('the embedded database', () => {
  it.each([
    ['jdbc:sqlite:data/a.db', 'data/a.db'],
    ['sqlite:data/a.db', 'data/a.db'],
    ['sqlite:/var/a.db', '/var/a.db'],
    ['sqlite:///var/a.db', '/var/a.db'],
  ])('is the file of %s', (url, file) => {
    const database = { kind: 'sqlite', file }
    expect(read({ url })).toEqual({ database, warnings: [] })
    expect(read({ url, driver: 'org.sqlite.JDBC' })).toEqual({ database, warnings: [] })
  })

  it('is the file that a symbolic link leads to, which has the log beside it', () => {
    expect(read({ url: 'sqlite:link.db' })).toEqual({
      database: { kind: 'sqlite', file: '/disk/real.db', link: 'link.db' },
      warnings: [],
    })
    expect(mistakesOf({ url: 'sqlite:loose.db' })).toEqual([
      'database.url: loose.db is a symbolic link to a file that is not there; mount its disk, remove the link, or make an empty file there for a new database',
    ])
  })

  it('has a name and a path with room for the names of the files beside it', () => {
    const tooLong: unknown = [
      expect.stringMatching(/^database\.url: .* at most 220 bytes, and the whole path 477; name/),
    ]
    expect(mistakesOf({ url: `sqlite:${'é'.repeat(110)}` })).toEqual([])
    expect(mistakesOf({ url: `sqlite:${'é'.repeat(110)}n` })).toEqual(tooLong)
    expect(mistakesOf({ url: `sqlite:/${'d/'.repeat(236)}name` })).toEqual([])
    expect(mistakesOf({ url: `sqlite:/${'d/'.repeat(236)}names` })).toEqual(tooLong)
  })

  it('is in memory with a warning', () => {
    expect(read({ url: 'sqlite::memory:' })).toEqual({
      database: { kind: 'sqlite', file: ':memory:' },
      warnings: ['database: it is in memory: nothing of it is left after a restart'],
    })
  })

  it('is there without settings, and tells people its file', () => {
    const database = { kind: 'sqlite', file: 'data/service.db' } as const
    expect(readDatabase(undefined, 'data/service.db', files)).toEqual({ database, warnings: [] })
    expect(describeDatabase(database)).toBe('data/service.db')
  })
})

describe('the generation of a database', () => {
  it('is the number that is said, of any database, and alone leaves the database where it is', () => {
    const embedded = { kind: 'sqlite', file: 'data/service.db', generation: 2 }
    expect(read({ generation: 2 })).toEqual({ database: embedded, warnings: [] })
    expect(read({ generation: 2, encryptionKeyFile: 'key' })).toEqual({ database: embedded, warnings: [] })
    expect(read({ url: 'sqlite:a.db', generation: 2 })).toMatchObject({ database: { file: 'a.db', generation: 2 } })
    expect(read({ url: 'postgresql://db/issuer', ...login, generation: 2 })).toMatchObject({
      database: { ...plain, generation: 2 },
    })
    expect(mistakesOf({})).toEqual([expect.stringMatching(/^database\.url: required/)])
  })
})

describe('a PostgreSQL database', () => {
  it.each([
    ['jdbc:postgresql://db:5432/issuer', {}],
    ['postgresql://db/issuer', {}],
    ['postgres://db:5433/issuer', { port: 5433 }],
    ['JDBC:postgresql://10.0.0.1/issuer', { host: '10.0.0.1' }],
    ['postgresql://[fd00::1]:5433/issuer', { host: 'fd00::1', port: 5433 }],
    ['postgresql://db/the%20issuer', { database: 'the issuer' }],
    ['postgresql://u:p@db/issuer', {}],
    ['jdbc:postgresql://db/issuer?user=u&password=p', {}],
    ['postgresql://db/issuer?sslmode=disable', {}],
    ['postgresql://db/issuer?sslmode=require', { tls: { mode: 'require' } }],
    ['postgresql://db/issuer?sslmode=verify-full', { tls: { mode: 'verify-full' } }],
    ['postgresql://db/issuer?sslmode=verify-ca&sslrootcert=ca.pem', { tls: { mode: 'verify-ca', ca: PEM } }],
    ['postgresql://db/issuer?currentSchema=of_issuer', { schema: 'of_issuer' }],
  ])('is where %s says', (url, differing) => {
    const pool = { maxConnections: 10, connectTimeoutMs: 5000, statementTimeoutMs: 10_000 }
    const database = { ...plain, ...pool, ...differing }
    const synchronous = { ...database, hasSynchronousStandbys: true }
    expect(read({ url, ...login, synchronousStandbys: true })).toHaveProperty('database', synchronous)
    expect(read({ url, ...login, driver: 'org.postgresql.Driver' })).toMatchObject({ database })
    expect(read({ url, ...login, driver: 'org.postgresql.Driver' })).toHaveProperty('database', database)
  })

  it('takes user and password from either place, written as a URL is', () => {
    const database = { user: 'a user', password: 'p@ss:word/?' }
    expect(read({ url: 'postgresql://a%20user:p%40ss%3Aword%2F%3F@db/issuer' })).toMatchObject({ database })
    expect(read({ url: 'postgresql://db/issuer', ...database })).toMatchObject({ database })
  })

  it('has the limits that are set', () => {
    const pool = { maxConnections: 3, connectTimeoutSeconds: 1, statementTimeoutSeconds: 2 }
    const database = { maxConnections: 3, connectTimeoutMs: 1000, statementTimeoutMs: 2000 }
    expect(read({ url: 'postgresql://u@db/issuer', pool })).toMatchObject({ database })
    const validate = new Ajv({ strict: false }).compile(Database)
    expect(validate({ pool })).toBe(true)
    for (const wrong of [
      { maxConnections: 0 },
      { connectTimeoutSeconds: 0.5 },
      { statementTimeoutSeconds: '1' },
      { min: 1 },
    ])
      expect(validate({ pool: wrong })).toBe(false)
  })

  it('warns of what can be read on the way, unless it does not leave this machine', () => {
    const warnings = (url: string) => (read({ url, ...login }) as { warnings: readonly string[] }).warnings
    for (const host of ['127.0.0.1', 'localhost', '[::1]', 'db.localhost'])
      expect(warnings(`postgresql://${host}/issuer`)).toEqual([])
    expect(warnings('postgresql://u:p@db/issuer')).toEqual([
      expect.stringMatching(/^database\.url: what goes to db is not encrypted; .*verify-full/),
    ])
    expect(warnings('postgresql://db/issuer?sslmode=require')).toEqual([expect.stringMatching(/^database\.url: .*who/)])
    expect(warnings('postgresql://db/issuer?sslmode=verify-full')).toEqual([])
  })

  it('tells people its address without user and password', () => {
    const name = (url: string) => describeDatabase((read({ url, ...login }) as { database: DatabaseConfig }).database)
    expect(name('jdbc:postgresql://u:p@db/issuer?sslmode=require')).toBe('postgresql://db:5432/issuer')
    expect(name('postgresql://[::1]:1/issuer?currentSchema=a')).toBe('postgresql://[::1]:1/issuer?currentSchema=a')
  })
})

const url = 'postgresql://db/issuer'
const FORM = /^database\.url: it must be postgresql:\/\/host:port\/name/

describe('a database is refused', () => {
  it.each([
    [{ url: 'mysql://a' }, /^database\.url: it must be sqlite:path/],
    [{ url: 'jdbc:mysql://a', driver: 'com.mysql.Driver' }, /^database\.url: it must be sqlite:path/],
    [{ url: 'sqlite:' }, /^database\.url: it must be sqlite:path/],
    [{ url: '' }, /^database\.url: it must be sqlite:path/],
    [{ url: 'sqlite:file:data/a.db' }, /^database\.url: it must be sqlite:path/],
    [{ driver: 'org.sqlite.JDBC' }, /^database\.url: required/],
    [{ url: 'sqlite:a', driver: 'org.postgresql.Driver' }, /^database\.driver: .*contradicts database\.url.*SQLite/],
    [{ url, ...login, driver: 'org.sqlite.JDBC' }, /^database\.driver: .*contradicts database\.url.*PostgreSQL/],
    [{ url: 'sqlite:a', pool: {} }, /^database\.pool: it is for PostgreSQL/],
    [{ url: 'sqlite:a', synchronousStandbys: true }, /^database\.synchronousStandbys: it is for PostgreSQL/],
    [{ url: 'postgresql:issuer', ...login }, FORM],
    [{ url: 'postgresql:///issuer', ...login }, FORM],
    [{ url: 'postgresql://db', ...login }, FORM],
    [{ url: 'postgresql://db/', ...login }, FORM],
    [{ url: 'postgresql://db/a/b', ...login }, FORM],
    [{ url: 'postgresql://db:port/issuer', ...login }, FORM],
    [{ url: 'postgresql://one,two/issuer', ...login }, FORM],
    [{ url: 'postgresql://one:1,two:2/issuer', ...login }, FORM],
    [{ url: 'postgresql://db/%E0%A4%A', ...login }, FORM],
    [{ url: 'postgresql://db/issuer#a', ...login }, FORM],
    [{ url }, /^database\.url: it names no user; write postgresql:.*database\.user/],
    [{ url: 'postgresql://other@db/issuer', ...login }, /^database\.user: it contradicts database\.url/],
    [{ url: 'postgresql://u:secret@db/issuer', ...login }, /^database\.password: it contradicts database\.url/],
    [{ url: 'postgresql://db/issuer?password=secret', ...login }, /^database\.password: it contradicts/],
    [{ url: `${url}?ssl=true`, ...login }, /^database\.url: parameter ssl: unknown; there are sslmode, /],
    [{ url: `${url}?sslmode=prefer`, ...login }, /^database\.url: sslmode: prefer may connect without.*verify-full/],
    [{ url: `${url}?sslmode=allow`, ...login }, /^database\.url: sslmode: allow may connect without/],
    [{ url: `${url}?sslmode=on`, ...login }, /^database\.url: sslmode: it must be one of disable/],
    [{ url: `${url}?sslrootcert=ca.pem`, ...login }, /^database\.url: sslrootcert is used with/],
    [{ url: `${url}?sslmode=require&sslrootcert=ca.pem`, ...login }, /^database\.url: sslrootcert is used with/],
    [
      { url: `${url}?sslmode=verify-ca&sslrootcert=no.pem`, ...login },
      /^database\.url: sslrootcert: the file cannot be read: no\.pem$/,
    ],
    [{ url: `${url}?sslmode=verify-ca&sslrootcert=key.pem`, ...login }, /sslrootcert: key\.pem has no certificate/],
    [{ url: `${url}?currentSchema=a,b`, ...login }, /^database\.url: currentSchema must be one name/],
    [{ url: `${url}?currentSchema=Public`, ...login }, /^database\.url: currentSchema must be one name/],
  ])('%j', (database, mistake) => {
    const mistakes = mistakesOf(database)
    expect(mistakes).toEqual([expect.stringMatching(mistake)])
    expect(mistakes.join()).not.toContain('secret')
  })

  it('with every mistake at once', () => {
    const wrong = { url: `${url}?sslmode=on&ssl=true&currentSchema=a-b`, driver: 'org.sqlite.JDBC' }
    expect(mistakesOf(wrong)).toHaveLength(5)
  })
})
