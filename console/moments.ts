/** The moments of a session, from its status: each message with its meaning, and with what went wrong. */
import type { IssuerSchemas, VerifierSchemas } from '../sdk/server/index.ts'

type IssuanceStatus = IssuerSchemas['IssuanceSession']
type Refusal = NonNullable<IssuanceStatus['problem']>

export interface SessionMoment {
  /** Seconds since the epoch; undefined where the service has not kept the time. */
  readonly at?: number | undefined
  readonly text: string
  readonly meaning?: string | undefined
  readonly look?: 'good' | 'bad'
}

/** Each error in words for the person who looks for the mistake. OpenID4VCI 1.0 and RFC 6749 have the codes. */
const MEANINGS: Readonly<Record<string, string>> = {
  'token invalid_grant':
    'The code of the offer or the transaction code was not right. After five wrong transaction codes the offer is void.',
  'token invalid_request': 'The token request lacked something, such as the transaction code that the offer asks for.',
  'token invalid_client': 'The wallet did not authenticate itself as this issuer asks.',
  invalid_proof:
    'The wallet did not show that it holds the key: look at the audience, the time and the signature of its proof.',
  invalid_nonce: 'The proof had a nonce that is too old or of another session; wallets fetch a new one and try again.',
  invalid_token: 'The access token has expired, or is of another session.',
  invalid_dpop_proof: 'The proof of the key that the token is bound to does not hold.',
  insufficient_scope: 'The wallet asked for a credential that this session does not offer.',
  unknown_credential_configuration: 'The wallet asked for a configuration that this issuer does not have.',
  credential_request_denied: 'The issuer gives this credential no more: it was denied, revoked or suspended.',
  gone: 'The offer was used, is void, or has expired; a wallet that scans the code again sees this.',
}
const REPORTS: Readonly<Record<string, string>> = {
  credential_accepted: 'The wallet has stored the credential.',
  credential_failure: 'The wallet could not use or store the credential.',
  credential_deleted: 'The holder deleted the credential from the wallet.',
}

const FETCHED = {
  text: 'A wallet fetched the offer.',
  meaning: 'Somebody scanned the code. The wallet reads what is offered and asks for a token next.',
}
const REQUEST_FETCHED = {
  text: 'A wallet fetched the request.',
  meaning: 'Somebody scanned the code. The wallet shows its holder what is asked for, and responds next.',
}
const COMPLETED = { text: 'The session got its data.', meaning: 'The wallet gets the credential when it asks again.' }
const DENIED = {
  text: 'The credential was denied.',
  meaning: 'The wallet is told so when it asks again, with the reason.',
  look: 'bad',
} as const
const ISSUED = {
  text: 'A credential was issued.',
  meaning: 'The wallet proved its key, and has its credential.',
  look: 'good',
} as const
const SESSION_EXPIRED = {
  text: 'The session ended without a credential.',
  meaning: 'Start a new session for another try.',
  look: 'bad',
} as const
const REQUEST_EXPIRED = {
  text: 'The request expired.',
  meaning: 'No wallet answered in time. Start a new session for another try.',
  look: 'bad',
} as const
const TOLD = 'The report below has every check; the wallet was told only whether its presentation was accepted.'
const VERIFIED = { text: 'A wallet presented, and everything holds.', meaning: TOLD, look: 'good' } as const
const FAILED = { text: 'A wallet presented, and a check failed.', meaning: TOLD, look: 'bad' } as const

/** Lists what happened in an issuance session, in the order of the times. */
export function issuanceMoments(session: IssuanceStatus): readonly SessionMoment[] {
  const { status, credentials, notifications = [] } = session
  const { offer_fetched_at: fetchedAt, expires_at: expiresAt } = session
  return sortMoments([
    { at: session.created_at, text: 'The session was started.', meaning: 'The offer waits for a wallet.' },
    ...(fetchedAt === undefined ? [] : [{ at: fetchedAt, ...FETCHED }]),
    ...refusalMoments(session),
    ...decisionOf(session),
    ...credentials.map(({ issued_at: at }) => ({ at, ...ISSUED })),
    ...notifications.map(({ notified_at: at, event, event_description: words }) => ({
      at,
      text: `The wallet reported ${event}.`,
      meaning: [REPORTS[event], words].filter(Boolean).join(' '),
    })),
    ...(status === 'EXPIRED' ? [{ at: expiresAt, ...SESSION_EXPIRED }] : []),
  ])
}

function decisionOf({ deferred }: IssuanceStatus): readonly SessionMoment[] {
  const at = deferred?.decided_at
  if (deferred?.state === 'COMPLETED') return [{ at, ...COMPLETED }]
  return deferred?.state === 'DENIED' ? [{ at, ...DENIED }] : []
}

type RefusalMembers = Pick<IssuanceStatus, 'problem' | 'earlier_problems'>

function refusalMoments({ problem, earlier_problems: earlier = [] }: RefusalMembers): readonly SessionMoment[] {
  return [...earlier, ...(problem === undefined ? [] : [problem])].map(refusalMoment)
}

function refusalMoment({ at, endpoint, error, error_description: words, count }: Refusal): SessionMoment {
  const times = count > 1 ? ` (${count} times)` : ''
  return {
    at,
    text: `The wallet was refused at the ${endpoint} endpoint: ${error}, ${words}${times}`,
    meaning: MEANINGS[`${endpoint} ${error}`] ?? MEANINGS[error],
    look: 'bad',
  }
}

/** Lists what happened in a verification session, in the order of the times. */
export function verificationMoments(session: VerifierSchemas['VerificationSession']): readonly SessionMoment[] {
  const { status, result, wallet_error: walletError, ended_at: at, request_fetched_at: fetchedAt } = session
  const declined =
    status === 'DECLINED' ? 'Its holder chose not to present.' : 'The wallet could not answer the request.'
  return sortMoments([
    { at: session.created_at, text: 'The session was started.', meaning: 'The request waits for a wallet.' },
    ...(fetchedAt === undefined ? [] : [{ at: fetchedAt, ...REQUEST_FETCHED }]),
    ...refusalMoments(session),
    ...(result === undefined ? [] : [{ at, ...(status === 'VERIFICATION_FAILED' ? FAILED : VERIFIED) }]),
    ...(walletError === undefined
      ? []
      : [
          {
            at,
            text: `The wallet said ${[walletError.error, walletError.error_description].filter(Boolean).join(': ')}.`,
            meaning: declined,
            look: 'bad' as const,
          },
        ]),
    ...(status === 'EXPIRED' ? [{ at: at ?? session.expires_at, ...REQUEST_EXPIRED }] : []),
  ])
}

/**
 * Sorts moments by their time. A moment without a time stays behind the one before it in the list, which it followed.
 */
function sortMoments(moments: readonly SessionMoment[]): readonly SessionMoment[] {
  let last = 0
  const timed = moments.map((moment) => {
    last = moment.at ?? last
    return { moment, time: last }
  })
  return timed.toSorted((one, other) => one.time - other.time).map(({ moment }) => moment)
}
