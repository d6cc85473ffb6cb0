/** Findings about the secrets file. */
import type { Files } from '../../config/files.ts'
import { readSecretsFile, SECRETS_SETTING, type SecretsSettings } from '../../config/secrets-file.ts'
import { type Finding, makeFinding } from './finding.ts'
import { findPrivateFileFindings } from './private-file.ts'

/** Returns the findings about the secrets file; none if it has mistakes or is missing, which are reported elsewhere. */
export function findSecretsFindings({ secretsFile: path, signing }: SecretsSettings, files: Files): Finding[] {
  if (path === undefined) {
    if (signing?.pkcs11 !== undefined) return []
    const text = 'codes, nonces and tokens are derived from the signing key; give them a file of their own'
    return [makeFinding(SECRETS_SETTING, 'note', text)]
  }
  const secretsResult = readSecretsFile({ secretsFile: path }, files)
  if ('mistakes' in secretsResult) return []
  const { length } = secretsResult.secrets
  const line = length === 1 ? 'its one line' : `the first of ${length} lines`
  const text = `codes, nonces and tokens are derived from ${line}`
  return [makeFinding(SECRETS_SETTING, 'ok', text), ...findPrivateFileFindings(SECRETS_SETTING, path)]
}
