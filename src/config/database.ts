/** The setting `database`. Its `url` selects the kind of database; by default the embedded one is used. */
import { basename, resolve } from 'node:path'
import type { Static } from 'typebox'
import * as Type from 'typebox'
import type { Files } from './files.ts'
import { findPostgresWarnings, type PostgresConfig, readPostgresUrl } from './postgres-url.ts'

const seconds = (description: string) => Type.Optional(Type.Integer({ minimum: 1, maximum: 3600, description }))

/** The defaults of `pool`. */
const POOL = { maxConnections: 10, connectTimeoutSeconds: 5, statementTimeoutSeconds: 10 }

export const Database = Type.Object(
  {
    persistenceUnitName: Type.Optional(Type.String({ description: 'A name for people; it changes nothing' })),
    driver: Type.Optional(Type.String({ description: 'Must agree with url; url decides' })),
    url: Type.Optional(
      Type.String({
        description:
          'sqlite:path or postgresql://host:port/name, with or without jdbc: before it; data/issuer.db, data/verifier.db or data/engine.db when database is absent',
      }),
    ),
    user: Type.Optional(Type.String({ description: 'For PostgreSQL, unless url has it' })),
    password: Type.Optional(Type.String({ description: 'For PostgreSQL, unless url has it' })),
    encryptionKeyFile: Type.Optional(
      Type.String({
        description:
          'File of keys that personal data is encrypted with: 32 bytes in base64, one a line; the first encrypts, all decrypt',
      }),
    ),
    generation: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1_000_000_000,
        description:
          'Raise it after a backup was put back that the service cannot know to be one (how-to/restore-a-backup.md, Without the command); 0 when absent',
      }),
    ),
    synchronousStandbys: Type.Optional(
      Type.Boolean({
        description:
          'For PostgreSQL: whether a standby that takes over has all that was answered, so that nothing is made void (operating.md, High availability)',
      }),
    ),
    pool: Type.Optional(
      Type.Object(
        {
          maxConnections: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 1000,
              description: `Connections of this process to PostgreSQL; ${POOL.maxConnections} when absent`,
            }),
          ),
          connectTimeoutSeconds: seconds(
            `How long a request waits for a connection; ${POOL.connectTimeoutSeconds} when absent`,
          ),
          statementTimeoutSeconds: seconds(
            `How long a statement may take; ${POOL.statementTimeoutSeconds} when absent`,
          ),
        },
        { additionalProperties: false, description: 'For PostgreSQL' },
      ),
    ),
  },
  { additionalProperties: false },
)
type Database = Static<typeof Database>

/** The longest text that a command adds to the name: a restore does, when a kept database has the same time. */
const LONGEST_ADDITION = '.before-YYYYMMDDhhmmssSSS.2-journal'
/** The most bytes of a file's name, by the file systems, and of its whole path with `-journal`, by SQLite. */
const [MAX_NAME_BYTES, MAX_PATH_BYTES] = [255 - LONGEST_ADDITION.length, 512 - LONGEST_ADDITION.length]

/** The settings that apply to all kinds of databases. */
const NEUTRAL_SETTINGS = ['encryptionKeyFile', 'generation']

function hasOnlyNeutralSettings(database: Database): boolean {
  const names = Object.keys(database)
  return names.length > 0 && names.every((name) => NEUTRAL_SETTINGS.includes(name))
}

function generationOf(database: Database | undefined): RaisedGeneration {
  return database?.generation === undefined ? {} : { generation: database.generation }
}

/** The database of a service. */
export type DatabaseConfig =
  | ({ readonly kind: 'sqlite' } & DatabasePath & RaisedGeneration)
  | ({ readonly kind: 'postgresql'; readonly hasSynchronousStandbys?: true } & PostgresConfig & RaisedGeneration)

/** The path of an embedded database. */
export interface DatabasePath {
  readonly file: string
  /** The symbolic link to `file` that is configured; undefined if `file` itself is. */
  readonly link?: string
}

interface RaisedGeneration {
  /** The number that the operator increments after restoring a backup. */
  readonly generation?: number
}

/**
 * Reads the setting, or returns the mistakes in it. Without `database`, uses the embedded database in `defaultFile`.
 */
export function readDatabase(
  database: Database | undefined,
  defaultFile: string,
  files: Files,
):
  | { readonly database: DatabaseConfig; readonly warnings: readonly string[] }
  | { readonly mistakes: readonly string[] } {
  // With only these settings, the embedded database is used.
  if (database === undefined || hasOnlyNeutralSettings(database)) return readSqlite(database, defaultFile, files)
  const { url } = database
  if (url === undefined)
    return { mistakes: ['database.url: required; write sqlite:data/service.db, or leave database out'] }
  const plainUrl = url.replace(/^jdbc:/i, '')
  if (/^postgres(ql)?:/i.test(plainUrl)) return readPostgres(database, plainUrl, files)
  const file = /^sqlite:(?:\/\/(?=\/))?(?!file:)(.+)$/.exec(plainUrl)?.[1]
  const mistakes =
    file === undefined
      ? ['database.url: it must be sqlite:path or postgresql://host/name, with or without jdbc: before it']
      : findDriverMistakes(database, 'sqlite', 'SQLite')
  for (const name of ['pool', 'synchronousStandbys'] as const) {
    if (database[name] !== undefined) mistakes.push(`database.${name}: it is for PostgreSQL; leave it out`)
  }
  return file === undefined || mistakes.length > 0 ? { mistakes } : readSqlite(database, file, files)
}

/**
 * Returns the embedded database in a file. SQLite has the log beside the file that a symbolic link leads to, so all
 * files of the database are named after that file.
 */
function readSqlite(database: Database | undefined, name: string, files: Files): ReturnType<typeof readDatabase> {
  const isInMemory = name === ':memory:'
  const file = isInMemory ? name : files.resolveLink(name)
  if (file === undefined) {
    const advice = 'mount its disk, remove the link, or make an empty file there for a new database'
    return { mistakes: [`database.url: ${name} is a symbolic link to a file that is not there; ${advice}`] }
  }
  if (Buffer.byteLength(basename(file)) > MAX_NAME_BYTES || Buffer.byteLength(resolve(file)) > MAX_PATH_BYTES) {
    const limits = `the name may have at most ${MAX_NAME_BYTES} bytes, and the whole path ${MAX_PATH_BYTES}`
    return {
      mistakes: [`database.url: ${file} is too long for the files beside the database: ${limits}; name another`],
    }
  }
  return {
    database: { kind: 'sqlite', file, ...(file !== name && { link: name }), ...generationOf(database) },
    warnings: isInMemory ? ['database: it is in memory: nothing of it is left after a restart'] : [],
  }
}

function readPostgres(database: Database, url: string, files: Files): ReturnType<typeof readDatabase> {
  const { user, password, pool = {}, synchronousStandbys = false } = database
  const server = readPostgresUrl(url, { user, password }, files)
  const mistakes = findDriverMistakes(database, 'postgres', 'PostgreSQL')
  if ('mistakes' in server) return { mistakes: [...server.mistakes, ...mistakes] }
  if (mistakes.length > 0) return { mistakes }
  const config = {
    ...server,
    ...generationOf(database),
    ...(synchronousStandbys && { hasSynchronousStandbys: true as const }),
    maxConnections: pool.maxConnections ?? POOL.maxConnections,
    connectTimeoutMs: (pool.connectTimeoutSeconds ?? POOL.connectTimeoutSeconds) * 1000,
    statementTimeoutMs: (pool.statementTimeoutSeconds ?? POOL.statementTimeoutSeconds) * 1000,
  }
  return { database: { kind: 'postgresql', ...config }, warnings: findPostgresWarnings(config) }
}

function findDriverMistakes({ driver }: Database, word: string, name: string): string[] {
  if (driver === undefined || driver.toLowerCase().includes(word)) return []
  return [`database.driver: ${driver} contradicts database.url, which is ${name}; leave driver out`]
}

/** Returns the place of the database, without secrets. */
export function describeDatabase(database: DatabaseConfig): string {
  if (database.kind === 'sqlite') return database.file
  const { host, port, database: name, schema } = database
  return `postgresql://${host.includes(':') ? `[${host}]` : host}:${port}/${name}${schema === undefined ? '' : `?currentSchema=${schema}`}`
}
