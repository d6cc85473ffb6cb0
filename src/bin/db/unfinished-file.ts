/** The temporary file of a command, which is renamed when it is complete. Only one command at a time can have it. */
import { rmSync, writeFileSync } from 'node:fs'
import { FILE_ENDS } from '../embedded-database/database-file.ts'
import { generationFile } from '../embedded-database/generation-file.ts'
import { lockFileOf } from '../embedded-database/open-lock.ts'
import { describeStorageError, findStorageAdvice } from '../embedded-database/storage-advice.ts'
import { PRIVATE } from '../files/directory.ts'

/** Advice for errors of the path; that for errors of the disk is in `storage-advice.ts`. */
const PATH_ADVICE: Readonly<Record<string, string>> = {
  ENOENT: 'make its directory first',
  ENOTDIR: 'name a directory before the last slash',
}

/**
 * Creates the empty private file, and removes the WAL and journal of an interrupted command. Throws a message for the
 * operator if the file exists, since another command may be writing it.
 */
export function beginFile(file: string, work: 'backup' | 'restore'): void {
  try {
    writeFileSync(file, '', { flag: 'wx', mode: PRIVATE })
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    const advice = PATH_ADVICE[code] ?? findStorageAdvice(error)
    const why =
      code === 'EEXIST'
        ? `another ${work} is running, or one was interrupted; delete this file if none is running`
        : `it cannot be made (${code})${advice === undefined ? '' : `; ${advice}`}`
    throw new Error(`${file}: ${why}`, { cause: error })
  }
  try {
    removeFiles(file, { butMain: true })
  } catch (error) {
    // Otherwise the next command would take this one for running.
    rmSync(file, { force: true })
    throw new Error(`${file}: a file beside it cannot be removed: ${describeStorageError(error)}`, { cause: error })
  }
}

/** Removes the file and those beside it; with `butMain`, keeps the file itself. */
export function removeFiles(file: string, { butMain = false } = {}): void {
  const ends = FILE_ENDS.filter((end) => !butMain || end !== '')
  const files = [...ends.map((end) => file + end), generationFile(file), lockFileOf(file)]
  for (const each of files) rmSync(each, { force: true })
}
