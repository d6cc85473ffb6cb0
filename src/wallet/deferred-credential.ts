/** Polls for deferred credentials. OpenID4VCI 1.0, Deferred Credential Endpoint. */
import { type JsonObject, memberOf } from '../codec/json.ts'
import { type AccessToken, sendWithAccessToken } from './access-token.ts'
import type { WalletContext } from './context.ts'
import { exchangeMembers } from './credential-encryption.ts'
import { refuseWith, WalletError } from './error.ts'
import type { IssuerDescription } from './issuer-metadata.ts'

/** The default interval in seconds, for draft 13, which has none. */
const USUAL_INTERVAL = 5

/** The errors that end a transaction. */
const ENDING_ERRORS: ReadonlySet<string> = new Set(['invalid_transaction_id', 'credential_request_denied'])

/** Tests whether an error ends its transaction. OpenID4VCI 1.0, Deferred Credential Error Response. */
export function endsTransaction(error: unknown): boolean {
  return error instanceof WalletError && ENDING_ERRORS.has(error.server?.error ?? '')
}

/**
 * Polls until the response has the credential. Polls again after a request that failed but did not end the transaction.
 * Returns a response with a transaction id if this takes longer than `patienceSeconds`, or the wallet cannot wait.
 */
export async function awaitCredential(
  wallet: WalletContext,
  issuer: IssuerDescription,
  firstAnswer: JsonObject,
  { accessToken, patienceSeconds }: { readonly accessToken: AccessToken; readonly patienceSeconds: number },
): Promise<JsonObject> {
  let [answer, waitedSeconds] = [firstAnswer, 0]
  for (;;) {
    const transactionId = readTransactionId(answer)
    if (transactionId === undefined) return answer
    const interval = intervalOf(answer)
    waitedSeconds += interval
    if (wallet.wait === undefined || waitedSeconds > patienceSeconds) return answer
    await wallet.wait(interval)
    const askedAt = wallet.now().getTime()
    try {
      answer = await requestDeferredCredential(wallet, issuer, { accessToken, transactionId })
    } catch (error) {
      if (!mayPollAgain(error)) throw error
    }
    waitedSeconds += Math.max(0, wallet.now().getTime() - askedAt) / 1000
  }
}

/** The errors of a server after which the same request may succeed. */
const PASSING_ERRORS: ReadonlySet<string> = new Set([
  'issuance_pending',
  'slow_down',
  'temporarily_unavailable',
  'server_error',
  'too_many_requests',
])

/** Tests whether the same request may succeed later: no issuer answered, or the issuer could not answer now. */
function mayPollAgain(error: unknown): boolean {
  if (!(error instanceof WalletError)) return false
  if (error.code === 'unreachable') return true
  return error.code === 'refused' && (error.server === undefined || PASSING_ERRORS.has(error.server.error))
}

/**
 * Returns the transaction id of a deferred response; undefined if it has credentials. Refuses with `invalid_response`.
 */
export function readTransactionId(answer: JsonObject): string | undefined {
  const id = memberOf(answer, 'transaction_id')
  return id === undefined || typeof id === 'string'
    ? id
    : refuseWith('invalid_response', 'transaction_id is not a string')
}

/** Requests the credential of a transaction once. */
export function requestDeferredCredential(
  wallet: WalletContext,
  { encryption, deferredCredentialEndpoint: url }: IssuerDescription,
  { accessToken, transactionId }: { readonly accessToken: AccessToken; readonly transactionId: string },
): Promise<JsonObject> {
  if (url === undefined) {
    return refuseWith('invalid_metadata', 'the issuer has the credential later, and does not say where to ask for it')
  }
  const request = {
    what: 'asked again for the credential',
    means: 'The issuer had to decide first. Whatever it says, the credential is for the key that was proved before.',
    spec: 'OpenID4VCI 1.0, Deferred Credential Request',
    url,
    sent: 'transaction_id; the access token',
  }
  return sendWithAccessToken(wallet, accessToken, request, (authorizedRequest) =>
    exchangeMembers(wallet, authorizedRequest, encryption, { transaction_id: transactionId }),
  )
}

function intervalOf(answer: JsonObject): number {
  const interval = memberOf(answer, 'interval')
  if (interval === undefined) return USUAL_INTERVAL
  return typeof interval === 'number' && interval > 0
    ? Math.max(1, interval)
    : refuseWith('invalid_response', 'interval of the answer is not a positive number')
}
