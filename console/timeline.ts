/** The messages of a session in the order of their times: each with its meaning, and with what went wrong. */
import type { IssuerSchemas, VerifierSchemas } from '../sdk/server/index.ts'
import { element, localTime } from './dom.ts'

type IssuanceStatus = IssuerSchemas['IssuanceSession']
type Refusal = NonNullable<IssuanceStatus['problem']>

interface Happening {
  /** Seconds since the epoch; undefined when it has not happened. */
  readonly at: number | undefined
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

export function drawIssuanceTimeline(session: IssuanceStatus): HTMLElement {
  const { status, problem, earlier_problems: earlier = [], credentials, notifications = [], deferred } = session
  return drawHappenings([
    { at: session.created_at, text: 'The session was started.', meaning: 'The offer waits for a wallet.' },
    {
      at: session.offer_fetched_at,
      text: 'A wallet fetched the offer.',
      meaning: 'Somebody scanned the code. The wallet reads what is offered and asks for a token next.',
    },
    ...[...earlier, ...(problem === undefined ? [] : [problem])].map(refusalHappening),
    ...credentials.map(({ issued_at: at }) => ({
      at,
      text: 'A credential was issued.',
      meaning: 'The wallet proved its key, and has its credential.',
      look: 'good' as const,
    })),
    ...notifications.map(({ notified_at: at, event, event_description: words }) => ({
      at,
      text: `The wallet reported ${event}.`,
      meaning: [REPORTS[event], words].filter(Boolean).join(' '),
    })),
    ...(deferred?.state === 'DENIED' ? [{ at: session.expires_at, text: 'The credential was denied.' }] : []),
    {
      at: status === 'EXPIRED' ? session.expires_at : undefined,
      text: 'The offer expired.',
      meaning: 'Start a new session for another try.',
      look: 'bad',
    },
  ])
}

function refusalHappening({ at, endpoint, error, error_description: words, count }: Refusal): Happening {
  const times = count > 1 ? ` (${count} times)` : ''
  return {
    at,
    text: `The wallet was refused at the ${endpoint} endpoint: ${error}, ${words}${times}`,
    meaning: MEANINGS[`${endpoint} ${error}`] ?? MEANINGS[error],
    look: 'bad',
  }
}

export function drawVerificationTimeline(session: VerifierSchemas['VerificationSession']): HTMLElement {
  const { status, result, wallet_error: walletError, ended_at: endedAt } = session
  const failed = status === 'VERIFICATION_FAILED' ? 'bad' : 'good'
  return drawHappenings([
    { at: session.created_at, text: 'The session was started.', meaning: 'The request waits for a wallet.' },
    {
      at: result === undefined ? undefined : (endedAt ?? session.expires_at),
      text: failed === 'good' ? 'A wallet presented, and everything holds.' : 'A wallet presented, and a check failed.',
      meaning: 'The report below has every check; the wallet was told only whether its presentation was accepted.',
      look: failed,
    },
    {
      at: walletError === undefined ? undefined : (endedAt ?? session.expires_at),
      text: `The wallet said ${walletError?.error ?? ''}. ${walletError?.error_description ?? ''}`,
      meaning: status === 'DECLINED' ? 'Its holder chose not to present.' : 'The wallet could not answer the request.',
      look: 'bad',
    },
    {
      at: status === 'EXPIRED' ? session.expires_at : undefined,
      text: 'The request expired.',
      meaning: 'No wallet answered in time. Start a new session for another try.',
      look: 'bad',
    },
  ])
}

function drawHappenings(happenings: readonly Happening[]): HTMLElement {
  const sorted = happenings.filter(({ at }) => at !== undefined).sort((one, other) => (one.at ?? 0) - (other.at ?? 0))
  return element(
    'ol',
    { class: 'events' },
    ...sorted.map(({ at = 0, text, meaning, look = '' }) =>
      element(
        'li',
        { class: look },
        element('time', {}, localTime(at)),
        element('span', {}, text),
        meaning !== undefined && meaning !== '' && element('small', {}, meaning),
      ),
    ),
  )
}
