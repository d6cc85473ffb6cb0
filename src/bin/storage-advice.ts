/** Advice for operators about a disk that is full, fails or is mounted read-only. */
import { hasResultCode, type ResultName } from '../store/sqlite-error.ts'

const FULL = 'make room on the disk'
const READ_ONLY = 'let this user write the file and its directory'
const FAILING = 'see whether the disk is full or fails'

/** The advice by the code of an error of a file. */
const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: FULL,
  EDQUOT: FULL,
  EROFS: READ_ONLY,
  EACCES: READ_ONLY,
  EIO: FAILING,
  ENAMETOOLONG: 'choose a shorter path',
}

/** The advice by the result code of SQLite. */
const SQLITE_ADVICE: readonly (readonly [ResultName, string])[] = [
  ['readOnly', READ_ONLY],
  ['ioError', FAILING],
  ['full', FULL],
]

/** Returns the message of an error, and what to do where its reason is the disk. */
export function describeStorageError(error: unknown): string {
  const { message } = error as Error
  const advice = findStorageAdvice(error)
  return advice === undefined ? message : `${message}; ${advice}`
}

/** Returns what to do about an error whose reason is the disk; undefined for other errors. */
export function findStorageAdvice(error: unknown): string | undefined {
  const { code = '' } = error as { readonly code?: string }
  return ADVICE[code] ?? SQLITE_ADVICE.find(([name]) => hasResultCode(error, name))?.[1]
}
