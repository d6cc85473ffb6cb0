/**
 * The supported signature algorithms, and signatures over bytes for JWS and COSE. Each algorithm belongs to one curve,
 * so a key has exactly one. `node:crypto` verifies ES256 in half of the time of the JOSE library (docs/decisions/0004),
 * and `signature.test.ts` compares the two. ECDSA signatures go to `node:crypto` in DER, since its option for raw
 * signatures doubles the time of signing on Node 24. RFC 7518 section 3.4, RFC 8037, RFC 9864 for JOSE; `curve.ts` has
 * the identifiers of COSE.
 */
import { type KeyObject, sign, verify } from 'node:crypto'
import { type Sign1, signedBytes } from '../codec/cose.ts'
import { type Curve, curves } from '../codec/curve.ts'
import { readDer, readInteger, readSequence, writeInteger, writeSequence } from '../codec/der.ts'
import { memberOf } from '../codec/json.ts'
import type { JwsWithoutPayload } from '../codec/jws.ts'
import { malformed } from '../codec/malformed.ts'
import { untrustedText } from '../codec/untrusted-text.ts'

export type Algorithm = keyof typeof algorithms

export interface AlgorithmDetails {
  /** All JOSE names of the algorithm; the first is used in new signatures. */
  readonly jose: readonly string[]
  /** All COSE identifiers of the algorithm; the first is used in new signatures. */
  readonly cose: readonly number[]
  /** The curve, as {@link curves} describes it. */
  readonly crv: Curve
  readonly namedCurve: string | undefined
  readonly size: number
  readonly digest: string | undefined
}

export const algorithms = {
  ES256: { jose: ['ES256'], ...curves['P-256'], digest: 'sha256' },
  ES384: { jose: ['ES384'], ...curves['P-384'], digest: 'sha384' },
  ES512: { jose: ['ES512'], ...curves['P-521'], digest: 'sha512' },
  EdDSA: { jose: ['EdDSA', 'Ed25519'], ...curves.Ed25519, digest: undefined },
} as const satisfies Record<string, AlgorithmDetails>

const algorithmNames = Object.keys(algorithms) as readonly Algorithm[]

/** The supported curves of ECDSA, for messages. */
export const EC_CURVES = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(
  Object.values(algorithms).flatMap(({ crv, namedCurve }) => (namedCurve === undefined ? [] : crv)),
)

/** The supported keys, for messages. */
export const SUPPORTED_KEYS = `EC on ${EC_CURVES}, or Ed25519`

/** The JOSE names of all supported algorithms, for metadata. */
export const joseAlgorithms: readonly string[] = Object.values(algorithms).flatMap(({ jose }) => jose)

/** The COSE identifiers of all supported algorithms, for metadata. */
export const coseAlgorithms: readonly number[] = Object.values(algorithms).flatMap(({ cose }) => cose)

/** Tests whether the algorithm is ECDSA, the only kind of keys in tokens. */
export function isEcdsa(algorithm: Algorithm | undefined): algorithm is Exclude<Algorithm, 'EdDSA'> {
  return algorithm !== undefined && algorithm !== 'EdDSA'
}

/** The algorithms of keys. Node takes half as long to find the curve of a new key as to import the key from a JWK. */
const algorithmsOfKeys = new WeakMap<KeyObject, Algorithm>()

/** Returns the algorithm of a private or public key; undefined if it is not supported. */
export function algorithmOf(key: KeyObject): Algorithm | undefined {
  return algorithmsOfKeys.get(key) ?? rememberAlgorithm(key, findAlgorithm(key))
}

/** Remembers and returns the algorithm of a new key, so that {@link algorithmOf} does not ask Node for it. */
export function rememberAlgorithm(key: KeyObject, algorithm: Algorithm | undefined): Algorithm | undefined {
  if (algorithm !== undefined) algorithmsOfKeys.set(key, algorithm)
  return algorithm
}

/** Returns the algorithm of a curve, by the name that JWKs have for it; undefined if it is not supported. */
export function algorithmOfCurve(crv: unknown): Algorithm | undefined {
  return algorithmNames.find((name) => algorithms[name].crv === crv)
}

function findAlgorithm(key: KeyObject): Algorithm | undefined {
  if (key.asymmetricKeyType === 'ed25519') return 'EdDSA'
  const namedCurve = key.asymmetricKeyType === 'ec' ? key.asymmetricKeyDetails?.namedCurve : undefined
  if (namedCurve === undefined) return undefined
  return algorithmNames.find((name) => algorithms[name].namedCurve === namedCurve)
}

/** Returns the algorithm of a private or public key. Throws a MalformedError if it is not supported. */
export function requireAlgorithm(key: KeyObject): Algorithm {
  return algorithmOf(key) ?? malformed(`unsupported key type; use ${SUPPORTED_KEYS}`)
}

/**
 * Tests whether `key` made `signature` over `data`. For ECDSA, the signature is r and s with the length of a coordinate
 * each. Never throws.
 */
export function verifySignature(key: KeyObject, data: Uint8Array, signature: Uint8Array): boolean {
  const algorithm = algorithmOf(key)
  if (algorithm === undefined) return false
  const { digest, size } = algorithms[algorithm]
  if (signature.length !== 2 * size) return false
  try {
    return verify(digest, data, key, isEcdsa(algorithm) ? ecdsaSignatureDer(signature, size) : signature)
  } catch {
    return false
  }
}

/** Returns the raw signature over `data` with a private key of a supported algorithm. */
export function signBytes(key: KeyObject, data: Uint8Array): Uint8Array {
  const algorithm = requireAlgorithm(key)
  const { digest, size } = algorithms[algorithm]
  const signature = sign(digest, data, key)
  return isEcdsa(algorithm) ? rawEcdsaSignature(signature, size) : signature
}

/** Encodes r and s, of `size` bytes each, as an ECDSA-Sig-Value. RFC 3279 section 2.2.3. */
function ecdsaSignatureDer(signature: Uint8Array, size: number): Uint8Array {
  return writeSequence(writeInteger(signature.subarray(0, size)), writeInteger(signature.subarray(size)))
}

/** Returns r and s of an ECDSA-Sig-Value with `size` bytes each. RFC 3279 section 2.2.3. */
function rawEcdsaSignature(der: Uint8Array, size: number): Uint8Array {
  const numbers = readSequence(readDer(der)).map(readInteger)
  return Buffer.concat(numbers.map((number) => Buffer.concat([Buffer.alloc(size), number]).subarray(-size)))
}

const OTHER_SIGNATURE = 'another key made it, or what it signed was changed'

/** Tests whether `key` signed the JWS, like {@link jwsSignatureProblem}. */
export function isJwsSignedBy(jws: JwsWithoutPayload, key: KeyObject): boolean {
  return jwsSignatureProblem(jws, key) === undefined
}

/** Tests whether `key` signed a COSE_Sign1 over `payload`, like {@link sign1SignatureProblem}. */
export function isSign1SignedBy(sign1: Sign1, payload: Uint8Array, key: KeyObject): boolean {
  return sign1SignatureProblem(sign1, payload, key) === undefined
}

/**
 * Returns why `key` did not sign the JWS with the algorithm of that key, as part of a sentence; undefined if it did.
 * The header does not select the key or the algorithm.
 */
export function jwsSignatureProblem(jws: JwsWithoutPayload, key: KeyObject): string | undefined {
  const alg = memberOf(jws.header, 'alg')
  return (
    algorithmProblem(key, 'jose', alg) ??
    (verifySignature(key, jws.signingInput, jws.signature) ? undefined : OTHER_SIGNATURE)
  )
}

/**
 * Returns why `key` did not sign a COSE_Sign1 over `payload`, which may be detached, as part of a sentence; undefined
 * if it did. `otherReason` is the reason where the algorithm is right.
 */
export function sign1SignatureProblem(
  { alg, protectedBytes, signature }: Sign1,
  payload: Uint8Array,
  key: KeyObject,
  otherReason: string = OTHER_SIGNATURE,
): string | undefined {
  return (
    algorithmProblem(key, 'cose', alg) ??
    (verifySignature(key, signedBytes(protectedBytes, payload), signature) ? undefined : otherReason)
  )
}

/** Returns why no signature with the header member `alg` can be by the key; undefined if one can. */
function algorithmProblem(key: KeyObject, names: 'jose' | 'cose', alg: unknown): string | undefined {
  const algorithm = algorithmOf(key)
  if (algorithm === undefined) return `the algorithm of that key is not supported; supported are ${SUPPORTED_KEYS}`
  const accepted: readonly unknown[] = algorithms[algorithm][names]
  if (accepted.includes(alg)) return undefined
  const stated = typeof alg === 'string' ? untrustedText(alg) : typeof alg === 'number' ? `${alg}` : 'no text or number'
  return `its algorithm (alg) is ${stated}, and that key is for ${algorithm}`
}

/**
 * The accepted sizes of RSA keys: shorter keys are insecure, longer ones slow. NIST SP 800-131A; RFC 7518 section 3.3.
 */
const RSA_BITS = { least: 2048, most: 8192 }

/** Tests whether the modulus of an RSA key is neither too short nor too long. */
export function hasAcceptedModulus({ asymmetricKeyDetails }: KeyObject): boolean {
  const { modulusLength = 0 } = asymmetricKeyDetails ?? {}
  return modulusLength >= RSA_BITS.least && modulusLength <= RSA_BITS.most
}

/**
 * Tests whether a signature has the length of the RSA modulus. OpenSSL accepts shorter ones. RFC 8017 sections 8.1.2
 * and 8.2.2.
 */
export function hasModulusLength({ asymmetricKeyDetails }: KeyObject, { length }: Uint8Array): boolean {
  return length === Math.ceil((asymmetricKeyDetails?.modulusLength ?? 0) / 8)
}
