/**
 * Checks JWTs from wallets, wallet providers and authorization servers: the value of an HTTP header, `typ` and `alg`,
 * and the time claims (`exp`, `nbf`, `iat`). Each time claim that a JWT has is checked, whatever kind of JWT it is. RFC
 * 7519 section 4.1. Reads the JWTs of key proofs and key attestations.
 */
import { type Json, type JsonObject, memberOf, stringMemberOf } from '../../codec/json.ts'
import { type Jws, readJws } from '../../codec/jws.ts'
import { readOrRefuse, refuse } from '../../protocol/error.ts'

/** The maximum length of an HTTP header with a JWT. Node limits all headers of a request to 16 KiB together. */
const MAX_LENGTH = 8192

/** The current time, and the allowed clock skew. */
export interface JwtClock {
  readonly now: Date
  readonly clockSkewSeconds: number
}

const TIMES = ['iat', 'exp', 'nbf'] as const
type TimeName = (typeof TIMES)[number]

/** How the time claims of one kind of JWT are checked. */
export interface TimeRule {
  /** The claims that must be present. */
  readonly requires: readonly TimeName[]
  /** The maximum age in seconds since `iat`; absent when the age is not limited. */
  readonly maxAgeSeconds?: number
}

/** The maximum age of a proof, in seconds since its `iat`. */
export const MAX_PROOF_AGE_SECONDS = 300

/** How the times of a proof are checked: it lasts some minutes from its `iat`, or less by its `exp`. */
export const PROOF_TIMES: TimeRule = { requires: ['iat'], maxAgeSeconds: MAX_PROOF_AGE_SECONDS }

/** Returns why the value of an HTTP header cannot be one JWT; undefined if it can. */
export function headerValueProblem(value: string): string | undefined {
  // Node joins repeated headers with commas.
  if (value.includes(',')) return 'send exactly one'
  return value.length > MAX_LENGTH ? `it is longer than ${MAX_LENGTH} characters` : undefined
}

/** Returns why the `typ` of a JWT's header is neither `type` nor one of `olderNames` for it; undefined if it is. */
export function typeProblem(header: JsonObject, type: string, ...olderNames: readonly string[]): string | undefined {
  return [type, ...olderNames].some((name) => name === memberOf(header, 'typ')) ? undefined : `typ must be ${type}`
}

/** Returns why the `alg` of a JWT's header is not accepted; undefined if it is. */
export function algorithmProblem(header: JsonObject, algorithms: readonly string[]): string | undefined {
  const isAccepted = algorithms.includes(stringMemberOf(header, 'alg') ?? '')
  return isAccepted ? undefined : `alg must be one of ${algorithms.join(', ')}`
}

/** Returns why a JWT is not valid at the current time, and what to do about it; undefined if it is valid. */
export function jwtTimeProblem(payload: JsonObject, rule: TimeRule, clock: JwtClock): string | undefined {
  for (const name of TIMES) {
    const time = memberOf(payload, name)
    if (time === undefined && !rule.requires.includes(name)) continue
    const problem = timeProblem(name, time, rule, clock)
    if (problem !== undefined) return problem
  }
  return undefined
}

function timeProblem(
  name: TimeName,
  time: Json | undefined,
  { maxAgeSeconds = Number.POSITIVE_INFINITY }: TimeRule,
  { now, clockSkewSeconds }: JwtClock,
): string | undefined {
  if (typeof time !== 'number') return `${name} must be a number of seconds since 1970`
  const seconds = now.getTime() / 1000
  if (name === 'exp')
    return seconds < time + clockSkewSeconds ? undefined : 'it has expired (exp); get a new one, or check the clocks'
  if (name === 'iat' && time < seconds - maxAgeSeconds)
    return 'it is too old; make a new one, or check the clock that made it'
  if (time <= seconds + clockSkewSeconds) return undefined
  return name === 'iat'
    ? 'it is from the future; check the clock that made it'
    : 'it is not valid yet (nbf); wait, or check the clocks'
}

/** How key proofs and key attestations are judged: the clock, and the accepted algorithms. */
export interface ProofJwtPolicy extends JwtClock {
  readonly algorithms: readonly string[]
}

export type ProofKind = 'key proof' | 'key attestation'

/** The `typ` of each kind, followed by its name in older drafts, which libraries wrote until July 2026. */
const PROOF_TYPES: Readonly<Record<ProofKind, readonly [string, ...string[]]>> = {
  'key proof': ['openid4vci-proof+jwt'],
  'key attestation': ['key-attestation+jwt', 'keyattestation+jwt'],
}
/** Headers that refer to keys or trust outside of the proof. */
const UNSUPPORTED_HEADERS = ['trust_chain', 'jku', 'x5u']

/** Parses a JWT, and checks its `typ` and `alg`, but not its signature. Refuses with `invalid_proof`. */
export function readProofJwt(text: string, kind: ProofKind, { algorithms }: ProofJwtPolicy): Jws {
  const jws = readOrRefuseProof(kind, () => readJws(text))
  refuseProofProblem(kind, typeProblem(jws.header, ...PROOF_TYPES[kind]) ?? algorithmProblem(jws.header, algorithms))
  const unsupportedHeader = UNSUPPORTED_HEADERS.find((name) => Object.hasOwn(jws.header, name))
  if (unsupportedHeader !== undefined)
    refuse('invalid_proof', `${unsupportedHeader} in the header of a ${kind} is not supported`)
  return jws
}

/** Refuses a JWT with `invalid_proof` if there is a problem. */
export function refuseProofProblem(kind: ProofKind, problem: string | undefined): void {
  if (problem !== undefined) refuse('invalid_proof', `the ${kind}: ${problem}`)
}

/** Returns the result of `read`. Refuses malformed input with `invalid_proof`. */
export function readOrRefuseProof<T>(kind: ProofKind, read: () => T): T {
  return readOrRefuse('invalid_proof', `the ${kind} cannot be read`, read)
}
