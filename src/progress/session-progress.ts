/**
 * The progress of wallets that does not change the session itself: a fetched offer or request object, or a refused
 * request. `progress-recorder.ts` stores it.
 */
import type { ErrorCode } from '../protocol/error.ts'

/** A refused request of a wallet. Consecutive refusals at the same endpoint with the same error are counted as one. */
export interface WalletRefusal {
  readonly endpoint: string
  readonly error: ErrorCode
  readonly description: string
  /** The number of consecutive refusals with this endpoint and error. */
  readonly count: number
  /** Milliseconds since the epoch. */
  readonly at: number
}

export interface SessionProgress {
  /** The time of the first fetch of an issuance session's offer, in milliseconds since the epoch. */
  readonly offerFetchedAt?: number
  /** The time of the first fetch of a verification session's request object, in milliseconds since the epoch. */
  readonly requestFetchedAt?: number
  readonly problem?: WalletRefusal
  /** The earlier refusals with another endpoint or error, oldest first; only the newest are kept. */
  readonly earlier?: readonly WalletRefusal[]
}

/** The maximum number of earlier refusals. */
const MAX_EARLIER = 9

/** Tests whether the stored progress `before` has all of `added` already. */
export function hasProgress(before: SessionProgress, { offerFetchedAt, requestFetchedAt, problem }: SessionProgress) {
  const isStored = (time: number | undefined, storedTime: number | undefined): boolean =>
    time === undefined || storedTime !== undefined
  return (
    problem === undefined &&
    isStored(offerFetchedAt, before.offerFetchedAt) &&
    isStored(requestFetchedAt, before.requestFetchedAt)
  )
}

/** Joins newer progress to the stored progress of a session. */
export function joinProgress(before: SessionProgress, added: SessionProgress): SessionProgress {
  // If `added` is full, it may lack refusals between the stored ones and its first, so the stored ones are dropped.
  const mayLackSome = (added.earlier?.length ?? 0) >= MAX_EARLIER
  const refusals = refusalsOf(added).reduce(countRefusal, mayLackSome ? [] : refusalsOf(before))
  const [problem, earlier] = [refusals.at(-1), refusals.slice(0, -1).slice(-MAX_EARLIER)]
  return { ...added, ...before, ...(problem && { problem }), ...(earlier.length > 0 && { earlier }) }
}

function refusalsOf({ earlier = [], problem }: SessionProgress): readonly WalletRefusal[] {
  return problem === undefined ? earlier : [...earlier, problem]
}

/** Appends a refusal, or increases the count of the last one if it has the same endpoint and error. */
function countRefusal(before: readonly WalletRefusal[], latest: WalletRefusal): readonly WalletRefusal[] {
  const last = before.at(-1)
  if (last?.endpoint !== latest.endpoint || last.error !== latest.error) return [...before, latest]
  return [...before.slice(0, -1), { ...latest, count: last.count + latest.count }]
}
