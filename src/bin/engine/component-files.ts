/**
 * Components in directories, each in a file named by its SHA-256. Those that were fetched are apart from those that the
 * operator placed, which are never removed.
 */
import { randomBytes } from 'node:crypto'
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256Hex } from '../../codec/digest.ts'
import { type ComponentFiles, SourceError } from '../../engine/component-source.ts'
import { findStorageAdvice } from '../embedded-database/storage-advice.ts'
import { makeDirectory } from '../files/directory.ts'

/** The folder with the fetched components, in the first directory. */
const FETCHED = 'fetched'
/**
 * The most bytes of fetched components that no contract names. They serve a contract that names its earlier component
 * again, as after a fork of the chain.
 */
const MAX_UNNAMED_BYTES = 64 * 1024 * 1024
/** The bytes as which a smaller file counts, so that the number of files has a bound too. */
const SMALLEST_BYTES = 64 * 1024

/** Opens the component files in `directories`. Fetched components are stored in a folder of the first one. */
export function createComponentFiles(directories: readonly [string, ...string[]]): ComponentFiles {
  const fetched = join(directories[0], FETCHED)
  return {
    read: async (sha256, maxBytes) => {
      const failures: SourceError[] = []
      for (const directory of directories) {
        const result = await readComponentFile(directory, sha256, maxBytes)
        if (result instanceof SourceError) failures.push(result)
        else if (result !== undefined) return result
      }
      const fetchedBytes = await readComponentFile(fetched, sha256, maxBytes)
      // A fetched file that cannot be used is fetched again.
      if (fetchedBytes !== undefined && !(fetchedBytes instanceof SourceError)) return fetchedBytes
      const [failure] = failures
      if (failure !== undefined) throw failure
      return undefined
    },
    keep: async (sha256, bytes, isNamed) => {
      try {
        makeDirectory(fetched)
        await dropUnnamed(fetched, isNamed)
        await writeComponent(fetched, sha256, bytes)
      } catch (error) {
        throwUnkept(fetched, error)
      }
    },
  }
}

/** Removes the oldest files that no contract names, until the others have {@link MAX_UNNAMED_BYTES} at most. */
async function dropUnnamed(directory: string, isNamed: (sha256: string) => boolean): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile() && !isNamed(entry.name)).map(({ name }) => name)
  const files = await Promise.all(names.map((name) => readSizeAndTime(join(directory, name))))
  let keptBytes = 0
  for (const { path, size } of files.sort((one, other) => other.time - one.time)) {
    keptBytes += Math.max(size, SMALLEST_BYTES)
    if (keptBytes > MAX_UNNAMED_BYTES) await rm(path, { force: true })
  }
}

/** Reads the size of a file, and when it was written. A file that was removed meanwhile has no bytes. */
async function readSizeAndTime(path: string) {
  try {
    const { size, mtimeMs } = await stat(path)
    return { path, size, time: mtimeMs }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return { path, size: 0, time: 0 }
  }
}

/** Writes a component into the directory. */
async function writeComponent(directory: string, sha256: string, bytes: Uint8Array): Promise<void> {
  // The file is renamed when it is complete, so that an incomplete one never has its name.
  const temporary = join(directory, `.${randomBytes(6).toString('hex')}`)
  try {
    await writeFile(temporary, bytes, { mode: 0o644, flag: 'wx' })
    await rename(temporary, join(directory, sha256))
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined)
    throw error
  }
}

function throwUnkept(directory: string, error: unknown): never {
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined) throw error
  const advice = findStorageAdvice(error) ?? 'name another componentDirectory'
  throw new SourceError(`the component cannot be kept in ${directory} (${code}); ${advice}`, { cause: error })
}

/**
 * Reads the file of a component; undefined if it does not exist. Returns an error if it is too large, cannot be read,
 * or has other bytes.
 */
async function readComponentFile(
  directory: string,
  sha256: string,
  maxBytes: number,
): Promise<Uint8Array | SourceError | undefined> {
  const path = join(directory, sha256)
  try {
    const { size } = await stat(path)
    if (size > maxBytes) return makeSizeError(path, size, maxBytes)
    const bytes = await readFile(path)
    return sha256Hex(bytes) === sha256
      ? bytes
      : new SourceError(`the file ${path} has other bytes than its name says; take it away`)
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
