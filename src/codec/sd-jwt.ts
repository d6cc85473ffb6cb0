/**
 * SD-JWT: concealing claims behind digests, and revealing them again by the strict rules. RFC 9901.
 * Bytes and trees only: which claims may be concealed, and who signs, is decided by the formats in `credential/`.
 */
import { hash } from 'node:crypto'
import { fromBase64url, toBase64url } from './base64url.ts'
import { MAX_DEPTH } from './exact-json.ts'
import { isObject, type Json, type JsonObject, parseJson } from './json.ts'
import { type Jws, readJws } from './jws.ts'
import { malformed } from './malformed.ts'

/** Where a claim stands in the revealed tree: member names and array indices. */
export type Place = readonly (string | number)[]

export interface SdJwt {
  readonly jws: Jws
  /** The disclosures as they stood in the text. */
  readonly disclosures: readonly string[]
  readonly keyBinding: Jws | undefined
  /** What the key binding's `sd_hash` is taken over: everything up to and with the last tilde. */
  readonly bound: string
}

export interface Revealed {
  readonly claims: JsonObject
  /** Each disclosure with the place of its claim, parents before children. */
  readonly disclosed: readonly { readonly place: Place; readonly text: string }[]
}

/** Members that hold digests, and are gone once the disclosures are in their place. RFC 9901, Verification of the SD-JWT. */
export const DIGEST_MEMBERS: readonly string[] = ['_sd', '_sd_alg', '...']
/** Each is hashed before anybody has verified anything. */
export const MAX_DISCLOSURES = 2000
/** Members and elements of a payload and its disclosures: as many as can be disclosed, and what stands around them. */
const MAX_VALUES = 3000

/** Takes an SD-JWT or SD-JWT+KB apart. Throws a MalformedError that says which part is wrong. */
export function readSdJwt(text: string): SdJwt {
  const end = text.lastIndexOf('~')
  if (end === -1) malformed('it has no tilde, which ends an SD-JWT or stands before its key binding')
  const bound = text.slice(0, end + 1)
  const [jwt = '', ...disclosures] = bound.slice(0, -1).split('~')
  if (disclosures.length > MAX_DISCLOSURES) malformed(`it has more than ${MAX_DISCLOSURES} disclosures`)
  const rest = text.slice(end + 1)
  return { jws: readJws(jwt), disclosures, keyBinding: rest === '' ? undefined : readJws(rest), bound }
}

/** A credential as an SD-JWT: some issue plain JWTs, which are ones that conceal nothing, and lack the tilde. */
export function asSdJwt(credential: string): string {
  return credential.includes('~') ? credential : `${credential}~`
}

/** SHA-256 of a disclosure's text, or of what a key binding binds; base64url. RFC 9901, Hashing Disclosures. */
export function digestOf(text: string): string {
  return hash('sha256', text, 'base64url')
}

/**
 * Replaces each claim for which `conceal` says yes by the digest of a disclosure, innermost first.
 * `random` gives that many random bytes. Out come the payload and the disclosures that reveal it.
 */
export function concealClaims(
  claims: JsonObject,
  conceal: (place: Place) => boolean,
  random: (bytes: number) => Uint8Array,
): { readonly payload: JsonObject; readonly disclosures: readonly string[] } {
  const disclosures: string[] = []
  const disclose = (content: Json[]): string => {
    const text = toBase64url(JSON.stringify([toBase64url(random(16)), ...content]))
    disclosures.push(text)
    return digestOf(text)
  }
  const walk = (value: Json, place: Place): Json => {
    if (Array.isArray(value)) {
      return value.map((element, index) => {
        const inner = walk(element, [...place, index])
        return conceal([...place, index]) ? { '...': disclose([inner]) } : inner
      })
    }
    return isObject(value) ? walkObject(value, place) : value
  }
  const walkObject = (object: JsonObject, place: Place): JsonObject => {
    const shown = new Map<string, Json>()
    const digests: string[] = []
    for (const [name, value] of Object.entries(object)) {
      const inner = walk(value, [...place, name])
      if (conceal([...place, name])) digests.push(disclose([name, inner]))
      else shown.set(name, inner)
    }
    // Sorted, so that the order of the digests says nothing about the order of the claims.
    if (digests.length > 0) shown.set('_sd', digests.sort())
    // Object.fromEntries defines own members, also one that is called __proto__.
    return Object.fromEntries(shown)
  }
  const payload = walkObject(claims, [])
  return { payload: disclosures.length > 0 ? { ...payload, _sd_alg: 'sha-256' } : payload, disclosures }
}

/**
 * The claims that the disclosures reveal. Throws a MalformedError for everything RFC 9901 section 7.1 rejects: an unknown
 * hash, a claim named `_sd` or `...`, a claim that is there already, a disclosure of the wrong arity for its place,
 * a digest that occurs twice, a disclosure that nothing refers to; and for claims nested deeper than 32.
 */
export function revealClaims(payload: JsonObject, texts: readonly string[]): Revealed {
  const { _sd_alg: algorithm, ...root } = payload
  if (algorithm !== undefined && algorithm !== 'sha-256') malformed('_sd_alg is not sha-256')
  const revealing: Revealing = { disclosures: readDisclosures(texts), seen: new Set(), disclosed: [], values: 0 }
  const claims = revealObject(root, [], revealing)
  if (revealing.disclosed.length !== texts.length) malformed('a disclosure is not referred to by any digest')
  return { claims, disclosed: revealing.disclosed }
}

interface Revealing {
  readonly disclosures: ReadonlyMap<string, Disclosure>
  /** Every digest met so far, whether there is a disclosure for it or not. */
  readonly seen: Set<string>
  readonly disclosed: { readonly place: Place; readonly text: string }[]
  values: number
}

function reveal(value: Json, place: Place, revealing: Revealing): Json {
  revealing.values += 1
  if (revealing.values > MAX_VALUES) malformed(`it has more than ${MAX_VALUES} values`)
  // Each disclosure is bounded on its own, but one can lead to the next.
  if (place.length > MAX_DEPTH) malformed(`the disclosures lead deeper than ${MAX_DEPTH}`)
  if (Array.isArray(value)) return revealArray(value, place, revealing)
  return isObject(value) ? revealObject(value, place, revealing) : value
}

function revealObject(object: JsonObject, place: Place, revealing: Revealing): JsonObject {
  const { _sd: digests, ...plain } = object
  const shown = new Map<string, Json>()
  for (const [name, value] of Object.entries(plain)) {
    if (name === '...') malformed('a member is named "..."')
    shown.set(name, reveal(value, [...place, name], revealing))
  }
  for (const digest of digestArray(digests)) {
    const disclosure = takeDisclosure(digest, revealing)
    if (disclosure === undefined) continue
    const { name } = disclosure
    if (name === undefined) return malformed('a disclosure for an array element is used for an object member')
    if (shown.has(name)) malformed(`the disclosed claim ${JSON.stringify(name)} is there already`)
    shown.set(name, revealDisclosed(disclosure, [...place, name], revealing))
  }
  return Object.fromEntries(shown)
}

/** Elements that stay concealed vanish, so that those after them move up. RFC 9901, Processing. */
function revealArray(array: readonly Json[], place: Place, revealing: Revealing): Json[] {
  const shown: Json[] = []
  for (const element of array) {
    const here = [...place, shown.length]
    if (!isObject(element) || !Object.hasOwn(element, '...')) {
      shown.push(reveal(element, here, revealing))
      continue
    }
    if (Object.keys(element).length !== 1) malformed('a concealed array element has other members beside its digest')
    const disclosure = takeDisclosure(element['...'], revealing)
    if (disclosure === undefined) continue
    if (disclosure.name !== undefined) malformed('a disclosure for an object member is used for an array element')
    shown.push(revealDisclosed(disclosure, here, revealing))
  }
  return shown
}

function takeDisclosure(digest: Json | undefined, { disclosures, seen }: Revealing): Disclosure | undefined {
  if (typeof digest !== 'string') return malformed('a digest is not a string')
  if (seen.has(digest)) malformed('a digest occurs twice')
  seen.add(digest)
  return disclosures.get(digest)
}

function revealDisclosed({ text, value }: Disclosure, place: Place, revealing: Revealing): Json {
  revealing.disclosed.push({ place, text })
  return reveal(value, place, revealing)
}

interface Disclosure {
  readonly text: string
  readonly name: string | undefined
  readonly value: Json
}

function readDisclosures(texts: readonly string[]): ReadonlyMap<string, Disclosure> {
  const byDigest = new Map<string, Disclosure>()
  for (const text of texts) {
    const digest = digestOf(text)
    if (byDigest.has(digest)) malformed('a disclosure is sent twice')
    byDigest.set(digest, readDisclosure(text))
  }
  return byDigest
}

function readDisclosure(text: string): Disclosure {
  const content = parseJson(fromBase64url(text))
  if (!Array.isArray(content) || typeof content[0] !== 'string') return malformed('a disclosure is not [salt, …]')
  if (content.length === 2) return { text, name: undefined, value: content[1] as Json }
  const [, name, value] = content
  if (content.length !== 3 || typeof name !== 'string') return malformed('a disclosure is not [salt, name, value]')
  if (name === '_sd' || name === '...') malformed(`a disclosure is for a claim named ${name}`)
  return { text, name, value: value as Json }
}

function digestArray(digests: Json | undefined): readonly Json[] {
  if (digests === undefined) return []
  return Array.isArray(digests) ? digests : malformed('_sd is not an array')
}
