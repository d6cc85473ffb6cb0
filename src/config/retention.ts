/** The setting `retention`: how long personal data and sessions are kept. Each service has its own defaults. */
import type { Static } from 'typebox'
import * as Type from 'typebox'

const TEN_YEARS_SECONDS = 315_360_000
/**
 * The longest life of a session before its end: the maxima of `expires_in` and `refresh_seconds`, and a day of reserve.
 */
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

/** Adds the defaults. Personal data is erased at the latest with its session. */
export function resolveRetention(settings: RetentionSettings | undefined, defaults: Retention): Retention {
  const { personalDataSeconds = defaults.personalDataSeconds, sessionSeconds = defaults.sessionSeconds } =
    settings ?? {}
  return { personalDataSeconds: Math.min(personalDataSeconds, sessionSeconds), sessionSeconds }
}

/** The next step for a session: to erase its personal data, or to delete it. */
export interface RetentionPlan {
  readonly erases: boolean
  /** True when the session is to be deleted; its personal data was erased before. */
  readonly purges: boolean
  /** The time of the next step. */
  readonly next: Date
}

/**
 * Plans the retention of a session that ends or ended at `end` and was erased at `erasedAt`, in milliseconds since the
 * epoch.
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

/** Returns the longest time in milliseconds for which a session may be stored. */
export function longestRetentionMs({ sessionSeconds }: Retention): number {
  return (sessionSeconds + MAX_LIFE_SECONDS) * 1000
}

/**
 * Finds the contradiction between the two settings, of which `sessionSeconds` has its default where it is absent. The
 * default of `personalDataSeconds` is none: it is shortened to the life of the session.
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
