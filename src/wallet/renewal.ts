/**
 * Asks an issuer again without the person: new copies of a credential, and credentials that the issuer had to decide
 * about. RFC 6749 section 6; OpenID4VCI 1.0, Deferred Credential Endpoint.
 */
import { MalformedError } from '../codec/malformed.ts'
import { REFRESH_GRANT } from '../protocol/grant.ts'
import { fetchTokenServer, requestToken } from './access-token.ts'
import type { HolderKey, WalletContext } from './context.ts'
import { askAgain, transactionIdOf } from './deferred-credential.ts'
import { dpopKeyOf } from './dpop.ts'
import { abort, orAbort, WalletError } from './error.ts'
import { type CredentialAccess, keepCredential, obtainCredential } from './issuance.ts'
import { fetchIssuerMetadata, readOfferedCredential } from './issuer-metadata.ts'
import {
  type KeptAuthorization,
  listAuthorizations,
  type PendingCredential,
  readAuthorization,
  removeAuthorization,
  writeAuthorization,
} from './kept-authorization.ts'
import { findCredential, type StoredCredential } from './stored-credential.ts'

type KeptAccess = CredentialAccess & { readonly kept: KeptAuthorization }

/** A credential that the wallet still waits for, and why it did not come, when that is known. */
export interface Outstanding {
  readonly credentialIssuer: string
  readonly configurationId: string
  readonly problem: string | undefined
}

/**
 * Replaces the copies of a stored credential by new ones. Refuses with `unsupported` one that came without a refresh
 * token, with `not_yet`, and with `refused`.
 */
export async function renewCredential(wallet: WalletContext, id: string): Promise<StoredCredential> {
  const old = await findCredential(wallet.store, id)
  const kept = old.source && (await readAuthorization(wallet, old.source.authorization))
  if (old.source === undefined || kept === undefined) {
    return abort('unsupported', `the issuer gave no way to renew credential ${old.id}; ask it for a new offer`)
  }
  const access = await refreshAccess(wallet, kept)
  const offered = readOfferedCredential(wallet, access.issuer, old.source.configurationId)
  const obtained = await obtainCredential(wallet, access, { offered, isPatient: true })
  if ('pending' in obtained) {
    await writeAuthorization(wallet, { ...access.kept, pending: [...access.kept.pending, obtained.pending] })
    return abort('not_yet', 'the issuer has not decided yet; the credential that you have stays, ask again later')
  }
  const { stored } = obtained
  if (stored.id !== old.id) await wallet.store.remove(old.id)
  return stored
}

/** Lists the credentials that the wallet waits for. Asks nobody. */
export async function listOutstanding(wallet: WalletContext): Promise<readonly Outstanding[]> {
  const kept = await listAuthorizations(wallet)
  return kept.flatMap(({ credentialIssuer, pending }) =>
    pending.map(({ configurationId }) => ({ credentialIssuer, configurationId, problem: undefined })),
  )
}

/** Asks for every credential that was to come later; each stays until the issuer has decided. */
export async function collectPending(
  wallet: WalletContext,
): Promise<{ readonly received: readonly StoredCredential[]; readonly outstanding: readonly Outstanding[] }> {
  const received: StoredCredential[] = []
  const outstanding: Outstanding[] = []
  for (const kept of (await listAuthorizations(wallet)).filter(({ pending }) => pending.length > 0)) {
    const waiting = (pending: PendingCredential, problem: string | undefined): Outstanding => {
      return { credentialIssuer: kept.credentialIssuer, configurationId: pending.configurationId, problem }
    }
    const access = await orProblemText(() => refreshAccess(wallet, kept))
    if (typeof access === 'string') {
      outstanding.push(...kept.pending.map((pending) => waiting(pending, access)))
      continue
    }
    for (const pending of kept.pending) {
      const collected = await orProblemText(() => collectOne(wallet, access, pending))
      if (typeof collected === 'object') received.push(collected)
      else outstanding.push(waiting(pending, collected))
    }
  }
  return { received, outstanding }
}

/** Returns the credential; undefined while the issuer has not decided. */
async function collectOne(
  wallet: WalletContext,
  access: KeptAccess,
  pending: PendingCredential,
): Promise<StoredCredential | undefined> {
  const { transactionId } = pending
  const offered = readOfferedCredential(wallet, access.issuer, pending.configurationId)
  const keys = await openKeys(wallet, pending)
  try {
    const answer = await askAgain(wallet, access.issuer, { accessToken: access.accessToken, transactionId })
    if (transactionIdOf(answer) !== undefined) return undefined
    const stored = await keepCredential(wallet, access, { offered, keys, answer })
    await forgetPending(wallet, access.kept, transactionId)
    return stored
  } catch (error) {
    // A refusal by the endpoint is the end of the transaction. OpenID4VCI 1.0, Deferred Credential Error Response.
    const isEnd = error instanceof WalletError && TRANSACTION_ENDS.has(error.server?.error ?? '')
    if (isEnd) await forgetPending(wallet, access.kept, transactionId)
    throw error
  }
}

const TRANSACTION_ENDS: ReadonlySet<string> = new Set(['invalid_transaction_id', 'credential_request_denied'])

/**
 * Removes a transaction from the pending ones of the authorization, read again from the store since others may be gone
 * by now.
 */
async function forgetPending(wallet: WalletContext, { name }: KeptAuthorization, transactionId: string): Promise<void> {
  const kept = await readAuthorization(wallet, name)
  if (kept === undefined) return
  const pending = kept.pending.filter((each) => each.transactionId !== transactionId)
  await writeAuthorization(wallet, { ...kept, pending })
}

/** Gets an access token, and keeps the next refresh token before anything is done with it. */
async function refreshAccess(wallet: WalletContext, kept: KeptAuthorization): Promise<KeptAccess> {
  const issuer = await fetchIssuerMetadata(wallet, kept.credentialIssuer)
  const server = await fetchTokenServer(wallet, issuer, kept)
  const dpop = kept.dpopKey && dpopKeyOf({ signer: await openKey(wallet, kept.dpopKey), stored: kept.dpopKey })
  const form = {
    grant_type: REFRESH_GRANT,
    refresh_token: kept.refreshToken,
    ...(kept.clientId !== undefined && { client_id: kept.clientId }),
  }
  try {
    const accessToken = await requestToken(wallet, server, form, dpop)
    const next = { ...kept, refreshToken: accessToken.refreshToken ?? kept.refreshToken }
    await writeAuthorization(wallet, next)
    return { issuer, accessToken, kept: next }
  } catch (error) {
    // RFC 6749 section 5.2: the refresh token is good for nothing any more.
    const isOver = error instanceof WalletError && error.server?.error === 'invalid_grant'
    if (isOver) await removeAuthorization(wallet, kept)
    throw error
  }
}

async function openKeys(wallet: WalletContext, { keys }: PendingCredential): Promise<readonly HolderKey[]> {
  return Promise.all(keys.map(async (stored) => ({ signer: await openKey(wallet, stored), stored })))
}

async function openKey({ store }: WalletContext, stored: HolderKey['stored']): Promise<HolderKey['signer']> {
  const opened = await store.keys.open(stored).catch((error: unknown) => {
    if (error instanceof MalformedError) return error
    throw error
  })
  return orAbort('unreadable_credential', 'a kept authorization is damaged', () => {
    if (opened instanceof MalformedError) throw opened
    return opened
  })
}

/** Returns the result, or the message of a WalletError. */
async function orProblemText<T>(work: () => Promise<T>): Promise<T | string> {
  return work().catch((error: unknown) => {
    if (!(error instanceof WalletError)) throw error
    return error.message
  })
}
