/**
 * Short tokens that their maker recognises without storing them: a body and its MAC, in base64url. The MAC is
 * HMAC-SHA-256 (RFC 2104), truncated to 128 bits.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { fromBase64url, toBase64url } from './base64url.ts'
import { readOrUndefined } from './malformed.ts'

const MAC_BYTES = 16

/** Computes the whole MAC of a text, in base64url. */
export function macOfText(secret: KeyObject, text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url')
}

/** Writes a token. The MAC also covers the text `bound`, which the token does not contain. */
export function writeMacToken(secret: KeyObject, body: Uint8Array, bound: string): string {
  return toBase64url(Buffer.concat([body, computeMac(secret, body, bound)]))
}

/**
 * Returns the body of a token that was written with one of `secrets` for the same `bound`, and whose body has
 * `bodyBytes` bytes; undefined for any other text.
 */
export function readMacToken(
  secrets: readonly KeyObject[],
  token: string,
  bodyBytes: number,
  bound: string,
): Buffer | undefined {
  const bytes = readOrUndefined(() => fromBase64url(token))
  if (bytes?.length !== bodyBytes + MAC_BYTES) return undefined
  const [body, receivedMac] = [bytes.subarray(0, bodyBytes), bytes.subarray(bodyBytes)]
  const isOurs = secrets.some((secret) => timingSafeEqual(computeMac(secret, body, bound), receivedMac))
  return isOurs ? body : undefined
}

function computeMac(secret: KeyObject, body: Uint8Array, bound: string): Buffer {
  return createHmac('sha256', secret).update(body).update(bound).digest().subarray(0, MAC_BYTES)
}
