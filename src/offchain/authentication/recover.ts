/** Recovers the key that made a signature (ECDSA over secp256k1, SEC 1 section 4.1.6), and the account of a key. */
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { bytesToNumberBE, numberToBytesBE } from '@noble/curves/utils.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js'
import type { Address } from '../address.ts'
import type { RecoverableSignature } from './signed-request.ts'

/** Recovers the uncompressed public key, of 65 bytes; undefined when no key makes this signature. */
export type Recover = (digest: Uint8Array, signature: RecoverableSignature) => Uint8Array | undefined

const DIGEST_BYTES = 32
const COMPACT_BYTES = 64
const ORDER = secp256k1.Point.Fn.ORDER
/** Half the order of the group, rounded down. */
const HALF_ORDER = hexToBytes('7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0')

/** Recovers a key by @noble/curves, for clients: a page loads no WebAssembly for one signature. */
export const recoverInJavaScript: Recover = requireLowS((digest, { compact, recovery }) => {
  try {
    const { Signature } = secp256k1
    return Signature.fromBytes(compact, 'compact').addRecoveryBit(recovery).recoverPublicKey(digest).toBytes(false)
  } catch {
    return undefined
  }
})

/**
 * Wraps a recovery: refuses digests and signatures of another length, which libraries fill up, cut off or refuse, and
 * an s in the upper half of the order, since anybody can turn one s into the other.
 */
export function requireLowS(recover: Recover): Recover {
  return (digest, signature) => {
    const { compact } = signature
    if (digest.length !== DIGEST_BYTES || compact.length !== COMPACT_BYTES || hasHighS(compact)) return undefined
    return recover(digest, signature)
  }
}

/**
 * Returns the signature with s in the lower half of the group's order: a high s becomes the order minus s, and the
 * recovery bit flips. SEC 1 section 4.1.6. An s that is no number below the order stays as it is, so that
 * {@link requireLowS} refuses it.
 */
export function toLowS(signature: RecoverableSignature): RecoverableSignature {
  const { compact, recovery } = signature
  if (!hasHighS(compact)) return signature
  const s = bytesToNumberBE(compact.subarray(32))
  if (s >= ORDER) return signature
  const low = concatBytes(compact.subarray(0, 32), numberToBytesBE(ORDER - s, 32))
  return { compact: low, recovery: recovery === 0 ? 1 : 0 }
}

function hasHighS(compact: Uint8Array): boolean {
  for (const [at, byte] of HALF_ORDER.entries()) {
    const actual = compact[32 + at] ?? 0
    if (actual !== byte) return actual > byte
  }
  return false
}

/**
 * Returns the account of an uncompressed public key: the last 20 bytes of keccak-256 of its point, or on Partisia of
 * SHA-256 of all 65 bytes.
 */
export function accountOf(publicKey: Uint8Array, addresses: 'evm' | 'partisia'): Address {
  const digest = addresses === 'evm' ? keccak_256(publicKey.subarray(1)) : sha256(publicKey)
  return `00${bytesToHex(digest.subarray(12))}`
}

/** Returns the account of a private key of 32 bytes. */
export function accountOfKey(key: Uint8Array, addresses: 'evm' | 'partisia'): Address {
  return accountOf(secp256k1.getPublicKey(key, false), addresses)
}
