/**
 * Authorizations that the wallet keeps to ask an issuer again without the person: the refresh token, the key that it is
 * bound to, and the transactions of credentials that come later. RFC 6749 section 6.
 */
import { toBase64url } from '../codec/base64url.ts'
import { isObject, type Json, type JsonObject, memberOf, own, ownString, parseJsonObject } from '../codec/json.ts'
import { malformed, orUndefined } from '../codec/malformed.ts'
import type { AccessToken } from './access-token.ts'
import type { TextStore, WalletContext } from './context.ts'
import { abort } from './error.ts'

export interface KeptAuthorization {
  readonly name: string
  readonly credentialIssuer: string
  readonly authorizationServer: string
  readonly clientId: string | undefined
  readonly refreshToken: string
  /** The DPoP key as the store of keys has it; undefined when the token is bound to none. */
  readonly dpopKey: JsonObject | undefined
  readonly pending: readonly PendingCredential[]
}

/** A credential that the issuer decides about later. */
export interface PendingCredential {
  readonly configurationId: string
  readonly transactionId: string
  /** The proved keys, as the store of keys has them. */
  readonly keys: readonly JsonObject[]
}

/** Keeps the authorization of a token, and returns it; undefined when there is nothing to ask again with. */
export async function keepAuthorization(
  wallet: WalletContext,
  by: { readonly credentialIssuer: string; readonly authorizationServer: string },
  { refreshToken, clientId, dpop }: AccessToken,
): Promise<KeptAuthorization | undefined> {
  if (refreshToken === undefined || wallet.store.authorizations === undefined) return undefined
  const name = toBase64url(wallet.random(9))
  const kept = { name, ...by, clientId, refreshToken, dpopKey: dpop?.stored, pending: [] }
  await writeAuthorization(wallet, kept)
  return kept
}

export async function writeAuthorization(wallet: WalletContext, kept: KeptAuthorization): Promise<void> {
  const record = {
    credential_issuer: kept.credentialIssuer,
    authorization_server: kept.authorizationServer,
    client_id: kept.clientId,
    refresh_token: kept.refreshToken,
    dpop_key: kept.dpopKey,
    pending: kept.pending.map(({ configurationId, transactionId, keys }) => ({
      credential_configuration_id: configurationId,
      transaction_id: transactionId,
      keys,
    })),
  }
  await authorizationsOf(wallet).write(kept.name, `${JSON.stringify(record, null, 2)}\n`)
}

/** Reads an authorization; undefined when it is not there, or damaged. */
export async function readAuthorization(wallet: WalletContext, name: string): Promise<KeptAuthorization | undefined> {
  const authorizations = authorizationsOf(wallet)
  if (!(await authorizations.list()).includes(name)) return undefined
  const text = await authorizations.read(name)
  return orUndefined(() => authorizationIn(name, parseJsonObject(text)))
}

/** Lists the authorizations that can be read. */
export async function listAuthorizations(wallet: WalletContext): Promise<readonly KeptAuthorization[]> {
  const names = (await wallet.store.authorizations?.list()) ?? []
  const kept = await Promise.all(names.map((name) => readAuthorization(wallet, name)))
  return kept.filter((each) => each !== undefined)
}

export async function removeAuthorization(wallet: WalletContext, { name }: KeptAuthorization): Promise<void> {
  await authorizationsOf(wallet).remove(name)
}

function authorizationsOf({ store }: WalletContext): TextStore {
  return store.authorizations ?? abort('unsupported', 'this wallet keeps no authorizations to ask issuers again')
}

function authorizationIn(name: string, record: JsonObject): KeptAuthorization {
  const dpopKey = own(record, 'dpop_key')
  const pending = own(record, 'pending')
  return {
    name,
    credentialIssuer: textIn(record, 'credential_issuer'),
    authorizationServer: textIn(record, 'authorization_server'),
    clientId: ownString(record, 'client_id'),
    refreshToken: textIn(record, 'refresh_token'),
    dpopKey: isObject(dpopKey) ? dpopKey : undefined,
    pending: (Array.isArray(pending) ? pending : []).map(pendingIn),
  }
}

function pendingIn(value: Json): PendingCredential {
  const keys = memberOf(value, 'keys')
  return {
    configurationId: textIn(value, 'credential_configuration_id'),
    transactionId: textIn(value, 'transaction_id'),
    keys: (Array.isArray(keys) ? keys : []).filter(isObject),
  }
}

function textIn(value: Json, name: string): string {
  const text = memberOf(value, name)
  return typeof text === 'string' ? text : malformed(`it has no ${name}`)
}
