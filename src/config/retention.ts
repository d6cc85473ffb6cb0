/** The setting `retention`: how long personal data and sessions are stored. Each service has its own defaults. */
import type { Static } from 'typebox'
import * as Type from 'typebox'

const TEN_YEARS_SECONDS = 315_360_000
/** The maximum duration of a session: the maxima of `expires_in` and `refresh_seconds`, and one day more. */
const MAX_LIFE_SECONDS = 604_800 + 31_536_000 + 86_400

export const RetentionSettings = Type.Object(
  {
    personalDataSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: TEN_YEARS_SECONDS,
        description:
          'How long a dataset is kept after the end of its session (0 when absent), or disclosed claims after the final state (86,400)',
      }),
    ),
    sessionSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: TEN_YEARS_SECONDS,
        description: 'How long a session is kept after its end; 2,592,000 (30 days) when absent',
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

/** The current step for a session, and when to look at it next. */
export interface RetentionPlan {
  readonly erases: boolean
  /** Whether to delete the session, whose personal data was erased before. */
  readonly purges: boolean
  /** When to look at the session next. */
  readonly next: Date
}

/**
 * Plans the retention of a session that ends at `end` and was erased at `erasedAt`, in milliseconds since the epoch.
 */
export function planRetention(
  { personalDataSeconds, sessionSeconds }: Retention,
  end: number,
  erasedAt: number | undefined,
  now: Date,
): RetentionPlan {
  const [eraseAt, purgeAt] = [end + personalDataSeconds * 1000, end + sessionSeconds * 1000]
  const at = now.getTime()
  return {
    erases: at >= eraseAt && erasedAt === undefined,
    purges: at >= purgeAt && erasedAt !== undefined,
    next: new Date(at < end ? end : at < eraseAt ? eraseAt : purgeAt),
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
  const place = `retention.sessionSeconds${sessionSeconds === undefined ? ` (${defaults.sessionSeconds} when absent)` : ''}`
  return [
    `retention.personalDataSeconds: must not be more than ${place}: both go with the session; set that to at least ${personalDataSeconds} too`,
  ]
}
