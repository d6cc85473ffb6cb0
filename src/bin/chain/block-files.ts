/**
 * The directory of a local chain: `blocks/` with a file for each block, and `components/` with the bytes of off-chain
 * components by digest. A block is written to a temporary file, flushed to disk, and linked to its name, which
 * only one process can do: no block is incomplete, and no number occurs twice.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { link, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlockFiles } from '../../chain/local/files.ts'
import { sha256Hex } from '../../codec/digest.ts'
import { makeDirectory } from '../directory.ts'
import { writeDurably } from '../flush-to-disk.ts'

const NAME = /^(\d{10})\.json$/
/** The prefix of temporary files, of which a killed process may leave some. */
const TEMPORARY_PREFIX = '.'

/** Makes the access to the files of a chain in `directory`, which is made if need be. */
export function openBlockFiles(directory: string): BlockFiles {
  const blocks = join(directory, 'blocks')
  makeDirectory(blocks)
  return {
    name: blocks,
    read: (number) => readIfThere(join(blocks, nameOf(number)))?.toString('utf8'),
    create: (number, text) => createAtomically(blocks, nameOf(number), Buffer.from(text)),
    numbers: () =>
      readdirSync(blocks).flatMap((name) => {
        if (name.startsWith(TEMPORARY_PREFIX)) return []
        const [, number] = NAME.exec(name) ?? []
        if (number === undefined) throw new Error(`${join(blocks, name)} is not a block of a local chain: take it away`)
        return [Number(number)]
      }),
  }
}

function nameOf(number: number): string {
  return `${number.toString().padStart(10, '0')}.json`
}

function readIfThere(path: string): Buffer | undefined {
  // The file is usually missing, and a test costs less than an error.
  if (!existsSync(path)) return undefined
  try {
    return readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Writes a block. Returns false when a file of that name exists. */
async function createAtomically(directory: string, name: string, bytes: Uint8Array): Promise<boolean> {
  const temporary = join(directory, `${TEMPORARY_PREFIX}${process.pid}-${randomBytes(6).toString('hex')}`)
  try {
    await writeDurably(temporary, bytes, 0o644)
    await link(temporary, join(directory, name))
    await syncDirectory(directory)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(temporary, { force: true })
  }
}

/** Flushes a directory, which Windows cannot and need not do. */
async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Stores the bytes of a component beside the chain, and returns their name, their SHA-256 in hexadecimal. */
export async function storeComponent(directory: string, bytes: Uint8Array): Promise<string> {
  const components = join(directory, 'components')
  makeDirectory(components)
  const sha256 = sha256Hex(bytes)
  await createAtomically(components, sha256, bytes)
  return sha256
}

/** Reads a stored component; undefined when there is none. Throws when the file has other bytes. */
export function readStoredComponent(directory: string, sha256: string): Uint8Array | undefined {
  if (!/^[0-9a-f]{64}$/.test(sha256)) return undefined
  const path = join(directory, 'components', sha256)
  const bytes = readIfThere(path)
  if (bytes !== undefined && sha256Hex(bytes) !== sha256) throw new Error(`${path} was changed: its SHA-256 is another`)
  return bytes
}
