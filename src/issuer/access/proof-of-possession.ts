/**
 * The common part of DPoP proofs and the proofs of wallet attestations: JWTs for one request, signed with a key of the
 * wallet. A proof is accepted for some minutes, and once.
 */
import { digestOf } from '../../codec/digest.ts'
import { type JsonObject, own } from '../../codec/json.ts'
import { MAX_PROOF_AGE_SECONDS, type TimeRule } from './jwt-times.ts'
import type { SingleUse } from './single-use.ts'

/** How the times of a proof are checked: only `iat` counts. */
export const PROOF_TIMES: TimeRule = { times: ['iat'], requires: ['iat'], maxAgeSeconds: MAX_PROOF_AGE_SECONDS }

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

/** Makes the single use of a proof. Its row is stored until the proof expires. */
export function singleUseOf(
  { kind, thumbprint, id, payload }: UsableProof,
  refuseReuse: SingleUse['refuseReuse'],
): SingleUse {
  const dueAt = new Date(Math.ceil((Number(own(payload, 'iat')) + MAX_PROOF_AGE_SECONDS) * 1000) + 1)
  const rowId = `${kind}.${digestOf(`${thumbprint}.${id}`)}`
  return { change: { insert: 'spent_nonce', id: rowId, value: {}, dueAt }, refuseReuse }
}
