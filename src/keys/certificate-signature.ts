/**
 * The supported signature algorithms of certificates, without SHA-1 and MD5. Those of credentials are in
 * `signature.ts`. RFC 5280 section 4.1.1.2, RFC 5758, RFC 4055, RFC 8410.
 */
import { constants, type KeyObject, verify } from 'node:crypto'
import {
  contextTag,
  DER_TAG,
  type DerValue,
  readOid,
  readSequence,
  readSmallInteger,
  refuseMoreMembers,
  takeMember,
  takeOptionalMember,
} from '../codec/der.ts'
import { type Algorithm, hasAcceptedModulus, hasModulusLength } from './signature.ts'

export interface SignatureAlgorithm {
  readonly keyType: 'ec' | 'rsa' | 'ed25519'
  readonly digest: string | undefined
  /** The salt length of RSASSA-PSS in bytes; absent for other algorithms. */
  readonly saltLength?: number
}

/** The OIDs of Ed25519, and of ECDSA with the digest for the curve. RFC 5758 section 3.2, RFC 8410 section 3. */
export const SIGNATURE_OIDS: Readonly<Record<Algorithm, string>> = {
  ES256: '1.2.840.10045.4.3.2',
  ES384: '1.2.840.10045.4.3.3',
  ES512: '1.2.840.10045.4.3.4',
  EdDSA: '1.3.101.112',
}
const RSASSA_PSS = '1.2.840.113549.1.1.10'
const MGF1 = '1.2.840.113549.1.1.8'
const ALGORITHMS: ReadonlyMap<string, SignatureAlgorithm> = new Map<string, SignatureAlgorithm>([
  [SIGNATURE_OIDS.ES256, { keyType: 'ec', digest: 'sha256' }],
  [SIGNATURE_OIDS.ES384, { keyType: 'ec', digest: 'sha384' }],
  [SIGNATURE_OIDS.ES512, { keyType: 'ec', digest: 'sha512' }],
  ['1.2.840.113549.1.1.11', { keyType: 'rsa', digest: 'sha256' }],
  ['1.2.840.113549.1.1.12', { keyType: 'rsa', digest: 'sha384' }],
  ['1.2.840.113549.1.1.13', { keyType: 'rsa', digest: 'sha512' }],
  [SIGNATURE_OIDS.EdDSA, { keyType: 'ed25519', digest: undefined }],
])
const HASHES: ReadonlyMap<string, { readonly digest: string; readonly saltLength: number }> = new Map([
  ['2.16.840.1.101.3.4.2.1', { digest: 'sha256', saltLength: 32 }],
  ['2.16.840.1.101.3.4.2.2', { digest: 'sha384', saltLength: 48 }],
  ['2.16.840.1.101.3.4.2.3', { digest: 'sha512', saltLength: 64 }],
])
const CURVES: readonly string[] = [
  'prime256v1',
  'secp384r1',
  'secp521r1',
  'brainpoolP256r1',
  'brainpoolP384r1',
  'brainpoolP512r1',
]
/** The maximum exponent of an RSA key, since a large one makes verification slow. */
const MAX_RSA_EXPONENT = 2n ** 32n

/** Parses an AlgorithmIdentifier. `algorithm` is undefined if the algorithm is not supported. */
export function readSignatureAlgorithm(identifier: DerValue): {
  readonly oid: string
  readonly algorithm: SignatureAlgorithm | undefined
} {
  const { oid, parameters } = readAlgorithm(identifier)
  if (oid === RSASSA_PSS) return { oid, algorithm: parameters === undefined ? undefined : readPss(parameters) }
  const algorithm = ALGORITHMS.get(oid)
  // RFC 4055 section 5: parameters are NULL or absent for RSA, and absent for the others.
  const hasAllowedParameters = parameters === undefined || (algorithm?.keyType === 'rsa' && isNull(parameters))
  return { oid, algorithm: hasAllowedParameters ? algorithm : undefined }
}

/** Parses an AlgorithmIdentifier into its OID and its parameters. */
export function readAlgorithm(identifier: DerValue): {
  readonly oid: string
  readonly parameters: DerValue | undefined
} {
  const members = readSequence(identifier)
  const oid = readOid(takeMember(members, DER_TAG.oid))
  const parameters = members.shift()
  refuseMoreMembers(members)
  return { oid, parameters }
}

/** Tests whether `key` made `signature` over `signedBytes` with this algorithm. Never throws. */
export function verifyCertificateSignature(
  algorithm: SignatureAlgorithm,
  key: KeyObject,
  signedBytes: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (key.asymmetricKeyType !== algorithm.keyType || !isStrong(key)) return false
  if (algorithm.keyType === 'rsa' && !hasModulusLength(key, signature)) return false
  const { saltLength } = algorithm
  const padding = saltLength === undefined ? {} : { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }
  try {
    return verify(algorithm.digest, signedBytes, { key, ...padding }, signature)
  } catch {
    return false
  }
}

function isStrong(key: KeyObject): boolean {
  const { namedCurve, publicExponent } = key.asymmetricKeyDetails ?? {}
  if (key.asymmetricKeyType === 'ec') return namedCurve !== undefined && CURVES.includes(namedCurve)
  if (key.asymmetricKeyType !== 'rsa') return true
  return publicExponent !== undefined && publicExponent <= MAX_RSA_EXPONENT && hasAcceptedModulus(key)
}

/**
 * Parses the parameters of RSASSA-PSS. Returns undefined unless both hashes are the same and the salt has their length.
 * RFC 4055 section 3.1.
 */
function readPss(parameters: DerValue): SignatureAlgorithm | undefined {
  const members = readSequence(parameters)
  const hash = explicitContent(takeOptionalMember(members, contextTag(0, 'constructed')))
  const mask = explicitContent(takeOptionalMember(members, contextTag(1, 'constructed')))
  const salt = explicitContent(takeOptionalMember(members, contextTag(2, 'constructed')))
  if (hash === undefined || mask === undefined || salt === undefined || members.length > 0) return undefined
  const pssHash = HASHES.get(readAlgorithm(hash).oid)
  const generator = readAlgorithm(mask)
  if (pssHash === undefined || generator.oid !== MGF1 || generator.parameters === undefined) return undefined
  const isSameHash = readAlgorithm(generator.parameters).oid === readAlgorithm(hash).oid
  return isSameHash && readSmallInteger(salt) === pssHash.saltLength ? { keyType: 'rsa', ...pssHash } : undefined
}

function explicitContent(value: DerValue | undefined): DerValue | undefined {
  return value?.children.length === 1 ? value.children[0] : undefined
}

function isNull(value: DerValue): boolean {
  return value.tag === DER_TAG.null && value.content.length === 0
}
