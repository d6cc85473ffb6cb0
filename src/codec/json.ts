/** JSON from outside: typed as what it is, exactly what its text says, bounded in depth, and read through own members only. */
import { refuseInexact } from './exact-json.ts'
import { malformed } from './malformed.ts'
import { utf8Text } from './utf8.ts'

export type Json = string | number | boolean | null | Json[] | JsonObject
export type JsonObject = { [member: string]: Json }

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The member of that name that the object itself has; never an inherited one such as `constructor`. */
export function own(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/** The member of that name, of what may be no object at all. */
export function memberOf(value: Json | undefined, name: string): Json | undefined {
  return isObject(value) ? own(value, name) : undefined
}

/** The strings of an array; none when it is no array. */
export function stringsIn(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((element) => typeof element === 'string') : []
}

/** A string member, or undefined when it is absent or something else. */
export function ownString(object: JsonObject, name: string): string | undefined {
  const value = own(object, name)
  return typeof value === 'string' ? value : undefined
}

/**
 * Parses a text, or bytes that must be UTF-8. Throws a MalformedError when it is not JSON, is nested deeper than 32, has a member twice
 * or a number that would lose digits. RFC 8259; RFC 7493 sections 2.1 to 2.3.
 */
export function parseJson(json: string | Uint8Array): Json {
  const text = typeof json === 'string' ? json : utf8Text(json)
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    return malformed('it is not JSON')
  }
  refuseInexact(text)
  return value
}

/** Throws a MalformedError when `value` holds more than `most` members and elements, at any depth. */
export function refuseMany(value: Json, most: number): void {
  if (countValues(value) > most) malformed(`it has more than ${most} values`)
}

/** Members and elements at any depth. */
export function countValues(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  const members = membersIn(value)
  let count = members.length
  for (const member of members) if (typeof member === 'object') count += countValues(member)
  return count
}

/** Whatever comes is looked through, often several times: an array is not copied for it. */
function membersIn(value: Json[] | JsonObject): readonly Json[] {
  return Array.isArray(value) ? value : Object.values(value)
}

/** Parses as {@link parseJson} does, and wants an object. Throws a MalformedError otherwise. */
export function parseJsonObject(json: string | Uint8Array): JsonObject {
  const value = parseJson(json)
  return isObject(value) ? value : malformed('it is not a JSON object')
}
