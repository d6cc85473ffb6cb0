/**
 * Reads the proofs of a credential request, and verifies each by its type. OpenID4VCI 1.0, Credential Request.
 */
import { runInTurn } from '../../async/concurrency.ts'
import { isObject, own } from '../../codec/json.ts'
import type { Configuration } from '../../credential/format.ts'
import { isEd25519Point, type PublicJwk, thumbprint } from '../../keys/jwk.ts'
import { refuse } from '../../protocol/error.ts'
import type { CredentialRequest } from '../../protocol/oid4vci.ts'
import type { OpenSession } from '../access/open-session.ts'
import { largestBatch } from '../configuration-metadata-text.ts'
import type { IssuerContext } from '../context.ts'
import { acceptedAudiences } from '../issuer-identifier.ts'
import { hasIdentifierPerSession } from '../offer.ts'
import type { IssuanceSession } from '../session.ts'
import {
  type KeyAttestation,
  type KeyAttestationPolicy,
  verifyAttestationOfProof,
  verifyKeyAttestation,
} from './key-attestation.ts'
import { readKeyProof, refuseUnlessSigned } from './key-proof.ts'

type ReceivedProofs = { readonly type: 'jwt' | 'attestation'; readonly jwts: readonly string[] }

/** The keys that the proofs of a request have shown, and the nonce of the proofs. */
export interface ProvedKeys {
  /** Different keys, each for a credential; at most the configuration's `batch_size`. */
  readonly holderKeys: readonly PublicJwk[]
  /** Whether the nonce is ours, and not spent, is for the caller to decide. */
  readonly nonce: string
}

/**
 * Returns the keys that the request proves, with one nonce for all. Refuses with `invalid_proof` when one of the proofs
 * does not hold, or with `invalid_credential_request` their form.
 */
export async function verifyProofs(
  context: IssuerContext,
  request: CredentialRequest,
  { sessionId, row, configuration, now }: OpenSession & { readonly configuration: Configuration; readonly now: Date },
): Promise<ProvedKeys> {
  const { clockSkewSeconds, keyAttestationTrustAnchors: anchors } = context.config
  const clock = { now, clockSkewSeconds }
  const { keyAttestation: requirement, batchSize: maxKeys } = configuration
  const keyAttestations = { ...clock, anchors, requirement, verifiedAttestations: new Map<string, KeyAttestation>() }
  const { type, jwts } = readProofs(request)
  if (type === 'attestation') {
    const provedKeys = verifyAttestedKeys(jwts, keyAttestations)
    await refuseInvalidPoints(provedKeys.holderKeys)
    return firstKeys(provedKeys, maxKeys)
  }
  if (jwts.length > maxKeys) await refuseTooManyProofs(context, row.value, jwts.length)
  const audiences = acceptedAudiences(context.config, sessionId)
  // A proof that was sent a hundred times is refused as a text: no signature is verified before all keys are different.
  if (new Set(jwts).size < jwts.length) refuseSameKey()
  const keyProofs = await runInTurn(jwts, (jwt) => readKeyProof(jwt, { ...clock, audiences }))
  const [nonce = '', ...others] = new Set(keyProofs.map((each) => each.nonce))
  if (others.length > 0) refuse('invalid_proof', 'the key proofs of a request must have the same nonce')
  refuseRepeatedKeys(keyProofs.flatMap(({ headerKey }) => headerKey ?? []))
  const attestedProofs = await runInTurn(keyProofs, (keyProof) => {
    const attestedProof = verifyAttestationOfProof(keyProof, keyAttestations)
    refuseUnlessSigned(keyProof, attestedProof.holderKey)
    return attestedProof
  })
  const holderKeys = attestedProofs.map(({ holderKey }) => holderKey)
  if (keyProofs.some(({ headerKey }) => headerKey === undefined)) refuseRepeatedKeys(holderKeys)
  const attestedKeys = attestedProofs.flatMap((each) => each.attestedKeys)
  await refuseInvalidPoints(attestedKeys)
  return firstKeys({ holderKeys: [...holderKeys, ...attestedKeys], nonce }, maxKeys)
}

/** Refuses keys of Ed25519 that are not points; keys of other curves were looked at when they were read. */
async function refuseInvalidPoints(keys: readonly PublicJwk[]): Promise<void> {
  for (const key of keys) {
    if (key.kty === 'OKP' && !(await isEd25519Point(key.x))) {
      refuse('invalid_proof', 'the key attestation: the key is not a point on the curve Ed25519')
    }
  }
}

/**
 * Refuses more proofs than the metadata allows, which has one number for all configurations, so that a wallet cannot
 * know the number of the configuration that it asks for. OpenID4VCI 1.0, Credential Issuer Metadata
 * Parameters: `batch_size`.
 */
async function refuseTooManyProofs(context: IssuerContext, session: IssuanceSession, count: number): Promise<void> {
  const sessionLimit = largestBatch(
    await Promise.all(session.configurationIds.map((id) => context.loadConfiguration(id))),
  )
  const issuerLimit = hasIdentifierPerSession(context) ? 1 : (await context.offeredConfigurations.get()).batchSize
  const limit = Math.max(sessionLimit, issuerLimit)
  if (count <= limit) return
  refuse('invalid_proof', `proofs.jwt has ${count} key proofs; this issuer takes at most ${limit} (batch_size)`)
}

/** Refuses a key that comes twice, since each key gets one credential at most. OpenID4VCI 1.0, Credential Response. */
function refuseRepeatedKeys(keys: readonly PublicJwk[]): void {
  if (keys.length === 1 || new Set(keys.map(thumbprint)).size === keys.length) return
  refuseSameKey()
}

function refuseSameKey(): never {
  return refuse('invalid_proof', 'two key proofs are by the same key; make a key for each credential')
}

/**
 * Returns the first keys, up to the size of the batch: those that were proved come before those that were only
 * attested.
 */
function firstKeys({ holderKeys, nonce }: ProvedKeys, maxKeys: number): ProvedKeys {
  if (holderKeys.length === 1) return { holderKeys, nonce }
  const distinctKeys = new Map(holderKeys.map((key) => [thumbprint(key), key]))
  return { holderKeys: [...distinctKeys.values()].slice(0, maxKeys), nonce }
}

/**
 * Verifies the key attestation of a request and returns its keys and its nonce. Only a configuration that requires a
 * trusted attester takes one, since nothing else shows that the wallet holds the keys. OpenID4VCI 1.0, attestation
 * Proof Type.
 */
function verifyAttestedKeys([jwt = '', ...others]: readonly string[], policy: KeyAttestationPolicy): ProvedKeys {
  if (others.length > 0) refuse('invalid_proof', 'proofs.attestation must have one key attestation, for all keys')
  if (policy.requirement === undefined) {
    refuse('invalid_proof', 'this credential takes no proof of the type attestation; send proofs.jwt')
  }
  const { attestedKeys: holderKeys, nonce } = verifyKeyAttestation(jwt, 'attestation', policy)
  if (!nonce) return refuse('invalid_proof', 'the key attestation has no nonce; fetch one from the nonce endpoint')
  return { holderKeys, nonce }
}

/** Returns the proofs of a request, and their type. Refuses with `invalid_proof`. */
function readProofs({ proofs }: CredentialRequest): ReceivedProofs {
  if (!isObject(proofs)) return refuse('invalid_proof', 'the request has no key proof; send proofs or proof')
  const [type, ...others] = Object.keys(proofs)
  const proofList = type === undefined ? undefined : own(proofs, type)
  if ((type !== 'jwt' && type !== 'attestation') || others.length > 0 || !Array.isArray(proofList)) {
    return refuse('invalid_proof', 'proofs must have exactly one member, jwt or attestation, with an array of proofs')
  }
  if (proofList.length === 0) refuse('invalid_proof', `proofs.${type}[0] must be a key proof`)
  const jwts = proofList.map((jwt, index) =>
    typeof jwt === 'string' ? jwt : refuse('invalid_proof', `proofs.${type}[${index}] must be a key proof`),
  )
  return { type, jwts }
}
