/** DIDs that contain their key: `did:jwk` and `did:key`. Multicodec for the kinds of keys, Multibase for base58-btc. */
import { base58 } from '@scure/base'
import { fromBase64url, toBase64url } from '../codec/base64url.ts'
import { curves, uncompressPoint } from '../codec/curve.ts'
import { parseJsonObject } from '../codec/json.ts'
import { malformed } from '../codec/malformed.ts'
import { type PublicJwk, readPublicJwk, readSigningJwk } from './jwk.ts'

/** The maximum length of a did:key, since decoding base58 takes quadratic time. */
const MAX_DID_KEY = 512
/** The multicodec prefixes of the curves. */
const PREFIXES: Readonly<Record<PublicJwk['crv'], readonly [number, number]>> = {
  'P-256': [0x80, 0x24],
  'P-384': [0x81, 0x24],
  'P-521': [0x82, 0x24],
  Ed25519: [0xed, 0x01],
}
/** The multicodec prefix of `jwk_jcs-pub`. */
const JWK_CODEC = [0xd1, 0xd6, 0x03]

/**
 * Makes a did:jwk: `did:jwk:<base64url of the JWK>`. The members are in the order of RFC 8785, which other makers have
 * too: with another order it is another DID.
 */
export function toDidJwk(jwk: PublicJwk): string {
  return `did:jwk:${toBase64url(JSON.stringify(jwk, ['crv', 'kty', 'x', 'y']))}`
}

/** Makes a did:key: `did:key:z<base58 of prefix and key>`. */
export function toDidKey(jwk: PublicJwk): string {
  return `did:key:z${base58.encode(Buffer.concat([Buffer.from(PREFIXES[jwk.crv]), keyBytes(jwk)]))}`
}

/** Returns the DID URL of the only key of a `did:jwk` or `did:key`. */
export function didUrlOf(did: string): string {
  return did.startsWith('did:jwk:') ? `${did}#0` : `${did}#${did.slice('did:key:'.length)}`
}

/** Returns the DID of a DID URL. */
export function didOf(url: string): string {
  return url.split('#', 1)[0] ?? url
}

/** Returns the key of a `did:jwk` or `did:key`, or of its DID URL. Throws a MalformedError if it is invalid. */
export function readDid(url: string): PublicJwk {
  const [, method, id = '', fragment] = /^did:(jwk|key):([^#]+)(#.*)?$/.exec(url) ?? []
  if (method === undefined) return malformed('the key identifier is neither a did:jwk nor a did:key')
  const onlyFragment = method === 'jwk' ? '#0' : `#${id}`
  if (fragment !== undefined && fragment !== onlyFragment)
    malformed(`a did:${method} has one key, and its fragment is ${onlyFragment}`)
  return method === 'jwk' ? readSigningJwk(parseJsonObject(fromBase64url(id))) : readDidKey(id)
}

function readDidKey(id: string): PublicJwk {
  if (id.length > MAX_DID_KEY) malformed(`the did:key is longer than ${MAX_DID_KEY} characters`)
  if (!id.startsWith('z')) malformed('the key of a did:key begins with z, which stands for base58')
  const bytes = decodeBase58(id.slice(1))
  const startsWith = (prefix: readonly number[]): boolean => prefix.every((byte, at) => bytes[at] === byte)
  if (startsWith(JWK_CODEC)) return readSigningJwk(parseJsonObject(bytes.subarray(JWK_CODEC.length)))
  const details = Object.values(curves).find(({ crv }) => startsWith(PREFIXES[crv]))
  if (details === undefined) return malformed('the did:key holds a key of a kind that is not supported')
  const { crv, namedCurve, size } = details
  const key = bytes.subarray(PREFIXES[crv].length)
  if (crv === 'Ed25519') return readPublicJwk({ kty: 'OKP', crv, x: toBase64url(key) })
  if (key.length !== 1 + size) malformed('the key of the did:key has not the length of its kind')
  const { x, y } = uncompressPoint(key, namedCurve, 'the key of the did:key')
  return { kty: 'EC', crv, x: toBase64url(x), y: toBase64url(y) }
}

/** Returns the key as a compressed point (SEC 1 section 2.3.3), or the bytes of an Ed25519 key. */
function keyBytes(jwk: PublicJwk): Buffer {
  const x = fromBase64url(jwk.x)
  if (jwk.kty === 'OKP') return x
  const isOdd = ((fromBase64url(jwk.y).at(-1) ?? 0) & 1) === 1
  return Buffer.concat([Buffer.of(isOdd ? 3 : 2), x])
}

function decodeBase58(text: string): Buffer {
  try {
    return Buffer.from(base58.decode(text))
  } catch (cause) {
    return malformed('the did:key is not base58', cause)
  }
}
