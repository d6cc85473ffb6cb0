/** JSON from outside: parsed strictly and with a limited depth, and accessed by own members only. */
import { refuseInexact } from './exact-json.ts'
import { malformed } from './malformed.ts'
import { utf8Text } from './utf8.ts'

export type Json = string | number | boolean | null | Json[] | JsonObject
export type JsonObject = { [member: string]: Json }

/** Tests whether a value is an object, and not an array or null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns an own member of the object; never an inherited one, such as `constructor`. */
export function own(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/** Returns a member of `value`; undefined if `value` is not an object. */
export function memberOf(value: Json | undefined, name: string): Json | undefined {
  return isObject(value) ? own(value, name) : undefined
}

/** Returns the strings in an array; empty if `value` is not an array. */
export function stringsIn(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((element) => typeof element === 'string') : []
}

/** Returns a string member; undefined if it is absent or not a string. */
export function ownString(object: JsonObject, name: string): string | undefined {
  const value = own(object, name)
  return typeof value === 'string' ? value : undefined
}

/**
 * Parses JSON text, or UTF-8 bytes. Throws a MalformedError if it is not valid JSON, is nested deeper than 32, or has a
 * duplicate member or a number that would lose digits. RFC 8259; RFC 7493 sections 2.1 to 2.3.
 */
export function parseJson(json: string | Uint8Array): Json {
  const text = typeof json === 'string' ? json : utf8Text(json)
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch (cause) {
    return malformed('it is not JSON', cause)
  }
  refuseInexact(text)
  return value
}

/** Throws a MalformedError if `value` has more than `most` members and elements, at all depths together. */
export function refuseMany(value: Json, most: number): void {
  if (countValues(value) > most) malformed(`it has more than ${most} values`)
}

/** Counts the members and elements of `value` at all depths. */
export function countValues(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  const members = membersIn(value)
  let count = members.length
  for (const member of members) if (typeof member === 'object') count += countValues(member)
  return count
}

/** Returns the members of an object, or the array itself without a copy. */
function membersIn(value: Json[] | JsonObject): readonly Json[] {
  return Array.isArray(value) ? value : Object.values(value)
}

/** Parses a JSON object like {@link parseJson}. Throws a MalformedError if the value is not an object. */
export function parseJsonObject(json: string | Uint8Array): JsonObject {
  const value = parseJson(json)
  return isObject(value) ? value : malformed('it is not a JSON object')
}
