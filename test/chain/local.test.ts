/** The chain port on a local chain. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openBlockFiles } from '../../src/bin/chain/block-files.ts'
import { openLocalChain } from '../../src/bin/chain/local-chain.ts'
import { describeChain } from '../../src/chain/chain.contract.ts'
import { fetchChainId } from '../../src/chain/evm/evm.ts'
import { openLocalRpc } from '../../src/chain/local/methods.ts'
import { findBuiltDirectory } from '../../src/toolchain/places.ts'

describeChain('a local chain', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-chain-'))
  const rpc = await openLocalRpc(openBlockFiles(directory), () => new Date())
  return { rpc, id: await fetchChainId(rpc), key: Buffer.from('31'.repeat(32), 'hex') }
})

describeChain('a local chain in a thread of its own', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-chain-'))
  const rpc = await openLocalChain(directory, join(findBuiltDirectory(), 'local-chain-worker.cjs'))
  return { rpc, id: await fetchChainId(rpc), key: Buffer.from('31'.repeat(32), 'hex') }
})
