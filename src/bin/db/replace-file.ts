/** Replaces the file of an embedded database. */
import { existsSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { FILE_ENDS } from '../embedded-database/database-file.ts'
import { generationFile, readWitnesses, writeWitnesses } from '../embedded-database/generation-file.ts'
import { flushToDisk } from '../files/flush-to-disk.ts'

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
