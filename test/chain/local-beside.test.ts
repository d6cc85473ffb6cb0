/** Questions to a local chain beside a block that is being written, and after a call that takes long. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { party, submit } from '../../components/test/evm.ts'
import { openBlockFiles } from '../../src/bin/chain/block-files.ts'
import { openLocalRpc } from '../../src/chain/local/methods.ts'

it.each([
  ['a block', 'eth_getBlockByNumber', ['0x0', false], expect.objectContaining({ number: '0x0' })],
  ['a call', 'eth_call', [{ data: '0x' }, '0x0'], '0x'],
  ['a nonce', 'eth_getTransactionCount', [`0x${'00'.repeat(20)}`, '0x0'], '0x0'],
] as const)('%s that is known does not wait for a block that is being written', async (_, method, params, known) => {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-chain-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const files = openBlockFiles(directory)
  let write: () => void = () => undefined
  const written = new Promise<void>((resolve) => {
    write = resolve
  })
  const slow = { ...files, create: (number: number, text: string) => written.then(() => files.create(number, text)) }
  await openLocalRpc(files, () => new Date())
  const rpc = await openLocalRpc(slow, () => new Date())
  const sent = submit(rpc, party(), '0x', '0x00', 100_000n)
  expect(await rpc(method, params)).toEqual(known)
  write()
  await sent
  expect(await rpc('eth_blockNumber', [])).toBe('0x1')
})

/**
 * Contracts that take seconds for all the gas of a block: one hashes much, one calls itself, and one does nothing, all
 * the time.
 */
const ENDLESS = ['5b6188b85f20505f56', '5b5f5f5f5f305afa505f56', '5b5f56']

it('calls that take long are given up, and what comes after them is answered', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-chain-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const rpc = await openLocalRpc(openBlockFiles(directory), () => new Date())
  const deployer = party()
  for (const code of ENDLESS) {
    const length = (code.length / 2).toString(16).padStart(2, '0')
    const hash = await submit(rpc, deployer, '0x', `0x60${length}8060095f395ff3${code}`, 100_000n)
    const { contractAddress: to } = (await rpc('eth_getTransactionReceipt', [hash])) as { contractAddress: string }
    // A fast machine uses up the gas of some before their time is over.
    const givenUp = /^execution (aborted: it takes too long|failed: out of gas)$/
    await expect(rpc('eth_call', [{ to }, 'latest'])).rejects.toThrow(givenUp)
  }
  expect(await rpc('eth_call', [{ data: '0x6001600055' }, 'latest'])).toBe('0x')
  await submit(rpc, party(), '0x', '0x00', 100_000n)
})

it('no precompiled contract is given more than two million gas, as nothing can interrupt it', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-chain-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const rpc = await openLocalRpc(openBlockFiles(directory), () => new Date())
  // BLAKE2f with as many rounds as it has gas, and whether it succeeded as the answer.
  const blake = (rounds: number) =>
    `0x63${rounds.toString(16).padStart(8, '0')}60e01b5f52600160d4535f5f60d55f60095afa5f5260205ff3`
  expect(Number(await rpc('eth_call', [{ data: blake(1_900_000) }, '0x0']))).toBe(1)
  expect(Number(await rpc('eth_call', [{ data: blake(2_100_000) }, '0x0']))).toBe(0)
})
