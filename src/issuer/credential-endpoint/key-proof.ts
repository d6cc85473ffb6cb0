/**
 * Key proofs: a wallet proves possession of the key that its credential will be bound to. Also has the JWT checks that
 * key attestations share. OpenID4VCI 1.0, jwt Proof Type and Verifying Proof.
 */
import { type Json, type JsonObject, own, ownString } from '../../codec/json.ts'
import { type Jws, readJws } from '../../codec/jws.ts'
import { malformed } from '../../codec/malformed.ts'
import { certificateProblem } from '../../keys/certificate.ts'
import { readDid } from '../../keys/did.ts'
import { importPublicKey, type PublicJwk, publicJwkOf, readSigningJwk } from '../../keys/jwk.ts'
import { isJwsSignedBy, joseAlgorithms } from '../../keys/signature.ts'
import { readX5c } from '../../keys/x5c.ts'
import { orRefuse, refuse } from '../../protocol/error.ts'
import { algorithmProblem, type JwtClock, jwtTimeProblem, PROOF_TIMES, typeProblem } from '../access/jwt-checks.ts'

export type ProofKind = 'key proof' | 'key attestation'

const TYPES: Readonly<Record<ProofKind, string>> = {
  'key proof': 'openid4vci-proof+jwt',
  'key attestation': 'key-attestation+jwt',
}
/** Headers that refer to keys or trust outside of the proof. */
const UNSUPPORTED_HEADERS = ['trust_chain', 'jku', 'x5u']

/** Parses a JWT, and checks its `typ` and `alg`, but not its signature. Refuses with `invalid_proof`. */
export function readProofJwt(text: string, kind: ProofKind): Jws {
  const jws = orInvalidProof(kind, () => readJws(text))
  refuseProblem(kind, typeProblem(jws.header, TYPES[kind]) ?? algorithmProblem(jws.header, joseAlgorithms))
  const unsupportedHeader = UNSUPPORTED_HEADERS.find((name) => Object.hasOwn(jws.header, name))
  if (unsupportedHeader !== undefined)
    refuse('invalid_proof', `${unsupportedHeader} in the header of a ${kind} is not supported`)
  return jws
}

/** Refuses a JWT with `invalid_proof` if there is a problem. */
export function refuseProblem(kind: ProofKind, problem: string | undefined): void {
  if (problem !== undefined) refuse('invalid_proof', `the ${kind}: ${problem}`)
}

/** Returns the result of `read`. Refuses malformed input with `invalid_proof`. */
export function orInvalidProof<T>(kind: ProofKind, read: () => T): T {
  return orRefuse('invalid_proof', `the ${kind} cannot be read`, read)
}

export interface ProofPolicy extends JwtClock {
  /** The accepted values of `aud`: the credential issuer identifiers. */
  readonly audiences: readonly string[]
}

/** A parsed key proof. */
export interface KeyProof {
  readonly jws: Jws
  /** The key in the header; undefined if the header refers to the key attestation. */
  readonly headerKey: PublicJwk | undefined
  /** The nonce of the proof. The caller checks it. */
  readonly nonce: string
  /** The `key_attestation` of the header, not yet verified. */
  readonly keyAttestation: Json | undefined
}

const NO_NONCE =
  'the key proof has no nonce; fetch one from the nonce endpoint (a wallet of draft 13 does not, and is served when ' +
  "compatibility of this issuer has 'draft13')"

/**
 * Parses a key proof, and checks everything but its signature, which `refuseUnlessSigned` verifies, and its nonce.
 * Refuses with `invalid_proof`.
 */
export function readKeyProof(text: string, policy: ProofPolicy): KeyProof {
  const jws = readProofJwt(text, 'key proof')
  const { header, payload } = jws
  const [audience, ...otherAudiences] = [own(payload, 'aud')].flat()
  if (typeof audience !== 'string' || !policy.audiences.includes(audience) || otherAudiences.length > 0) {
    refuse('invalid_proof', 'aud of the key proof must be the credential issuer identifier of the offer, and no other')
  }
  refuseProblem('key proof', jwtTimeProblem(payload, PROOF_TIMES, policy))
  const nonce = ownString(payload, 'nonce')
  if (!nonce) return refuse('invalid_proof', NO_NONCE)
  const headerKey = orInvalidProof('key proof', () => readHeaderKey(header, policy))
  return { jws, headerKey, nonce, keyAttestation: own(header, 'key_attestation') }
}

/** Refuses with `invalid_proof` a key proof that was not signed with `holderKey`. */
export function refuseUnlessSigned({ jws }: KeyProof, holderKey: PublicJwk): void {
  const publicKey = orInvalidProof('key proof', () => importPublicKey(holderKey))
  if (!isJwsSignedBy(jws, publicKey))
    refuse('invalid_proof', 'the signature of the key proof is not by the key it names')
}

/**
 * Returns the key from exactly one of `kid`, `jwk` and `x5c` in the header. The key need not be trusted. Returns
 * undefined if the key is in the key attestation of the header.
 */
function readHeaderKey(header: JsonObject, clock: JwtClock): PublicJwk | undefined {
  const [kid, jwk, x5c] = [own(header, 'kid'), own(header, 'jwk'), own(header, 'x5c')]
  const isAttestedKeyId = kid === undefined || (typeof kid === 'string' && !kid.startsWith('did:'))
  if (isAttestedKeyId && own(header, 'key_attestation') !== undefined && jwk === undefined && x5c === undefined) {
    return undefined
  }
  if ([kid, jwk, x5c].filter((value) => value !== undefined).length !== 1) {
    const names = 'kid (a did:jwk or did:key), jwk or x5c'
    return refuse('invalid_proof', `the header of the key proof must name its key by exactly one of ${names}`)
  }
  if (jwk !== undefined) return readSigningJwk(jwk)
  if (x5c !== undefined) return readCertifiedKey(x5c, clock)
  if (typeof kid !== 'string') return refuse('invalid_proof', 'kid of the key proof must be a did:jwk or did:key')
  return readDid(kid)
}

/** Returns the public key of the first certificate. Its issuer need not be trusted. */
function readCertifiedKey(x5c: unknown, { now, clockSkewSeconds }: JwtClock): PublicJwk {
  const [leaf] = readX5c(x5c)
  const problem = certificateProblem(leaf, now, clockSkewSeconds)
  return problem === undefined ? publicJwkOf(leaf.publicKey) : malformed(problem)
}
