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
    const memberPath = Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`
    if (RESERVED_NAMES.includes(name)) refuse('invalid_request', `${memberPath}: this name is reserved`)
    refuseReservedNames(member, memberPath, depthLeft - 1)
  }
}

/** Refuses with `invalid_request` a `status`, which only W3C formats support. */
export function refuseBitstringStatus({ status }: CredentialConfiguration): void {
  if (status !== undefined) {
    refuse('invalid_request', 'status: only W3C formats have it; leave it out')
  }
}

/** Returns the texts of a non-empty array. Refuses with `invalid_request` any other value. */
export function requireStrings(value: unknown, path: string): readonly string[] {
  const strings = Array.isArray(value)
    ? value.filter((element): element is string => typeof element === 'string' && element !== '')
    : []
  if (!Array.isArray(value) || value.length === 0 || strings.length !== value.length) {
    refuse('invalid_request', `${path}: it must be a non-empty array of strings`)
  }
  return strings
}
