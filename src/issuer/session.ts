/**
 * The issuance session: data, and the transitions between its states as functions on it. What is stored is facts;
 * the state is derived from them and the time, so that no clock has to write it.
 */
import { refuse } from '../protocol/error.ts'

export interface IssuanceSession {
  readonly configurationIds: readonly string[]
  /** Times are milliseconds since the epoch. */
  readonly createdAt: number
  readonly expiresAt: number
  /** The pre-authorized code, sealed, where the application supplied it. */
  readonly suppliedCode?: string
  /** Where the offer asks for it. */
  readonly txCode?: TxCode | undefined
  /** Too many wrong transaction codes came: nobody can redeem the code any more. */
  readonly lockedAt?: number
  /** The access token that the pre-authorized code was redeemed for. */
  readonly token?: {
    /** Only this is kept of it. */
    readonly digest: string
    readonly expiresAt: number
    /** The thumbprint of the key that it is bound to. RFC 9449 section 6.1. */
    readonly jkt?: string
    /** The configurations that the wallet named in authorization details; absent when it named none, and has all. */
    readonly authorized?: readonly string[]
  }
  readonly issued: readonly { readonly configurationId: string; readonly issuedAt: number }[]
  /** When it was recorded that the session had ended without a credential: nothing revives it. */
  readonly expiredAt?: number
  /** When its dataset was erased. */
  readonly erasedAt?: number
}

/** What the holder has to type in. */
export interface TxCode {
  /** Only this is kept of it: a MAC under a secret that no database holds. Absent where another server knows the code. */
  readonly mac?: string
  /** What the offer says of it. */
  readonly asked: {
    readonly input_mode: 'numeric' | 'text'
    readonly length?: number
    readonly description?: string
  }
  /** How many wrong ones have come. */
  readonly wrong: number
}

export type SessionStatus = 'STARTED' | 'SUCCEEDED' | 'EXPIRED'

/** Copies of one credential that a session gives out: for a wallet that lost the answer, not for a collection. */
const MAX_COPIES = 10

/** The transaction code that is wrong this often takes the pre-authorized code with it. */
const MAX_WRONG = 5
const TOO_MANY_WRONG = 'the pre-authorized code is void after too many wrong transaction codes; ask for a new offer'

export function statusOf(session: IssuanceSession, now: Date): SessionStatus {
  if (session.issued.length > 0) return 'SUCCEEDED'
  if (session.expiredAt !== undefined) return 'EXPIRED'
  return now.getTime() < endOf(session) ? 'STARTED' : 'EXPIRED'
}

/** A redeemed code keeps the session alive for the life of its token. */
export function endOf({ expiresAt, lockedAt, token }: IssuanceSession): number {
  return lockedAt ?? Math.max(expiresAt, token?.expiresAt ?? 0)
}

/** The pre-authorized code is good once, and for a while. Refuses with `invalid_grant`. OpenID4VCI 1.0, Token Endpoint. */
export function refuseUnlessRedeemable(session: IssuanceSession, now: Date): void {
  if (session.token !== undefined) refuse('invalid_grant', 'the pre-authorized code has been used')
  if (session.lockedAt !== undefined) refuse('invalid_grant', TOO_MANY_WRONG)
  if (session.expiredAt !== undefined || now.getTime() >= session.expiresAt) {
    refuse('invalid_grant', 'the pre-authorized code has expired')
  }
}

/**
 * One more credential has been issued. Refuses with `credential_request_denied` after ten copies of the same, and with
 * `invalid_token` once the end of the session was recorded: another process may be a moment ahead.
 */
export function recordIssued(session: IssuanceSession, configurationId: string, now: Date): IssuanceSession {
  if (session.expiredAt !== undefined || session.erasedAt !== undefined) {
    refuse('invalid_token', 'the access token has expired')
  }
  const copies = session.issued.filter((issued) => issued.configurationId === configurationId).length
  if (copies >= MAX_COPIES) {
    refuse('credential_request_denied', `this credential has been issued ${MAX_COPIES} times in this session`)
  }
  return { ...session, issued: [...session.issued, { configurationId, issuedAt: now.getTime() }] }
}

/** One more wrong transaction code has come. OpenID4VCI 1.0, Transaction Code Phishing. */
export function recordWrongTxCode(session: IssuanceSession, now: Date): IssuanceSession {
  const { txCode } = session
  if (txCode === undefined) return session
  const wrong = txCode.wrong + 1
  return { ...session, txCode: { ...txCode, wrong }, ...(wrong >= MAX_WRONG ? { lockedAt: now.getTime() } : {}) }
}
