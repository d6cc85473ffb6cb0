/** Advice for operators about a disk that is full, fails or is mounted read-only. */

const FULL = 'make room on the disk'
const READ_ONLY = 'let this user write the file and its directory'
const FAILING = 'see whether the disk is full or fails'

/** The advice by the code of an error of a file, and by the result code of SQLite. */
const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: FULL,
  EDQUOT: FULL,
  EROFS: READ_ONLY,
  EACCES: READ_ONLY,
  EIO: FAILING,
  ENAMETOOLONG: 'choose a shorter path',
  8: READ_ONLY,
  10: FAILING,
  13: FULL,
}

/** Returns the message of an error, and what to do where its reason is the disk. */
export function describeStorageError(error: unknown): string {
  const { message } = error as Error
  const advice = findStorageAdvice(error)
  return advice === undefined ? message : `${message}; ${advice}`
}

/** Returns what to do about an error whose reason is the disk; undefined for other errors. */
export function findStorageAdvice(error: unknown): string | undefined {
  const { code = '', errcode = 0 } = error as { readonly code?: string; readonly errcode?: number }
  return ADVICE[code] ?? ADVICE[errcode & 0xff]
}
