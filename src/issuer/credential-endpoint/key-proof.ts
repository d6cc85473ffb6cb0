/**
 * Key proofs: how a wallet shows that it holds the key its credential will be bound to.
 * OpenID4VCI 1.0, jwt Proof Type and Verifying Proof. Nonces are in nonce.ts; the key is bound in `credential/`.
 */
import { type JsonObject, own, ownString } from '../../codec/json.ts'
import { malformed } from '../../codec/malformed.ts'
import { certificateProblem } from '../../keys/certificate.ts'
import { didOf, readDid } from '../../keys/did.ts'
import { importPublicKey, type PublicJwk, publicJwkOf, readSigningJwk, thumbprint } from '../../keys/jwk.ts'
import { signedBy } from '../../keys/signature.ts'
import { readX5c } from '../../keys/x5c.ts'
import { refuse } from '../../protocol/error.ts'
import { type KeyAttestationPolicy, verifyKeyAttestation } from './key-attestation.ts'
import { orInvalidProof, type ProofClock, readProofJwt, refuseUnlessFresh } from './proof-jwt.ts'

export interface ProofPolicy extends ProofClock {
  /** The credential issuer identifiers that `aud` may name. */
  readonly audiences: readonly string[]
  readonly keyAttestations: KeyAttestationPolicy
}

/** What a proof has shown. */
export interface ProvedKey {
  readonly holderKey: PublicJwk
  /** The DID that the proof named its key by, without the fragment. */
  readonly holderDid: string | undefined
  /** Keys of the same wallet, by the word of an attester whose word counts; none where no attestation is required. */
  readonly attestedKeys: readonly PublicJwk[]
  /** Not yet looked at: whether it is ours, and not spent, is the caller's to decide. */
  readonly nonce: string
}

/** The key that the proof names in its header. */
type NamedKey = Pick<ProvedKey, 'holderKey' | 'holderDid'>

const NO_NONCE =
  'the key proof has no nonce; fetch one from the nonce endpoint (a wallet of draft 13 does not, and is served when ' +
  "compatibility of this issuer has 'draft13')"

/** The public key the wallet proved and the nonce it proved it with. Refuses with `invalid_proof`. */
export function verifyKeyProof(proof: string, policy: ProofPolicy): ProvedKey {
  const jws = readProofJwt(proof, 'key proof')
  const { header, payload } = jws
  const named = orInvalidProof('key proof', () => headerKey(header, policy))
  const publicKey = orInvalidProof('key proof', () => importPublicKey(named.holderKey))
  if (!signedBy(jws, publicKey)) refuse('invalid_proof', 'the signature of the key proof is not by the key it names')
  const audiences = [own(payload, 'aud')].flat()
  if (!audiences.some((audience) => typeof audience === 'string' && policy.audiences.includes(audience))) {
    refuse('invalid_proof', 'aud of the key proof must be the credential issuer identifier of the offer')
  }
  refuseUnlessFresh(payload, 'key proof', policy)
  const nonce = ownString(payload, 'nonce')
  if (!nonce) return refuse('invalid_proof', NO_NONCE)
  const attestedKeys = keysAttested(header, { ...named, nonce }, policy.keyAttestations)
  return { ...named, attestedKeys, nonce }
}

/** Exactly one of `kid`, `jwk` and `x5c` names the key; none of them says that anybody is trusted. */
function headerKey(header: JsonObject, clock: ProofClock): NamedKey {
  const [kid, jwk, x5c] = [own(header, 'kid'), own(header, 'jwk'), own(header, 'x5c')]
  if ([kid, jwk, x5c].filter((name) => name !== undefined).length !== 1) {
    const names = 'kid (a did:jwk or did:key), jwk or x5c'
    return refuse('invalid_proof', `the header of the key proof must name its key by exactly one of ${names}`)
  }
  if (jwk !== undefined) return { holderKey: readSigningJwk(jwk), holderDid: undefined }
  if (x5c !== undefined) return { holderKey: certifiedKey(x5c, clock), holderDid: undefined }
  if (typeof kid !== 'string') return refuse('invalid_proof', 'kid of the key proof must be a did:jwk or did:key')
  return { holderKey: readDid(kid), holderDid: didOf(kid) }
}

/** A certificate here names a key and no more: who made it is nobody's business. */
function certifiedKey(x5c: unknown, { now, clockSkewSeconds }: ProofClock): PublicJwk {
  const [leaf] = readX5c(x5c)
  const problem = certificateProblem(leaf, now, clockSkewSeconds)
  return problem === undefined ? publicJwkOf(leaf.publicKey) : malformed(problem)
}

/** OpenID4VCI 1.0, jwt Proof Type: `key_attestation`. One that is sent holds, wanted or not; only one that is wanted tells of keys. */
function keysAttested(
  header: JsonObject,
  proved: Omit<ProvedKey, 'attestedKeys'>,
  policy: KeyAttestationPolicy,
): readonly PublicJwk[] {
  const sent = own(header, 'key_attestation')
  if (sent === undefined) {
    if (policy.required === undefined) return []
    refuse('invalid_proof', 'this credential needs a key attestation: key_attestation in the header of the key proof')
  }
  if (typeof sent !== 'string') refuse('invalid_proof', 'key_attestation of the key proof must be a JWT')
  const { attestedKeys, nonce } = verifyKeyAttestation(sent, 'jwt', policy)
  const wanted = thumbprint(proved.holderKey)
  if (!attestedKeys.some((key) => thumbprint(key) === wanted)) {
    refuse('invalid_proof', 'the key of the key proof is not among the attested_keys of its key attestation')
  }
  if (nonce !== undefined && nonce !== proved.nonce) {
    refuse('invalid_proof', 'nonce of the key attestation is not that of the key proof')
  }
  return policy.required === undefined ? [] : attestedKeys
}
