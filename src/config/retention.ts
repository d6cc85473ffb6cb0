/**
 * The setting `retention`: how long personal data and sessions are stored, and what follows for a session that is due.
 * Each service has its own defaults.
 */
import type { Static } from 'typebox'
import * as Type from 'typebox'

const DAY_SECONDS = 86_400
const TEN_YEARS_SECONDS = 315_360_000
const SESSION_DAYS = 30
const SESSION_SECONDS = SESSION_DAYS * DAY_SECONDS
/** The maximum of `expires_in` of a session: seven days. */
export const MAX_SESSION_SECONDS = 604_800
/** The maximum of `refresh_seconds`: a year. */
export const MAX_REFRESH_SECONDS = 31_536_000
/** The maximum duration of a session, and one day more. */
const MAX_LIFE_SECONDS = MAX_SESSION_SECONDS + MAX_REFRESH_SECONDS + DAY_SECONDS

/** The defaults of each service. */
export const DEFAULT_RETENTION = {
  issuer: { personalDataSeconds: 0, sessionSeconds: SESSION_SECONDS },
  verifier: { personalDataSeconds: DAY_SECONDS, sessionSeconds: SESSION_SECONDS },
} as const

export const RetentionSettings = Type.Object(
  {
    personalDataSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: TEN_YEARS_SECONDS,
        description: `How long a dataset is kept after the end of its session (${DEFAULT_RETENTION.issuer.personalDataSeconds} when absent), or disclosed claims after the final state (${DEFAULT_RETENTION.verifier.personalDataSeconds})`,
      }),
    ),
    sessionSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: TEN_YEARS_SECONDS,
        description: `How long a session is kept after its end; ${SESSION_SECONDS} (${SESSION_DAYS} days) when absent`,
      }),
    ),
  },
  { additionalProperties: false },
)
type RetentionSettings = Static<typeof RetentionSettings>

export type Retention = Required<RetentionSettings>

/** Adds the defaults. Personal data is erased no later than its session is deleted. */
export function resolveRetention(settings: RetentionSettings | undefined, defaults: Retention): Retention {
  const { personalDataSeconds = defaults.personalDataSeconds, sessionSeconds = defaults.sessionSeconds } =
    settings ?? {}
  return { personalDataSeconds: Math.min(personalDataSeconds, sessionSeconds), sessionSeconds }
}

/** How the sessions of a service end. Times are in milliseconds since the epoch. */
export interface SessionEnding<S> {
  readonly endOf: (session: S) => number
  readonly isExpired: (session: S, now: Date) => boolean
  /** Removes from a session that expires what only an open one needs. */
  readonly expire: (session: S) => S
  /** Removes the personal data. */
  readonly erase: (session: S) => S
}

/** The next state of a session that is due. */
export interface RetentionStep<S> {
  readonly session: S
  /** The time of the step after this one. */
  readonly dueAt: Date
  readonly expires: boolean
  readonly erases: boolean
}

/** Plans the next step of a session that is due; undefined if the session, erased before, is to be deleted. */
export function planRetention<S extends { readonly expiredAt?: number; readonly erasedAt?: number }>(
  session: S,
  { endOf, isExpired, expire, erase }: SessionEnding<S>,
  { personalDataSeconds, sessionSeconds }: Retention,
  now: Date,
): RetentionStep<S> | undefined {
  const end = endOf(session)
  const [eraseAt, deleteAt] = [end + personalDataSeconds * 1000, end + sessionSeconds * 1000]
  const at = now.getTime()
  if (at >= deleteAt && session.erasedAt !== undefined) return undefined
  const expires = session.expiredAt === undefined && isExpired(session, now)
  const erases = session.erasedAt === undefined && at >= eraseAt
  const sessionAfterExpiry = expires ? { ...expire(session), expiredAt: at } : session
  return {
    session: erases ? { ...erase(sessionAfterExpiry), erasedAt: at } : sessionAfterExpiry,
    dueAt: new Date(at < end ? end : at < eraseAt ? eraseAt : deleteAt),
    expires,
    erases,
  }
}

/** Returns how long a session may be stored at most, in milliseconds. */
export function longestRetentionMs({ sessionSeconds }: Retention): number {
  return (sessionSeconds + MAX_LIFE_SECONDS) * 1000
}

/**
 * Returns a mistake if personal data would be stored longer than its session. An absent `personalDataSeconds` is valid,
 * since its default is reduced.
 */
export function findRetentionMistakes(
  { personalDataSeconds = 0, sessionSeconds }: RetentionSettings,
  defaults: Retention,
): string[] {
  if (personalDataSeconds <= (sessionSeconds ?? defaults.sessionSeconds)) return []
  const limit = sessionSeconds ?? `${defaults.sessionSeconds} when absent`
  return [
    `retention.personalDataSeconds: is more than retention.sessionSeconds (${limit}), with which the data is deleted; raise sessionSeconds to ${personalDataSeconds}, or lower this`,
  ]
}
