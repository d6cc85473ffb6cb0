/** `database.encryptionKeyFile`: keys of 32 random bytes, one a line. The first encrypts, all decrypt. */
import type { Files } from './files.ts'
import { readKeyLines } from './key-lines.ts'

const SETTING = 'database.encryptionKeyFile'

export type ReadEncryptionKeys = { readonly keys: readonly Uint8Array[] } | { readonly mistakes: readonly string[] }

/** Reads the keys of the file; none when `path` is undefined. The mistakes name lines, never their content. */
export function readEncryptionKeys(path: string | undefined, files: Files): ReadEncryptionKeys {
  if (path === undefined) return { keys: [] }
  const lines = readKeyLines({ setting: SETTING, path }, files)
  return 'mistakes' in lines ? lines : { keys: lines.lines.filter((line) => typeof line !== 'string') }
}
