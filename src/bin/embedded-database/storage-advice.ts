/**
 * Advice for operators about a disk that is full, fails or is mounted read-only, and about a PostgreSQL server that is
 * not reached or refuses the user.
 */
import { hasResultCode, type ResultName } from '../../store/sqlite-error.ts'

const FULL = 'make room on the disk'
const UNOPENED = 'let this user write the file and its directory, and have more files open (ulimit -n) if it may write'
const READ_ONLY = 'let this user write the file and its directory'
const FAILING = 'see whether the disk is full or fails'

const LOGIN = 'see database.user and database.password'
const SERVER = 'see whether the server runs, and the host and port in database.url'
const CONNECTIONS = 'raise max_connections of the server, or lower pool.maxConnections of its services'
const NAME = 'see the host in database.url, and whether this machine can look its name up'
/** The advice about a user without rights. */
export const OWNER = "make it the database's owner"

/** The advice by the code of an error of a file, and by the SQLSTATE of PostgreSQL. */
const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: FULL,
  EDQUOT: FULL,
  EROFS: READ_ONLY,
  EACCES: READ_ONLY,
  EIO: FAILING,
  ENAMETOOLONG: 'choose a shorter path',
  ECONNREFUSED: SERVER,
  ETIMEDOUT: SERVER,
  EHOSTUNREACH: SERVER,
  ENETUNREACH: SERVER,
  ENOTFOUND: NAME,
  EAI_AGAIN: NAME,
  '28000': LOGIN,
  '53300': CONNECTIONS,
  '28P01': LOGIN,
  '3D000': 'make the database, or correct its name in database.url',
  '42501': `this user has not the rights of the service: ${OWNER}`,
}

/** The advice by the result code of SQLite. */
const SQLITE_ADVICE: readonly (readonly [ResultName, string])[] = [
  ['readOnly', READ_ONLY],
  ['ioError', FAILING],
  ['full', FULL],
  ['cantOpen', UNOPENED],
]

/** The advice by the message of an error of PostgreSQL or its driver, whose code is missing or says less. */
const MESSAGE_ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /^PostgreSQL: .*pg_hba\.conf.*no encryption$/,
    'the server wants TLS, or another user or host: see sslmode in database.url, and its pg_hba.conf',
  ],
  [
    /^PostgreSQL: The server does not support SSL connections$/,
    'turn TLS on at the server, or say sslmode=disable in database.url',
  ],
  [/^PostgreSQL: SASL: .*password must be/, 'the server asks for a password: write it into database.password'],
  [
    /^PostgreSQL: too many connections for (role|database)/,
    'raise the CONNECTION LIMIT of that role or database, or lower pool.maxConnections of its services',
  ],
  [/^PostgreSQL: (timeout expired$|Connection terminated)/, SERVER],
]

/** Returns the message of an error, and what to do where its reason is the disk or the server. */
export function describeStorageError(error: unknown): string {
  const { message } = error as Error
  const advice = findStorageAdvice(error)
  return advice === undefined ? message : `${message}; ${advice}`
}

/** Returns a function that rethrows an error with the name of the database or file, and advice about its disk. */
export function throwAt(place: string): (error: unknown) => never {
  return (error) => {
    throw new Error(`${place}: ${describeStorageError(error)}`, { cause: error })
  }
}

/** Throws, for the operator, that a file or a directory cannot be made, and what to do. */
export function throwUnmade(path: string, error: unknown): never {
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined) throw error
  const advice = findStorageAdvice(error) ?? 'name another place'
  throw new Error(`${path}: it cannot be made (${code}); ${advice}`, { cause: error })
}

/** Returns what to do about an error whose reason is the disk or the server; undefined for others. */
export function findStorageAdvice(error: unknown): string | undefined {
  const { code = '', message } = error as Error & { readonly code?: string }
  return (
    MESSAGE_ADVICE.find(([pattern]) => pattern.test(message))?.[1] ??
    ADVICE[code] ??
    SQLITE_ADVICE.find(([name]) => hasResultCode(error, name))?.[1]
  )
}
