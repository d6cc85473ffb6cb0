/**
 * The file `database.encryptionKeyFile`: keys of 32 random bytes, one per line. The first one encrypts, and all
 * decrypt.
 */
import type { Files } from './files.ts'
import { readKeyLines } from './key-lines.ts'

export const ENCRYPTION_KEYS_SETTING = 'database.encryptionKeyFile'

export type ReadEncryptionKeys = { readonly keys: readonly Uint8Array[] } | { readonly mistakes: readonly string[] }

/** Reads the keys of the file; none if `path` is undefined. Mistakes have line numbers, but no content. */
export function readDatabaseKeys(path: string | undefined, files: Pick<Files, 'read'>): ReadEncryptionKeys {
  if (path === undefined) return { keys: [] }
  const lines = readKeyLines({ setting: ENCRYPTION_KEYS_SETTING, path }, files)
  return 'mistakes' in lines ? lines : { keys: lines.lines.filter((line) => typeof line !== 'string') }
}
