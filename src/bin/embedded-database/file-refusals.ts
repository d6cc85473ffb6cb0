/**
 * Refuses the file of an embedded database to a command of an operator: one that is missing, that cannot be read, that
 * is damaged, or that another process has open.
 */
import { accessSync, constants, existsSync } from 'node:fs'
import { loadDriver } from '../../store/sqlite.ts'
import { findDamage } from '../../store/sqlite-check.ts'
import { hasResultCode } from '../../store/sqlite-error.ts'
import { fetchTitle } from '../network/who-listens.ts'
import { findFileProblem, findKindProblem } from './database-file.ts'
import { withClosingNoted } from './generation-file.ts'

const LOCK_TIMEOUT_MS = 500

/**
 * Throws `missing` if the file does not exist, and a message if SQLite would apply a WAL or journal of another
 * database.
 */
export function refuseMissingFile(
  file: string,
  missing = 'there is no such database; has the service run here?',
): void {
  refuseUnreadableFile(file)
  const problem = findFileProblem(file)
  if (problem !== undefined) throw new Error(`${file}: ${problem}`)
  if (!existsSync(file)) throw new Error(`${file}: ${missing}`)
}

/** Throws a message for the operator if the file is damaged. */
export async function refuseDamagedFile(file: string): Promise<void> {
  const { damage } = await findDamage(file, Infinity)
  if (damage !== undefined) throw new Error(`${file}: the file is damaged (${damage}); put back a backup`)
}

/** Throws a message for the operator if the path leads to something other than a file, or the user may not read it. */
function refuseUnreadableFile(file: string): void {
  if (!existsSync(file)) return
  const kindProblem = findKindProblem(file)
  if (kindProblem !== undefined) throw new Error(`${file}: ${kindProblem}`)
  try {
    accessSync(file, constants.R_OK)
  } catch (error) {
    throw new Error(`${file}: this user may not read it; run the command as the user of the service`, { cause: error })
  }
}

/**
 * Throws if another process has the database open. To find out, it takes the file out of WAL mode, into which the next
 * start puts it again. If SQLite cannot open the file, a service that listens on the configured port is assumed to use
 * it.
 */
export async function refuseWhileOpen(file: string, port?: number): Promise<void> {
  if (!existsSync(file)) return
  refuseUnreadableFile(file)
  const state = findFileProblem(file) === undefined ? await withClosingNoted(file, () => tryLeaveWal(file)) : 'unknown'
  const isServed = async () => port !== undefined && (await fetchTitle(`http://127.0.0.1:${port}`)) !== undefined
  const isOpen = state === 'in use' || (state === 'unknown' && (await isServed()))
  if (isOpen) throw new Error(`${file}: another process has the database open; stop the service first`)
}

/**
 * Tries to change the journal mode, which SQLite allows only if no other process has the database open. A lock would
 * tell the same, but in WAL mode a reader of this process can keep its lock after it was closed, and leaves an empty
 * WAL beside the file.
 */
async function tryLeaveWal(file: string): Promise<'free' | 'in use' | 'unknown'> {
  const database = new (await loadDriver())(file)
  try {
    database.exec(`pragma busy_timeout = ${LOCK_TIMEOUT_MS}`)
    database.exec('pragma journal_mode = delete')
    return 'free'
  } catch (error) {
    return hasResultCode(error, 'busy', 'locked') ? 'in use' : 'unknown'
  } finally {
    database.close()
  }
}
