/**
 * SD-JWT: conceals claims behind digests, and reveals them again by the strict rules of RFC 9901. This file knows bytes
 * and trees only: the formats in `credential/` decide which claims may be concealed, and who signs.
 */
import { fromBase64url, toBase64url } from './base64url.ts'
import { digestOf, type HashName, hashNames, isHashName } from './digest.ts'
import { MAX_NESTING } from './exact-json.ts'
import { isObject, type Json, type JsonObject, parseJson } from './json.ts'
import { type Jws, readJws } from './jws.ts'
import { malformed } from './malformed.ts'

/** The position of a claim in the revealed tree: member names and array indices. */
export type ClaimPosition = readonly (string | number)[]

export interface SdJwt {
  readonly jws: Jws
  /** The disclosures exactly as in the text. */
  readonly disclosures: readonly string[]
  readonly keyBinding: Jws | undefined
  /** The input of the key binding's `sd_hash`: everything up to and including the last tilde. */
  readonly sdHashInput: string
}

export interface RevealedClaims {
  readonly claims: JsonObject
  /** Each disclosure with the position of its claim, parents before children. */
  readonly appliedDisclosures: readonly { readonly position: ClaimPosition; readonly text: string }[]
}

/** The members that hold digests, which processing removes. RFC 9901, Verification of the SD-JWT. */
export const DIGEST_MEMBERS: readonly string[] = ['_sd', '_sd_alg', '...']
/** The most disclosures of one SD-JWT: each is hashed before any signature is verified. */
export const MAX_DISCLOSURES = 2000
/**
 * The most members and elements of a payload with its disclosures: as many as can be disclosed, and some around them.
 */
const MAX_VALUES = 3000

/** Parses an SD-JWT or SD-JWT+KB. Throws a MalformedError that names the part that is wrong. */
export function readSdJwt(text: string): SdJwt {
  const end = text.lastIndexOf('~')
  if (end === -1) malformed('it has no tilde, which ends an SD-JWT or stands before its key binding')
  const sdHashInput = text.slice(0, end + 1)
  const [jwt = '', ...disclosures] = sdHashInput.slice(0, -1).split('~')
  if (disclosures.length > MAX_DISCLOSURES) malformed(`it has more than ${MAX_DISCLOSURES} disclosures`)
  const rest = text.slice(end + 1)
  return { jws: readJws(jwt), disclosures, keyBinding: rest === '' ? undefined : readJws(rest), sdHashInput }
}

/**
 * Computes the `sd_hash` of a key binding by the hash of the SD-JWT; one of an unknown hash is refused elsewhere. RFC
 * 9901, Key Binding JWT.
 */
export function computeSdHash({ jws, sdHashInput }: Pick<SdJwt, 'jws' | 'sdHashInput'>): string {
  const { _sd_alg: hashName } = jws.payload
  return digestOf(sdHashInput, isHashName(hashName) ? hashName : 'sha-256')
}

/** Completes a credential to an SD-JWT: some issuers send plain JWTs, which conceal nothing and lack the tilde. */
export function completeSdJwt(credential: string): string {
  return credential.includes('~') ? credential : `${credential}~`
}

/**
 * Replaces each claim for which `isConcealed` returns true by the digest of a disclosure, innermost first. `random`
 * returns that many random bytes. Returns the payload, and the disclosures that reveal it.
 */
export function concealClaims(
  claims: JsonObject,
  isConcealed: (position: ClaimPosition) => boolean,
  random: (bytes: number) => Uint8Array,
): { readonly payload: JsonObject; readonly disclosures: readonly string[] } {
  const disclosures: string[] = []
  const disclose = (content: Json[]): string => {
    const text = toBase64url(JSON.stringify([toBase64url(random(16)), ...content]))
    disclosures.push(text)
    return digestOf(text)
  }
  const concealValue = (value: Json, position: ClaimPosition): Json => {
    if (Array.isArray(value)) {
      return value.map((element, index) => {
        const inner = concealValue(element, [...position, index])
        return isConcealed([...position, index]) ? { '...': disclose([inner]) } : inner
      })
    }
    return isObject(value) ? concealObject(value, position) : value
  }
  const concealObject = (object: JsonObject, position: ClaimPosition): JsonObject => {
    const visible = new Map<string, Json>()
    const digests: string[] = []
    for (const [name, value] of Object.entries(object)) {
      const inner = concealValue(value, [...position, name])
      if (isConcealed([...position, name])) digests.push(disclose([name, inner]))
      else visible.set(name, inner)
    }
    // The digests are sorted, so that their order says nothing about the order of the claims.
    if (digests.length > 0) visible.set('_sd', digests.sort())
    // Object.fromEntries defines own members, also one that is called __proto__.
    return Object.fromEntries(visible)
  }
  const payload = concealObject(claims, [])
  return { payload: disclosures.length > 0 ? { ...payload, _sd_alg: 'sha-256' } : payload, disclosures }
}

/**
 * Returns the claims that the disclosures reveal. Throws a MalformedError for everything that RFC 9901 section 7.1
 * rejects: an unknown hash, a claim named `_sd` or `...`, a claim that exists already, a disclosure of the wrong arity
 * for its position, a digest that occurs twice, a disclosure that no digest refers to; and for claims nested deeper
 * than 32.
 */
export function revealClaims(payload: JsonObject, texts: readonly string[]): RevealedClaims {
  const { _sd_alg: hashName, ...root } = payload
  const state: RevealState = {
    disclosures: readDisclosures(texts, readHashName(hashName)),
    seenDigests: new Set(),
    appliedDisclosures: [],
    values: 0,
  }
  const claims = revealObject(root, [], state)
  if (state.appliedDisclosures.length !== texts.length) malformed('a disclosure is not referred to by any digest')
  return { claims, appliedDisclosures: state.appliedDisclosures }
}

/** Reads the `_sd_alg` of an SD-JWT. Throws a MalformedError for an unknown one. RFC 9901, Hash Function Claim. */
function readHashName(name: Json = 'sha-256'): HashName {
  return isHashName(name) ? name : malformed(`_sd_alg is not one of ${hashNames.join(', ')}`)
}

interface RevealState {
  readonly disclosures: ReadonlyMap<string, Disclosure>
  /** Every digest so far, with or without a disclosure. */
  readonly seenDigests: Set<string>
  readonly appliedDisclosures: { readonly position: ClaimPosition; readonly text: string }[]
  values: number
}

function revealValue(value: Json, position: ClaimPosition, state: RevealState): Json {
  state.values += 1
  if (state.values > MAX_VALUES) malformed(`it has more than ${MAX_VALUES} values`)
  // The depth of each disclosure is bounded, but one disclosure can lead to the next.
  if (position.length > MAX_NESTING) malformed(`the disclosures lead deeper than ${MAX_NESTING}`)
  if (Array.isArray(value)) return revealArray(value, position, state)
  return isObject(value) ? revealObject(value, position, state) : value
}

function revealObject(object: JsonObject, position: ClaimPosition, state: RevealState): JsonObject {
  const { _sd: digests, ...plain } = object
  const visible = new Map<string, Json>()
  for (const [name, value] of Object.entries(plain)) {
    if (name === '...') malformed('a member is named "..."')
    visible.set(name, revealValue(value, [...position, name], state))
  }
  for (const digest of readDigests(digests)) {
    const disclosure = findDisclosure(digest, state)
    if (disclosure === undefined) continue
    const { name } = disclosure
    if (name === undefined) return malformed('a disclosure for an array element is used for an object member')
    if (visible.has(name)) malformed(`the disclosed claim ${JSON.stringify(name)} is there already`)
    visible.set(name, revealDisclosure(disclosure, [...position, name], state))
  }
  return Object.fromEntries(visible)
}

/**
 * Returns the array with its disclosed elements. Elements that stay concealed are left out, and those after them move
 * up. RFC 9901, Processing.
 */
function revealArray(array: readonly Json[], position: ClaimPosition, state: RevealState): Json[] {
  const visible: Json[] = []
  for (const element of array) {
    const here = [...position, visible.length]
    if (!isObject(element) || !Object.hasOwn(element, '...')) {
      visible.push(revealValue(element, here, state))
      continue
    }
    if (Object.keys(element).length !== 1) malformed('a concealed array element has other members beside its digest')
    const disclosure = findDisclosure(element['...'], state)
    if (disclosure === undefined) continue
    if (disclosure.name !== undefined) malformed('a disclosure for an object member is used for an array element')
    visible.push(revealDisclosure(disclosure, here, state))
  }
  return visible
}

/** Returns the disclosure of a digest, and notes the digest as seen. Refuses a digest that was seen before. */
function findDisclosure(digest: Json | undefined, { disclosures, seenDigests }: RevealState): Disclosure | undefined {
  if (typeof digest !== 'string') return malformed('a digest is not a string')
  if (seenDigests.has(digest)) malformed('a digest occurs twice')
  seenDigests.add(digest)
  return disclosures.get(digest)
}

function revealDisclosure({ text, value }: Disclosure, position: ClaimPosition, state: RevealState): Json {
  state.appliedDisclosures.push({ position, text })
  return revealValue(value, position, state)
}

interface Disclosure {
  readonly text: string
  readonly name: string | undefined
  readonly value: Json
}

function readDisclosures(texts: readonly string[], hashName: HashName): ReadonlyMap<string, Disclosure> {
  const byDigest = new Map<string, Disclosure>()
  for (const text of texts) {
    const digest = digestOf(text, hashName)
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

function readDigests(digests: Json | undefined): readonly Json[] {
  if (digests === undefined) return []
  return Array.isArray(digests) ? digests : malformed('_sd is not an array')
}
