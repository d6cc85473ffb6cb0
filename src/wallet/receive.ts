/**
 * Receives credentials: from the link of an offer, or from the name of an issuer, to credentials in the store.
 * OpenID4VCI 1.0, Pre-Authorized Code Flow and Authorization Code Flow.
 */
import { memberOf, own } from '../codec/json.ts'
import { type AccessToken, fetchTokenServer, redeemCode, type TokenServer } from './access-token.ts'
import { requireAddress } from './address.ts'
import { authorizeByCode, requireBrowser } from './authorization-code.ts'
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
import { type AskedTxCode, type ReceivedOffer, readOffer } from './offer.ts'
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
  if (offer.grant.name === 'authorization_code') requireBrowser(wallet)
  return receiveAll(wallet, await fetchIssuerMetadata(wallet, offer.credentialIssuer), offer, holder)
}

/** A request for credentials that nobody offered. */
export interface UnofferedAsk {
  readonly credentialIssuer: string
  /** The credential, by the id of its configuration or by its scope. */
  readonly credential: { readonly configurationId: string } | { readonly scope: string }
}

/** Asks an issuer for a credential without an offer. Throws like {@link receive}. */
export async function receiveUnoffered(wallet: WalletContext, ask: UnofferedAsk): Promise<readonly StoredCredential[]> {
  requireBrowser(wallet)
  const credentialIssuer = requireAddress(ask.credentialIssuer, 'the issuer', 'invalid_link')
  const issuer = await fetchIssuerMetadata(wallet, credentialIssuer)
  const configurationIds = readIdsOf(issuer, ask.credential)
  const grant = { name: 'authorization_code', issuerState: undefined } as const
  return receiveAll(wallet, issuer, { credentialIssuer, configurationIds, grant, authorizationServer: undefined }, {})
}

function readIdsOf({ configurations }: IssuerDescription, credential: UnofferedAsk['credential']): readonly string[] {
  const ids = Object.keys(configurations).filter((id) => {
    if ('configurationId' in credential) return id === credential.configurationId
    return memberOf(own(configurations, id), 'scope') === credential.scope
  })
  if (ids.length > 0) return ids
  const name = 'scope' in credential ? credential.scope : credential.configurationId
  const all = Object.keys(configurations).join(', ') || 'none at all'
  return abort('not_found', `the issuer offers no credential ${name} to wallets that ask; there are: ${all}`)
}

async function receiveAll(
  wallet: WalletContext,
  issuer: IssuerDescription,
  offer: ReceivedOffer,
  holder: Holder,
): Promise<readonly StoredCredential[]> {
  // Everything that can fail is checked before the code is spent.
  const offered = offer.configurationIds.map((id) => readOfferedCredential(issuer, id))
  const server = await fetchTokenServer(wallet, issuer, offer)
  const accessToken = await getAccessToken(wallet, { issuer, server, offer }, holder)
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

async function getAccessToken(
  wallet: WalletContext,
  from: { readonly issuer: IssuerDescription; readonly server: TokenServer; readonly offer: ReceivedOffer },
  holder: Holder,
): Promise<AccessToken> {
  const { issuer, server, offer } = from
  const { grant, configurationIds } = offer
  if (grant.name === 'authorization_code') {
    return authorizeByCode(wallet, server, { issuer, configurationIds, issuerState: grant.issuerState })
  }
  const txCode = grant.txCode && (await askTxCode(grant.txCode, holder))
  return redeemCode(wallet, server, { code: grant.preAuthorizedCode, txCode })
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
