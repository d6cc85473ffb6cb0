/** The sender of a transaction of a local chain is the one that the library says which signs them. */
import { randomBytes } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { addr, Transaction } from 'micro-eth-signer'
import { RLP } from 'micro-eth-signer/core/rlp.js'
import { expect, it } from 'vitest'
import { JsonRpcError } from '../../src/chain/json-rpc.ts'
import { readTransaction } from '../../src/chain/local/transaction.ts'
import { loadRecovery } from '../../src/offchain/authentication/key-recovery.ts'

const recover = await loadRecovery()

const common = { to: addr.addChecksum(`0x${'22'.repeat(20)}`), nonce: 3n, value: 0n, gasLimit: 90_000n, chainId: 77n }
const legacy = Transaction.prepare({ ...common, type: 'legacy', gasPrice: 0n }, false)
const fees = { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n, accessList: [] }
const eip1559 = Transaction.prepare({ ...common, ...fees, type: 'eip1559' }, false)

it.each([
  ['legacy', legacy],
  ['EIP-1559', eip1559],
])('is read from a transaction: %s', (_, unsigned) => {
  for (let count = 0; count < 20; count++) {
    const signed = unsigned.signBy(randomBytes(32))
    expect(readTransaction(signed.toHex()).sender(recover)).toBe(signed.sender.toLowerCase())
  }
})

it('is nobody, where the signature has the higher s, or is none', () => {
  const signed = eip1559.signBy(randomBytes(32))
  const { r, s, yParity } = signed.raw as { r: bigint; s: bigint; yParity: number }
  const order = secp256k1.Point.CURVE().n
  const forged = (values: object) => new Transaction('eip1559', { ...signed.raw, ...values }, { strict: false }).toHex()
  for (const values of [{ s: order - s, yParity: 1 - yParity }, { r: order }, { r: 5n }, { s: order }]) {
    expect(() => readTransaction(forged(values)).sender(recover), JSON.stringify(Object.keys(values))).toThrow(
      JsonRpcError,
    )
  }
  expect(readTransaction(forged({ r })).sender(recover)).toBe(signed.sender.toLowerCase())
})

it('is nobody, where half of a signature with a chain id is zero', () => {
  const { r, s } = legacy.signBy(randomBytes(32)).raw as { r: bigint; s: bigint }
  const fields = [3n, 0n, 90_000n, BigInt(common.to), 0n, 0n, 2n * 77n + 35n].map(minimal)
  for (const signature of [
    [0n, s],
    [r, 0n],
  ]) {
    const raw = `0x${bytesToHex(RLP.encode([...fields, ...signature.map(minimal)]))}`
    expect(() => readTransaction(raw).sender(recover)).toThrow(JsonRpcError)
  }
})

function minimal(value: bigint): Uint8Array {
  const text = value === 0n ? '' : value.toString(16)
  return hexToBytes(text.padStart(2 * Math.ceil(text.length / 2), '0'))
}
