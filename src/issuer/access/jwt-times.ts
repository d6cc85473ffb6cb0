/**
 * The times of the JWTs that wallets, their providers and authorization servers make: whether one is good at this
 * moment. RFC 7519 section 4.1.
 */
import { type Json, type JsonObject, own } from '../../codec/json.ts'

/** The present time, and how far apart clocks may be. */
export interface JwtClock {
  readonly now: Date
  readonly clockSkewSeconds: number
}

type TimeName = 'iat' | 'exp' | 'nbf'

/** The rule that a kind of JWT is judged by. */
export interface TimeRule {
  /** The times that count, in the order in which they are looked at. */
  readonly times: readonly TimeName[]
  /** The times that must be there. */
  readonly requires: readonly TimeName[]
  /** The most seconds since `iat`; without it, the age does not matter. */
  readonly maxAgeSeconds?: number
}

/** The lifetime of a proof from when it was made. */
export const MAX_PROOF_AGE_SECONDS = 300

/** Returns why a JWT is not good at this moment, and what to do; undefined when it is. */
export function jwtTimeProblem(payload: JsonObject, rule: TimeRule, clock: JwtClock): string | undefined {
  for (const name of rule.times) {
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
  if (typeof time !== 'number') return `${name} must be a number of seconds`
  const seconds = now.getTime() / 1000
  if (name === 'exp') return seconds < time + clockSkewSeconds ? undefined : 'it has expired (exp); get a new one'
  if (name === 'iat' && time < seconds - maxAgeSeconds) return 'it is too old; make a new one'
  if (time <= seconds + clockSkewSeconds) return undefined
  return name === 'iat' ? 'it is from the future; check the clock that made it' : 'it is not valid yet (nbf)'
}
