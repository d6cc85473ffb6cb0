import { expect, it } from 'vitest'
import { describeStorageError } from './storage-advice.ts'

const failed = (members: object) => Object.assign(new Error('not written'), members)

it.each([
  [{ code: 'ENOSPC' }, 'not written; make room on the disk'],
  [{ code: 'ERR_SQLITE_ERROR', errcode: 13 }, 'not written; make room on the disk'],
  [{ code: 'EROFS' }, 'not written; let this user write the file and its directory'],
  // SQLITE_READONLY_DBMOVED
  [{ errcode: 1032 }, 'not written; let this user write the file and its directory'],
  [{ errcode: 778 }, 'not written; see whether the disk is full or fails'],
  [
    { errcode: 14 },
    'not written; let this user write the file and its directory, and have more files open (ulimit -n) if it may write',
  ],
  [{ code: '53100' }, 'not written'],
  [{ errcode: 1 }, 'not written'],
  [{}, 'not written'],
])('an error with %o says what to do about the disk', (members, text) => {
  expect(describeStorageError(failed(members))).toBe(text)
})

it.each([
  ['no', { code: '28P01' }, 'no; see database.user and database.password'],
  ['no', { code: '3D000' }, 'no; make the database, or correct its name in database.url'],
  ['no', { code: '42501' }, "no; this user has not the rights of the service: make it the database's owner"],
  ['no', { code: 'ECONNREFUSED' }, 'no; see whether the server runs, and the host and port in database.url'],
  ['no', { code: 'EAI_AGAIN' }, 'no; see the host in database.url, and whether this machine can look its name up'],
  [
    'PostgreSQL: SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a non-empty string',
    {},
    expect.stringMatching(/; the server asks for a password: write it into database\.password$/),
  ],
  [
    'PostgreSQL: pg_hba.conf rejects connection for host "10.0.0.1", user "a", database "b", no encryption',
    { code: '28000' },
    expect.stringMatching(/; the server wants TLS, or another user or host: see sslmode in database\.url/),
  ],
  [
    'PostgreSQL: no pg_hba.conf entry for host "10.0.0.1", user "a", database "b", no encryption',
    { code: '28000' },
    expect.stringMatching(/; the server wants TLS, or another user or host: see sslmode in database\.url/),
  ],
  [
    'PostgreSQL: remaining connection slots are reserved for roles with the SUPERUSER attribute',
    { code: '53300' },
    expect.stringMatching(/; raise max_connections of the server, or lower pool\.maxConnections/),
  ],
  [
    'PostgreSQL: too many connections for role "svc"',
    { code: '53300' },
    expect.stringMatching(/; raise the CONNECTION LIMIT of that role or database, or lower pool\.maxConnections/),
  ],
  [
    'PostgreSQL: too many connections for database "svc"',
    { code: '53300' },
    expect.stringMatching(/; raise the CONNECTION LIMIT of that role or database, or lower pool\.maxConnections/),
  ],
  [
    'PostgreSQL: The server does not support SSL connections',
    {},
    expect.stringMatching(/; turn TLS on at the server, or say sslmode=disable in database\.url$/),
  ],
  ['PostgreSQL: timeout expired', {}, expect.stringMatching(/; see whether the server runs/)],
])('a PostgreSQL server that refuses by "%s" %o says what to do about it', (message, members, text) => {
  expect(describeStorageError(Object.assign(new Error(message), members))).toEqual(text)
})
