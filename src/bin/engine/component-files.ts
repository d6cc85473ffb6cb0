/** Components in directories, each in a file named by its SHA-256. */
import { randomBytes } from 'node:crypto'
import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ComponentFiles, SourceError } from '../../engine/component-source.ts'
import { makeDirectory } from '../directory.ts'

/** Opens the component files in `directories`. Fetched components are stored in the first one. */
export function createComponentFiles(directories: readonly [string, ...string[]]): ComponentFiles {
  return {
    read: async (sha256, maxBytes) => {
      const failures: SourceError[] = []
      for (const directory of directories) {
        const result = await readBounded(join(directory, sha256), maxBytes)
        if (result instanceof SourceError) failures.push(result)
        else if (result !== undefined) return result
      }
      const [failure] = failures
      if (failure !== undefined) throw failure
      return undefined
    },
    keep: async (sha256, bytes) => {
      makeDirectory(directories[0])
      // The file is renamed when it is complete, so that an incomplete one never has its name.
      const temporary = join(directories[0], `.${randomBytes(6).toString('hex')}`)
      await writeFile(temporary, bytes, { mode: 0o644, flag: 'wx' })
      await rename(temporary, join(directories[0], sha256))
    },
  }
}

/** Reads a file; undefined if it does not exist. Returns an error if it is too large or cannot be read. */
async function readBounded(path: string, maxBytes: number): Promise<Uint8Array | SourceError | undefined> {
  try {
    const { size } = await stat(path)
    return size > maxBytes ? makeSizeError(path, size, maxBytes) : await readFile(path)
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    const advice = 'let the user of the engine read it, or take it away'
    return new SourceError(`the file ${path} cannot be read (${code}): ${advice}`, { cause: error })
  }
}

function makeSizeError(path: string, size: number, maxBytes: number): SourceError {
  const advice = 'raise that limit, or take the file away'
  return new SourceError(
    `the file ${path} is too large: it has ${size} bytes, and limits.moduleBytes allows ${maxBytes}; ${advice}`,
  )
}
