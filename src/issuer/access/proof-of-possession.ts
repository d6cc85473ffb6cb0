/**
 * The common part of the proofs that a wallet has a key, which it makes for one request: DPoP proofs, and those beside
 * wallet attestations. A proof is taken for some minutes, and once.
 */
import { digestOf } from '../../codec/digest.ts'
import { type JsonObject, own } from '../../codec/json.ts'
import type { SingleUse } from './single-use.ts'

/** The lifetime of a proof from when it was made. */
const MAX_AGE_SECONDS = 300

/** Returns why a proof is not of this moment by its `iat`, and what to do; undefined when it is. */
export function issuedAtProblem(
  payload: JsonObject,
  { now, clockSkewSeconds }: { readonly now: Date; readonly clockSkewSeconds: number },
): string | undefined {
  const seconds = now.getTime() / 1000
  const issuedAt = own(payload, 'iat')
  if (typeof issuedAt !== 'number') return 'iat must be a number of seconds'
  if (issuedAt < seconds - MAX_AGE_SECONDS) return 'it is too old; make a new one'
  return issuedAt > seconds + clockSkewSeconds ? 'it is from the future; check the clock that made it' : undefined
}

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
  const dueAt = new Date(Math.ceil((Number(own(payload, 'iat')) + MAX_AGE_SECONDS) * 1000) + 1)
  const rowId = `${kind}.${digestOf(`${thumbprint}.${id}`)}`
  return { change: { insert: 'spent_nonce', id: rowId, value: {}, dueAt }, refuseReuse }
}
