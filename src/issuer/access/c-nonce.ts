/**
 * The `c_nonce` of key proofs (OpenID4VCI 1.0, Nonce Endpoint). A nonce consists of its expiry and a MAC over the
 * expiry and the session id, so a new nonce is not stored. A nonce can be used once for each configuration, since some
 * wallets fetch one nonce for all credentials of an offer: each use is stored until the nonce expires.
 */
import { digestOf } from '../../codec/digest.ts'
import { readMacToken, writeMacToken } from '../../codec/mac-token.ts'
import type { Secrets } from '../../keys/secrets.ts'
import { refuse } from '../../protocol/error.ts'
import type { AccessContext } from './context.ts'
import type { StoredUse } from './single-use.ts'

/** The lifetime of a nonce. */
export const NONCE_SECONDS = 300
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

/** The request that a nonce is used for. */
export interface NonceTarget {
  readonly sessionId: string
  readonly configurationId: string
}

/**
 * Verifies the nonce of a request, and returns its single use. Refuses with `invalid_nonce` a nonce that this service
 * did not make for the session, and one that has expired. Reads nothing from the store, so it can come before the
 * verification of signatures; the caller refuses a nonce that was used.
 */
export function verifyNonce(
  { secrets }: Pick<NonceContext, 'secrets'>,
  { sessionId, configurationId }: NonceTarget,
  nonce: string,
  now: Date,
): StoredUse {
  const dueAt = expiryOf(secrets.nonce, sessionId, nonce)
  if (dueAt === undefined || now >= dueAt) return refuseNonce()
  const id = `${nonce}.${digestOf(configurationId)}`
  return { change: { insert: 'spent_nonce', id, value: {}, dueAt }, refuseReuse: refuseNonce }
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
