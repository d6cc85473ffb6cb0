/** The proofs of a credential request: picked out of it, and verified by their type. OpenID4VCI 1.0, Credential Request. */
import { isObject, type JsonObject, own } from '../../codec/json.ts'
import { isEd25519Point, type PublicJwk, thumbprint } from '../../keys/jwk.ts'
import { refuse } from '../../protocol/error.ts'
import type { CredentialRequest } from '../../protocol/oid4vci.ts'
import type { IssuerContext } from '../context.ts'
import { identifierOf } from '../metadata.ts'
import type { IssuanceSession } from '../session.ts'
import { batchSizeOf, inTurn, mostProofs } from './batch.ts'
import {
  attestationRequirement,
  type KeyAttestation,
  type KeyAttestationPolicy,
  verifyKeyAttestation,
} from './key-attestation.ts'
import { verifyKeyProof } from './key-proof.ts'

type SentProofs = { readonly type: 'jwt' | 'attestation'; readonly jwts: readonly string[] }

/** What the proofs of a request have shown. */
export interface ProvedKeys {
  /** One for each credential, each another: no more than the configuration's `batch_size`. */
  readonly holderKeys: readonly PublicJwk[]
  /** Not yet looked at: whether it is ours, and not spent, is the caller's to decide. */
  readonly nonce: string
}

/**
 * The keys that the request proves, with one nonce for all. Refuses with `invalid_proof` when one of the proofs does not
 * hold, or with `invalid_credential_request` their form.
 */
export async function provedKeys(
  context: IssuerContext,
  request: CredentialRequest,
  asked: {
    readonly sessionId: string
    readonly session: IssuanceSession
    readonly configuration: JsonObject
    readonly now: Date
  },
): Promise<ProvedKeys> {
  const { clockSkewSeconds, keyAttestationTrustAnchors: anchors } = context.config
  const clock = { now: asked.now, clockSkewSeconds }
  const required = attestationRequirement(asked.configuration)
  const keyAttestations = { ...clock, anchors, required, verified: new Map<string, KeyAttestation>() }
  const { type, jwts } = proofsOf(request)
  const most = batchSizeOf(asked.configuration)
  if (type === 'attestation') {
    const attested = attestedKeys(jwts, keyAttestations)
    await refuseNoPoints(attested.holderKeys)
    return firstKeys(attested, most)
  }
  if (jwts.length > most) await refuseTooMany(context, asked.session, jwts.length)
  const identifiers = [undefined, asked.sessionId].map((id) => identifierOf(context, id))
  const audiences = identifiers.flatMap((id) => [id, `${id}/`])
  const proved = await inTurn(jwts, (jwt) => verifyKeyProof(jwt, { ...clock, audiences, keyAttestations }))
  const holderKeys = proved.map(({ holderKey }) => holderKey)
  const [nonce = '', ...others] = new Set(proved.map((each) => each.nonce))
  if (others.length > 0) refuse('invalid_proof', 'the key proofs of a request must have the same nonce')
  refuseRepeated(holderKeys)
  const attested = proved.flatMap((each) => each.attestedKeys)
  await refuseNoPoints(attested)
  return firstKeys({ holderKeys: [...holderKeys, ...attested], nonce }, most)
}

/** Refuses keys of Ed25519 that are no points; keys of other curves were looked at when they were read. */
async function refuseNoPoints(keys: readonly PublicJwk[]): Promise<void> {
  for (const key of keys) {
    if (key.kty === 'OKP' && !(await isEd25519Point(key.x))) {
      refuse('invalid_proof', 'the key attestation: the key is not a point on the curve Ed25519')
    }
  }
}

/** More than the metadata says. OpenID4VCI 1.0, Credential Issuer Metadata Parameters: `batch_size`. */
async function refuseTooMany(context: IssuerContext, session: IssuanceSession, sent: number): Promise<void> {
  const most = await mostProofs(context, session)
  if (sent <= most) return
  refuse('invalid_proof', `proofs.jwt has ${sent} key proofs; this issuer takes at most ${most} (batch_size)`)
}

/** Each key gets one credential at most: OpenID4VCI 1.0, Credential Response. */
function refuseRepeated(keys: readonly PublicJwk[]): void {
  if (keys.length === 1 || new Set(keys.map(thumbprint)).size === keys.length) return
  refuse('invalid_proof', 'two key proofs are by the same key; make a key for each credential')
}

/** What was attested beside the keys that were proved comes after them, as far as the batch goes. */
function firstKeys({ holderKeys, nonce }: ProvedKeys, most: number): ProvedKeys {
  if (holderKeys.length === 1) return { holderKeys, nonce }
  const different = new Map(holderKeys.map((key) => [thumbprint(key), key]))
  return { holderKeys: [...different.values()].slice(0, most), nonce }
}

/**
 * Nothing shows that the wallet holds the keys but the word of the attester, so that it has to be one whose word counts.
 * OpenID4VCI 1.0, attestation Proof Type.
 */
function attestedKeys([jwt = '', ...more]: readonly string[], policy: KeyAttestationPolicy): ProvedKeys {
  if (more.length > 0) refuse('invalid_proof', 'proofs.attestation must have one key attestation, for all keys')
  if (policy.required === undefined) {
    refuse('invalid_proof', 'this credential takes no proof of the type attestation; send proofs.jwt')
  }
  const { attestedKeys: holderKeys, nonce } = verifyKeyAttestation(jwt, 'attestation', policy)
  if (!nonce) return refuse('invalid_proof', 'the key attestation has no nonce; fetch one from the nonce endpoint')
  return { holderKeys, nonce }
}

/** The proofs of a request, in the form of the final specification, or the one in that of draft 15. */
function proofsOf({ proof, proofs }: CredentialRequest): SentProofs {
  if (proof !== undefined && proofs !== undefined) {
    return refuse('invalid_credential_request', 'send either proof or proofs, not both')
  }
  if (isObject(proof)) {
    if (own(proof, 'proof_type') !== 'jwt') refuse('invalid_proof', 'proof.proof_type must be jwt')
    const jwt = own(proof, 'jwt')
    if (typeof jwt !== 'string') return refuse('invalid_proof', 'proof.jwt must be the key proof')
    return { type: 'jwt', jwts: [jwt] }
  }
  if (!isObject(proofs)) return refuse('invalid_proof', 'the request has no key proof; send proofs or proof')
  const [type, ...others] = Object.keys(proofs)
  const sent = type === undefined ? undefined : own(proofs, type)
  if ((type !== 'jwt' && type !== 'attestation') || others.length > 0 || !Array.isArray(sent)) {
    return refuse('invalid_proof', 'proofs must have exactly one member, jwt or attestation, with an array of proofs')
  }
  if (sent.length === 0) refuse('invalid_proof', `proofs.${type}[0] must be a key proof`)
  const jwts = sent.map((jwt, index) =>
    typeof jwt === 'string' ? jwt : refuse('invalid_proof', `proofs.${type}[${index}] must be a key proof`),
  )
  return { type, jwts }
}
