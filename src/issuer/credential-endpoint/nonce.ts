/**
 * The `c_nonce`: made without storing anything, accepted once. OpenID4VCI 1.0, Nonce Endpoint.
 * It carries its expiry and a MAC over it and the session; only a spent one takes a row, until it would have expired.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { fromBase64url, toBase64url } from '../../codec/base64url.ts'
import { orUndefined } from '../../codec/malformed.ts'
import type { Secrets } from '../../keys/secrets.ts'

/** How long a nonce is good. */
export const NONCE_SECONDS = 300
const RANDOM_BYTES = 16
const EXPIRY_BYTES = 6
const MAC_BYTES = 16

/** A fresh nonce for the session, or for any session when it is fetched from the endpoint without one. */
export function makeNonce([secret]: Secrets, sessionId: string | undefined, random: Uint8Array, now: Date): string {
  const expiry = Buffer.alloc(EXPIRY_BYTES)
  expiry.writeUIntBE(now.getTime() + NONCE_SECONDS * 1000, 0, EXPIRY_BYTES)
  const body = Buffer.concat([expiry, random.subarray(0, RANDOM_BYTES)])
  return toBase64url(Buffer.concat([body, mac(secret, sessionId, body)]))
}

/** When the nonce expires, if we made it for this session or for any, and it has not. */
export function nonceExpiry(secrets: Secrets, sessionId: string, nonce: string, now: Date): Date | undefined {
  const bytes = orUndefined(() => fromBase64url(nonce))
  if (bytes?.length !== EXPIRY_BYTES + RANDOM_BYTES + MAC_BYTES) return undefined
  const body = bytes.subarray(0, -MAC_BYTES)
  const claimed = bytes.subarray(-MAC_BYTES)
  const isOf = (session: string | undefined): boolean =>
    secrets.some((secret) => timingSafeEqual(mac(secret, session, body), claimed))
  const expiry = new Date(body.readUIntBE(0, EXPIRY_BYTES))
  return (isOf(sessionId) || isOf(undefined)) && now < expiry ? expiry : undefined
}

function mac(secret: KeyObject, sessionId: string | undefined, body: Uint8Array): Buffer {
  // A session id is never empty, so the empty text stands for "any session" and nothing else.
  return createHmac('sha256', secret)
    .update(body)
    .update(sessionId ?? '')
    .digest()
    .subarray(0, MAC_BYTES)
}
