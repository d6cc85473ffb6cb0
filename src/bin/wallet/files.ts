/**
 * The directory of the wallet: one file for each credential, replaced completely or not at all, and readable by its
 * owner only.
 */
import { open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { WalletStore } from '../../wallet/context.ts'
import { keysInTexts } from '../../wallet/holder-key.ts'
import { makeDirectory } from '../directory.ts'
import { random } from '../effects.ts'

const SUFFIX = '.json'

export function walletFiles(home: string): WalletStore {
  const directory = join(home, 'credentials')
  return {
    list: async () => {
      const names = await readdir(directory).catch(emptyIfMissing)
      // A name with a leading dot is an incomplete write.
      const kept = names.filter((name) => name.endsWith(SUFFIX) && !name.startsWith('.'))
      return kept.map((name) => name.slice(0, -SUFFIX.length)).sort()
    },
    keys: keysInTexts(random),
    read: (name) => readFile(join(directory, name + SUFFIX), 'utf8'),
    write: async (name, text) => {
      makeDirectory(directory, 0o700)
      const temporary = join(directory, `.${name}.${Buffer.from(random(6)).toString('hex')}`)
      try {
        await writeDurably(temporary, text)
        await rename(temporary, join(directory, name + SUFFIX))
      } catch (error) {
        await rm(temporary, { force: true })
        throw error
      }
    },
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

function emptyIfMissing(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return []
  throw error
}
