/** Replaces the file of an embedded database. */
import { existsSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { loadDriver } from '../../store/sqlite.ts'
import { hasResultCode } from '../../store/sqlite-error.ts'
import { FILE_ENDS, fileProblem } from '../database-file.ts'
import { flushToDisk } from '../flush-to-disk.ts'
import { generationFile, readWitnesses, withClosingNoted, writeWitnesses } from '../generation-file.ts'
import { fetchTitle } from '../who-listens.ts'
import { refuseUnreadableFile } from './subject.ts'

const LOCK_TIMEOUT_MS = 500

export interface FileReplacement {
  readonly file: string
  readonly copy: string
  /** The new path of the previous file. A number is appended if that path exists. */
  readonly keptFile: string
  /** The text in the generation of the copy, which the generation file must have too. */
  readonly witness: string | undefined
}

/** Replaces `file` by `copy`. Returns the new path of the previous file; undefined if there was none. */
export function replaceFile({ file, copy, keptFile, witness = '' }: FileReplacement): string | undefined {
  flushToDisk(copy)
  const witnessFile = generationFile(file)
  // During the replacement, the generation file has the texts of both, since the process may end in between.
  writeWitnesses(witnessFile, [...readWitnesses(witnessFile), witness])
  const hasFile = existsSync(file)
  const freeFile = findFreeName(keptFile)
  for (const end of FILE_ENDS) {
    if (existsSync(file + end)) renameSync(file + end, freeFile + end)
  }
  renameSync(copy, file)
  flushToDisk(dirname(file))
  writeWitnesses(witnessFile, [witness])
  return hasFile ? freeFile : undefined
}

/** Returns the path, or the first one with a number at its end at which there are no files. */
function findFreeName(file: string): string {
  const isTaken = (name: string): boolean => FILE_ENDS.some((end) => existsSync(name + end))
  let free = file
  for (let number = 2; isTaken(free); number += 1) free = `${file}.${number}`
  return free
}

/**
 * Throws if another process has the database open. If SQLite cannot open the file, a service that listens on the
 * configured port is assumed to use it.
 */
export async function refuseWhileOpen(file: string, port?: number): Promise<void> {
  if (!existsSync(file)) return
  refuseUnreadableFile(file)
  const state = fileProblem(file) === undefined ? await withClosingNoted(file, () => tryLock(file)) : 'unknown'
  const isServed = async () => port !== undefined && (await fetchTitle(`http://127.0.0.1:${port}`)) !== undefined
  const isOpen = state === 'in use' || (state === 'unknown' && (await isServed()))
  if (isOpen) throw new Error(`${file}: another process has the database open; stop the service first`)
}

/** Tries to change the journal mode, which SQLite allows only if no other process has the database open. */
async function tryLock(file: string): Promise<'free' | 'in use' | 'unknown'> {
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
