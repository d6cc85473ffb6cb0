/**
 * Nonces of DPoP proofs and challenges of wallet attestations. A nonce proves that a proof was made in the last
 * minutes, even if the wallet's clock is wrong. A nonce can be used many times, because each proof can be used once.
 * All wallets get the same nonce for half a minute, and no nonce is stored. RFC 9449 sections 8 and 11.3;
 * Attestation-Based Client Authentication, Replay Attacks.
 */
import { readMacToken, writeMacToken } from '../../codec/mac-token.ts'
import type { Secrets } from '../../keys/secrets.ts'

export interface ReusableNonces {
  /** Returns the nonce to send to wallets at this time. */
  readonly getCurrent: (now: Date) => string
  /** Tests whether this service made the nonce, at most five and a half minutes ago. */
  readonly isValid: (nonce: string, now: Date) => boolean
}

const VALID_SECONDS = 300
const PERIOD_SECONDS = 30
const PERIOD_BYTES = 6

/**
 * Creates nonces that are made with the first of `secrets` and accepted with each of them, so that all processes accept
 * each other's nonces.
 */
export function createReusableNonces(secrets: Secrets): ReusableNonces {
  let latest = { period: -1, nonce: '' }
  return {
    getCurrent: (now) => {
      const period = Math.floor(now.getTime() / 1000 / PERIOD_SECONDS)
      if (latest.period !== period) latest = { period, nonce: writeMacToken(secrets[0], bytesOf(period), '') }
      return latest.nonce
    },
    isValid: (nonce, now) => {
      const period = readMacToken(secrets, nonce, PERIOD_BYTES, '')?.readUIntBE(0, PERIOD_BYTES)
      if (period === undefined) return false
      const until = (period + 1) * PERIOD_SECONDS + VALID_SECONDS
      return now.getTime() < until * 1000
    },
  }
}

function bytesOf(period: number): Buffer {
  const bytes = Buffer.alloc(PERIOD_BYTES)
  bytes.writeUIntBE(period, 0, PERIOD_BYTES)
  return bytes
}
