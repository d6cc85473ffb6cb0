/**
 * Deferred credentials: the wallet polls for as long as a person waits. OpenID4VCI 1.0, Deferred Credential Endpoint.
 */
import { type JsonObject, own } from '../codec/json.ts'
import { type AccessToken, withAccessToken } from './access-token.ts'
import type { WalletContext } from './context.ts'
import { exchangeEncrypted } from './credential-encryption.ts'
import { abort } from './error.ts'
import { type ExchangeRequest, exchangeJson } from './exchange.ts'
import type { IssuerDescription } from './issuer-metadata.ts'

const PATIENCE_SECONDS = 60
/** The interval when the issuer names none, as in draft 13. */
const USUAL_INTERVAL = 5

/**
 * Returns the response with the credential: the given response, or a later one. Refuses with `not_yet` when the issuer
 * takes longer than this wallet waits; nothing is stored then.
 */
export async function awaitCredential(
  wallet: WalletContext,
  issuer: IssuerDescription,
  first: JsonObject,
  accessToken: AccessToken,
): Promise<JsonObject> {
  let [answer, waited] = [first, 0]
  for (;;) {
    const transactionId = own(answer, 'transaction_id')
    if (transactionId === undefined) return answer
    if (typeof transactionId !== 'string') return abort('invalid_response', 'transaction_id is not a string')
    if (issuer.deferredCredentialEndpoint === undefined) {
      return abort('invalid_metadata', 'the issuer has the credential later, and does not say where to ask for it')
    }
    const interval = intervalOf(answer)
    waited += interval
    if (wallet.wait === undefined || waited > PATIENCE_SECONDS) return refuseToWait()
    await wallet.wait(interval)
    answer = await ask(wallet, issuer, { url: issuer.deferredCredentialEndpoint, accessToken, transactionId })
  }
}

function refuseToWait(): never {
  return abort(
    'not_yet',
    `the issuer has not decided yet, and this wallet waits for no longer than ${PATIENCE_SECONDS} seconds and keeps nothing until then; ask for a new offer later`,
  )
}

function ask(
  wallet: WalletContext,
  { encryption }: IssuerDescription,
  {
    url,
    accessToken,
    transactionId,
  }: { readonly url: string; readonly accessToken: AccessToken; readonly transactionId: string },
): Promise<JsonObject> {
  const members = { transaction_id: transactionId }
  const request: ExchangeRequest = {
    what: 'asked again for the credential',
    means: 'The issuer had to decide first. Whatever it says, the credential is for the key that was proved before.',
    spec: 'OpenID4VCI 1.0, Deferred Credential Request',
    url,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(members),
    sent: `${encryption === undefined ? '' : 'encrypted: '}transaction_id; the access token`,
  }
  return withAccessToken(wallet, accessToken, request, (sent) =>
    encryption === undefined ? exchangeJson(wallet, sent) : exchangeEncrypted(wallet, sent, encryption, members),
  )
}

function intervalOf(answer: JsonObject): number {
  const interval = own(answer, 'interval')
  if (interval === undefined) return USUAL_INTERVAL
  return typeof interval === 'number' && interval > 0
    ? Math.max(1, interval)
    : abort('invalid_response', 'interval of the answer is not a positive number')
}
