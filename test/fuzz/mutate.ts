/** Seeded mutations: of texts, of JSON, and of the things that stand in JSON here (forms, JWTs, SD-JWTs). */
import { isObject, type Json, type JsonObject } from '../../src/codec/json.ts'

/** A number from 0 up to, not with, `below`. */
export type Random = (below: number) => number

/** Makes Mulberry32: the same seed gives the same numbers on every machine. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % Math.max(1, below)
  }
}

export function pick<T>(random: Random, from: readonly T[]): T {
  return from[random(from.length)] as T
}

const PIECES = [
  '',
  ' ',
  '\0',
  '"',
  "'",
  '\\',
  '%',
  '%00',
  '%zz',
  '../',
  '/',
  '?',
  '#',
  '&',
  '=',
  '~',
  '.',
  '..',
  ';',
  '\r\n',
]
const TEXTS = [
  '__proto__',
  'constructor',
  'toString',
  'null',
  'true',
  '[]',
  '{}',
  'e30',
  '-1',
  '1e999',
  '\ud800',
  '😀',
  'ü',
]
const NUMBERS = [0, -0, -1, 1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 53), 1e300, -1e300, 5e-324, 1e21]
const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  '_sd',
  '_sd_alg',
  '...',
  'iss',
  'cnf',
  'status',
  'length',
  '',
  '0',
]

export function mutateText(random: Random, text: string): string {
  const [at, to] = [random(text.length + 1), random(text.length + 1)].sort((a, b) => a - b) as [number, number]
  const insert = (piece: string) => text.slice(0, at) + piece + text.slice(at)
  switch (random(9)) {
    case 0:
      return insert(pick(random, PIECES))
    case 1:
      return insert(pick(random, TEXTS))
    case 2:
      return insert(String.fromCharCode(random(random(4) === 0 ? 65_536 : 128)))
    case 3:
      return text.slice(0, at) + text.slice(to)
    case 4:
      return text.slice(0, to) + text.slice(at)
    case 5:
      return text.slice(0, at)
    case 6:
      return insert(pick(random, TEXTS).repeat(random(300)))
    case 7:
      return pick(random, [...TEXTS, ...PIECES])
    default:
      return text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ (1 << random(7))) + text.slice(at + 1)
  }
}

/** Changes one place of the value: any, with those that are texts of a known form changed inside. */
export function mutateJson(random: Random, value: Json): Json {
  if (random(6) === 0) return strange(random, value)
  if (typeof value === 'string') return mutateStructured(random, value)
  if (Array.isArray(value)) return mutateArray(random, value)
  if (isObject(value)) return mutateObject(random, value)
  return strange(random, value)
}

/** Changes a text by its kind: JSON, an SD-JWT, a JWT, or none of them. */
export function mutateStructured(random: Random, text: string): string {
  if (random(4) === 0) return mutateText(random, text)
  if (text.includes('~')) return mutateSdJwt(random, text)
  if (/^[\w-]+\.[\w-]+\.[\w-]*$/.test(text)) return mutateJwt(random, text)
  return changeParsed(text, (value) => JSON.stringify(mutateJson(random, value))) ?? mutateText(random, text)
}

export function mutateForm(random: Random, form: string): string {
  const entries = [...new URLSearchParams(form)]
  const at = random(entries.length)
  const [name, value] = entries[at] ?? ['', '']
  switch (random(6)) {
    case 0:
      return mutateText(random, form)
    case 1:
      entries.splice(at, 1)
      break
    case 2:
      entries.push([name, mutateText(random, value)])
      break
    case 3:
      entries[at] = [mutateText(random, name), value]
      break
    default:
      entries[at] = [name, mutateStructured(random, value)]
  }
  return new URLSearchParams(entries).toString()
}

function mutateArray(random: Random, array: readonly Json[]): Json {
  const copy = [...array]
  const at = random(copy.length)
  const element = copy[at] ?? null
  switch (random(5)) {
    case 0:
      copy.splice(at, 1)
      break
    case 1:
      copy.push(element)
      break
    default:
      copy[at] = mutateJson(random, element)
  }
  return copy
}

function mutateObject(random: Random, object: JsonObject): Json {
  const entries = Object.entries(object)
  const at = random(entries.length)
  const [name, value] = entries[at] ?? ['', null]
  switch (random(8)) {
    case 0:
      entries.splice(at, 1)
      break
    case 1:
      entries.push([pick(random, NAMES), pick(random, [value, strange(random, value)])])
      break
    case 2:
      entries[at] = [mutateText(random, name), value]
      break
    default:
      entries[at] = [name, mutateJson(random, value)]
  }
  return Object.fromEntries(entries)
}

/** Returns something else in place of `value`, or `value` where it does not belong. */
function strange(random: Random, value: Json): Json {
  switch (random(9)) {
    case 0:
      return null
    case 1:
      return random(2) === 0
    case 2:
      return pick(random, NUMBERS)
    case 3:
      return pick(random, TEXTS)
    case 4:
      return [value]
    case 5:
      return Object.fromEntries([[pick(random, NAMES), value]])
    case 6:
      return nest(random(60), value)
    case 7:
      return 'a'.repeat(random(20_000))
    default:
      return pick<Json>(random, [[], {}, [[]], [null], { a: {} }])
  }
}

function nest(depth: number, value: Json): Json {
  let result = value
  for (let i = 0; i < depth; i++) result = i % 2 === 0 ? [result] : { a: result }
  return result
}

function mutateJwt(random: Random, jwt: string): string {
  const parts = jwt.split('.')
  const at = random(3)
  const part = parts[at] ?? ''
  switch (random(8)) {
    case 0:
      return [...parts, pick(random, parts)].join('.')
    case 1:
      parts.splice(at, 1)
      break
    default:
      parts[at] = at === 2 ? mutateText(random, part) : mutateEncoded(random, part)
  }
  return parts.join('.')
}

function mutateSdJwt(random: Random, text: string): string {
  const parts = text.split('~')
  const at = random(parts.length)
  const part = parts[at] ?? ''
  switch (random(6)) {
    case 0:
      parts.splice(at, 1)
      break
    case 1:
      parts.splice(random(parts.length), 0, part)
      break
    default:
      parts[at] = part.includes('.') ? mutateJwt(random, part) : mutateEncoded(random, part)
  }
  return parts.join('~')
}

/** Changes base64url of JSON inside, as it is read. */
function mutateEncoded(random: Random, text: string): string {
  const json = Buffer.from(text, 'base64url').toString()
  const changed = changeParsed(json, (value) => JSON.stringify(mutateJson(random, value)))
  if (changed === undefined || random(4) === 0) return mutateText(random, text)
  return Buffer.from(changed).toString('base64url')
}

function changeParsed(text: string, change: (value: Json) => string): string | undefined {
  try {
    return change(JSON.parse(text) as Json)
  } catch {
    return undefined
  }
}
