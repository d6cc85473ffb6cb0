/** What key proofs and key attestations have in common as JWTs: how they are read, and when they are good. */
import { type JsonObject, own, ownString } from '../../codec/json.ts'
import { type Jws, readJws } from '../../codec/jws.ts'
import { joseAlgorithms } from '../../keys/algorithm.ts'
import { orRefuse, refuse } from '../../protocol/error.ts'

/** Where we are in time, and how far apart clocks may be. */
export interface ProofClock {
  readonly now: Date
  readonly clockSkewSeconds: number
}

export type ProofKind = 'key proof' | 'key attestation'

const TYPES: Readonly<Record<ProofKind, string>> = {
  'key proof': 'openid4vci-proof+jwt',
  'key attestation': 'key-attestation+jwt',
}
const MAX_AGE_SECONDS = 300
/** Headers that would have us fetch a key, or follow somebody's word about it. */
const UNSUPPORTED_HEADERS = ['trust_chain', 'jku', 'x5u']

/** The JWT, of its type and with an algorithm that we take; its signature is not looked at. Refuses with `invalid_proof`. */
export function readProofJwt(text: string, kind: ProofKind): Jws {
  const jws = orInvalidProof(kind, () => readJws(text))
  if (own(jws.header, 'typ') !== TYPES[kind]) refuse('invalid_proof', `typ of the ${kind} must be ${TYPES[kind]}`)
  if (!joseAlgorithms.includes(ownString(jws.header, 'alg') ?? '')) {
    refuse('invalid_proof', `alg of the ${kind} must be one of ${joseAlgorithms.join(', ')}`)
  }
  const unsupported = UNSUPPORTED_HEADERS.find((name) => Object.hasOwn(jws.header, name))
  if (unsupported !== undefined) refuse('invalid_proof', `${unsupported} in the header of a ${kind} is not supported`)
  return jws
}

/**
 * Refuses with `invalid_proof` what was made too long ago, is from the future, is over or not valid yet. With `lasting`,
 * how long ago does not matter where `exp` says how long it is good.
 */
export function refuseUnlessFresh(payload: JsonObject, kind: ProofKind, clock: ProofClock, lasting = false): void {
  const { now, clockSkewSeconds } = clock
  const seconds = now.getTime() / 1000
  const [issuedAt, expiresAt, notBefore] = [own(payload, 'iat'), own(payload, 'exp'), own(payload, 'nbf')]
  if (typeof issuedAt !== 'number') refuse('invalid_proof', `iat of the ${kind} must be a number of seconds`)
  if (issuedAt < seconds - MAX_AGE_SECONDS && !(lasting && expiresAt !== undefined)) {
    refuse('invalid_proof', `the ${kind} is too old; make a new one`)
  }
  if (issuedAt > seconds + clockSkewSeconds) {
    refuse('invalid_proof', `the ${kind} is from the future; check the clock that made it`)
  }
  if (expiresAt !== undefined && !(typeof expiresAt === 'number' && expiresAt > seconds - clockSkewSeconds)) {
    refuse('invalid_proof', `the ${kind} has expired (exp)`)
  }
  if (notBefore !== undefined && !(typeof notBefore === 'number' && notBefore <= seconds + clockSkewSeconds)) {
    refuse('invalid_proof', `the ${kind} is not valid yet (nbf)`)
  }
}

/** What `read` gives; what it finds malformed is refused with `invalid_proof`. */
export function orInvalidProof<T>(kind: ProofKind, read: () => T): T {
  return orRefuse('invalid_proof', `the ${kind} cannot be read`, read)
}
