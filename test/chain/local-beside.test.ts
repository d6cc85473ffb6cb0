/** What only looks at a local chain, beside a transaction or a call that takes long. */
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

/** Contracts that take seconds for all the gas of a block: one hashes much, one calls itself, and one does nothing, all the time. */
const ENDLESS = ['5b6188b85f20505f56', '5b5f5f5f5f305afa505f56', '5b5f56']

it('calls that take long hold up no others, and are given up', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-chain-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const rpc = await localJsonRpc(blockFiles(directory), () => new Date())
  const done: string[] = []
  const deployer = party()
  const contracts: string[] = []
  for (const code of ENDLESS) {
    const length = (code.length / 2).toString(16).padStart(2, '0')
    const hash = await submit(rpc, deployer, '0x', `0x60${length}8060095f395ff3${code}`, 100_000n)
    contracts.push(((await rpc('eth_getTransactionReceipt', [hash])) as { contractAddress: string }).contractAddress)
  }
  const endless = contracts.map((to) =>
    rpc('eth_call', [{ to }, '0x3']).catch((error: unknown) => {
      done.push('endless')
      return (error as Error).message
    }),
  )
  await new Promise((resolve) => setTimeout(resolve, 20))
  for (let times = 0; times < 10; times++) {
    await rpc('eth_call', [{ data: '0x6001600055' }, '0x0'])
    done.push('call')
  }
  await submit(rpc, party(), '0x', '0x00', 100_000n).then(() => done.push('transaction'))
  // On a slow machine the endless calls may be given up meanwhile; they do not come before the others, which take turns with them.
  expect(done[0]).toBe('call')
  expect(done.filter((each) => each !== 'endless')).toEqual([...Array<string>(10).fill('call'), 'transaction'])
  // A fast machine uses up the gas of some before their time is over.
  for (const why of await Promise.all(endless))
    expect(why).toMatch(/^execution (aborted: it takes too long|failed: out of gas)$/)
})

it('no precompiled contract is given more than two million gas, as nothing can interrupt it', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-chain-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const rpc = await localJsonRpc(blockFiles(directory), () => new Date())
  // BLAKE2f with as many rounds as it has gas, and whether it succeeded as the answer.
  const blake = (rounds: number) =>
    `0x63${rounds.toString(16).padStart(8, '0')}60e01b5f52600160d4535f5f60d55f60095afa5f5260205ff3`
  expect(Number(await rpc('eth_call', [{ data: blake(1_900_000) }, '0x0']))).toBe(1)
  expect(Number(await rpc('eth_call', [{ data: blake(2_100_000) }, '0x0']))).toBe(0)
})
