/** Components in directories, each in a file that is named by its SHA-256. */
import { randomBytes } from 'node:crypto'
import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ComponentFiles } from '../../engine/component-source.ts'
import { makeDirectory } from '../directory.ts'

/** Makes the access to files of components in `directories`, of which the first keeps those that were fetched. */
export function createComponentFiles(directories: readonly [string, ...string[]]): ComponentFiles {
  return {
    read: async (sha256, maxBytes) => {
      for (const directory of directories) {
        const bytes = await readBounded(join(directory, sha256), maxBytes)
        if (bytes !== undefined) return bytes
      }
      return undefined
    },
    keep: async (sha256, bytes) => {
      makeDirectory(directories[0])
      // There is no half of one, also when the process ends here.
      const aside = join(directories[0], `.${randomBytes(6).toString('hex')}`)
      await writeFile(aside, bytes, { mode: 0o644, flag: 'wx' })
      await rename(aside, join(directories[0], sha256))
    },
  }
}

async function readBounded(path: string, maxBytes: number): Promise<Uint8Array | undefined> {
  try {
    const { size } = await stat(path)
    return size > maxBytes ? undefined : await readFile(path)
  } catch {
    return undefined
  }
}
