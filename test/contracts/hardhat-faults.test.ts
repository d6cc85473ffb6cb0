/** Tests what a chain port says of a hardhat node that takes back blocks, or is killed and started again. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHttpJsonRpc } from '../../src/bin/chain/json-rpc-http.ts'
import { createOutbound } from '../../src/bin/network/outbound.ts'
import { type ChainUnderTest, call, deployedComponent, sent } from '../../src/chain/chain.contract.ts'
import { createEvmChain, fetchChainId } from '../../src/chain/evm/evm.ts'
import { HARDHAT_KEY, type Hardhat, startHardhat } from '../support/hardhat.ts'

const STARTS_MS = 600_000

describe('a hardhat node', () => {
  let hardhat: Hardhat
  let under: ChainUnderTest
  beforeAll(async () => {
    hardhat = await startHardhat()
    const rpc = createHttpJsonRpc(hardhat.url, createOutbound())
    under = { rpc, id: await fetchChainId(rpc), key: HARDHAT_KEY }
  }, STARTS_MS)
  afterAll(() => hardhat.stop())

  it('changes its blocks: those that were taken back are none of the chain, and what was in them is pending again', async () => {
    const contract = await deployedComponent(under)
    const chain = createEvmChain(under.rpc, { id: under.id, confirmations: 0 })
    const account = chain.createAccount(under.key)
    const before = await chain.fetchHead()
    const snapshot = await under.rpc('evm_snapshot', [])
    const transaction = await account.sign(contract, call('post(bytes)', '0x01'), 0n, await account.fetchNextNonce())
    await account.submit(transaction)
    const gone = await chain.fetchHead()
    expect(await account.fetchOutcome(transaction)).toBe('included')
    await under.rpc('evm_revert', [snapshot])
    expect(await chain.hasBlock(gone)).toBe(false)
    expect(await chain.hasBlock(before)).toBe(true)
    expect(await account.fetchOutcome(transaction)).toBe('pending')
    // Another takes its place, at the same height.
    expect(await sent(account, contract, call('post(bytes)', '0x02'))).toBe('included')
    expect((await chain.fetchHead()).number).toBe(gone.number)
    expect(await chain.hasBlock(gone)).toBe(false)
    expect(await account.fetchOutcome(transaction)).toBe('lost')
  })

  it(
    'is killed and started again: it is asked again which chain it is of',
    async () => {
      const chain = createEvmChain(under.rpc, { id: under.id, confirmations: 0 })
      const before = await chain.fetchHead()
      await hardhat.stop()
      await expect(chain.fetchHead()).rejects.toThrow('the chain cannot be asked')
      hardhat = await startHardhat(hardhat.port)
      expect((await chain.fetchHead()).number).toBe(0)
      expect(await chain.hasBlock(before)).toBe(false)
    },
    STARTS_MS,
  )
})
