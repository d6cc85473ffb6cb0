/**
 * SD-JWT: replaces claims by digests, and restores them by the strict rules of RFC 9901. The formats in `credential/`
 * decide which claims are disclosable, and verify signatures.
 */
import { fromBase64url, toBase64url } from './base64url.ts'
import { digestOf, type HashName, hashNames, isHashName } from './digest.ts'
import { isObject, type Json, type JsonObject, MAX_NESTING, memberOf, parseJson, setMember } from './json.ts'
import { type Jws, readJws } from './jws.ts'
import { malformed } from './malformed.ts'

/** The position of a claim in the processed payload: member names and array indices. */
export type ClaimPosition = readonly (string | number)[]

export interface SdJwt {
  readonly jws: Jws
  /** The disclosures as in the text. */
  readonly disclosures: readonly string[]
  readonly keyBinding: Jws | undefined
  /** The input of `sd_hash`: everything up to and including the last tilde. */
  readonly sdHashInput: string
}

export interface RevealedClaims {
  readonly claims: JsonObject
  /** Each disclosure with the position of its claim; parents come before children. */
  readonly appliedDisclosures: readonly { readonly position: ClaimPosition; readonly text: string }[]
}

/** The members that have digests, which processing removes. RFC 9901, Verification of the SD-JWT. */
export const DIGEST_MEMBERS: readonly string[] = ['_sd', '_sd_alg', '...']
/** The maximum number of disclosures, since each is hashed before the signature is verified. */
export const MAX_DISCLOSURES = 2000
/** The maximum number of members and elements of a payload with its disclosures, since queries examine them. */
export const MAX_PAYLOAD_VALUES = 3000

/** Parses an SD-JWT or SD-JWT+KB. Throws a MalformedError that names the invalid part. */
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
 * Computes the `sd_hash` for a key binding with the hash algorithm of the SD-JWT. An unknown algorithm is refused
 * elsewhere. RFC 9901, Key Binding JWT.
 */
export function computeSdHash({ jws, sdHashInput }: Pick<SdJwt, 'jws' | 'sdHashInput'>): string {
  const { _sd_alg: hashName } = jws.payload
  return digestOf(sdHashInput, isHashName(hashName) ? hashName : 'sha-256')
}

/** Appends the tilde that a plain JWT, which some issuers send as SD-JWT, lacks. */
export function completeSdJwt(credential: string): string {
  return credential.includes('~') ? credential : `${credential}~`
}

/**
 * Replaces each claim for which `isConcealed` returns true by the digest of a disclosure, innermost first. Returns the
 * payload and the disclosures. `random` returns the given number of random bytes.
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
        const here = [...position, index]
        const inner = concealValue(element, here)
        return isConcealed(here) ? { '...': disclose([inner]) } : inner
      })
    }
    return isObject(value) ? concealObject(value, position) : value
  }
  const concealObject = (object: JsonObject, position: ClaimPosition): JsonObject => {
    const visible: JsonObject = {}
    const digests: string[] = []
    for (const name of Object.keys(object)) {
      const here = [...position, name]
      const inner = concealValue(object[name] as Json, here)
      if (isConcealed(here)) digests.push(disclose([name, inner]))
      else setMember(visible, name, inner)
    }
    // Sorts the digests, so that they do not reveal the order of the claims.
    if (digests.length > 0) visible._sd = digests.sort()
    return visible
  }
  const payload = concealObject(claims, [])
  return { payload: disclosures.length > 0 ? { ...payload, _sd_alg: 'sha-256' } : payload, disclosures }
}

/**
 * Returns the payload with the disclosed claims. Throws a MalformedError for everything that RFC 9901 section 7.1
 * rejects: an unknown hash algorithm, a claim named `_sd` or `...`, a claim that exists already, a disclosure with the
 * wrong number of elements, a repeated digest, and a disclosure without digest. Throws one also if claims are nested
 * deeper than 32. An array has a hole for each hidden element if `hiddenElements` is `holes`.
 */
export function revealClaims(
  payload: JsonObject,
  texts: readonly string[],
  hiddenElements: 'removed' | 'holes' = 'removed',
): RevealedClaims {
  const { _sd_alg: hashName, ...root } = payload
  const state: RevealState = {
    disclosures: readDisclosures(texts, readHashName(hashName)),
    seenDigests: new Set(),
    appliedDisclosures: [],
    values: 0,
    hasHoles: hiddenElements === 'holes',
  }
  const claims = revealObject(root, [], state)
  if (state.appliedDisclosures.length !== texts.length) malformed('a disclosure is not referred to by any digest')
  return { claims, appliedDisclosures: state.appliedDisclosures }
}

/**
 * Returns the `_sd_alg` of an SD-JWT. Throws a MalformedError for an unknown algorithm. RFC 9901, Hash Function Claim.
 */
function readHashName(name: Json = 'sha-256'): HashName {
  return isHashName(name) ? name : malformed(`_sd_alg is not one of ${hashNames.join(', ')}`)
}

interface RevealState {
  readonly disclosures: ReadonlyMap<string, Disclosure>
  /** All digests so far, with or without a disclosure. */
  readonly seenDigests: Set<string>
  readonly appliedDisclosures: { readonly position: ClaimPosition; readonly text: string }[]
  values: number
  /** Whether an array has a hole in the place of a hidden element. */
  readonly hasHoles: boolean
}

function revealValue(value: Json, position: ClaimPosition, state: RevealState): Json {
  state.values += 1
  if (state.values > MAX_PAYLOAD_VALUES) malformed(`it has more than ${MAX_PAYLOAD_VALUES} values`)
  // Disclosures may contain digests of others, so their combined depth is limited too.
  if (position.length > MAX_NESTING) malformed(`the disclosures lead deeper than ${MAX_NESTING}`)
  if (Array.isArray(value)) return revealArray(value, position, state)
  return isObject(value) ? revealObject(value, position, state) : value
}

function revealObject(object: JsonObject, position: ClaimPosition, state: RevealState): JsonObject {
  const visible: JsonObject = {}
  for (const name of Object.keys(object)) {
    if (name === '_sd') continue
    if (name === '...') malformed('a member is named "..."')
    setMember(visible, name, revealValue(object[name] as Json, [...position, name], state))
  }
  for (const digest of readDigests(memberOf(object, '_sd'))) {
    const disclosure = findDisclosure(digest, state)
    if (disclosure === undefined) continue
    const { name } = disclosure
    if (name === undefined) return malformed('a disclosure for an array element is used for an object member')
    if (Object.hasOwn(visible, name)) malformed(`the disclosed claim ${JSON.stringify(name)} is there already`)
    setMember(visible, name, revealDisclosure(disclosure, [...position, name], state))
  }
  return visible
}

/** Returns the array with its disclosed elements. RFC 9901, Processing, removes the others. */
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
    if (disclosure === undefined) {
      if (state.hasHoles) visible.length += 1
      continue
    }
    if (disclosure.name !== undefined) malformed('a disclosure for an object member is used for an array element')
    visible.push(revealDisclosure(disclosure, here, state))
  }
  return visible
}

/**
 * Returns the disclosure of a digest, if there is one, and records the digest. Throws a MalformedError for a repeated
 * digest.
 */
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
