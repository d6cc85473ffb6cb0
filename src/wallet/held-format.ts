/** The formats of the credentials that this wallet holds. */
import type { CredentialFormat } from '../credential/format.ts'
import { formatOf, supportedFormats } from '../credential/formats.ts'
import { refuseWith } from './error.ts'

/** Returns the format with this id. Refuses with `unsupported`. */
export function requireHeldFormat(id: string): CredentialFormat {
  return (
    formatOf(id) ??
    refuseWith('unsupported', `the credential has the format ${id || 'of no name'}; ${heldFormatsText()}`)
  )
}

/** Lists the formats in words: `this wallet holds …`. */
export function heldFormatsText(): string {
  return `this wallet holds ${supportedFormats.join(', ')}`
}
