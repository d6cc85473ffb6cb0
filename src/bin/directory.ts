/** Directories, made one by one: where nothing can be made, as in /proc, Node's recursive mkdir never ends. */
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** The mode of files with a secret: this user only. */
export const PRIVATE = 0o600

/** Makes the directory and those above it, as far as they are not there. */
export function makeDirectory(path: string, mode = 0o777): void {
  if (isDirectory(path)) return
  const parent = dirname(path)
  if (parent !== path) makeDirectory(parent, mode)
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    // Another process may have made the directory meanwhile.
    if (!isDirectory(path)) throw error
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
