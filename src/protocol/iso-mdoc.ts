/**
 * The wire objects of `org-iso-mdoc`, by which a browser asks wallets for mdocs without OpenID4VP: each is the array
 * `["dcapi", {…}]` in CBOR and base64url. ISO/IEC TS 18013-7 Annex C.
 */
import { fromBase64url, toBase64url } from '../codec/base64url.ts'
import {
  asArray,
  asBytes,
  asMap,
  type Cbor,
  type CborKey,
  type CborMap,
  decodeCbor,
  encodeCbor,
} from '../codec/cbor.ts'
import { readCoseKey, writeCoseKey } from '../codec/cose.ts'
import type { JsonObject } from '../codec/json.ts'
import { malformed } from '../codec/malformed.ts'

/** The name of the protocol for browsers. */
export const ISO_MDOC = 'org-iso-mdoc'

const NAME = 'dcapi'

/** Where a response goes, which its session transcript covers. */
export interface IsoMdocRecipient {
  /** The origin of the page that asked the browser. */
  readonly origin: string
  /** The EncryptionInfo of the request, as it was sent. */
  readonly encryptionInfo: string
}

/** The response, encrypted by HPKE. */
export interface EncryptedResponse {
  readonly enc: Uint8Array
  readonly cipherText: Uint8Array
}

/** The nonce of the request, and the key that the response is encrypted to. */
export interface EncryptionInfo {
  readonly nonce: Uint8Array
  /** The public key as a JWK. */
  readonly recipientPublicKey: JsonObject
}

/** Writes the EncryptionInfo of a request. */
export function writeEncryptionInfo(nonce: Uint8Array, recipientKey: Parameters<typeof writeCoseKey>[0]): string {
  return writeNamed([
    ['nonce', nonce],
    ['recipientPublicKey', writeCoseKey(recipientKey)],
  ])
}

/** Parses an EncryptionInfo. Throws a MalformedError. */
export function readEncryptionInfo(text: string): EncryptionInfo {
  const members = readNamed(text, 'the EncryptionInfo')
  return {
    nonce: asBytes(members.get('nonce'), 'nonce'),
    recipientPublicKey: readCoseKey(members.get('recipientPublicKey')),
  }
}

/** Writes an EncryptedResponse. */
export function writeEncryptedResponse({ enc, cipherText }: EncryptedResponse): string {
  return writeNamed([
    ['enc', enc],
    ['cipherText', cipherText],
  ])
}

/** Parses an EncryptedResponse. Throws a MalformedError. */
export function readEncryptedResponse(text: string): EncryptedResponse {
  const members = readNamed(text, 'the EncryptedResponse')
  return { enc: asBytes(members.get('enc'), 'enc'), cipherText: asBytes(members.get('cipherText'), 'cipherText') }
}

function writeNamed(members: readonly (readonly [CborKey, Cbor])[]): string {
  return toBase64url(encodeCbor([NAME, new Map(members)]))
}

function readNamed(text: string, what: string): CborMap {
  // Some wallets do not encode lengths in the shortest form.
  const [name, members, ...more] = asArray(decodeCbor(fromBase64url(text), { longNumbers: true }), what)
  return name === NAME && more.length === 0
    ? asMap(members, `the content of ${what}`)
    : malformed(`${what} is not one of "${NAME}"`)
}
