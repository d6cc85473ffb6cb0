/** Reads and verifies the proofs of a credential request, by proof type. OpenID4VCI 1.0, Credential Request. */
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

/** The keys and the nonce of the proofs of a request. */
export interface ProvedKeys {
  /** The proved keys, all different; at most `batch_size` of the configuration. */
  readonly holderKeys: readonly PublicJwk[]
  /** The nonce of the proofs. The caller checks it. */
  readonly nonce: string
}

/**
 * Returns the keys that the request proves, and the nonce of its proofs. Refuses with `invalid_proof` a proof that is
 * not valid, and with `invalid_credential_request` a wrong form.
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
  // Repeated proofs are refused before any signature is verified.
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

/** Refuses Ed25519 keys with invalid points. Points of other curves were checked when the keys were parsed. */
async function refuseInvalidPoints(keys: readonly PublicJwk[]): Promise<void> {
  for (const key of keys) {
    if (key.kty === 'OKP' && !(await isEd25519Point(key.x))) {
      refuse('invalid_proof', 'the key attestation: the key is not a point on the curve Ed25519')
    }
  }
}

/**
 * Refuses more proofs than `batch_size` in the metadata. The metadata has one number for all configurations, so a
 * request may have more proofs than its own configuration allows. OpenID4VCI 1.0, Credential Issuer Metadata
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

/** Refuses repeated keys. OpenID4VCI 1.0, Credential Response. */
function refuseRepeatedKeys(keys: readonly PublicJwk[]): void {
  if (keys.length === 1 || new Set(keys.map(thumbprint)).size === keys.length) return
  refuseSameKey()
}

function refuseSameKey(): never {
  return refuse('invalid_proof', 'two key proofs are by the same key; make a key for each credential')
}

/** Returns the first `maxKeys` different keys. Keys that signed a proof come before keys that were only attested. */
function firstKeys({ holderKeys, nonce }: ProvedKeys, maxKeys: number): ProvedKeys {
  if (holderKeys.length === 1) return { holderKeys, nonce }
  const distinctKeys = new Map(holderKeys.map((key) => [thumbprint(key), key]))
  return { holderKeys: [...distinctKeys.values()].slice(0, maxKeys), nonce }
}

/**
 * Verifies the key attestation of the proof type `attestation`, and returns its keys and its nonce. Refuses it unless
 * the configuration requires key attestations of a trusted provider, since nothing else proves possession of the keys.
 * OpenID4VCI 1.0, attestation Proof Type.
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

/** Returns the proofs of a request and their type. Refuses with `invalid_proof`. */
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
