/** The formats of the credentials that this wallet holds. */
import type { CredentialFormat } from '../credential/format.ts'
import { formatOf, supportedFormats } from '../credential/formats.ts'
import { refuse } from './error.ts'

/** Refuses with `unsupported`. */
export function walletFormat(id: string): CredentialFormat {
  const known = `this wallet holds ${supportedFormats.join(', ')}`
  return formatOf(id) ?? refuse('unsupported', `the credential has the format ${id || 'of no name'}; ${known}`)
}
