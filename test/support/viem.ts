/** The part of viem that tests compare with; it is installed in test/contracts alone. */
import { createRequire } from 'node:module'
import { join } from 'node:path'

const load = createRequire(join(import.meta.dirname, '..', 'contracts', 'package.json'))

type Hex = `0x${string}`
type Fields = Readonly<Record<string, unknown>>

interface Viem {
  parseTransaction(raw: string): Fields
  recoverTransactionAddress(asked: { serializedTransaction: string }): Promise<Hex>
  keccak256(data: string): Hex
  parseAbi(signatures: readonly string[]): readonly unknown[]
  encodeFunctionData(asked: Fields): Hex
  encodeFunctionResult(asked: Fields): Hex
  decodeFunctionResult(asked: Fields): unknown
  encodeDeployData(asked: Fields): Hex
  encodeErrorResult(asked: Fields): Hex
  custom(provider: { request(asked: { method: string; params?: unknown[] }): Promise<unknown> }): unknown
  createPublicClient(options: Fields): {
    readContract(asked: Fields): Promise<unknown>
    waitForTransactionReceipt(asked: Fields): Promise<{ status: string; contractAddress: Hex; blockNumber: bigint }>
    getLogs(asked: Fields): Promise<readonly Fields[]>
    getBlock(asked?: Fields): Promise<{ number: bigint; transactions: readonly unknown[] }>
    getTransaction(asked: Fields): Promise<Fields>
    simulateContract(asked: Fields): Promise<unknown>
  }
  createWalletClient(options: Fields): {
    deployContract(asked: Fields): Promise<Hex>
    writeContract(asked: Fields): Promise<Hex>
  }
  defineChain(chain: Fields): unknown
}

export const viem = load('viem') as Viem
export const { privateKeyToAccount } = load('viem/accounts') as {
  readonly privateKeyToAccount: (key: string) => { readonly address: Hex }
}
