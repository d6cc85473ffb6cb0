/** Public keys as JSON: which we take, their thumbprint, and the DIDs that carry one. RFC 7517, RFC 7638, did:jwk. */
import { createPublicKey, hash, type KeyObject } from 'node:crypto'
import { fromBase64url, toBase64url } from '../codec/base64url.ts'
import { isObject, type JsonObject, ownString, parseJsonObject } from '../codec/json.ts'
import { malformed } from '../codec/malformed.ts'

/** A P-256 public key. More curves come with the algorithms that use them. */
export type PublicJwk = { readonly kty: 'EC'; readonly crv: 'P-256'; readonly x: string; readonly y: string }

const PRIVATE_MEMBERS = ['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'oth']

/**
 * The public part of `value`, and nothing else of it. Throws a MalformedError when it holds a private key
 * (OpenID4VCI 1.0, Verifying Proof: the header key must not be one) or is not a P-256 key.
 */
export function readPublicJwk(value: unknown): PublicJwk {
  if (!isObject(value)) return malformed('the key is not a JSON object')
  const leaked = PRIVATE_MEMBERS.find((member) => Object.hasOwn(value, member))
  if (leaked !== undefined)
    malformed(`the key is a private one (it has the member ${leaked}); send the public key only`)
  const { kty, crv } = value
  if (kty !== 'EC' || crv !== 'P-256') malformed('the key is not an EC key on the curve P-256')
  return { kty: 'EC', crv: 'P-256', x: coordinate(value, 'x'), y: coordinate(value, 'y') }
}

/** The key, ready to verify with. Throws a MalformedError when the point is not on the curve. */
export function importPublicKey(jwk: PublicJwk): KeyObject {
  try {
    return createPublicKey({ key: { ...jwk }, format: 'jwk' })
  } catch {
    return malformed('the key is not a point on the curve P-256')
  }
}

/** RFC 7638, base64url of SHA-256. */
export function thumbprint(jwk: PublicJwk): string {
  const canonical = `{"crv":"${jwk.crv}","kty":"${jwk.kty}","x":"${jwk.x}","y":"${jwk.y}"}`
  return hash('sha256', canonical, 'base64url')
}

/** `did:jwk:<base64url of the key>`. */
export function toDidJwk(jwk: PublicJwk): string {
  return `did:jwk:${toBase64url(JSON.stringify(jwk))}`
}

/** The key inside a `did:jwk:` identifier or its `#0` URL. Throws a MalformedError when there is none. */
export function readDidJwk(did: string): PublicJwk {
  const [, encoded, fragment] = /^did:jwk:([^#]+)(#.*)?$/.exec(did) ?? []
  if (encoded === undefined) return malformed('the key identifier is not a did:jwk')
  if (fragment !== undefined && fragment !== '#0') malformed('a did:jwk has one key, and its fragment is #0')
  return readPublicJwk(parseJsonObject(fromBase64url(encoded).toString('utf8')))
}

function coordinate(value: JsonObject, name: 'x' | 'y'): string {
  const text = ownString(value, name) ?? malformed(`the key has no ${name}`)
  if (fromBase64url(text).length !== 32) malformed(`the ${name} of the key is not 32 bytes`)
  return text
}
