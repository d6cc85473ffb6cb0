/** Files that have to outlast a failure of the machine. */
import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Writes a file, or the names in a directory, to disk, and returns only then. */
export function flushToDisk(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
