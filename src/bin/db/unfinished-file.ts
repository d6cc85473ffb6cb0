/** The file that a command writes before the file gets the name that was asked for; one command at a time has it. */
import { rmSync, writeFileSync } from 'node:fs'
import { FILE_ENDS } from '../database-file.ts'
import { PRIVATE } from '../directory.ts'
import { generationFile } from '../generation-file.ts'

/** The advice for the codes of some errors, for the end of their messages. */
const ADVICE: Readonly<Record<string, string>> = {
  ENOENT: '; make its directory first',
  ENOTDIR: '; name a directory before the last slash',
  EACCES: '; let this user write to its directory',
}

/**
 * Makes the file, empty and for this user alone, and removes what lies beside it since an earlier command was
 * interrupted. Throws a message for the operator when there is such a file, which another command may be writing.
 */
export function beginFile(file: string, work: 'backup' | 'restore'): void {
  try {
    writeFileSync(file, '', { flag: 'wx', mode: PRIVATE })
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    const why =
      code === 'EEXIST'
        ? `another ${work} is running, or one was interrupted; delete this file if none is running`
        : `it cannot be made (${code})${ADVICE[code] ?? ''}`
    throw new Error(`${file}: ${why}`, { cause: error })
  }
  removeFiles(file, { butMain: true })
}

/** Removes the file and what lies beside it; `butMain` leaves the file itself. */
export function removeFiles(file: string, { butMain = false } = {}): void {
  const ends = FILE_ENDS.filter((end) => !butMain || end !== '')
  for (const each of [...ends.map((end) => file + end), generationFile(file)]) rmSync(each, { force: true })
}
