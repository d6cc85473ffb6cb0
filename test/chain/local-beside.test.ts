/** What only looks at a local chain, beside a transaction that takes long. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { party, submit } from '../../components/test/evm.ts'
import { blockFiles } from '../../src/bin/chain/block-files.ts'
import { localJsonRpc } from '../../src/chain/local/local.ts'

/** Reads storage so often that it takes some tenths of a second, in the code that makes a contract. */
const LONG = '0x62008000' + '5b' + '5f5450' + '600190038060045700'

it.each([
  ['a block', 'eth_getBlockByNumber', ['0x0', false]],
  ['a call', 'eth_call', [{ data: '0x' }, '0x0']],
  ['a nonce', 'eth_getTransactionCount', [`0x${'00'.repeat(20)}`, '0x0']],
] as const)('%s that is known does not wait for it', async (_, method, params) => {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-chain-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const rpc = await localJsonRpc(blockFiles(directory), () => new Date())
  const done: string[] = []
  const sent = submit(rpc, party(), '0x', LONG, 30_000_000n).then(() => done.push('transaction'))
  // It has begun by then.
  await new Promise((resolve) => setTimeout(resolve, 20))
  await rpc(method, params).then(() => done.push('read'))
  await sent
  expect(done).toEqual(['read', 'transaction'])
  expect(await rpc('eth_blockNumber', [])).toBe('0x1')
})
