/** Files that have to outlast a failure of the machine. */
import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Returns when a file, or the names in a directory, are on disk. */
export function flushed(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
