/** The owner of an embedded database, whose files a command of root must not take away from the service. */
import { chownSync, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { FILE_ENDS } from '../embedded-database/database-file.ts'
import { generationFile } from '../embedded-database/generation-file.ts'
import { lockFileOf } from '../embedded-database/open-lock.ts'

/**
 * Returns the function that gives the files of the database to the present owner of the database, or of its directory
 * if there is no database. It does nothing for a user other than root, who cannot give files away.
 */
export function rememberOwner(file: string): () => void {
  if (process.geteuid?.() !== 0) return () => undefined
  const { uid, gid } = statSync(existsSync(file) ? file : dirname(file))
  return () => {
    for (const path of [...FILE_ENDS.map((end) => file + end), generationFile(file), lockFileOf(file)]) {
      if (existsSync(path)) chownSync(path, uid, gid)
    }
  }
}
