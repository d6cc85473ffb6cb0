/** The chains that a suite of contracts runs on: each only what answers JSON-RPC. */
import type { JsonRpc } from './evm.ts'
import { startHardhat } from './hardhat.ts'

export interface TestChain {
  readonly name: string
  readonly start: () => Promise<{ readonly rpc: JsonRpc; readonly stop: () => Promise<void> }>
}

export const chains: readonly TestChain[] = [{ name: 'hardhat node', start: startHardhat }]
