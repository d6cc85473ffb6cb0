/**
 * The progress of wallets in a session that changes nothing of the session: the offer was fetched, a request was
 * refused. progress-recorder.ts writes it.
 */
import type { ErrorCode } from '../protocol/error.ts'

/** The last refusal of a wallet. */
export interface WalletRefusal {
  readonly endpoint: string
  readonly error: ErrorCode
  readonly description: string
  /** How many refusals in a row have had this endpoint and this error. */
  readonly count: number
  /** Milliseconds since the epoch. */
  readonly at: number
}

export interface SessionProgress {
  /** The time of the first fetch of the offer, in milliseconds since the epoch. */
  readonly offerFetchedAt?: number
  readonly problem?: WalletRefusal
  /** The refusals before it that had another endpoint or error, oldest first, and the newest few of them. */
  readonly earlier?: readonly WalletRefusal[]
}

/** The most refusals that are kept beside the last one. */
const MAX_EARLIER = 9

/** Joins `added` to the progress of a session before it. */
export function joinProgress(before: SessionProgress, added: SessionProgress): SessionProgress {
  // `added` with the most refusals may lack some that lay between its first one and the last one before.
  const mayLackSome = (added.earlier?.length ?? 0) >= MAX_EARLIER
  const refusals = refusalsOf(added).reduce(countRefusal, mayLackSome ? [] : refusalsOf(before))
  const [problem, earlier] = [refusals.at(-1), refusals.slice(0, -1).slice(-MAX_EARLIER)]
  return { ...added, ...before, ...(problem && { problem }), ...(earlier.length > 0 && { earlier }) }
}

function refusalsOf({ earlier = [], problem }: SessionProgress): readonly WalletRefusal[] {
  return problem === undefined ? earlier : [...earlier, problem]
}

/** Adds a refusal to those before, or counts it with the last one of its kind. */
function countRefusal(before: readonly WalletRefusal[], latest: WalletRefusal): readonly WalletRefusal[] {
  const last = before.at(-1)
  if (last?.endpoint !== latest.endpoint || last.error !== latest.error) return [...before, latest]
  return [...before.slice(0, -1), { ...latest, count: last.count + latest.count }]
}
