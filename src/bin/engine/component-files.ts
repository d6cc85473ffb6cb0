/** Components in directories, each in a file named by its SHA-256. */
import { randomBytes } from 'node:crypto'
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ComponentFiles, SourceError } from '../../engine/component-source.ts'
import { makeDirectory } from '../directory.ts'
import { findStorageAdvice } from '../embedded-database/storage-advice.ts'

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
    keep: (sha256, bytes) => writeComponent(directories[0], sha256, bytes),
  }
}

/** Writes a component into the directory, which is made if it does not exist. */
async function writeComponent(directory: string, sha256: string, bytes: Uint8Array): Promise<void> {
  // The file is renamed when it is complete, so that an incomplete one never has its name.
  const temporary = join(directory, `.${randomBytes(6).toString('hex')}`)
  try {
    makeDirectory(directory)
    await writeFile(temporary, bytes, { mode: 0o644, flag: 'wx' })
    await rename(temporary, join(directory, sha256))
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined)
    throwUnkept(directory, error)
  }
}

function throwUnkept(directory: string, error: unknown): never {
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined) throw error
  const advice = findStorageAdvice(error) ?? 'name another componentDirectory'
  throw new SourceError(`the component cannot be kept in ${directory} (${code}); ${advice}`, { cause: error })
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
