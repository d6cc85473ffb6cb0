/** The proof of a credential request: picked out of it, and verified by its type. OpenID4VCI 1.0, Credential Request. */
import { isObject, type JsonObject, own } from '../codec/json.ts'
import { refuse } from '../protocol/error.ts'
import type { CredentialRequest } from '../protocol/oid4vci.ts'
import type { IssuerContext } from './context.ts'
import { attestationRequirement, type KeyAttestationPolicy, verifyKeyAttestation } from './key-attestation.ts'
import { type ProvedKey, verifyKeyProof } from './key-proof.ts'
import { identifierOf } from './metadata.ts'

type SentProof = { readonly type: 'jwt' | 'attestation'; readonly jwt: string }

/** The key that the request proves. Refuses with `invalid_proof`, or with `invalid_credential_request` its form. */
export function provedKey(
  context: IssuerContext,
  request: CredentialRequest,
  asked: { readonly sessionId: string; readonly configuration: JsonObject; readonly now: Date },
): ProvedKey {
  const { clockSkewSeconds, keyAttestationTrustAnchors: anchors } = context.config
  const clock = { now: asked.now, clockSkewSeconds }
  const keyAttestations = { ...clock, anchors, required: attestationRequirement(asked.configuration) }
  const { type, jwt } = proofOf(request)
  if (type === 'attestation') return attestedKey(jwt, keyAttestations)
  const identifiers = [undefined, asked.sessionId].map((id) => identifierOf(context, id))
  const audiences = identifiers.flatMap((id) => [id, `${id}/`])
  return verifyKeyProof(jwt, { ...clock, audiences, keyAttestations })
}

/**
 * Nothing shows that the wallet holds the key but the word of the attester, so that it has to be one whose word counts.
 * OpenID4VCI 1.0, attestation Proof Type. Of several attested keys the credential is bound to the first.
 */
function attestedKey(jwt: string, policy: KeyAttestationPolicy): ProvedKey {
  if (policy.required === undefined) {
    refuse('invalid_proof', 'this credential takes no proof of the type attestation; send proofs.jwt')
  }
  const { attestedKeys, nonce } = verifyKeyAttestation(jwt, 'attestation', policy)
  if (!nonce) return refuse('invalid_proof', 'the key attestation has no nonce; fetch one from the nonce endpoint')
  return { holderKey: attestedKeys[0], holderDid: undefined, nonce }
}

/** The one proof of a request, in the form of the final specification or in that of draft 15. */
function proofOf({ proof, proofs }: CredentialRequest): SentProof {
  if (proof !== undefined && proofs !== undefined) {
    return refuse('invalid_credential_request', 'send either proof or proofs, not both')
  }
  if (isObject(proof)) {
    if (own(proof, 'proof_type') !== 'jwt') refuse('invalid_proof', 'proof.proof_type must be jwt')
    const jwt = own(proof, 'jwt')
    return typeof jwt === 'string' ? { type: 'jwt', jwt } : refuse('invalid_proof', 'proof.jwt must be the key proof')
  }
  if (!isObject(proofs)) return refuse('invalid_proof', 'the request has no key proof; send proofs or proof')
  const [type, ...others] = Object.keys(proofs)
  const sent = type === undefined ? undefined : own(proofs, type)
  if ((type !== 'jwt' && type !== 'attestation') || others.length > 0 || !Array.isArray(sent)) {
    return refuse('invalid_proof', 'proofs must have exactly one member, jwt or attestation, with an array of proofs')
  }
  const [jwt, ...more] = sent
  if (more.length > 0) refuse('invalid_proof', 'more than one key proof is not yet supported')
  return typeof jwt === 'string' ? { type, jwt } : refuse('invalid_proof', `proofs.${type}[0] must be a key proof`)
}
