/**
 * Receives credentials from an offer, or without one from a named issuer, and stores them. OpenID4VCI 1.0,
 * Pre-Authorized Code Flow and Authorization Code Flow.
 */
import { memberOf } from '../codec/json.ts'
import { type AccessToken, fetchTokenServer, redeemPreAuthorizedCode, type TokenServer } from './access-token.ts'
import { requireAddress } from './address.ts'
import { authorizeByCode, requireBrowser } from './authorization-code.ts'
import type { WalletContext } from './context.ts'
import { refuseWith, WalletError } from './error.ts'
import { obtainCredential } from './issuance.ts'
import { fetchIssuerMetadata, type IssuerDescription, readOfferedCredential } from './issuer-metadata.ts'
import { type ReceivedOffer, readOffer, type TxCodeDescription } from './offer.ts'
import {
  type PendingCredential,
  removeAuthorization,
  type StoredAuthorization,
  storeAuthorization,
  writeAuthorization,
} from './stored-authorization.ts'
import type { StoredCredential } from './stored-credential.ts'

/** The input of the user. */
export interface UserPrompts {
  /** Asks for the transaction code, just before it is sent. A rejection ends the process. */
  readonly askTxCode?: (description: TxCodeDescription) => Promise<string>
}

/**
 * Receives, checks and stores all credentials of an offer. Throws a WalletError; credentials that are stored by then
 * remain.
 */
export async function receiveOffer(
  wallet: WalletContext,
  offerLink: string,
  prompts: UserPrompts = {},
): Promise<readonly StoredCredential[]> {
  const offer = await readOffer(wallet, offerLink)
  if (offer.grant.name === 'authorization_code') requireBrowser(wallet)
  return receiveCredentials(wallet, await fetchIssuerMetadata(wallet, offer.credentialIssuer), offer, prompts)
}

/** A request for a credential without an offer. */
export interface WalletInitiatedRequest {
  readonly credentialIssuer: string
  /** The credential, by its configuration id or its scope. */
  readonly credential: { readonly configurationId: string } | { readonly scope: string }
}

/** Requests a credential without an offer. Throws like {@link receiveOffer}. */
export async function receiveWalletInitiated(
  wallet: WalletContext,
  request: WalletInitiatedRequest,
): Promise<readonly StoredCredential[]> {
  requireBrowser(wallet)
  const credentialIssuer = requireAddress(request.credentialIssuer, 'the issuer', 'invalid_link')
  const issuer = await fetchIssuerMetadata(wallet, credentialIssuer)
  const configurationIds = findConfigurationIds(issuer, request.credential)
  const grant = { name: 'authorization_code', issuerState: undefined } as const
  return receiveCredentials(
    wallet,
    issuer,
    { credentialIssuer, configurationIds, grant, authorizationServer: undefined },
    {},
  )
}

function findConfigurationIds(
  { configurations }: IssuerDescription,
  credential: WalletInitiatedRequest['credential'],
): readonly string[] {
  const scopeOf = (id: string) => memberOf(memberOf(configurations, id), 'scope')
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
  return refuseWith('not_found', `the issuer offers no credential ${name} to wallets that ask; there are: ${all}`)
}

async function receiveCredentials(
  wallet: WalletContext,
  issuer: IssuerDescription,
  offer: ReceivedOffer,
  prompts: UserPrompts,
): Promise<readonly StoredCredential[]> {
  // Checks everything that can fail before the code is used.
  const offeredCredentials = offer.configurationIds.map((id) => readOfferedCredential(wallet, issuer, id))
  const server = await fetchTokenServer(wallet, issuer, offer)
  const accessToken = await getAccessToken(wallet, { issuer, server, offer }, prompts)
  const servers = { credentialIssuer: issuer.credentialIssuer, authorizationServer: server.issuer }
  const authorization = await storeAuthorization(wallet, servers, accessToken)
  const credentials: StoredCredential[] = []
  const pending: PendingCredential[] = []
  try {
    for (const each of offeredCredentials) {
      const isPatient = pending.length === 0
      const outcome = await obtainCredential(
        wallet,
        { issuer, accessToken, authorization },
        { offeredCredential: each, isPatient },
      )
      if ('credential' in outcome) credentials.push(outcome.credential)
      else pending.push(outcome.pending)
    }
    if (pending.length > 0) refuseUndecided()
  } catch (error) {
    throw error instanceof WalletError && credentials.length > 0 ? addStoredIds(error, credentials) : error
  } finally {
    if (authorization !== undefined) await updateAuthorization(wallet, { ...authorization, pending }, credentials)
  }
  return credentials
}

/**
 * Stores the pending transactions of an authorization. Removes the authorization if nothing was stored and nothing is
 * pending.
 */
async function updateAuthorization(
  wallet: WalletContext,
  authorization: StoredAuthorization,
  credentials: readonly StoredCredential[],
): Promise<void> {
  if (credentials.length === 0 && authorization.pending.length === 0) return removeAuthorization(wallet, authorization)
  if (authorization.pending.length > 0) await writeAuthorization(wallet, authorization)
}

function refuseUndecided(): never {
  return refuseWith(
    'not_yet',
    'the issuer has not decided yet, and the wallet keeps what it has proved; ask again later: vouchsafe wallet collect',
  )
}

async function getAccessToken(
  wallet: WalletContext,
  source: { readonly issuer: IssuerDescription; readonly server: TokenServer; readonly offer: ReceivedOffer },
  prompts: UserPrompts,
): Promise<AccessToken> {
  const { issuer, server, offer } = source
  const { grant, configurationIds } = offer
  if (grant.name === 'authorization_code') {
    return authorizeByCode(wallet, server, { issuer, configurationIds, issuerState: grant.issuerState })
  }
  const txCode = grant.txCode && (await requireTxCode(grant.txCode, prompts))
  return redeemPreAuthorizedCode(wallet, server, { code: grant.preAuthorizedCode, txCode })
}

async function requireTxCode(description: TxCodeDescription, { askTxCode }: UserPrompts): Promise<string> {
  const code = (await askTxCode?.(description))?.trim()
  return code || refuseWith('needs_tx_code', 'the issuer wants a transaction code, which it has given you another way')
}

function addStoredIds(error: WalletError, credentials: readonly StoredCredential[]): WalletError {
  const message = `${error.message} (received before that and kept: ${credentials.map(({ id }) => id).join(', ')})`
  return new WalletError(error.code, message, { cause: error, ...(error.server ? { server: error.server } : {}) })
}
