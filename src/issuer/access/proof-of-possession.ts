/**
 * The common part of DPoP proofs and the proofs of wallet attestations: JWTs for one request, signed with a key of the
 * wallet. A proof is accepted for some minutes, and once.
 */
import type { JsonObject } from '../../codec/json.ts'
import { MAX_PROOF_AGE_SECONDS, type TimeRule } from './jwt-times.ts'

/** How the times of a proof are checked: it lasts some minutes from its `iat`, or less by its `exp`. */
export const PROOF_TIMES: TimeRule = { requires: ['iat'], maxAgeSeconds: MAX_PROOF_AGE_SECONDS }

/** A proof whose `iat` has been checked. */
export interface UsableProof {
  /** The kind of the proof. The ids of other single-use values do not begin with this word. */
  readonly kind: 'dpop' | 'attestation'
  /** The JWK thumbprint of the proof's key. */
  readonly thumbprint: string
  /** The `jti` of the proof. */
  readonly id: string
  readonly payload: JsonObject
}
