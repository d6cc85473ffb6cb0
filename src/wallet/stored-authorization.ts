/**
 * Stored authorizations, for requests without the person: the refresh token, its DPoP key, and pending transactions.
 * RFC 6749 section 6.
 */
import { toBase64url } from '../codec/base64url.ts'
import { isObject, type Json, type JsonObject, memberOf, parseJsonObject, stringMemberOf } from '../codec/json.ts'
import { malformed, readOrUndefined } from '../codec/malformed.ts'
import type { AccessToken } from './access-token.ts'
import type { TextStore, WalletContext } from './context.ts'
import { refuseWith } from './error.ts'

export interface StoredAuthorization {
  readonly name: string
  readonly credentialIssuer: string
  readonly authorizationServer: string
  readonly clientId: string | undefined
  readonly refreshToken: string
  /** The record of the DPoP key; undefined if the token is not bound. */
  readonly dpopKey: JsonObject | undefined
  readonly pending: readonly PendingCredential[]
}

/** A deferred credential. */
export interface PendingCredential {
  readonly configurationId: string
  readonly transactionId: string
  /** The records of the proved keys. */
  readonly keys: readonly JsonObject[]
  /** The id of the stored credential that it replaces; undefined for a new one. */
  readonly replaces: string | undefined
}

/** Stores the authorization of an access token; returns undefined if it could not be used again. */
export async function storeAuthorization(
  wallet: WalletContext,
  servers: { readonly credentialIssuer: string; readonly authorizationServer: string },
  { refreshToken, clientId, dpop }: AccessToken,
): Promise<StoredAuthorization | undefined> {
  if (refreshToken === undefined || wallet.store.authorizations === undefined) return undefined
  const name = toBase64url(wallet.random(9))
  const authorization = { name, ...servers, clientId, refreshToken, dpopKey: dpop?.keyRecord, pending: [] }
  await writeAuthorization(wallet, authorization)
  return authorization
}

/** Writes an authorization to the store. */
export async function writeAuthorization(wallet: WalletContext, authorization: StoredAuthorization): Promise<void> {
  const record = {
    credential_issuer: authorization.credentialIssuer,
    authorization_server: authorization.authorizationServer,
    client_id: authorization.clientId,
    refresh_token: authorization.refreshToken,
    dpop_key: authorization.dpopKey,
    pending: authorization.pending.map(({ configurationId, transactionId, keys, replaces }) => ({
      credential_configuration_id: configurationId,
      transaction_id: transactionId,
      keys,
      replaces,
    })),
  }
  await requireAuthorizationStore(wallet).write(authorization.name, `${JSON.stringify(record, null, 2)}\n`)
}

/** Reads an authorization; undefined if it is missing or invalid. */
export async function readAuthorization(wallet: WalletContext, name: string): Promise<StoredAuthorization | undefined> {
  const authorizations = requireAuthorizationStore(wallet)
  if (!(await authorizations.list()).includes(name)) return undefined
  const text = await authorizations.read(name)
  return readOrUndefined(() => readAuthorizationRecord(name, parseJsonObject(text)))
}

/** Returns all valid authorizations. */
export async function listAuthorizations(wallet: WalletContext): Promise<readonly StoredAuthorization[]> {
  const names = (await wallet.store.authorizations?.list()) ?? []
  const authorizations = await Promise.all(names.map((name) => readAuthorization(wallet, name)))
  return authorizations.filter((each) => each !== undefined)
}

/** Removes an authorization from the store. */
export async function removeAuthorization(wallet: WalletContext, { name }: StoredAuthorization): Promise<void> {
  await requireAuthorizationStore(wallet).remove(name)
}

function requireAuthorizationStore({ store }: WalletContext): TextStore {
  return store.authorizations ?? refuseWith('unsupported', 'this wallet keeps no authorizations to ask issuers again')
}

function readAuthorizationRecord(name: string, record: JsonObject): StoredAuthorization {
  const dpopKey = memberOf(record, 'dpop_key')
  const pending = memberOf(record, 'pending')
  return {
    name,
    credentialIssuer: requireText(record, 'credential_issuer'),
    authorizationServer: requireText(record, 'authorization_server'),
    clientId: stringMemberOf(record, 'client_id'),
    refreshToken: requireText(record, 'refresh_token'),
    dpopKey: isObject(dpopKey) ? dpopKey : undefined,
    pending: (Array.isArray(pending) ? pending : []).map(readPendingCredential),
  }
}

function readPendingCredential(value: Json): PendingCredential {
  const keys = memberOf(value, 'keys')
  return {
    configurationId: requireText(value, 'credential_configuration_id'),
    transactionId: requireText(value, 'transaction_id'),
    keys: (Array.isArray(keys) ? keys : []).filter(isObject),
    replaces: stringMemberOf(value, 'replaces'),
  }
}

function requireText(value: Json, name: string): string {
  const text = memberOf(value, name)
  return typeof text === 'string' ? text : malformed(`it has no ${name}`)
}
