/** The chains that a suite of contracts runs on, each of which only answers JSON-RPC. */
import { join } from 'node:path'
import { createHttpJsonRpc } from '../../src/bin/chain/json-rpc-http.ts'
import { createOutbound } from '../../src/bin/network/outbound.ts'
import type { BlockFiles } from '../../src/chain/local/files.ts'
import { openLocalRpc } from '../../src/chain/local/methods.ts'
import { startHardhat } from '../../test/support/hardhat.ts'
import type { JsonRpc } from './evm.ts'

export interface TestChain {
  readonly name: string
  readonly start: () => Promise<{ readonly rpc: JsonRpc; readonly stop: () => Promise<void> }>
}

/** The configuration of a chain where nobody needs a balance. */
const FREE = join(import.meta.dirname, 'hardhat.config.cjs')

export const hardhatNode: TestChain = {
  name: 'hardhat node',
  start: async () => {
    const hardhat = await startHardhat(undefined, FREE)
    return { rpc: createHttpJsonRpc(hardhat.url, createOutbound()), stop: () => hardhat.stop() }
  },
}

export const localChain: TestChain = {
  name: 'the local chain',
  start: async () => ({ rpc: await openLocalRpc(inMemory(), () => new Date()), stop: () => Promise.resolve() }),
}

/**
 * The chain of this run: a Hardhat node by `npm run test:others`, which installs one, and the local chain otherwise.
 */
export const chains: readonly TestChain[] = [process.env.VOUCHSAFE_TEST_CHAIN === 'hardhat' ? hardhatNode : localChain]

function inMemory(): BlockFiles {
  const blocks = new Map<number, string>()
  return {
    name: 'memory',
    read: (number) => blocks.get(number),
    create: (number, text) => {
      const isNew = !blocks.has(number)
      if (isNew) blocks.set(number, text)
      return Promise.resolve(isNew)
    },
    numbers: () => [...blocks.keys()],
  }
}
