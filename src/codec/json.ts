/** JSON from outside: typed as what it is, bounded in depth, and read through own members only. */
import { malformed } from './malformed.ts'

export type Json = string | number | boolean | null | Json[] | JsonObject
export type JsonObject = { [member: string]: Json }

/** How deep containers may stand in each other. */
export const MAX_DEPTH = 32

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

/** Parses `text`. Throws a MalformedError when it is not JSON or nested deeper than 32. */
export function parseJson(text: string): Json {
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    return malformed('it is not JSON')
  }
  refuseDepth(value, MAX_DEPTH)
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

/** Parses `text` and wants an object. Throws a MalformedError otherwise. */
export function parseJsonObject(text: string): JsonObject {
  const value = parseJson(text)
  return isObject(value) ? value : malformed('it is not a JSON object')
}

function refuseDepth(value: Json, left: number): void {
  if (typeof value !== 'object' || value === null) return
  if (left === 0) malformed(`it is nested deeper than ${MAX_DEPTH}`)
  for (const member of membersIn(value)) if (typeof member === 'object') refuseDepth(member, left - 1)
}
