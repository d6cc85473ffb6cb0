/**
 * Key attestations: a wallet provider attests how keys are stored and how their user is authenticated. OpenID4VCI 1.0,
 * Key Attestation in JWT format, jwt Proof Type (`key_attestation`), and attestation Proof Type.
 */
import { type Json, type JsonObject, memberOf, stringMemberOf } from '../../codec/json.ts'
import { malformed } from '../../codec/malformed.ts'
import type { KeyAttestationRequirement } from '../../credential/format.ts'
import { type Certificate, leafProblem } from '../../keys/certificate.ts'
import { importPublicKey, isEd25519Point, type PublicJwk, readSigningJwk, thumbprint } from '../../keys/jwk.ts'
import { isJwsSignedBy } from '../../keys/signature.ts'
import { readX5c } from '../../keys/trust-path.ts'
import { refuse } from '../../protocol/error.ts'
import { attesterProblem } from '../access/attester.ts'
import {
  jwtTimeProblem,
  PROOF_TIMES,
  type ProofJwtPolicy,
  readOrRefuseProof,
  readProofJwt,
  refuseProofProblem,
  type TimeRule,
} from '../access/jwt-checks.ts'

export interface KeyAttestationPolicy extends ProofJwtPolicy {
  /**
   * The required levels; undefined if no attestation is required. Then the signature of a sent attestation must be
   * valid, and its signer need not be trusted.
   */
  readonly requirement: KeyAttestationRequirement | undefined
  /** The trust anchors, for a configuration that requires an attestation. */
  readonly anchors: readonly Certificate[]
}

/** The verified attestations of a request, by their text, because several proofs may contain the same one. */
export type VerifiedAttestations = Map<string, KeyAttestation>

export interface KeyAttestation {
  readonly attestedKeys: readonly [PublicJwk, ...PublicJwk[]]
  /** The `kid` of each attested key, where the key has one. */
  readonly keyIds: readonly (string | undefined)[]
  readonly nonce: string | undefined
}

/** The part of a key proof that its key attestation is verified with. */
export interface AttestableProof {
  /** The key in the header; undefined if the header refers to the key attestation. */
  readonly headerKey: PublicJwk | undefined
  /** The `kid` of the header. */
  readonly kid: Json | undefined
  /** The nonce of the proof. The caller checks it. */
  readonly nonce: string
  /** The `key_attestation` of the header, not yet verified. */
  readonly keyAttestation: Json | undefined
}

/** The key that signed a key proof, and the other keys of its attestation, which get credentials too. */
export interface AttestedProof {
  readonly holderKey: PublicJwk
  readonly attestedKeys: readonly PublicJwk[]
}

const KIND = 'key attestation'
/** How the times of an attestation with `exp` are checked: it may have any age. */
const LASTING: TimeRule = { requires: ['iat'] }
/** The most keys of all attestations of a request together. */
const MAX_KEYS = 100
const LEVELS = ['key_storage', 'user_authentication'] as const

/**
 * Verifies the key attestation of a key proof where one is sent or required. Returns the key that must have signed the
 * proof, whose signature is not verified here, and the other attested keys. A sent attestation must be valid even if
 * none is required; its other keys are returned only if one is required. Adds the attestation to
 * `verifiedAttestations`. Refuses with `invalid_proof`. OpenID4VCI 1.0, jwt Proof Type: `key_attestation`.
 */
export function verifyAttestationOfProof(
  keyProof: AttestableProof,
  policy: KeyAttestationPolicy,
  verifiedAttestations: VerifiedAttestations,
): AttestedProof {
  const { headerKey, keyAttestation: attestationJwt } = keyProof
  if (attestationJwt === undefined) {
    refuse('invalid_proof', 'this credential needs a key attestation: key_attestation in the header of the key proof')
  }
  if (typeof attestationJwt !== 'string') refuse('invalid_proof', 'key_attestation of the key proof must be a JWT')
  const attestation =
    verifiedAttestations.get(attestationJwt) ??
    verifyKeyAttestation(attestationJwt, 'jwt', policy, MAX_KEYS - countKeys(verifiedAttestations))
  verifiedAttestations.set(attestationJwt, attestation)
  const holderKey = headerKey ?? requireNamedKey(attestation, keyProof.kid)
  const holderThumbprint = thumbprint(holderKey)
  if (!attestation.attestedKeys.some((key) => thumbprint(key) === holderThumbprint)) {
    refuse('invalid_proof', 'the key of the key proof is not among the attested_keys of its key attestation')
  }
  if (attestation.nonce !== undefined && attestation.nonce !== keyProof.nonce) {
    refuse('invalid_proof', 'nonce of the key attestation is not that of the key proof')
  }
  return { holderKey, attestedKeys: policy.requirement === undefined ? [] : attestation.attestedKeys }
}

/**
 * Returns the attested key that the `kid` of a key proof names: by the key's own `kid`, or by its index in decimal.
 * Without `kid`, returns the first key. OpenID4VCI 1.0, jwt Proof Type: `kid`; TS3 of the EU Digital Identity Wallet,
 * Transport of WUA.
 */
function requireNamedKey({ attestedKeys, keyIds }: KeyAttestation, kid: Json | undefined): PublicJwk {
  if (kid === undefined) return attestedKeys[0]
  const key =
    attestedKeys.find((_, index) => keyIds[index] === kid) ?? attestedKeys.find((_, index) => String(index) === kid)
  const hint = 'send its kid, its index in attested_keys, or a did:jwk or did:key'
  return key ?? refuse('invalid_proof', `kid of the key proof names no key of its key attestation; ${hint}`)
}

/**
 * Verifies the key attestation of the proof type `attestation`, and returns its keys and its nonce, which the caller
 * checks. Refuses it unless the configuration requires key attestations of a trusted provider, since nothing else
 * proves possession of the keys. OpenID4VCI 1.0, attestation Proof Type.
 */
export async function verifyAttestationProof(
  [jwt = '', ...others]: readonly string[],
  policy: KeyAttestationPolicy,
): Promise<{ readonly attestedKeys: readonly PublicJwk[]; readonly nonce: string }> {
  if (others.length > 0) refuse('invalid_proof', 'proofs.attestation must have one key attestation, for all keys')
  if (policy.requirement === undefined) {
    refuse('invalid_proof', 'this credential takes no proof of the type attestation; send proofs.jwt')
  }
  const { attestedKeys, nonce } = verifyKeyAttestation(jwt, 'attestation', policy)
  if (!nonce) return refuse('invalid_proof', 'the key attestation has no nonce; fetch one from the nonce endpoint')
  await refuseInvalidPoints(attestedKeys)
  return { attestedKeys, nonce }
}

/** Refuses Ed25519 keys with invalid points. Points of other curves were checked when the keys were parsed. */
export async function refuseInvalidPoints(keys: readonly PublicJwk[]): Promise<void> {
  for (const key of keys) {
    if (key.kty === 'OKP' && !(await isEd25519Point(key.x))) {
      refuse('invalid_proof', 'the key attestation: the key is not a point on the curve Ed25519')
    }
  }
}

/** Verifies a key attestation by `policy`, and returns its keys and its nonce. Refuses with `invalid_proof`. */
export function verifyKeyAttestation(
  text: string,
  proofType: 'jwt' | 'attestation',
  policy: KeyAttestationPolicy,
  maxKeys = MAX_KEYS,
): KeyAttestation {
  const jws = readProofJwt(text, KIND, policy)
  const { header, payload } = jws
  if (memberOf(header, 'x5c') === undefined)
    refuse('invalid_proof', 'the key attestation comes without a certificate (x5c)')
  const chain = readOrRefuseProof(KIND, () => readX5c(memberOf(header, 'x5c')))
  refuseUntrustedSigner(chain, policy)
  if (!isJwsSignedBy(jws, chain[0].publicKey)) {
    refuse('invalid_proof', 'the signature of the key attestation is not by the key of its certificate')
  }
  if (proofType === 'jwt' && memberOf(payload, 'exp') === undefined) {
    refuse('invalid_proof', 'the key attestation of a key proof must say until when it is good (exp)')
  }
  refuseProofProblem(
    KIND,
    jwtTimeProblem(payload, memberOf(payload, 'exp') === undefined ? PROOF_TIMES : LASTING, policy),
  )
  const { attestedKeys, keyIds } = readOrRefuseProof(KIND, () => readAttestedKeys(payload, maxKeys))
  refuseLowLevels(payload, policy)
  const nonce = memberOf(payload, 'nonce')
  if (nonce !== undefined && typeof nonce !== 'string') {
    return refuse('invalid_proof', 'nonce of the key attestation must be a string')
  }
  return { attestedKeys, keyIds, nonce }
}

function refuseUntrustedSigner(chain: readonly [Certificate, ...Certificate[]], policy: KeyAttestationPolicy): void {
  const { requirement, anchors, now, clockSkewSeconds } = policy
  const problem =
    requirement === undefined
      ? leafProblem(chain[0], now, clockSkewSeconds, 'attestation')
      : attesterProblem(chain, anchors, policy)
  if (problem !== undefined) refuse('invalid_proof', `the signer of the key attestation: ${problem}`)
}

function countKeys(attestations: VerifiedAttestations): number {
  return [...attestations.values()].reduce((sum, { attestedKeys }) => sum + attestedKeys.length, 0)
}

function readAttestedKeys(payload: JsonObject, maxKeys: number): Pick<KeyAttestation, 'attestedKeys' | 'keyIds'> {
  const keys = memberOf(payload, 'attested_keys')
  if (!Array.isArray(keys)) return malformed('attested_keys is not an array')
  if (keys.length > maxKeys)
    malformed(`attested_keys has too many keys: a request may have ${MAX_KEYS}, in all attestations together`)
  const [first, ...others] = keys.map((key) => readCurvePoint(key))
  if (first === undefined) return malformed('attested_keys is empty')
  const keyIds = keys.map((key) => stringMemberOf(key, 'kid'))
  return { attestedKeys: [first, ...others], keyIds }
}

/**
 * Returns a signature key whose point is on its curve. Attested keys have not signed anything, so an invalid key would
 * not be noticed elsewhere.
 */
function readCurvePoint(value: unknown): PublicJwk {
  const jwk = readSigningJwk(value)
  importPublicKey(jwk)
  return jwk
}

/**
 * Refuses attested levels below the required ones, and members that must be levels and are not. One sufficient level is
 * enough, since the levels of a key all apply to it.
 */
function refuseLowLevels(payload: JsonObject, { requirement = {} }: KeyAttestationPolicy): void {
  for (const name of LEVELS) {
    const [levels, acceptedLevels] = [memberOf(payload, name), requirement[name]]
    const hasLevels = Array.isArray(levels) && levels.length > 0 && levels.every((level) => typeof level === 'string')
    if (levels !== undefined && !hasLevels) {
      refuse('invalid_proof', `${name} of the key attestation must be an array of strings, and not empty`)
    }
    if (acceptedLevels !== undefined && !levels?.some((level) => acceptedLevels.includes(level))) {
      refuse('invalid_proof', `${name} of the key attestation must have one of ${acceptedLevels.join(', ')}`)
    }
  }
}
