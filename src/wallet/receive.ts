/**
 * Receives credentials: from the link of an offer to credentials in the store. OpenID4VCI 1.0, Pre-Authorized Code
 * Flow.
 */
import { type AccessToken, fetchTokenServer, redeemCode } from './access-token.ts'
import type { WalletContext } from './context.ts'
import { sendCredentialRequest } from './credential-request.ts'
import { abort, WalletError } from './error.ts'
import {
  fetchIssuerMetadata,
  type IssuerDescription,
  type OfferedCredential,
  readOfferedCredential,
} from './issuer-metadata.ts'
import { notifyAccepted } from './notification.ts'
import { type AskedTxCode, readOffer } from './offer.ts'
import { checkReceived } from './received-credential.ts'
import { type StoredCredential, storeCredential } from './stored-credential.ts'

/** The input of the holder. */
export interface Holder {
  /**
   * Asks for the transaction code that the issuer gave the holder, just before it is sent. A rejection ends the
   * receipt.
   */
  readonly txCode?: (description: AskedTxCode) => Promise<string>
}

/** Receives, checks and stores every credential of the offer. Throws a WalletError; credentials stored before stay. */
export async function receive(
  wallet: WalletContext,
  offerLink: string,
  holder: Holder = {},
): Promise<readonly StoredCredential[]> {
  const offer = await readOffer(wallet, offerLink)
  const issuer = await fetchIssuerMetadata(wallet, offer.credentialIssuer)
  // Everything that can fail is checked before the code is spent.
  const offered = offer.configurationIds.map((id) => readOfferedCredential(issuer, id))
  const server = await fetchTokenServer(wallet, issuer, offer)
  const txCode = offer.txCode && (await askTxCode(offer.txCode, holder))
  const accessToken = await redeemCode(wallet, server, { code: offer.preAuthorizedCode, txCode })
  const stored: StoredCredential[] = []
  for (const each of offered) {
    try {
      stored.push(await receiveOne(wallet, issuer, each, accessToken))
    } catch (error) {
      throw error instanceof WalletError && stored.length > 0 ? withKept(error, stored) : error
    }
  }
  return stored
}

async function askTxCode(description: AskedTxCode, { txCode }: Holder): Promise<string> {
  const code = (await txCode?.(description))?.trim()
  return code || abort('needs_tx_code', 'the issuer wants a transaction code, which it has given you another way')
}

async function receiveOne(
  wallet: WalletContext,
  issuer: IssuerDescription,
  offered: OfferedCredential,
  accessToken: AccessToken,
): Promise<StoredCredential> {
  const holderKey = await wallet.store.keys.make(offered.proofKey.algorithm)
  const holder = holderKey.signer
  const { credential, notificationId } = await sendCredentialRequest(wallet, issuer, offered, { accessToken, holder })
  checkReceived(credential, offered, holder, wallet.now())
  wallet.onStep?.({
    what: 'checked and stored the credential',
    means:
      "Signed by the key of the issuer's certificate, bound to our key, of the type that was offered, not expired.",
    spec: 'RFC 9901, Verification by the Holder',
  })
  const { name, format, display, claimNames } = offered
  const receivedAt = wallet.now()
  const stored = await storeCredential(wallet, {
    name,
    format,
    display,
    claimNames,
    credential,
    holderKey,
    receivedAt,
    issuerName: issuer.name,
  })
  await notifyAccepted(wallet, issuer, notificationId, accessToken)
  return stored
}

function withKept(error: WalletError, stored: readonly StoredCredential[]): WalletError {
  const message = `${error.message} (received before that and kept: ${stored.map(({ id }) => id).join(', ')})`
  return new WalletError(error.code, message, { cause: error, ...(error.server ? { server: error.server } : {}) })
}
