/** The states of a request as a person sees them, and the answers of the application that say which holds. */

export type RequestStatus = 'waiting' | 'opened' | 'done' | 'failed' | 'declined' | 'expired'

export interface StatusAnswer {
  readonly status: RequestStatus
  /** The end of the session in seconds since 1970. */
  readonly expiresAt?: number
}

/** The statuses of issuer and verifier, and the element's own. */
const STATUSES: ReadonlyMap<unknown, RequestStatus> = new Map<string, RequestStatus>([
  ['STARTED', 'waiting'],
  ['SUCCEEDED', 'done'],
  ['VERIFICATION_SUCCEEDED', 'done'],
  ['VERIFICATION_FAILED', 'failed'],
  ['DECLINED', 'declined'],
  ['EXPIRED', 'expired'],
  ...(['waiting', 'opened', 'done', 'failed', 'declined', 'expired'] as const).map(
    (status): [string, RequestStatus] => [status, status],
  ),
])
const MAX_ANSWER = 65_536

/** Tests whether no other status follows this one. */
export function isEnd(status: RequestStatus): boolean {
  return status !== 'waiting' && status !== 'opened'
}

/** Reads an answer of the application; undefined where it is not a status. */
export function readStatusAnswer(text: string): StatusAnswer | undefined {
  if (text.length > MAX_ANSWER) return undefined
  let answer: unknown
  try {
    answer = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof answer !== 'object' || answer === null) return undefined
  const members = answer as Readonly<Record<string, unknown>>
  const status = STATUSES.get(members.status)
  if (status === undefined) return undefined
  // The services say by these members that a wallet has the offer or the request object.
  const isFetched = [members.offer_fetched_at, members.request_fetched_at].some((time) => typeof time === 'number')
  const isOpened = status === 'waiting' && isFetched
  const expiresAt = members.expires_at
  return {
    status: isOpened ? 'opened' : status,
    ...(typeof expiresAt === 'number' && Number.isFinite(expiresAt) && { expiresAt }),
  }
}
