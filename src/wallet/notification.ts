/** Notifies the issuer about a credential. OpenID4VCI 1.0, Notification Endpoint. */
import { type AccessToken, sendWithAccessToken } from './access-token.ts'
import type { WalletContext } from './context.ts'
import { WalletError } from './error.ts'
import { type ExchangeRequest, exchangeText } from './exchange.ts'
import type { IssuerDescription } from './issuer-metadata.ts'

/** Notifies the issuer that the credential was accepted, if it has a notification endpoint. Ignores failures. */
export async function notifyAccepted(
  wallet: WalletContext,
  { notificationEndpoint }: IssuerDescription,
  notificationId: string | undefined,
  accessToken: AccessToken,
): Promise<void> {
  if (notificationEndpoint === undefined || notificationId === undefined) return
  const request: ExchangeRequest = {
    what: 'told the issuer that it keeps the credential',
    means: 'The issuer learns that nothing went wrong on the way, and nothing of what is done with the credential.',
    spec: 'OpenID4VCI 1.0, Notification Request',
    url: notificationEndpoint,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ notification_id: notificationId, event: 'credential_accepted' }),
    sent: 'notification_id, event; the access token',
    type: 'any',
  }
  try {
    await sendWithAccessToken(wallet, accessToken, request, (authorizedRequest) =>
      exchangeText(wallet, authorizedRequest),
    )
  } catch (error) {
    if (!(error instanceof WalletError)) throw error
  }
}
