/** The formats of the credentials that this wallet holds. */
import type { CredentialFormat } from '../credential/format.ts'
import { formatOf, supportedFormats } from '../credential/formats.ts'
import { refuse } from './error.ts'

/** Refuses with `unsupported`. */
export function heldFormat(id: string): CredentialFormat {
  return formatOf(id) ?? refuse('unsupported', `the credential has the format ${id || 'of no name'}; ${heldFormats()}`)
}

/** In words: `this wallet holds …`. */
export function heldFormats(): string {
  return `this wallet holds ${supportedFormats.join(', ')}`
}
