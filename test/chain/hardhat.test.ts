/** The chain port on a real `hardhat node`, over HTTP. */
import { afterAll, beforeAll } from 'vitest'
import { httpJsonRpc } from '../../src/bin/chain/json-rpc-http.ts'
import { createOutbound } from '../../src/bin/outbound.ts'
import { describeChain } from '../../src/chain/chain.contract.ts'
import { chainIdOf } from '../../src/chain/evm/evm.ts'
import { HARDHAT_KEY, type Hardhat, startHardhat } from '../support/hardhat.ts'

const STARTS_MS = 60_000
let hardhat: Hardhat

beforeAll(async () => {
  hardhat = await startHardhat()
}, STARTS_MS)
afterAll(() => hardhat.stop())

describeChain('a hardhat node', async () => {
  const rpc = httpJsonRpc(hardhat.url, createOutbound())
  return { rpc, id: await chainIdOf(rpc), key: HARDHAT_KEY }
})
