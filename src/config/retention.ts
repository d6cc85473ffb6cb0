/** `retention`: how long personal data and sessions are kept. Each service has its own defaults. */
import type { Static } from 'typebox'
import * as Type from 'typebox'

const TEN_YEARS_SECONDS = 315_360_000
/** The longest that `expires_in` and `refresh_seconds` take, with a day for what may keep a session alive after them. */
const LONGEST_LIFE_SECONDS = 604_800 + 31_536_000 + 86_400

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

/** What is not said is as in `defaults`; personal data that would outlive its session goes with it. */
export function retentionOf(settings: RetentionSettings | undefined, defaults: Retention): Retention {
  const { personalDataSeconds = defaults.personalDataSeconds, sessionSeconds = defaults.sessionSeconds } =
    settings ?? {}
  return { personalDataSeconds: Math.min(personalDataSeconds, sessionSeconds), sessionSeconds }
}

/** What is due of a session that has ended, or will. */
export interface Due {
  readonly erases: boolean
  /** It is erased already, and goes. */
  readonly purges: boolean
  /** When something is to be done next. */
  readonly next: Date
}

/** Of a session whose end is `end`, in milliseconds since the epoch, and which was erased then, if it was. */
export function dueOf(
  { personalDataSeconds, sessionSeconds }: Retention,
  end: number,
  erasedAt: number | undefined,
  now: Date,
): Due {
  const [eraseAt, purgeAt] = [end + personalDataSeconds * 1000, end + sessionSeconds * 1000]
  const at = now.getTime()
  return {
    erases: at >= eraseAt && erasedAt === undefined,
    purges: at >= purgeAt && erasedAt !== undefined,
    next: new Date(at < end ? end : at < eraseAt ? eraseAt : purgeAt),
  }
}

/** How long a session may be there, from its first day on. */
export function longestKeptMs({ sessionSeconds }: Retention): number {
  return (sessionSeconds + LONGEST_LIFE_SECONDS) * 1000
}

/** Both were said, and they contradict each other. */
export function retentionMistakes({ personalDataSeconds = 0, sessionSeconds = Infinity }: RetentionSettings): string[] {
  if (personalDataSeconds <= sessionSeconds) return []
  return ['retention.personalDataSeconds: must not be more than retention.sessionSeconds: both go with the session']
}
