/**
 * The setting `secretsFile`: the source of codes, nonces and tokens, apart from the signing key. Each line is one
 * generation: the first is used for new values, and all are accepted. The line `signing-key` stands for the secret that
 * is derived from the signing key without a file.
 */
import { type SecretSource, SIGNING_KEY } from '../keys/secrets.ts'
import type { Files } from './files.ts'
import { type KeyLine, readKeyLines } from './key-lines.ts'
import type { SigningSettings } from './signing.ts'

export const SECRETS_SETTING = 'secretsFile'

export type ReadSecrets =
  | { readonly secrets: readonly [SecretSource, ...SecretSource[]] }
  | { readonly mistakes: readonly string[] }

/** The settings that say what secrets are derived from. */
export interface SecretsSettings {
  readonly secretsFile?: string
  readonly signing?: SigningSettings
}

const MISSING_FILE_MISTAKE = `${SECRETS_SETTING}: required, as nothing can be derived from a key in a token; make one with: openssl rand -base64 32`

/** Reads the generations of the file, or the signing key's where no file is named, or the mistakes in the file. */
export function readSecretsFile({ secretsFile: path, signing }: SecretsSettings, files: Files): ReadSecrets {
  if (path === undefined)
    return signing?.pkcs11 === undefined ? { secrets: [SIGNING_KEY] } : { mistakes: [MISSING_FILE_MISTAKE] }
  const lines = readKeyLines({ setting: SECRETS_SETTING, path, words: [SIGNING_KEY] }, files)
  if ('mistakes' in lines) return lines
  const [first, ...older] = lines.lines
  const isDerivable = signing === undefined || [signing, ...(signing.previous ?? [])].some(({ keyFile }) => keyFile)
  if (!isDerivable && lines.lines.includes(SIGNING_KEY)) {
    return {
      mistakes: [
        `${SECRETS_SETTING}: ${path}: nothing can be derived from a key in a token; take the line ${SIGNING_KEY} out`,
      ],
    }
  }
  return { secrets: [sourceOf(first), ...older.map(sourceOf)] }
}

function sourceOf(line: KeyLine): SecretSource {
  return typeof line === 'string' ? SIGNING_KEY : line
}
