/**
 * The `c_nonce` of key proofs (OpenID4VCI 1.0, Nonce Endpoint). A nonce consists of its expiry and a MAC over the
 * expiry and the session id, so a new nonce is not stored. A nonce is for the session that uses it first, and can be
 * used once for each of its configurations, since some wallets fetch one nonce for all credentials of an offer. The
 * uses of a nonce are stored until it expires.
 */
import { digestOf } from '../../codec/digest.ts'
import { readMacToken, writeMacToken } from '../../codec/mac-token.ts'
import type { Secrets } from '../../keys/secrets.ts'
import { refuse } from '../../protocol/error.ts'
import { insertOrUpdate } from '../../store/store.ts'
import type { IssuerCollections, IssuerStore } from '../collections.ts'
import type { AccessContext } from './context.ts'
import type { SingleUse } from './single-use.ts'

/** The lifetime of a nonce. */
const NONCE_SECONDS = 300
const RANDOM_BYTES = 16
const EXPIRY_BYTES = 6
/** The session id in the MAC of a nonce for any session. A session id is never empty. */
const ANY_SESSION = ''

/** The part of the context that making a nonce needs. */
export interface NonceContext extends Pick<AccessContext, 'random' | 'now'> {
  readonly secrets: Pick<AccessContext['secrets'], 'nonce'>
}

/** Makes a nonce. Without `sessionId`, the nonce is valid for any session. */
export function makeNonce({ secrets, random, now }: NonceContext, sessionId: string | undefined): string {
  const expiry = Buffer.alloc(EXPIRY_BYTES)
  expiry.writeUIntBE(now().getTime() + NONCE_SECONDS * 1000, 0, EXPIRY_BYTES)
  return writeMacToken(secrets.nonce[0], Buffer.concat([expiry, random(RANDOM_BYTES)]), sessionId ?? ANY_SESSION)
}

/** Makes `c_nonce` and `c_nonce_expires_in`, for wallets that look for a nonce in a response. */
export function makeNonceMembers(context: NonceContext, sessionId: string) {
  return { c_nonce: makeNonce(context, sessionId), c_nonce_expires_in: NONCE_SECONDS }
}

/** The session and the configuration of a request with a nonce. */
export interface NonceTarget {
  readonly sessionId: string
  readonly configurationId: string
}

/** A nonce of this service that has not expired, and the request that uses it. */
export interface VerifiedNonce extends NonceTarget {
  readonly nonce: string
  readonly dueAt: Date
}

/**
 * Verifies the nonce of a request. Refuses with `invalid_nonce` a nonce that this service did not make for the session,
 * and one that has expired. Reads nothing from the store, so it can come before the verification of signatures;
 * {@link makeNonceSingleUse} refuses a nonce that was used.
 */
export function verifyNonce(
  { secrets }: Pick<NonceContext, 'secrets'>,
  target: NonceTarget,
  nonce: string,
  now: Date,
): VerifiedNonce {
  const dueAt = expiryOf(secrets.nonce, target.sessionId, nonce)
  return dueAt === undefined || now >= dueAt ? refuseNonce() : { ...target, nonce, dueAt }
}

/**
 * Makes the single use of a nonce. Refuses with `invalid_nonce` a nonce that was used in another session, or for the
 * same configuration.
 */
export async function makeNonceSingleUse(
  store: IssuerStore,
  { nonce, sessionId, configurationId, dueAt }: VerifiedNonce,
): Promise<SingleUse> {
  const row = await store.get('spent_nonce', nonce)
  const session = digestOf(sessionId)
  const { configurationIds = [] } = row?.value ?? {}
  if (row !== undefined && (row.value.session !== session || configurationIds.includes(configurationId)))
    return refuseNonce()
  const value: IssuerCollections['spent_nonce'] = { session, configurationIds: [...configurationIds, configurationId] }
  return {
    change: insertOrUpdate('spent_nonce', row, { id: nonce, value, dueAt }),
    refuseReuse: refuseNonce,
  }
}

/** Returns when `nonce` expires; undefined unless this service made it for this session or for any session. */
function expiryOf(secrets: Secrets, sessionId: string, nonce: string): Date | undefined {
  const read = (bound: string) => readMacToken(secrets, nonce, EXPIRY_BYTES + RANDOM_BYTES, bound)
  const body = read(sessionId) ?? read(ANY_SESSION)
  return body && new Date(body.readUIntBE(0, EXPIRY_BYTES))
}

function refuseNonce(): never {
  return refuse('invalid_nonce', 'the c_nonce is unknown, used or expired; fetch a new one from the nonce endpoint')
}
