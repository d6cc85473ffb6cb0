/** Signed transactions of Partisia Blockchain. */
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { type Address, addressBytes } from '../../offchain/address.ts'
import { writer } from '../../offchain/rpc.ts'
import type { SignedTransaction } from '../chain.ts'

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
