/**
 * The setting `secretsFile`: the secrets for codes, nonces and tokens, independent of the signing key. Each line is a
 * version: the first makes new values, and all are accepted. The line `signing-key` means the secret that is derived
 * from the signing key.
 */
import { type SecretSource, SIGNING_KEY } from '../keys/secrets.ts'
import type { Files } from './files.ts'
import { type KeyLine, readKeyLines } from './key-lines.ts'
import type { SigningSettings } from './signing.ts'

export const SECRETS_SETTING = 'secretsFile'

export type ReadSecrets =
  | { readonly secrets: readonly [SecretSource, ...SecretSource[]] }
  | { readonly mistakes: readonly string[] }

/** The settings that determine the sources of secrets. */
export interface SecretsSettings {
  readonly secretsFile?: string
  readonly signing?: SigningSettings
}

const MISSING_FILE_MISTAKE = `${SECRETS_SETTING}: required, as nothing can be derived from a key in a token; make one with: openssl rand -base64 32`

/** Reads the secrets in the file, or returns the mistakes in it. Without a file, the source is the signing key. */
export function readSecretsFile(
  { secretsFile: path, signing }: SecretsSettings,
  files: Pick<Files, 'read'>,
): ReadSecrets {
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
