/** Puts another file in the place of that of an embedded database. */
import { existsSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { loadDriver } from '../../store/sqlite.ts'
import { FILE_ENDS, fileProblem } from '../database-file.ts'
import { flushToDisk } from '../flush-to-disk.ts'
import { generationFile, readWitnesses, withClosingNoted, writeWitnesses } from '../generation-file.ts'
import { fetchTitle } from '../who-listens.ts'
import { refuseUnreadableFile } from './subject.ts'

const LOCK_TIMEOUT_MS = 500
/** SQLite result codes: another process has the database open, or a lock on it. */
const IN_USE = [5, 6]

export interface FileReplacement {
  readonly file: string
  readonly copy: string
  /** The new path of the previous file; where a file was kept there before, a number is added. */
  readonly keptFile: string
  /** The text that the generation of the copy has, for the file beside it. */
  readonly witness: string | undefined
}

/** Puts `copy` in the place of `file`. Returns the new path of the previous file; undefined where there was none. */
export function replaceFile({ file, copy, keptFile, witness = '' }: FileReplacement): string | undefined {
  flushToDisk(copy)
  const witnessFile = generationFile(file)
  // The file has both generations while the database changes, as the process may end in between.
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

/** Returns the name, or the first one with a number after it of which there are no files. */
function findFreeName(file: string): string {
  const isTaken = (name: string): boolean => FILE_ENDS.some((end) => existsSync(name + end))
  let free = file
  for (let number = 2; isTaken(free); number += 1) free = `${file}.${number}`
  return free
}

/**
 * Throws while another process has the database open. A file that SQLite cannot open tells nothing: then a service that
 * listens on the port of this one is taken for the process that uses the file.
 */
export async function refuseWhileOpen(file: string, port?: number): Promise<void> {
  if (!existsSync(file)) return
  refuseUnreadableFile(file)
  const state = fileProblem(file) === undefined ? await withClosingNoted(file, () => tryLock(file)) : 'unknown'
  const isServed = async () => port !== undefined && (await fetchTitle(`http://127.0.0.1:${port}`)) !== undefined
  const isOpen = state === 'in use' || (state === 'unknown' && (await isServed()))
  if (isOpen) throw new Error(`${file}: another process has the database open; stop the service first`)
}

/** Tries what SQLite grants only to the one process that has the database open: to change its kind of journal. */
async function tryLock(file: string): Promise<'free' | 'in use' | 'unknown'> {
  const database = new (await loadDriver())(file)
  try {
    database.exec(`pragma busy_timeout = ${LOCK_TIMEOUT_MS}`)
    database.exec('pragma journal_mode = delete')
    return 'free'
  } catch (error) {
    const { errcode = 0 } = error as { readonly errcode?: number }
    return IN_USE.includes(errcode & 0xff) ? 'in use' : 'unknown'
  } finally {
    database.close()
  }
}
