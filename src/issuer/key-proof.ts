/**
 * Key proofs: how a wallet shows that it holds the key its credential will be bound to.
 * OpenID4VCI 1.0, jwt Proof Type and Verifying Proof. Nonces are in nonce.ts; the key is bound in `credential/`.
 */
import { type JsonObject, own, ownString } from '../codec/json.ts'
import { type Jws, readJws } from '../codec/jws.ts'
import { MalformedError } from '../codec/malformed.ts'
import { joseAlgorithms } from '../keys/algorithm.ts'
import { readDid } from '../keys/did.ts'
import { importPublicKey, type PublicJwk, readPublicJwk } from '../keys/jwk.ts'
import { signedBy } from '../keys/signature.ts'
import { refuse } from '../protocol/error.ts'

export interface ProofPolicy {
  /** The credential issuer identifiers that `aud` may name. */
  readonly audiences: readonly string[]
  /** How far ahead of ours the wallet's clock may be. */
  readonly clockSkewSeconds: number
  readonly now: Date
}

const MAX_AGE_SECONDS = 300
/** Headers of proofs that later releases understand, and the one that names the key from afar. */
const UNSUPPORTED_HEADERS = ['x5c', 'key_attestation', 'trust_chain', 'jku', 'x5u']

/** The public key the wallet proved and the nonce it proved it with. Refuses with `invalid_proof`. */
export function verifyKeyProof(
  proof: string,
  policy: ProofPolicy,
): { readonly holderKey: PublicJwk; readonly nonce: string } {
  const jws = orRefuse(() => readJws(proof))
  const { header, payload } = jws
  if (own(header, 'typ') !== 'openid4vci-proof+jwt')
    refuse('invalid_proof', 'typ of the key proof must be openid4vci-proof+jwt')
  if (!joseAlgorithms.includes(ownString(header, 'alg') ?? ''))
    refuse('invalid_proof', `alg of the key proof must be one of ${joseAlgorithms.join(', ')}`)
  const holderKey = orRefuse(() => headerKey(header))
  refuseUnlessSigned(jws, holderKey)
  const audiences = [own(payload, 'aud')].flat()
  if (!audiences.some((audience) => typeof audience === 'string' && policy.audiences.includes(audience))) {
    refuse('invalid_proof', 'aud of the key proof must be the credential issuer identifier of the offer')
  }
  refuseUnlessFresh(payload, policy)
  const nonce = ownString(payload, 'nonce')
  return nonce
    ? { holderKey, nonce }
    : refuse('invalid_proof', 'the key proof has no nonce; fetch one from the nonce endpoint')
}

function headerKey(header: JsonObject): PublicJwk {
  const unsupported = UNSUPPORTED_HEADERS.find((name) => Object.hasOwn(header, name))
  if (unsupported !== undefined)
    refuse('invalid_proof', `${unsupported} in the header of a key proof is not yet supported`)
  const [kid, jwk] = [own(header, 'kid'), own(header, 'jwk')]
  if ((kid === undefined) === (jwk === undefined)) {
    refuse(
      'invalid_proof',
      'the header of the key proof must name its key by exactly one of kid (a did:jwk or did:key) or jwk',
    )
  }
  if (jwk !== undefined) return readPublicJwk(jwk)
  return typeof kid === 'string'
    ? readDid(kid)
    : refuse('invalid_proof', 'kid of the key proof must be a did:jwk or did:key')
}

function refuseUnlessSigned(jws: Jws, holderKey: PublicJwk): void {
  if (
    !signedBy(
      jws,
      orRefuse(() => importPublicKey(holderKey)),
    )
  ) {
    refuse('invalid_proof', 'the signature of the key proof is not by the key it names')
  }
}

function refuseUnlessFresh(payload: JsonObject, { now, clockSkewSeconds }: ProofPolicy): void {
  const seconds = now.getTime() / 1000
  const [issuedAt, expiresAt, notBefore] = [own(payload, 'iat'), own(payload, 'exp'), own(payload, 'nbf')]
  if (typeof issuedAt !== 'number') refuse('invalid_proof', 'iat of the key proof must be a number of seconds')
  if (issuedAt < seconds - MAX_AGE_SECONDS) refuse('invalid_proof', 'the key proof is too old; make a new one')
  if (issuedAt > seconds + clockSkewSeconds) {
    refuse('invalid_proof', 'the key proof is from the future; check the clock of the wallet')
  }
  if (expiresAt !== undefined && !(typeof expiresAt === 'number' && expiresAt > seconds - clockSkewSeconds)) {
    refuse('invalid_proof', 'the key proof has expired (exp)')
  }
  if (notBefore !== undefined && !(typeof notBefore === 'number' && notBefore <= seconds + clockSkewSeconds)) {
    refuse('invalid_proof', 'the key proof is not valid yet (nbf)')
  }
}

function orRefuse<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof MalformedError)
      return refuse('invalid_proof', `the key proof cannot be read: ${error.message}`)
    throw error
  }
}
