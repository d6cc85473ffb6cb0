/**
 * The directory of a local chain: `blocks/` has a file for each block, and `components/` the off-chain components by
 * digest. A block is written to a temporary file, flushed, and linked to its name. Linking fails if the name exists, so
 * that blocks are complete and each number is used once.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { link, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlockFiles } from '../../chain/local/files.ts'
import { sha256Hex } from '../../codec/digest.ts'
import { makeDirectory } from '../files/directory.ts'
import { writeDurably } from '../files/flush-to-disk.ts'

const NAME = /^(\d{10})\.json$/
/** The prefix of temporary files, which a killed process may leave behind. */
const TEMPORARY_PREFIX = '.'

/** Opens the files of a chain in `directory`, which is created if it does not exist. */
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
  // The file usually does not exist, and this test is cheaper than an error.
  if (!existsSync(path)) return undefined
  try {
    return readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Writes a block atomically. Returns false if the file exists. */
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

/** Flushes a directory. Windows cannot do this and does not need it. */
async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Stores a component with the chain. Returns its SHA-256 in hexadecimal, which is its name. */
export async function storeComponent(directory: string, bytes: Uint8Array): Promise<string> {
  const components = join(directory, 'components')
  makeDirectory(components)
  const sha256 = sha256Hex(bytes)
  await createAtomically(components, sha256, bytes)
  return sha256
}
