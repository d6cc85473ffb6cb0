/**
 * Shares on their way through the contract: X25519 between keys that both engines made for this one key, HKDF with
 * SHA-256, and ChaCha20-Poly1305. A derived key encrypts exactly one message in one direction, so that its nonce can
 * be zero, and whoever must send it again sends the same bytes.
 */
import { chacha20poly1305 } from '@noble/ciphers/chacha.js'
import { x25519 } from '@noble/curves/ed25519.js'
import { hkdf } from '@noble/hashes/hkdf.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { uint } from '../abi.ts'
import { concat, fromHex } from '../bytes.ts'

/** The facts that identify a message. */
export interface Way {
  readonly chainId: string
  readonly contract: string
  readonly key: bigint
  readonly registration: Uint8Array
  /** The places of the engines in the contract's list. */
  readonly from: number
  readonly to: number
}

const NONCE = new Uint8Array(12)

/** Encrypts a share for another engine. Throws when `theirs` is a key that no secret can be shared with. */
export function encrypt(share: Uint8Array, own: Uint8Array, theirs: Uint8Array, way: Way): Uint8Array {
  return chacha20poly1305(derive(own, theirs, way), NONCE).encrypt(share)
}

/** Decrypts a share. Throws when it was not encrypted by the other engine, for this way. */
export function decrypt(encrypted: Uint8Array, own: Uint8Array, theirs: Uint8Array, way: Way): Uint8Array {
  return chacha20poly1305(derive(own, theirs, way), NONCE).decrypt(encrypted)
}

function derive(own: Uint8Array, theirs: Uint8Array, way: Way): Uint8Array {
  const label = new TextEncoder().encode(`vouchsafe key management, share of a key, chain ${way.chainId}`)
  const place = concat([fromHex(way.contract), uint(way.key), way.registration, uint(way.from), uint(way.to)])
  return hkdf(sha256, x25519.getSharedSecret(own, theirs), undefined, concat([place, label]), 32)
}
