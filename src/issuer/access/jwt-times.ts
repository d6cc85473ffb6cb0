/**
 * Checks the time claims (`exp`, `nbf`, `iat`) of JWTs from wallets, wallet providers and authorization servers. Each
 * claim that a JWT has is checked, whatever kind of JWT it is. RFC 7519 section 4.1.
 */
import { type Json, type JsonObject, own } from '../../codec/json.ts'

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

/** Returns why a JWT is not valid at the current time, and what to do about it; undefined if it is valid. */
export function jwtTimeProblem(payload: JsonObject, rule: TimeRule, clock: JwtClock): string | undefined {
  for (const name of TIMES) {
    const time = own(payload, name)
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
