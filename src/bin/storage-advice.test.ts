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
  [{ code: '53100' }, 'not written'],
  [{ errcode: 1 }, 'not written'],
  [{}, 'not written'],
])('an error with %o says what to do about the disk', (members, text) => {
  expect(describeStorageError(failed(members))).toBe(text)
})
