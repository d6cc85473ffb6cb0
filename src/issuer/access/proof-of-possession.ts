/**
 * The common part of the proofs that a wallet has a key, which it makes for one request: DPoP proofs, and those beside
 * wallet attestations. A proof is taken for some minutes, and once.
 */
import { digestOf } from '../../codec/digest.ts'
import { type JsonObject, own } from '../../codec/json.ts'
import { MAX_PROOF_AGE_SECONDS, type TimeRule } from './jwt-times.ts'
import type { SingleUse } from './single-use.ts'

/** The rule for the times of a proof: `iat` alone counts. */
export const PROOF_TIMES: TimeRule = { times: ['iat'], requires: ['iat'], maxAgeSeconds: MAX_PROOF_AGE_SECONDS }

/** A proof whose `iat` was checked. */
export interface UsableProof {
  /** The kind of the proof. No id of another nonce begins with it. */
  readonly kind: 'dpop' | 'attestation'
  /** The thumbprint of the key that the proof shows. */
  readonly thumbprint: string
  /** The `jti` of the proof. */
  readonly id: string
  readonly payload: JsonObject
}

/** Makes the single use of a proof, whose row stays for as long as the proof is taken. */
export function singleUseOf(
  { kind, thumbprint, id, payload }: UsableProof,
  refuseReuse: SingleUse['refuseReuse'],
): SingleUse {
  const dueAt = new Date(Math.ceil((Number(own(payload, 'iat')) + MAX_PROOF_AGE_SECONDS) * 1000) + 1)
  const rowId = `${kind}.${digestOf(`${thumbprint}.${id}`)}`
  return { change: { insert: 'spent_nonce', id: rowId, value: {}, dueAt }, refuseReuse }
}
