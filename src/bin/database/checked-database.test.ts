import { expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/command.ts'
import { openingFailureOf } from './checked-database.ts'

const failed = (members: object) => Object.assign(new Error('no'), members)

it.each([
  ['a full disk, as the system says it', { code: 'ENOSPC' }, true],
  ['a full disk, as SQLite says it', { errcode: 13 }, true],
  ['a lock of another process', { code: 'EBUSY' }, true],
  ['a lock of another process, as SQLite says it', { errcode: 5 }, true],
  ['a disk that fails, in an extended code', { errcode: 778 }, true],
  ['a disk that is mounted for reading alone', { code: 'EROFS' }, true],
  ['a file that this user may not read', { code: 'EACCES' }, false],
  ['a file that is no database', { errcode: 26 }, false],
  ['a file that this user may not write', { errcode: 8 }, false],
])('a start that fails by %s may succeed later: %j %j', (_, members, isTemporary) => {
  const database = { kind: 'sqlite', file: `${temporaryDirectory()}/a.db` } as const
  expect(openingFailureOf(database, failed(members))).toMatchObject({ isTemporary })
})

it.each([
  ['25006', true],
  ['53100', true],
  ['ENOTFOUND', true],
  ['EAI_AGAIN', true],
  ['28P01', false],
])('a PostgreSQL server that refuses or is not found by %s may take a start later: %j', (code, isTemporary) => {
  const server = { kind: 'postgresql', host: 'h', port: 1, database: 'd', user: 'u', password: 'p', schema: undefined }
  const database = { ...server, tls: { mode: 'disable' } } as unknown as Parameters<typeof openingFailureOf>[0]
  expect(openingFailureOf(database, failed({ code }))).toMatchObject({ isTemporary })
})
