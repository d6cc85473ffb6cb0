/** Validation of datasets and configurations that several formats share. */
import type { Json } from '../codec/json.ts'
import { DIGEST_MEMBERS } from '../codec/sd-jwt.ts'
import type { CredentialConfiguration } from '../protocol/credential-configuration.ts'
import { refuse } from '../protocol/error.ts'

/** Claim names with a special meaning in SD-JWT or in JavaScript. */
const RESERVED_NAMES: readonly string[] = [...DIGEST_MEMBERS, '__proto__']
/** The maximum nesting depth of a claim in a dataset. */
export const MAX_DEPTH = 16
/** Refuses with `invalid_request` reserved names at any depth, and claims that are nested deeper than 16. */
export function refuseReservedNames(value: Json, path: string, depthLeft = MAX_DEPTH): void {
  if (typeof value !== 'object' || value === null) return
  if (depthLeft === 0) refuse('invalid_request', `${path}: nested deeper than ${MAX_DEPTH}`)
  for (const [name, member] of Object.entries(value)) {
    const place = Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`
    if (RESERVED_NAMES.includes(name)) refuse('invalid_request', `${place}: this name is reserved`)
    refuseReservedNames(member, place, depthLeft - 1)
  }
}

/** Refuses with `invalid_request` a `status`, which only W3C formats support. */
export function refuseBitstringStatus({ status }: CredentialConfiguration): void {
  if (status !== undefined) {
    refuse('invalid_request', 'status: this format names status list tokens and nothing else; leave it out')
  }
}

/** Tests whether a value can name something: a text with blanks at neither end, where nobody would see them. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.trim() === value
}

/** Returns the names in a non-empty array. Refuses with `invalid_request` any other value. */
export function refuseUnlessNames(value: unknown, path: string): readonly string[] {
  const names = Array.isArray(value) ? value.filter(isName) : []
  if (!Array.isArray(value) || value.length === 0 || names.length !== value.length) {
    refuse('invalid_request', `${path}: it must be a non-empty array of texts with blanks at neither end`)
  }
  return names
}
