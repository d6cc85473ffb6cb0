/** Signed transactions of Partisia Blockchain, and the addresses of its accounts. */
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { type Address, addressBytes, addressOf } from '../../offchain/address.ts'
import { writer } from '../../offchain/rpc.ts'
import type { SignedTransaction } from '../chain.ts'

const ADDRESS_BYTES = 20
const SIGNATURE_BYTES = 65
const NONCE_BYTES = 8

export interface UnsignedTransaction {
  readonly nonce: number
  /** The time until which a block may include the transaction, in milliseconds since 1970. */
  readonly validTo: number
  readonly gas: bigint
  readonly to: Address
  readonly payload: Uint8Array
}

/**
 * Derives the address of an account from its private key: 00, and the last 20 bytes of the SHA-256 of the uncompressed
 * public key.
 */
export function makeAccountAddress(key: Uint8Array): Address {
  const digest = sha256(secp256k1.getPublicKey(key, false))
  return addressOf(Buffer.concat([Buffer.alloc(1), digest.subarray(-ADDRESS_BYTES)]))
}

/**
 * Signs a transaction, encoded as: signature 65 ‖ nonce i64 ‖ valid to i64 ‖ gas i64 ‖ address 21 ‖ payload. The signed
 * bytes are those after the signature, and the id of the chain.
 */
export function signTransaction(transaction: UnsignedTransaction, chainId: string, key: Uint8Array): SignedTransaction {
  const { nonce, validTo, gas, to, payload } = transaction
  const inner = writer().i64(BigInt(nonce)).i64(BigInt(validTo)).i64(gas).raw(addressBytes(to)).bytes(payload).done()
  const digest = sha256(writer().raw(inner).text(chainId).done())
  const signature = secp256k1.sign(digest, key, { prehash: false, format: 'recovered' })
  const identifier = sha256(Buffer.concat([digest, signature]))
  const raw = Buffer.concat([signature, inner])
  return { hash: Buffer.from(identifier).toString('hex'), nonce, raw: raw.toString('hex') }
}

/** Returns the time until which a block may include the transaction, in milliseconds since 1970. */
export function validTo({ raw }: SignedTransaction): number {
  return Number(Buffer.from(raw, 'hex').readBigInt64BE(SIGNATURE_BYTES + NONCE_BYTES))
}
