/**
 * Requests credentials again without the person: new copies of a credential, and deferred credentials. RFC 6749 section
 * 6; OpenID4VCI 1.0, Deferred Credential Endpoint.
 */
import type { Problem } from '../codec/malformed.ts'
import { REFRESH_GRANT } from '../protocol/grant-types.ts'
import { fetchTokenServer, requestToken } from './access-token.ts'
import type { HolderKey, WalletContext } from './context.ts'
import { endsTransaction, readTransactionId, requestDeferredCredential } from './deferred-credential.ts'
import { dpopKeyOf } from './dpop.ts'
import { refuseMalformedWith, refuseWith, WalletError } from './error.ts'
import { type CredentialAccess, checkAndStoreCredential, obtainCredential } from './issuance.ts'
import { fetchIssuerMetadata, readOfferedCredential } from './issuer-metadata.ts'
import {
  listAuthorizations,
  type PendingCredential,
  readAuthorization,
  removeAuthorization,
  type StoredAuthorization,
  writeAuthorization,
} from './stored-authorization.ts'
import { requireCredential, type StoredCredential } from './stored-credential.ts'

type StoredAccess = CredentialAccess & { readonly authorization: StoredAuthorization }

/** A deferred credential that the wallet still waits for, and why it was not received, if known. */
export interface OutstandingCredential {
  readonly credentialIssuer: string
  readonly configurationId: string
  readonly problem: string | undefined
}

/**
 * Replaces the copies of a stored credential: by a pending deferred response, or by a new request. Refuses with
 * `unsupported` a credential without a refresh token, with `not_yet`, and with `refused`.
 */
export async function renewCredential(wallet: WalletContext, id: string): Promise<StoredCredential> {
  const previous = await requireCredential(wallet.store, id)
  const authorization = previous.source && (await readAuthorization(wallet, previous.source.authorization))
  if (previous.source === undefined || authorization === undefined) {
    return refuseWith(
      'unsupported',
      `the issuer gave no way to renew credential ${previous.id}; ask it for a new offer`,
    )
  }
  const { configurationId } = previous.source
  const access = await refreshAccess(wallet, authorization)
  const pending = authorization.pending.find(({ replaces }) => replaces === previous.id)
  const credential = await (pending === undefined
    ? requestNewCopies(wallet, access, { configurationId, replaces: previous.id })
    : collectCredential(wallet, access, pending))
  return (
    credential ??
    refuseWith('not_yet', 'the issuer has not decided yet; the credential that you have stays, ask again later')
  )
}

/** Returns the new credential; undefined while the issuer has not decided. */
async function requestNewCopies(
  wallet: WalletContext,
  access: StoredAccess,
  { configurationId, replaces }: { readonly configurationId: string; readonly replaces: string },
): Promise<StoredCredential | undefined> {
  const offeredCredential = readOfferedCredential(wallet, access.issuer, configurationId)
  const outcome = await obtainCredential(wallet, access, { offeredCredential, isPatient: true, replaces })
  if ('pending' in outcome) {
    const pending = [...access.authorization.pending, outcome.pending]
    await writeAuthorization(wallet, { ...access.authorization, pending })
    return undefined
  }
  await removePreviousCredential(wallet, replaces, outcome.credential)
  return outcome.credential
}

async function removePreviousCredential(
  { store }: WalletContext,
  previousId: string,
  { id }: StoredCredential,
): Promise<void> {
  if (id !== previousId && (await store.list()).includes(previousId)) await store.remove(previousId)
}

/** Returns the credentials that the wallet waits for. Sends no requests. */
export async function listOutstandingCredentials(wallet: WalletContext): Promise<readonly OutstandingCredential[]> {
  const authorizations = await listAuthorizations(wallet)
  return authorizations.flatMap(({ credentialIssuer, pending }) =>
    pending.map(({ configurationId }) => ({ credentialIssuer, configurationId, problem: undefined })),
  )
}

/** Requests all deferred credentials. Those that the issuer has not decided on remain pending. */
export async function collectPendingCredentials(
  wallet: WalletContext,
): Promise<{ readonly received: readonly StoredCredential[]; readonly outstanding: readonly OutstandingCredential[] }> {
  const received: StoredCredential[] = []
  const outstanding: OutstandingCredential[] = []
  const collect = async (access: StoredAccess, pending: PendingCredential) => ({
    credential: await collectCredential(wallet, access, pending),
  })
  for (const authorization of (await listAuthorizations(wallet)).filter(({ pending }) => pending.length > 0)) {
    const outstandingOf = (pending: PendingCredential, problem: string | undefined): OutstandingCredential => {
      return { credentialIssuer: authorization.credentialIssuer, configurationId: pending.configurationId, problem }
    }
    const access = await catchWalletError(() => refreshAccess(wallet, authorization))
    for (const pending of authorization.pending) {
      const result = 'problem' in access ? access : await catchWalletError(() => collect(access, pending))
      if ('problem' in result) outstanding.push(outstandingOf(pending, result.problem))
      else if (result.credential === undefined) outstanding.push(outstandingOf(pending, undefined))
      else received.push(result.credential)
    }
  }
  return { received, outstanding }
}

/** Returns the credential; undefined while the issuer has not decided. */
async function collectCredential(
  wallet: WalletContext,
  access: StoredAccess,
  pending: PendingCredential,
): Promise<StoredCredential | undefined> {
  const { transactionId } = pending
  const offeredCredential = readOfferedCredential(wallet, access.issuer, pending.configurationId)
  const keys = await openKeys(wallet, pending)
  try {
    const answer = await requestDeferredCredential(wallet, access.issuer, {
      accessToken: access.accessToken,
      transactionId,
    })
    if (readTransactionId(answer) !== undefined) return undefined
    const credential = await checkAndStoreCredential(wallet, access, { offeredCredential, keys, answer })
    if (pending.replaces !== undefined) await removePreviousCredential(wallet, pending.replaces, credential)
    await removePendingCredential(wallet, access.authorization, transactionId)
    return credential
  } catch (error) {
    if (endsTransaction(error)) await removePendingCredential(wallet, access.authorization, transactionId)
    throw error
  }
}

/** Removes a pending transaction of an authorization. Reads the authorization again, since it may have changed. */
async function removePendingCredential(
  wallet: WalletContext,
  { name }: StoredAuthorization,
  transactionId: string,
): Promise<void> {
  const authorization = await readAuthorization(wallet, name)
  if (authorization === undefined) return
  const pending = authorization.pending.filter((each) => each.transactionId !== transactionId)
  await writeAuthorization(wallet, { ...authorization, pending })
}

/** Refreshes the access token, and stores the new refresh token first. */
async function refreshAccess(wallet: WalletContext, authorization: StoredAuthorization): Promise<StoredAccess> {
  const issuer = await fetchIssuerMetadata(wallet, authorization.credentialIssuer)
  const server = await fetchTokenServer(wallet, issuer, authorization)
  const dpop =
    authorization.dpopKey &&
    dpopKeyOf({ signer: await openKey(wallet, authorization.dpopKey), keyRecord: authorization.dpopKey })
  const form = {
    grant_type: REFRESH_GRANT,
    refresh_token: authorization.refreshToken,
    ...(authorization.clientId !== undefined && { client_id: authorization.clientId }),
  }
  try {
    const accessToken = await requestToken(wallet, server, form, dpop)
    const renewedAuthorization = {
      ...authorization,
      refreshToken: accessToken.refreshToken ?? authorization.refreshToken,
    }
    await writeAuthorization(wallet, renewedAuthorization)
    return { issuer, accessToken, authorization: renewedAuthorization }
  } catch (error) {
    // RFC 6749 section 5.2: the refresh token is invalid.
    const isTokenInvalid = error instanceof WalletError && error.server?.error === 'invalid_grant'
    if (isTokenInvalid) await removeAuthorization(wallet, authorization)
    throw error
  }
}

async function openKeys(wallet: WalletContext, { keys }: PendingCredential): Promise<readonly HolderKey[]> {
  return Promise.all(keys.map(async (keyRecord) => ({ signer: await openKey(wallet, keyRecord), keyRecord })))
}

function openKey({ store }: WalletContext, keyRecord: HolderKey['keyRecord']): Promise<HolderKey['signer']> {
  return store.keys
    .open(keyRecord)
    .catch((error: unknown) => refuseMalformedWith('unreadable_credential', 'a kept authorization is damaged', error))
}

/** Returns the result, or the message of a WalletError as a problem. */
function catchWalletError<T>(work: () => Promise<T>): Promise<T | Problem> {
  return work().catch((error: unknown): Problem => {
    if (!(error instanceof WalletError)) throw error
    return { problem: error.message }
  })
}
