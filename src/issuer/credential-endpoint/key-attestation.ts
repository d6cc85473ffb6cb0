/**
 * Key attestations: a wallet provider attests how keys are stored and how their user is authenticated. OpenID4VCI 1.0,
 * Key Attestation in JWT format, and attestation Proof Type. Also has the JWT checks that key proofs share.
 */
import { isObject, type JsonObject, own, ownString } from '../../codec/json.ts'
import { type Jws, readJws } from '../../codec/jws.ts'
import { malformed } from '../../codec/malformed.ts'
import type { KeyAttestationRequirement } from '../../credential/format.ts'
import { type Certificate, leafProblem } from '../../keys/certificate.ts'
import { importPublicKey, type PublicJwk, readSigningJwk } from '../../keys/jwk.ts'
import { isJwsSignedBy, joseAlgorithms } from '../../keys/signature.ts'
import { readX5c } from '../../keys/x5c.ts'
import { orRefuse, refuse } from '../../protocol/error.ts'
import { attesterProblem } from '../access/attester.ts'
import {
  algorithmProblem,
  type JwtClock,
  jwtTimeProblem,
  PROOF_TIMES,
  type TimeRule,
  typeProblem,
} from '../access/jwt-checks.ts'

export type ProofKind = 'key proof' | 'key attestation'

export interface KeyAttestationPolicy extends JwtClock {
  /**
   * The required levels; undefined if no attestation is required. Then the signature of a sent attestation must be
   * valid, and its signer need not be trusted.
   */
  readonly requirement: KeyAttestationRequirement | undefined
  /** The trust anchors, for a configuration that requires an attestation. */
  readonly anchors: readonly Certificate[]
  /** The verified attestations of the request, by their text, because several proofs may contain the same one. */
  readonly verifiedAttestations: Map<string, KeyAttestation>
}

export interface KeyAttestation {
  readonly attestedKeys: readonly [PublicJwk, ...PublicJwk[]]
  /** The `kid` of each attested key, where the key has one. */
  readonly keyIds: readonly (string | undefined)[]
  readonly nonce: string | undefined
}

const TYPES: Readonly<Record<ProofKind, string>> = {
  'key proof': 'openid4vci-proof+jwt',
  'key attestation': 'key-attestation+jwt',
}
/** Headers that refer to keys or trust outside of the proof. */
const UNSUPPORTED_HEADERS = ['trust_chain', 'jku', 'x5u']
const KIND = 'key attestation'
/** How the times of an attestation with `exp` are checked: it may have any age. */
const LASTING: TimeRule = { requires: ['iat'] }
const MAX_KEYS = 100
const LEVELS = ['key_storage', 'user_authentication'] as const

/** Verifies a key attestation by `policy`, and returns its keys and its nonce. Refuses with `invalid_proof`. */
export function verifyKeyAttestation(
  text: string,
  proofType: 'jwt' | 'attestation',
  policy: KeyAttestationPolicy,
): KeyAttestation {
  const verifiedAttestation = policy.verifiedAttestations.get(text)
  if (verifiedAttestation !== undefined) return verifiedAttestation
  const attestation = verifyAttestationJwt(text, proofType, policy)
  policy.verifiedAttestations.set(text, attestation)
  return attestation
}

function verifyAttestationJwt(
  text: string,
  proofType: 'jwt' | 'attestation',
  policy: KeyAttestationPolicy,
): KeyAttestation {
  const jws = readProofJwt(text, KIND)
  const { header, payload } = jws
  if (own(header, 'x5c') === undefined) refuse('invalid_proof', 'the key attestation comes without a certificate (x5c)')
  const chain = orInvalidProof(KIND, () => readX5c(own(header, 'x5c')))
  refuseUntrustedSigner(chain, policy)
  if (!isJwsSignedBy(jws, chain[0].publicKey)) {
    refuse('invalid_proof', 'the signature of the key attestation is not by the key of its certificate')
  }
  if (proofType === 'jwt' && own(payload, 'exp') === undefined) {
    refuse('invalid_proof', 'the key attestation of a key proof must say until when it is good (exp)')
  }
  refuseProblem(KIND, jwtTimeProblem(payload, own(payload, 'exp') === undefined ? PROOF_TIMES : LASTING, policy))
  const { attestedKeys, keyIds } = orInvalidProof(KIND, () => readAttestedKeys(payload, policy))
  refuseLowLevels(payload, policy)
  const nonce = own(payload, 'nonce')
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

/** Reads the attested keys. Limits the keys of all attestations of a request together. */
function readAttestedKeys(
  payload: JsonObject,
  { verifiedAttestations }: KeyAttestationPolicy,
): Pick<KeyAttestation, 'attestedKeys' | 'keyIds'> {
  const keys = own(payload, 'attested_keys')
  if (!Array.isArray(keys)) return malformed('attested_keys is not an array')
  const earlierKeyCount = [...verifiedAttestations.values()].reduce(
    (sum, { attestedKeys }) => sum + attestedKeys.length,
    0,
  )
  if (earlierKeyCount + keys.length > MAX_KEYS) malformed(`attested_keys has more than ${MAX_KEYS} keys`)
  const [first, ...others] = keys.map((key) => readCurvePoint(key))
  if (first === undefined) return malformed('attested_keys is empty')
  const keyIds = keys.map((key) => (isObject(key) ? ownString(key, 'kid') : undefined))
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
 * Refuses attested levels below the required ones. One sufficient level is enough, since the levels of a key all apply
 * to it.
 */
function refuseLowLevels(payload: JsonObject, { requirement = {} }: KeyAttestationPolicy): void {
  for (const name of LEVELS) {
    const [levels, acceptedLevels] = [own(payload, name), requirement[name]]
    if (levels !== undefined && !(Array.isArray(levels) && levels.every((level) => typeof level === 'string'))) {
      refuse('invalid_proof', `${name} of the key attestation must be an array of strings`)
    }
    if (acceptedLevels !== undefined && !levels?.some((level) => acceptedLevels.includes(level))) {
      refuse('invalid_proof', `${name} of the key attestation must have one of ${acceptedLevels.join(', ')}`)
    }
  }
}

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
