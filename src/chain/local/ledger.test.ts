import { Transaction } from 'micro-eth-signer'
import { RLP } from 'micro-eth-signer/core/rlp.js'
import { describe, expect, it } from 'vitest'
import { feeHistory } from './answers.ts'
import { hashBlock, readBlock, type StoredBlock, writeBlock } from './block.ts'
import { createContractLister } from './deployed.ts'
import type { BlockFiles } from './files.ts'
import { openLocalRpc } from './methods.ts'

const KEY = new Uint8Array(32).fill(0x31)
const SENDER = `0x${'22'.repeat(20)}`
const TIME = 1_800_000_000

/** Makes files in memory. */
function memoryFiles(): BlockFiles & { readonly texts: Map<number, string> } {
  const texts = new Map<number, string>()
  return {
    texts,
    name: 'blocks',
    numbers: () => [...texts.keys()],
    read: (number) => texts.get(number),
    create: (number, text) => {
      if (texts.has(number)) return Promise.resolve(false)
      texts.set(number, text)
      return Promise.resolve(true)
    },
  }
}

/** Opens a chain whose clock says `clock.seconds`. */
async function openChain(files = memoryFiles(), clock = { seconds: TIME }) {
  const rpc = await openLocalRpc(files, () => new Date(clock.seconds * 1000))
  const chainId = BigInt((await rpc('eth_chainId', [])) as string)
  return { rpc, chainId, files, clock }
}

const fields = { to: SENDER, nonce: 0n, value: 0n, gasLimit: 90_000n, data: '0x' }
const legacyOf = (chainId: bigint, changes: object = {}) =>
  Transaction.prepare({ ...fields, type: 'legacy', chainId, gasPrice: 0n, ...changes }, false).signBy(KEY)

describe('a transaction that is sent to a local chain', () => {
  it('is known when it was sent before, however its letters are written', async () => {
    const { rpc, chainId } = await openChain()
    const raw = legacyOf(chainId).toHex()
    const hash = await rpc('eth_sendRawTransaction', [`0x${raw.slice(2).toUpperCase()}`])
    expect(await rpc('eth_getTransactionByHash', [hash])).toMatchObject({ nonce: '0x0', blockNumber: '0x1' })
    await expect(rpc('eth_sendRawTransaction', [raw])).rejects.toThrow('already known')
  })

  it('is refused without a chain id, as it would be good on every chain', async () => {
    const { rpc } = await openChain()
    const { r, s, yParity } = legacyOf(1n).raw as { r: bigint; s: bigint; yParity: number }
    const number = (value: bigint): string | Uint8Array =>
      value === 0n
        ? ''
        : Buffer.from(value.toString(16).padStart(2 * Math.ceil(value.toString(16).length / 2), '0'), 'hex')
    const parts = [0n, 0n, 90_000n].map(number)
    const raw = RLP.encode([
      ...parts,
      Buffer.from(SENDER.slice(2), 'hex'),
      '',
      '',
      ...[BigInt(27 + yParity), r, s].map(number),
    ])
    const sent = rpc('eth_sendRawTransaction', [`0x${Buffer.from(raw).toString('hex')}`])
    await expect(sent).rejects.toThrow(/invalid chain id: .* says none/)
  })

  it('is refused with more gas than a block has, and with a list of accesses', async () => {
    const { rpc, chainId } = await openChain()
    const big = legacyOf(chainId, { gasLimit: 30_000_001n }).toHex()
    await expect(rpc('eth_sendRawTransaction', [big])).rejects.toThrow('exceeds block gas limit')
    const fees = { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n, accessList: [{ address: SENDER, storageKeys: [] }] }
    const listing = Transaction.prepare({ ...fields, ...fees, type: 'eip1559', chainId }, false).signBy(KEY)
    await expect(rpc('eth_sendRawTransaction', [listing.toHex()])).rejects.toThrow('access lists')
  })
})

describe('a block of a local chain', () => {
  it.each<[string, (parent: StoredBlock & { hash: string }) => StoredBlock]>([
    ['another number', ({ hash }) => ({ number: 2, parent: hash, time: TIME })],
    ['another parent', () => ({ number: 1, parent: `0x${'11'.repeat(32)}`, time: TIME })],
    ['an earlier time than its parent', ({ hash, time }) => ({ number: 1, parent: hash, time: time - 1 })],
  ])('with %s is of another chain', async (_, next) => {
    const { rpc, files } = await openChain()
    files.texts.set(1, writeBlock(hashBlock(next(readBlock(files.texts.get(0) ?? '')))))
    await expect(rpc('eth_blockNumber', [])).rejects.toThrow('does not follow on block 0')
  })

  it('is not read with another sender, nor with a number below zero', () => {
    const block = { number: 1, parent: `0x${'11'.repeat(32)}`, time: TIME, transaction: { raw: '0x01', from: SENDER } }
    const text = writeBlock(hashBlock(block))
    expect(readBlock(text)).toMatchObject(block)
    expect(() => readBlock(text.replace('2222', '3333'))).toThrow('changed after it was written')
    expect(() => readBlock(writeBlock(hashBlock({ ...block, number: -1 })))).toThrow('not a block')
  })

  it('of another process is read when it is asked for', async () => {
    const { rpc, files } = await openChain()
    const { rpc: other } = await openChain(files)
    await other('evm_mine', [])
    expect(await rpc('eth_getBlockByNumber', ['0x1', false])).toMatchObject({ number: '0x1' })
  })
})

describe('code on a local chain', () => {
  /** Runs code as the creation of a contract, and returns the word that it has on the stack. */
  const wordOf = async (rpc: Awaited<ReturnType<typeof openChain>>['rpc'], code: string, tag = 'latest', call = {}) =>
    BigInt((await rpc('eth_call', [{ data: `0x${code}5f5260205ff3`, ...call }, tag])) as string)

  it('sees the time of the newest block, and that of the clock in the next', async () => {
    const { rpc, clock } = await openChain()
    await rpc('evm_mine', [])
    clock.seconds += 100
    expect(await wordOf(rpc, '42')).toBe(BigInt(TIME))
    expect(await wordOf(rpc, '42', 'pending')).toBe(BigInt(TIME + 100))
  })

  it('is estimated at the time of the clock', async () => {
    const { rpc, clock } = await openChain()
    await rpc('evm_mine', [])
    clock.seconds += 100
    // Reverts before the time of the clock.
    const data = `0x4263${(TIME + 100).toString(16)}11600b57005b5f5ffd`
    expect(Number(await rpc('eth_estimateGas', [{ data }]))).toBeGreaterThan(53_000)
    await expect(rpc('eth_estimateGas', [{ data }, 'latest'])).rejects.toThrow()
  })

  it('sees the hash of the block before, which is also what there is of chance', async () => {
    const { rpc } = await openChain()
    await rpc('evm_mine', [])
    await rpc('evm_mine', [])
    const { hash } = (await rpc('eth_getBlockByNumber', ['0x1', false])) as { hash: string }
    expect(await wordOf(rpc, '6001430340')).toBe(BigInt(hash))
    expect(await wordOf(rpc, '44')).toBe(BigInt(hash))
  })

  it('finds nothing in transient storage of calls before', async () => {
    const { rpc } = await openChain()
    for (let times = 0; times < 2; times++) expect(await wordOf(rpc, '5f5c60015f5d')).toBe(0n)
  })

  it('leaves nothing of a contract that ends as it is created', async () => {
    const { rpc, chainId } = await openChain()
    const creation = legacyOf(chainId, { to: '0x', data: '0x60015f5533ff' })
    const hash = await rpc('eth_sendRawTransaction', [creation.toHex()])
    const receipt = (await rpc('eth_getTransactionReceipt', [hash])) as { contractAddress: string; status: string }
    expect(receipt.status).toBe('0x1')
    expect(await rpc('eth_getTransactionCount', [receipt.contractAddress, 'latest'])).toBe('0x0')
    expect(await rpc('eth_getCode', [receipt.contractAddress, 'latest'])).toBe('0x')
    expect(await rpc('eth_getStorageAt', [receipt.contractAddress, '0x0', 'latest'])).toBe(`0x${'00'.repeat(32)}`)
  })

  it('has the gas of a block at most', async () => {
    const { rpc } = await openChain()
    expect(await wordOf(rpc, '5a', 'latest', { gas: '0xffffffffff' })).toBeLessThan(30_000_000n)
  })
})

it('a list of contracts has those up to its block, also after a later one was asked for', async () => {
  const address = (number: number) => `0x${String(number).repeat(40)}`
  const list = createContractLister((method, [key]) =>
    Promise.resolve(
      method === 'eth_getBlockByNumber'
        ? { transactions: [String(Number(key))] }
        : { contractAddress: address(Number(key)), status: '0x1' },
    ),
  )
  const blockAt = (number: number) => ({ number, hash: '', time: new Date(0) })
  expect(await list(blockAt(3))).toHaveLength(4)
  expect(await list(blockAt(1))).toEqual([0, 1].map((number) => `00${address(number).slice(2)}`))
})

it('the fee history has 1024 blocks at most', () => {
  const entry = { block: hashBlock({ number: 5000, parent: '0x', time: TIME }) }
  expect(feeHistory(entry, 5000)).toMatchObject({ oldestBlock: `0x${(5001 - 1024).toString(16)}` })
  expect(feeHistory(entry, 2)).toMatchObject({ oldestBlock: '0x1387', gasUsedRatio: [0, 0] })
})
