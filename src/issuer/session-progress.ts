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
}

/** The progress with news of the same session. */
export function joined(before: SessionProgress, news: SessionProgress): SessionProgress {
  const problem = news.problem === undefined ? before.problem : counted(before.problem, news.problem)
  return { ...news, ...before, ...(problem && { problem }) }
}

function counted(before: WalletRefusal | undefined, latest: WalletRefusal): WalletRefusal {
  const isSame = before?.endpoint === latest.endpoint && before.error === latest.error
  return isSame ? { ...latest, count: before.count + latest.count } : latest
}
