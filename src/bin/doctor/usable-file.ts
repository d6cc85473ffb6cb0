/** The file of an embedded database, as far as findings on its content need it. */
import { existsSync } from 'node:fs'
import { fileProblem } from '../database-file.ts'

/** Tests whether there is a file that may be opened; where it cannot be read, the finding on the database says so. */
export function isUsableFile(file: string): boolean {
  try {
    return existsSync(file) && fileProblem(file) === undefined
  } catch {
    return false
  }
}
