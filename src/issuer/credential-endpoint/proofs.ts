/**
 * Key proofs: a wallet proves possession of the keys that its credentials will be bound to. Reads and verifies the
 * proofs of a credential request, by proof type. OpenID4VCI 1.0, Credential Request, jwt Proof Type, attestation Proof
 * Type and Verifying Proof.
 */
import { runInTurn } from '../../async/concurrency.ts'
import { isObject, type JsonObject, memberOf, stringMemberOf } from '../../codec/json.ts'
import { type Jws, readOnlyAudience } from '../../codec/jws.ts'
import { malformed } from '../../codec/malformed.ts'
import { findValidityProblem, isKeyUsageForSignatures } from '../../keys/certificate.ts'
import { didOf, readDid } from '../../keys/did.ts'
import { importPublicKey, type PublicJwk, publicJwkOf, readSigningJwk, thumbprint } from '../../keys/jwk.ts'
import { isJwsSignedBy } from '../../keys/signature.ts'
import { readX5c } from '../../keys/trust-path.ts'
import { refuse } from '../../protocol/error.ts'
import type { CredentialRequest } from '../../protocol/oid4vci.ts'
import { type VerifiedNonce, verifyNonce } from '../access/c-nonce.ts'
import {
  type JwtClock,
  jwtTimeProblem,
  PROOF_TIMES,
  type ProofJwtPolicy,
  readOrRefuseProof,
  readProofJwt,
  refuseProofProblem,
} from '../access/jwt-checks.ts'
import { largestBatch } from '../configurations.ts'
import type { IssuerContext, LoadedConfiguration } from '../context.ts'
import { acceptedAudiences, hasIdentifierPerSession } from '../issuer-addresses.ts'
import type { IssuanceSession } from '../session.ts'
import {
  type AttestableProof,
  type KeyAttestationPolicy,
  refuseInvalidPoints,
  type VerifiedAttestations,
  verifyAttestationOfProof,
  verifyAttestationProof,
} from './key-attestation.ts'

type ReceivedProofs = { readonly type: 'jwt' | 'attestation'; readonly jwts: readonly string[] }

/** The keys and the nonce of the proofs of a request. */
export interface ProvedKeys {
  /** The proved keys, all different; at most `batch_size` of the configuration. */
  readonly holderKeys: readonly PublicJwk[]
  /** The DIDs by which key proofs name their keys, by the thumbprint of the key. */
  readonly holderDids: Readonly<Record<string, string>>
  /** The use of the nonce of the proofs. The caller checks that it was not used. */
  readonly verifiedNonce: VerifiedNonce
}

/** The session and the configuration that proofs are for. */
interface ProofContext {
  readonly sessionId: string
  readonly session: IssuanceSession
  readonly configuration: LoadedConfiguration
  readonly now: Date
}

interface ProofPolicy extends ProofJwtPolicy {
  /** The accepted values of `aud`: the credential issuer identifiers. */
  readonly audiences: readonly string[]
}

interface KeyProofsPolicy extends ProofPolicy, KeyAttestationPolicy {
  /** Verifies the nonce for the session and the configuration of the request, like {@link verifyNonce}. */
  readonly verifyNonce: (nonce: string) => VerifiedNonce
}

/** A parsed key proof. */
interface KeyProof extends AttestableProof {
  readonly jws: Jws
}

/** The maximum length of a DID that a credential repeats: a did:jwk may have other members beside the key. */
const MAX_DID = 512

const NO_NONCE =
  'the key proof has no nonce; fetch one from the nonce endpoint (a wallet of draft 13 does not, and is served when ' +
  "compatibility of this issuer has 'draft13')"

/**
 * Returns the keys that the request proves, and the use of the nonce of its proofs. Refuses with `invalid_proof` a
 * proof that is not valid, and with `invalid_credential_request` a wrong form.
 */
export async function verifyProofs(
  context: IssuerContext,
  request: CredentialRequest,
  { sessionId, session, configuration, now }: ProofContext,
): Promise<ProvedKeys> {
  const { clockSkewSeconds, keyAttestationTrustAnchors: anchors, proofAlgorithms: algorithms } = context.config
  const { id: configurationId, keyAttestation: requirement, batchSize: maxKeys } = configuration
  const audiences = acceptedAudiences(context.config, sessionId)
  const policy: KeyProofsPolicy = {
    now,
    clockSkewSeconds,
    algorithms,
    audiences,
    anchors,
    requirement,
    verifyNonce: (nonce) => verifyNonce(context, { sessionId, configurationId }, nonce, now),
  }
  const { type, jwts } = readProofs(request)
  if (type === 'attestation') {
    const { attestedKeys, nonce } = await verifyAttestationProof(jwts, policy)
    return { holderKeys: firstKeys(attestedKeys, maxKeys), holderDids: {}, verifiedNonce: policy.verifyNonce(nonce) }
  }
  if (jwts.length > maxKeys) await refuseTooManyProofs(context, session, jwts.length)
  const provedKeys = await verifyKeyProofs(jwts, policy)
  return { ...provedKeys, holderKeys: firstKeys(provedKeys.holderKeys, maxKeys) }
}

/** Returns the proofs of a request and their type. Refuses with `invalid_proof`. */
function readProofs({ proofs }: CredentialRequest): ReceivedProofs {
  if (!isObject(proofs)) return refuse('invalid_proof', 'the request has no key proof; send proofs or proof')
  const [type, ...others] = Object.keys(proofs)
  const proofList = type === undefined ? undefined : memberOf(proofs, type)
  if ((type !== 'jwt' && type !== 'attestation') || others.length > 0 || !Array.isArray(proofList)) {
    return refuse('invalid_proof', 'proofs must have exactly one member, jwt or attestation, with an array of proofs')
  }
  if (proofList.length === 0) refuse('invalid_proof', `proofs.${type}[0] must be a key proof`)
  const jwts = proofList.map((jwt, index) =>
    typeof jwt === 'string' ? jwt : refuse('invalid_proof', `proofs.${type}[${index}] must be a key proof`),
  )
  return { type, jwts }
}

/**
 * Refuses with `invalid_proof` more proofs than `batch_size` in the metadata. The metadata has one number for all
 * configurations, so a request may have more proofs than its own configuration allows. OpenID4VCI 1.0, Credential
 * Issuer Metadata Parameters: `batch_size`.
 */
async function refuseTooManyProofs(context: IssuerContext, session: IssuanceSession, count: number): Promise<void> {
  const sessionLimit = largestBatch(
    await Promise.all(session.configurationIds.map((id) => context.loadConfiguration(id))),
  )
  const issuerLimit = hasIdentifierPerSession(context.config)
    ? 1
    : (await context.offeredConfigurationsText.get()).batchSize
  const limit = Math.max(sessionLimit, issuerLimit)
  if (count <= limit) return
  refuse('invalid_proof', `proofs.jwt has ${count} key proofs; this issuer takes at most ${limit} (batch_size)`)
}

/** Verifies the proofs of the type `jwt`. Returns the keys that signed them, and after these the attested keys. */
async function verifyKeyProofs(jwts: readonly string[], policy: KeyProofsPolicy): Promise<ProvedKeys> {
  const keyProofs = await runInTurn(jwts, (jwt) => readKeyProof(jwt, policy))
  const [nonce = '', ...others] = new Set(keyProofs.map((each) => each.nonce))
  if (others.length > 0) refuse('invalid_proof', 'the key proofs of a request must have the same nonce')
  // Signatures cost much more than a nonce, and anybody with a token can send many.
  const verifiedNonce = policy.verifyNonce(nonce)
  refuseRepeatedKeys(keyProofs.flatMap(({ headerKey }) => headerKey ?? []))
  const verifiedAttestations: VerifiedAttestations = new Map()
  const attestedProofs = await runInTurn(keyProofs, (keyProof) => {
    const { headerKey, keyAttestation } = keyProof
    const isUnattested = headerKey !== undefined && keyAttestation === undefined && policy.requirement === undefined
    const attestedProof = isUnattested
      ? { holderKey: headerKey, attestedKeys: [] }
      : verifyAttestationOfProof(keyProof, policy, verifiedAttestations)
    refuseUnlessSigned(keyProof, attestedProof.holderKey)
    return attestedProof
  })
  const holderKeys = attestedProofs.map(({ holderKey }) => holderKey)
  if (keyProofs.some(({ headerKey }) => headerKey === undefined)) refuseRepeatedKeys(holderKeys)
  const attestedKeys = attestedProofs.flatMap((each) => each.attestedKeys)
  if (attestedKeys.length > 0) await refuseInvalidPoints(attestedKeys)
  return { holderKeys: [...holderKeys, ...attestedKeys], holderDids: didsOf(keyProofs), verifiedNonce }
}

function didsOf(keyProofs: readonly KeyProof[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    keyProofs.flatMap(({ headerKey, kid }) => {
      const did = typeof kid === 'string' ? didOf(kid) : undefined
      return headerKey === undefined || did === undefined || did.length > MAX_DID ? [] : [[thumbprint(headerKey), did]]
    }),
  )
}

/**
 * Parses a key proof, and checks everything but its signature, which `refuseUnlessSigned` verifies, and its nonce.
 * Refuses with `invalid_proof`.
 */
export function readKeyProof(text: string, policy: ProofPolicy): KeyProof {
  const jws = readProofJwt(text, 'key proof', policy)
  const { header, payload } = jws
  const audience = readOnlyAudience(payload)
  if (audience === undefined || !policy.audiences.includes(audience)) {
    refuse('invalid_proof', 'aud of the key proof must be the credential issuer identifier of the offer, and no other')
  }
  refuseProofProblem('key proof', jwtTimeProblem(payload, PROOF_TIMES, policy))
  const nonce = stringMemberOf(payload, 'nonce')
  if (!nonce) return refuse('invalid_proof', NO_NONCE)
  const headerKey = readOrRefuseProof('key proof', () => readHeaderKey(header, policy))
  return { jws, headerKey, kid: memberOf(header, 'kid'), nonce, keyAttestation: memberOf(header, 'key_attestation') }
}

/**
 * Returns the key from exactly one of `kid`, `jwk` and `x5c` in the header. The key need not be trusted. Returns
 * undefined if the key is in the key attestation of the header.
 */
function readHeaderKey(header: JsonObject, clock: JwtClock): PublicJwk | undefined {
  const [kid, jwk, x5c] = [memberOf(header, 'kid'), memberOf(header, 'jwk'), memberOf(header, 'x5c')]
  const isAttestedKeyId = kid === undefined || (typeof kid === 'string' && !kid.startsWith('did:'))
  if (isAttestedKeyId && memberOf(header, 'key_attestation') !== undefined && jwk === undefined && x5c === undefined) {
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
  // The subject may be the holder, whose name belongs in no log.
  const problem = findValidityProblem(leaf, now, clockSkewSeconds)
  if (problem !== undefined) malformed(`the certificate of the key ${problem}`)
  if (!isKeyUsageForSignatures(leaf)) malformed('the certificate of the key: its key usage does not allow signatures')
  return publicJwkOf(leaf.publicKey)
}

/** Refuses repeated keys. OpenID4VCI 1.0, Credential Response. */
function refuseRepeatedKeys(keys: readonly PublicJwk[]): void {
  if (keys.length === 1 || new Set(keys.map(thumbprint)).size === keys.length) return
  refuse('invalid_proof', 'two key proofs are by the same key; make a key for each credential')
}

/** Refuses with `invalid_proof` a key proof that was not signed with `holderKey`. */
export function refuseUnlessSigned({ jws }: KeyProof, holderKey: PublicJwk): void {
  const publicKey = readOrRefuseProof('key proof', () => importPublicKey(holderKey))
  if (!isJwsSignedBy(jws, publicKey))
    refuse('invalid_proof', 'the signature of the key proof is not by the key it names')
}

/** Returns the first `maxKeys` different keys. Keys that signed a proof come before keys that were only attested. */
function firstKeys(keys: readonly PublicJwk[], maxKeys: number): readonly PublicJwk[] {
  if (keys.length === 1) return keys
  const distinctKeys = new Map(keys.map((key) => [thumbprint(key), key]))
  return [...distinctKeys.values()].slice(0, maxKeys)
}
