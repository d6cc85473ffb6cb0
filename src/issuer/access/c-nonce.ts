/**
 * The `c_nonce` of key proofs (OpenID4VCI 1.0, Nonce Endpoint). A nonce consists of its expiry and a MAC over the
 * expiry and the session id, so a new nonce is not stored. A nonce can be used once: a used nonce is stored until it
 * expires.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { fromBase64url, toBase64url } from '../../codec/base64url.ts'
import { orUndefined } from '../../codec/malformed.ts'
import type { Secrets } from '../../keys/secrets.ts'
import { refuse } from '../../protocol/error.ts'
import type { AccessContext } from './context.ts'
import { refuseIfUsed, type SingleUse } from './single-use.ts'

/** The lifetime of a nonce. */
export const NONCE_SECONDS = 300
const RANDOM_BYTES = 16
const EXPIRY_BYTES = 6
const MAC_BYTES = 16

/** The part of the context that making a nonce needs. */
export interface NonceContext extends Pick<AccessContext, 'random' | 'now'> {
  readonly secrets: Pick<AccessContext['secrets'], 'nonce'>
}

/** Makes a nonce. Without `sessionId`, the nonce is valid for any session. */
export function makeNonce({ secrets, random, now }: NonceContext, sessionId: string | undefined): string {
  const expiry = Buffer.alloc(EXPIRY_BYTES)
  expiry.writeUIntBE(now().getTime() + NONCE_SECONDS * 1000, 0, EXPIRY_BYTES)
  const body = Buffer.concat([expiry, random(RANDOM_BYTES)])
  return toBase64url(Buffer.concat([body, computeMac(secrets.nonce[0], sessionId, body)]))
}

/**
 * Checks the nonce of a request for the session, and returns the single use that marks it as used. Refuses with
 * `invalid_nonce` a nonce that this service did not make, and one that has expired or was used.
 */
export async function checkNonce(
  { secrets, store }: Pick<AccessContext, 'secrets' | 'store'>,
  sessionId: string,
  nonce: string,
  now: Date,
): Promise<SingleUse> {
  const dueAt = expiryOf(secrets.nonce, sessionId, nonce) ?? refuseNonce()
  if (now >= dueAt) refuseNonce()
  const change = { insert: 'spent_nonce', id: nonce, value: {}, dueAt } as const
  const singleUse = { change, refuseReuse: refuseNonce }
  await refuseIfUsed(store, singleUse)
  return singleUse
}

/** Returns when `nonce` expires; undefined unless this service made it for this session or for any session. */
function expiryOf(secrets: Secrets, sessionId: string, nonce: string): Date | undefined {
  const bytes = orUndefined(() => fromBase64url(nonce))
  if (bytes?.length !== EXPIRY_BYTES + RANDOM_BYTES + MAC_BYTES) return undefined
  const body = bytes.subarray(0, -MAC_BYTES)
  const receivedMac = bytes.subarray(-MAC_BYTES)
  const isMacOf = (session: string | undefined): boolean =>
    secrets.some((secret) => timingSafeEqual(computeMac(secret, session, body), receivedMac))
  return isMacOf(sessionId) || isMacOf(undefined) ? new Date(body.readUIntBE(0, EXPIRY_BYTES)) : undefined
}

function computeMac(secret: KeyObject, sessionId: string | undefined, body: Uint8Array): Buffer {
  // A session id is never empty, so the empty text means "any session".
  return createHmac('sha256', secret)
    .update(body)
    .update(sessionId ?? '')
    .digest()
    .subarray(0, MAC_BYTES)
}

function refuseNonce(): never {
  return refuse('invalid_nonce', 'the c_nonce is unknown, used or expired; fetch a new one from the nonce endpoint')
}
