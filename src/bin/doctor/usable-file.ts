/** Tests whether the doctor may read the file of an embedded database. */
import { existsSync } from 'node:fs'
import { fileProblem } from '../database-file.ts'

/** Tests whether there is a file that may be opened. If it cannot be read, the database finding reports why. */
export function isUsableFile(file: string): boolean {
  try {
    return existsSync(file) && fileProblem(file) === undefined
  } catch {
    return false
  }
}
