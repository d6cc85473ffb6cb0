/**
 * Receives credentials: from the link of an offer, or from the name of an issuer, to credentials in the store.
 * OpenID4VCI 1.0, Pre-Authorized Code Flow and Authorization Code Flow.
 */
import { memberOf, own } from '../codec/json.ts'
import { type AccessToken, fetchTokenServer, redeemCode, type TokenServer } from './access-token.ts'
import { requireAddress } from './address.ts'
import { authorizeByCode, requireBrowser } from './authorization-code.ts'
import type { WalletContext } from './context.ts'
import { abort, WalletError } from './error.ts'
import { obtainCredential } from './issuance.ts'
import { fetchIssuerMetadata, type IssuerDescription, readOfferedCredential } from './issuer-metadata.ts'
import {
  type KeptAuthorization,
  keepAuthorization,
  type PendingCredential,
  removeAuthorization,
  writeAuthorization,
} from './kept-authorization.ts'
import { type AskedTxCode, type ReceivedOffer, readOffer } from './offer.ts'
import type { StoredCredential } from './stored-credential.ts'

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
  const scopeOf = (id: string) => memberOf(own(configurations, id), 'scope')
  const ids = Object.keys(configurations)
  const matching = ids.filter((id) => {
    return 'scope' in credential ? scopeOf(id) === credential.scope : id === credential.configurationId
  })
  if (matching.length > 0) return matching
  const [name, names] =
    'scope' in credential
      ? [`with the scope ${credential.scope}`, ids.map(scopeOf).filter((scope) => typeof scope === 'string')]
      : [credential.configurationId, ids]
  const all = [...new Set(names)].join(', ') || 'none at all'
  return abort('not_found', `the issuer offers no credential ${name} to wallets that ask; there are: ${all}`)
}

async function receiveAll(
  wallet: WalletContext,
  issuer: IssuerDescription,
  offer: ReceivedOffer,
  holder: Holder,
): Promise<readonly StoredCredential[]> {
  // Everything that can fail is checked before the code is spent.
  const offered = offer.configurationIds.map((id) => readOfferedCredential(wallet, issuer, id))
  const server = await fetchTokenServer(wallet, issuer, offer)
  const accessToken = await getAccessToken(wallet, { issuer, server, offer }, holder)
  const names = { credentialIssuer: issuer.credentialIssuer, authorizationServer: server.issuer }
  const kept = await keepAuthorization(wallet, names, accessToken)
  const stored: StoredCredential[] = []
  const pending: PendingCredential[] = []
  try {
    for (const each of offered) {
      const isPatient = pending.length === 0
      const obtained = await obtainCredential(wallet, { issuer, accessToken, kept }, { offered: each, isPatient })
      if ('stored' in obtained) stored.push(obtained.stored)
      else pending.push(obtained.pending)
    }
    if (pending.length > 0) refuseUndecided()
  } catch (error) {
    throw error instanceof WalletError && stored.length > 0 ? withKept(error, stored) : error
  } finally {
    if (kept !== undefined) await settleAuthorization(wallet, { ...kept, pending }, stored)
  }
  return stored
}

/**
 * Stores what is pending in an authorization, or removes the authorization when nothing was stored and nothing is
 * pending.
 */
async function settleAuthorization(
  wallet: WalletContext,
  kept: KeptAuthorization,
  stored: readonly StoredCredential[],
): Promise<void> {
  if (stored.length === 0 && kept.pending.length === 0) return removeAuthorization(wallet, kept)
  if (kept.pending.length > 0) await writeAuthorization(wallet, kept)
}

function refuseUndecided(): never {
  return abort(
    'not_yet',
    'the issuer has not decided yet, and the wallet keeps what it has proved; ask again later: vouchsafe wallet collect',
  )
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

function withKept(error: WalletError, stored: readonly StoredCredential[]): WalletError {
  const message = `${error.message} (received before that and kept: ${stored.map(({ id }) => id).join(', ')})`
  return new WalletError(error.code, message, { cause: error, ...(error.server ? { server: error.server } : {}) })
}
