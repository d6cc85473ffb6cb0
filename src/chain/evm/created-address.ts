/** The address of a contract, which its creator and the nonce of the transaction determine. */
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { RLP } from 'micro-eth-signer/core/rlp.js'
import { type Address, evmAddress, parseAddress } from '../../offchain/address.ts'

/** Returns the address of the contract that a transaction of `sender` creates. Ethereum Yellow Paper, section 7. */
export function createdAddress(sender: Address, nonce: number): Address {
  const hash = keccak_256(RLP.encode([evmAddress(sender), BigInt(nonce)]))
  return parseAddress(bytesToHex(hash.subarray(-20)))
}
