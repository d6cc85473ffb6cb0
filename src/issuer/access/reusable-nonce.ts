/**
 * Nonces of DPoP proofs and challenges of wallet attestations. A nonce proves that a proof was made in the last
 * minutes, even if the wallet's clock is wrong. A nonce can be used many times, because each proof can be used once.
 * All wallets get the same nonce for half a minute, and no nonce is stored. RFC 9449 sections 8 and 11.3;
 * Attestation-Based Client Authentication, Replay Attacks.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { fromBase64url, toBase64url } from '../../codec/base64url.ts'
import { orUndefined } from '../../codec/malformed.ts'
import type { Secrets } from '../../keys/secrets.ts'

export interface ReusableNonces {
  /** Returns the nonce to send to wallets at this time. */
  readonly getCurrent: (now: Date) => string
  /** Tests whether this service made the nonce within the last five minutes, or up to half a minute before these. */
  readonly isValid: (nonce: string, now: Date) => boolean
}

const VALID_SECONDS = 300
const PERIOD_SECONDS = 30
const TIME_BYTES = 6
const MAC_BYTES = 16

/**
 * Creates nonces that are made with the first of `secrets` and accepted with each of them, so that all processes accept
 * each other's nonces.
 */
export function createReusableNonces(secrets: Secrets): ReusableNonces {
  let latest = { period: -1, nonce: '' }
  return {
    getCurrent: (now) => {
      const period = Math.floor(now.getTime() / 1000 / PERIOD_SECONDS)
      if (latest.period !== period) latest = { period, nonce: toBase64url(nonceBytes(secrets[0], period)) }
      return latest.nonce
    },
    isValid: (nonce, now) => {
      const bytes = orUndefined(() => fromBase64url(nonce))
      if (bytes?.length !== TIME_BYTES + MAC_BYTES) return false
      const period = bytes.readUIntBE(0, TIME_BYTES)
      const until = (period + 1) * PERIOD_SECONDS + VALID_SECONDS
      const isOurs = secrets.some((secret) => timingSafeEqual(bytes, nonceBytes(secret, period)))
      return isOurs && now.getTime() < until * 1000
    },
  }
}

function nonceBytes(secret: KeyObject, period: number): Buffer {
  const time = Buffer.alloc(TIME_BYTES)
  time.writeUIntBE(period, 0, TIME_BYTES)
  return Buffer.concat([time, createHmac('sha256', secret).update(time).digest().subarray(0, MAC_BYTES)])
}
