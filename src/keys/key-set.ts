/**
 * The JWK Set of another server, and verification with its keys. Also supports RSA, the default of many authorization
 * servers. RFC 7517 section 5, RFC 7518 sections 3.3 and 3.5.
 */
import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { isObject, type Json, type JsonObject, memberOf, stringMemberOf, stringsIn } from '../codec/json.ts'
import type { Jws } from '../codec/jws.ts'
import { malformed, readOrUndefined } from '../codec/malformed.ts'
import { importPublicKey, readPublicJwk } from './jwk.ts'
import { algorithmOf, algorithms, hasAcceptedModulus, hasModulusLength, isJwsSignedBy } from './signature.ts'

export interface PublishedKey {
  readonly kid: string | undefined
  readonly key: KeyObject
  /** The algorithms that the key may be used for, all of one family. */
  readonly algs: readonly string[]
}

const RSA_ALGORITHMS = ['RS256', 'PS256']
/** The exponent that all servers use; certificates of CAs may have another one (`certificate-signature.ts`). */
const RSA_EXPONENT = 65_537n
const MAX_KEYS = 100

/**
 * Returns the keys of a JWK Set that can verify signatures, and skips all others. Throws a MalformedError if it is not
 * a JWK Set.
 */
export function readKeySet(jwks: JsonObject): readonly PublishedKey[] {
  const keys = memberOf(jwks, 'keys')
  if (!Array.isArray(keys)) return malformed('it has no array of keys')
  if (keys.length > MAX_KEYS) malformed(`it has more than ${MAX_KEYS} keys`)
  return keys.flatMap(readKey)
}

/**
 * Tests whether one of `keys` signed the JWS with an algorithm of that key. If the header has a `kid`, only keys with
 * this `kid` are tried. All keys are public, so `none` and MACs never verify. RFC 8725 section 3.1.
 */
export function isSignedByOneOf(keys: readonly PublishedKey[], jws: Jws): boolean {
  const alg = stringMemberOf(jws.header, 'alg')
  if (alg === undefined) return false
  return candidateKeys(keys, jws)
    .filter(({ algs }) => algs.includes(alg))
    .some(({ key }) => (RSA_ALGORITHMS.includes(alg) ? isRsaSigned(jws, alg, key) : isJwsSignedBy(jws, key)))
}

/** Returns the keys that match the `kid` of the header; all keys without one. */
export function candidateKeys(keys: readonly PublishedKey[], { header }: Jws): readonly PublishedKey[] {
  const kid = memberOf(header, 'kid')
  return kid === undefined ? keys : keys.filter((key) => key.kid === kid)
}

function readKey(jwk: Json): readonly PublishedKey[] {
  if (!isObject(jwk) || !isToVerify(jwk)) return []
  const key = readOrUndefined(() =>
    memberOf(jwk, 'kty') === 'RSA' ? readRsaKey(jwk) : importPublicKey(readPublicJwk(jwk)),
  )
  const algs = key === undefined ? [] : algorithmsOf(key, memberOf(jwk, 'alg'))
  return key === undefined || algs.length === 0 ? [] : [{ kid: stringMemberOf(jwk, 'kid'), key, algs }]
}

function isToVerify(jwk: JsonObject): boolean {
  const [use, operations] = [memberOf(jwk, 'use'), memberOf(jwk, 'key_ops')]
  return (use === undefined || use === 'sig') && (operations === undefined || stringsIn(operations).includes('verify'))
}

/**
 * Returns the algorithms of the key, restricted to `statedAlgorithm` if it is defined. The algorithm of an EC key may
 * have two names.
 */
function algorithmsOf(key: KeyObject, statedAlgorithm: Json | undefined): readonly string[] {
  const algorithm = algorithmOf(key)
  const fittingAlgorithms: readonly string[] = algorithm === undefined ? RSA_ALGORITHMS : algorithms[algorithm].jose
  if (statedAlgorithm === undefined) return fittingAlgorithms
  const allowedAlgorithms = fittingAlgorithms.filter((name) => name === statedAlgorithm)
  return algorithm !== undefined && allowedAlgorithms.length > 0 ? fittingAlgorithms : allowedAlgorithms
}

function readRsaKey(jwk: JsonObject): KeyObject {
  const [n, e] = [stringMemberOf(jwk, 'n'), stringMemberOf(jwk, 'e')]
  if (n === undefined || e === undefined) return malformed('the RSA key has no n or no e')
  if (Object.hasOwn(jwk, 'd')) malformed('the key is a private one')
  let key: KeyObject
  try {
    key = createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' })
  } catch (cause) {
    return malformed('the RSA key cannot be read', cause)
  }
  const isAccepted = hasAcceptedModulus(key) && key.asymmetricKeyDetails?.publicExponent === RSA_EXPONENT
  return isAccepted ? key : malformed('the RSA key is of a size that is not taken')
}

function isRsaSigned({ signingInput, signature }: Jws, alg: string, key: KeyObject): boolean {
  const padding =
    alg === 'PS256'
      ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
      : { padding: constants.RSA_PKCS1_PADDING }
  try {
    return hasModulusLength(key, signature) && verify('sha256', signingInput, { key, ...padding }, signature)
  } catch {
    return false
  }
}
