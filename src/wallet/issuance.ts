/**
 * Obtains a credential with an access token: makes keys, sends the request, and checks and stores the credential.
 * OpenID4VCI 1.0, Credential Endpoint and Deferred Credential Endpoint.
 */
import { type JsonObject, stringMemberOf } from '../codec/json.ts'
import type { AccessToken } from './access-token.ts'
import type { HolderKey, WalletContext } from './context.ts'
import { sendCredentialRequest } from './credential-request.ts'
import { awaitCredential, readTransactionId } from './deferred-credential.ts'
import { refuseWith } from './error.ts'
import type { IssuerDescription, OfferedCredential } from './issuer-metadata.ts'
import { notifyAccepted } from './notification.ts'
import { checkReceivedCredentials } from './received-credential.ts'
import type { PendingCredential, StoredAuthorization } from './stored-authorization.ts'
import { type StoredCredential, storeCredential } from './stored-credential.ts'

/** An issuer, and an access token for it. */
export interface CredentialAccess {
  readonly issuer: IssuerDescription
  readonly accessToken: AccessToken
  /** The stored authorization; undefined if the access token cannot be renewed. */
  readonly authorization: StoredAuthorization | undefined
}

/** The stored credential, or the pending transaction of a deferred one. */
export type ObtainedCredential = { readonly credential: StoredCredential } | { readonly pending: PendingCredential }

const PATIENCE_SECONDS = 60
/** The maximum number of copies of a credential, since each costs the issuer a signature. */
const MAX_COPIES = 20

/**
 * Requests, checks and stores a credential, in as many copies as the issuer's batch size allows. Refuses with `not_yet`
 * if the issuer defers it for longer than the wallet waits and there is no authorization to ask again. With `isPatient`
 * false, does not wait.
 */
export async function obtainCredential(
  wallet: WalletContext,
  access: CredentialAccess,
  {
    offeredCredential,
    isPatient,
    replaces,
  }: {
    readonly offeredCredential: OfferedCredential
    readonly isPatient: boolean
    /** The id of the stored credential to replace, if the credential is deferred. */
    readonly replaces?: string
  },
): Promise<ObtainedCredential> {
  const { issuer, accessToken, authorization } = access
  const keys = await makeKeys(wallet, issuer, offeredCredential)
  const holders = keys.map(({ signer }) => signer)
  const first = await sendCredentialRequest(wallet, issuer, offeredCredential, { accessToken, holders })
  const patienceSeconds = isPatient ? PATIENCE_SECONDS : 0
  const answer = await awaitCredential(wallet, issuer, first, { accessToken, patienceSeconds })
  const transactionId = readTransactionId(answer)
  if (transactionId === undefined)
    return { credential: await checkAndStoreCredential(wallet, access, { offeredCredential, keys, answer }) }
  if (authorization === undefined) refuseToWait()
  return {
    pending: {
      configurationId: offeredCredential.configurationId,
      transactionId,
      keys: keys.map(({ keyRecord }) => keyRecord),
      replaces,
    },
  }
}

/** Checks and stores the credentials of a response, and notifies the issuer. Refuses with `invalid_credential`. */
export async function checkAndStoreCredential(
  wallet: WalletContext,
  { issuer, accessToken, authorization }: CredentialAccess,
  {
    offeredCredential,
    keys,
    answer,
  }: {
    readonly offeredCredential: OfferedCredential
    readonly keys: readonly HolderKey[]
    readonly answer: JsonObject
  },
): Promise<StoredCredential> {
  const receivedAt = wallet.now()
  const copies = checkReceivedCredentials(answer, offeredCredential, keys, receivedAt)
  wallet.onStep?.({
    what: 'checked and stored the credential',
    means:
      "Signed by the key of the issuer's certificate, bound to our key, of the type that was offered, not expired.",
    spec: 'RFC 9901, Verification by the Holder',
  })
  const { name, format, display, claimNames, configurationId } = offeredCredential
  const source = authorization && { configurationId, authorization: authorization.name }
  const issuerName = issuer.name
  const description = { name, format, display, claimNames, receivedAt, issuerName }
  const credential = await storeCredential(wallet, { ...description, copies, source })
  await notifyAccepted(wallet, issuer, stringMemberOf(answer, 'notification_id'), accessToken)
  return credential
}

/** Makes a key for each copy. RFC 9901, Unlinkability. */
function makeKeys(
  { store }: WalletContext,
  { batchSize }: IssuerDescription,
  { proofKey }: OfferedCredential,
): Promise<readonly HolderKey[]> {
  const length = Math.min(batchSize, MAX_COPIES)
  return Promise.all(Array.from({ length }, () => store.keys.make(proofKey.algorithm)))
}

function refuseToWait(): never {
  return refuseWith(
    'not_yet',
    `the issuer has not decided yet, and this wallet waits for no longer than ${PATIENCE_SECONDS} seconds and keeps nothing until then; ask for a new offer later`,
  )
}
