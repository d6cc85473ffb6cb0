/**
 * The setting `secretsFile`: the source of codes, nonces and tokens, apart from the signing key. Each line is one
 * generation: the first is used for new values, and all are accepted. The line `signing-key` stands for the secret that
 * is derived from the signing key without a file.
 */
import { type SecretSource, SIGNING_KEY } from '../keys/secrets.ts'
import type { Files } from './files.ts'
import { type KeyLine, readKeyLines } from './key-lines.ts'

export const SECRETS_SETTING = 'secretsFile'

export type ReadSecrets =
  | { readonly secrets: readonly [SecretSource, ...SecretSource[]] }
  | { readonly mistakes: readonly string[] }

/** Reads the generations of the file, or the signing key's where no file is named, or the mistakes in the file. */
export function readSecretsFile(path: string | undefined, files: Files): ReadSecrets {
  if (path === undefined) return { secrets: [SIGNING_KEY] }
  const read = readKeyLines({ setting: SECRETS_SETTING, path, words: [SIGNING_KEY] }, files)
  if ('mistakes' in read) return read
  const [first, ...older] = read.lines
  return { secrets: [sourceOf(first), ...older.map(sourceOf)] }
}

function sourceOf(line: KeyLine): SecretSource {
  return typeof line === 'string' ? SIGNING_KEY : line
}
