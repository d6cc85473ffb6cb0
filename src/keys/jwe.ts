/**
 * Compact JWE with ECDH-ES on P-256. The header and the form are validated before any cryptography, which the JOSE
 * library does, including the ephemeral public key. RFC 7516; RFC 7518 section 4.6.
 */
import type { KeyObject } from 'node:crypto'
import { CompactEncrypt, compactDecrypt } from 'jose'
import { fromBase64url } from '../codec/base64url.ts'
import { isObject, type JsonObject, memberOf, parseJsonObject } from '../codec/json.ts'
import { malformed, readOrProblem, readPart } from '../codec/malformed.ts'
import { importPublicKey, type PublicJwk, readPublicJwk } from './jwk.ts'
import type { PrivateJwk } from './private-jwk.ts'
import { EC_CURVES } from './signature.ts'

export type JweAlgorithm = (typeof jweAlgorithms)[number]
export type JweEncryption = (typeof jweEncryptions)[number]

/**
 * The supported algorithms, for metadata. HAIP 1.0, OpenID for Verifiable Presentations, requires both content
 * encryptions.
 */
export const jweAlgorithms = ['ECDH-ES'] as const
export const jweEncryptions = ['A128GCM', 'A256GCM'] as const

/** The recipient's public key and its parameters. */
export interface JweRecipient {
  readonly jwk: PublicJwk
  readonly alg: JweAlgorithm
  /** The `kid` for the JWE header. */
  readonly kid: string | undefined
}

export interface JweParameters extends JweRecipient {
  readonly enc: JweEncryption
  /** The compression, if both sides agreed on one. */
  readonly zip?: 'DEF' | undefined
  /** `JWT` if the payload is one. RFC 7519 section 5.2. */
  readonly cty?: 'JWT'
}

/** A private key of this service, and its `kid`. A key that is used only once may be a JWK, which is cheaper. */
export interface JweKey {
  readonly key: KeyObject | PrivateJwk
  readonly kid: string
}

export interface JweDecryption {
  /** The keys with which a message may be encrypted. One that names no key (`kid`) is decrypted with the first. */
  readonly keys: readonly JweKey[]
  readonly encs: readonly JweEncryption[]
  /** The maximum size of the JWE, and of its content after inflation. */
  readonly maxBytes: number
  /** The accepted compression. Without it, a compressed message is refused. */
  readonly zip?: 'DEF' | undefined
}

/** The maximum number of keys that are examined in a JWK Set. */
const MAX_KEYS = 10
const MAX_HEADER = 8192
const MAX_KID = 256
/** The maximum length of `apu` and `apv` in base64url, which are only used in key derivation. */
const MAX_PARTY = 1024
const IV_BYTES = 12
const TAG_BYTES = 16
const KID_PROBLEM = 'its kid is not that of the key it has to be encrypted to'

/** Encrypts `payload`, the text of a JSON object or a signed JWT. */
export async function encryptJwe(payload: string, { jwk, alg, enc, ...rest }: JweParameters): Promise<string> {
  const optional = Object.entries({ kid: rest.kid, zip: rest.zip, cty: rest.cty }).filter(([, value]) => value)
  return new CompactEncrypt(Buffer.from(payload))
    .setProtectedHeader({ alg, enc, ...Object.fromEntries(optional) })
    .encrypt(importPublicKey(jwk))
}

/**
 * Decrypts a JWE and returns the JSON object in it. Throws a MalformedError if the size, form, header, key or content
 * is not valid. Nothing is authenticated.
 */
export async function decryptJwe(text: string, decryption: JweDecryption): Promise<JsonObject> {
  const { maxBytes, zip } = decryption
  if (text.length > maxBytes) malformed(`it is larger than ${maxBytes} bytes`)
  const { header, encryptedKey } = readParts(text)
  const { ephemeralKey, key } = readHeaderKeys(header, decryption)
  // RFC 7516 section 5.2 step 10: direct key agreement has no encrypted key.
  if (encryptedKey !== '') malformed('it brings a key, and with ECDH-ES there is none')
  const options = {
    keyManagementAlgorithms: [...jweAlgorithms],
    contentEncryptionAlgorithms: [...decryption.encs],
    maxDecompressedLength: zip === undefined ? 0 : maxBytes,
  }
  const { plaintext } = await compactDecrypt(text, key, options).catch((cause: unknown) => {
    // The library refuses a point off the curve (RFC 7518 section 8.1), but without saying so.
    readPart('epk', () => importPublicKey(ephemeralKey))
    const limit = zip ? ', or not inflated within the limit' : ''
    return malformed(`it cannot be decrypted with ${keyText(header)}${limit}`, cause)
  })
  return readPart('its content, which must be an unsigned JSON object', () => parseJsonObject(plaintext))
}

/**
 * Parses a public JWK to encrypt with. Throws a MalformedError if it is not for ECDH-ES, not for encryption, or
 * private. A key without `alg` uses `defaultAlg`. OpenID4VP 1.0, Encrypted Responses; OpenID4VCI 1.0, Encrypted
 * Messages, which requires `alg`.
 */
export function readEncryptionKey(value: unknown, defaultAlg?: JweAlgorithm): JweRecipient {
  const jwk = readPublicJwk(value)
  const { alg = defaultAlg, kid, use } = value as JsonObject
  if (jwk.kty !== 'EC') malformed(`the key is on ${jwk.crv}, and encryption needs ${EC_CURVES}`)
  if (alg !== 'ECDH-ES') malformed('the alg of the key is not ECDH-ES')
  if (use !== undefined && use !== 'enc') malformed('the use of the key is not enc')
  if (kid !== undefined && !isKid(kid)) malformed(`the kid of the key is not a text of up to ${MAX_KID} characters`)
  importPublicKey(jwk)
  return { jwk, alg: 'ECDH-ES', kid }
}

/** Returns the first key of a JWK Set that {@link readEncryptionKey} accepts, or the problems of the examined keys. */
export function findEncryptionKey(
  jwks: unknown,
  defaultAlg?: JweAlgorithm,
): JweRecipient | { readonly problems: readonly string[] } {
  const keys = isObject(jwks) ? memberOf(jwks, 'keys') : undefined
  const problems: string[] = []
  for (const value of Array.isArray(keys) ? keys.slice(0, MAX_KEYS) : []) {
    const key = readOrProblem(() => readEncryptionKey(value, defaultAlg))
    if (!('problem' in key)) return key
    problems.push(key.problem)
  }
  return { problems }
}

/** Makes the JWK of this service's encryption key, for metadata. */
export function makeEncryptionJwk(
  jwk: PublicJwk,
  kid: string,
): JsonObject & { readonly kid: string; readonly alg: string } {
  return { ...jwk, kid, use: 'enc', alg: 'ECDH-ES' }
}

function readParts(text: string): { readonly header: JsonObject; readonly encryptedKey: string | undefined } {
  const parts = text.split('.', 6)
  const [header, encryptedKey, iv, ciphertext, tag] = parts
  if (parts.length !== 5 || header === undefined || iv === undefined || ciphertext === undefined || tag === undefined) {
    return malformed('a JWE has five parts separated by dots')
  }
  if (header.length > MAX_HEADER) malformed(`the header is longer than ${MAX_HEADER} characters`)
  requireBytes('the initialization vector', iv, IV_BYTES)
  requireBytes('the authentication tag', tag, TAG_BYTES)
  readPart('the ciphertext', () => fromBase64url(ciphertext))
  return { header: readPart('the header', () => parseJsonObject(fromBase64url(header))), encryptedKey }
}

/**
 * Returns the ephemeral public key, and the recipient's key that the header names, or the first one. Throws a
 * MalformedError for an invalid header.
 */
function readHeaderKeys(header: JsonObject, { keys, encs, zip }: JweDecryption) {
  // RFC 7516 section 4.1.13: `crit` lists extensions that the recipient must understand; none is supported.
  if (Object.hasOwn(header, 'crit')) malformed('the header names critical extensions, and none is supported')
  const compression = memberOf(header, 'zip')
  if (compression !== undefined && compression !== zip) malformed('it is compressed (zip), and that was not agreed on')
  requireOneOf(header, 'alg', jweAlgorithms)
  requireOneOf(header, 'enc', encs)
  for (const party of ['apu', 'apv']) requireParty(header, party)
  const kid = memberOf(header, 'kid')
  if (kid !== undefined && !isKid(kid)) malformed(`kid is not a text of up to ${MAX_KID} characters`)
  const { key } = keys.find((each) => kid === undefined || each.kid === kid) ?? malformed(KID_PROBLEM)
  return { ephemeralKey: readPart('epk', () => readPoint(memberOf(header, 'epk'))), key }
}

function keyText(header: JsonObject): string {
  return Object.hasOwn(header, 'kid') ? 'the key of its kid' : 'the key that is published (it names none by a kid)'
}

function requireOneOf(header: JsonObject, name: 'alg' | 'enc', allowedValues: readonly string[]): void {
  if (!allowedValues.some((each) => each === memberOf(header, name)))
    malformed(`${name} is not ${allowedValues.join(' or ')}`)
}

function requireParty(header: JsonObject, name: string): void {
  const value = memberOf(header, name)
  if (value === undefined) return
  if (typeof value !== 'string' || value.length > MAX_PARTY) {
    malformed(`${name} is not a text of up to ${MAX_PARTY} characters`)
  }
  readPart(name, () => fromBase64url(value))
}

function readPoint(value: unknown): PublicJwk {
  if (!isObject(value)) malformed('it is missing, or not a JSON object')
  const jwk = readPublicJwk(value)
  return jwk.crv === 'P-256' ? jwk : malformed('it is not on P-256')
}

function requireBytes(what: string, text: string, size: number): void {
  if (readPart(what, () => fromBase64url(text)).length !== size) malformed(`${what} is not ${size} bytes`)
}

function isKid(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_KID
}
