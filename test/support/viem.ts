/** The part of viem that tests compare with; it is installed in test/contracts alone. */
import { createRequire } from 'node:module'
import { join } from 'node:path'

const load = createRequire(join(import.meta.dirname, '..', 'contracts', 'package.json'))

type Hex = `0x${string}`
type Fields = Readonly<Record<string, unknown>>

interface Viem {
  parseTransaction(raw: string): Fields
  recoverTransactionAddress(parameters: { serializedTransaction: string }): Promise<Hex>
  keccak256(data: string): Hex
  parseAbi(signatures: readonly string[]): readonly unknown[]
  encodeFunctionData(parameters: Fields): Hex
  encodeFunctionResult(parameters: Fields): Hex
  decodeFunctionResult(parameters: Fields): unknown
  encodeDeployData(parameters: Fields): Hex
  encodeErrorResult(parameters: Fields): Hex
  custom(provider: { request(parameters: { method: string; params?: unknown[] }): Promise<unknown> }): unknown
  createPublicClient(options: Fields): {
    readContract(parameters: Fields): Promise<unknown>
    waitForTransactionReceipt(
      parameters: Fields,
    ): Promise<{ status: string; contractAddress: Hex; blockNumber: bigint }>
    getLogs(parameters: Fields): Promise<readonly Fields[]>
    getBlock(parameters?: Fields): Promise<{ number: bigint; transactions: readonly unknown[] }>
    getTransaction(parameters: Fields): Promise<Fields>
    simulateContract(parameters: Fields): Promise<unknown>
  }
  createWalletClient(options: Fields): {
    deployContract(parameters: Fields): Promise<Hex>
    writeContract(parameters: Fields): Promise<Hex>
  }
  defineChain(chain: Fields): unknown
}

export const viem = load('viem') as Viem
export const { privateKeyToAccount } = load('viem/accounts') as {
  readonly privateKeyToAccount: (key: string) => { readonly address: Hex }
}
