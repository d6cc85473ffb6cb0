/**
 * The logs that `eth_getLogs` of a local chain finds, and the filters it refuses. The rules of filters are those of
 * geth.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { party, submit } from '../../components/test/evm.ts'
import { openBlockFiles } from '../../src/bin/chain/block-files.ts'
import { createEvmChain, fetchChainId } from '../../src/chain/evm/evm.ts'
import type { Log as LogInBlock } from '../../src/chain/local/execute.ts'
import type { LedgerEntry } from '../../src/chain/local/ledger.ts'
import { createLogCache } from '../../src/chain/local/log-cache.ts'
import { openLocalRpc } from '../../src/chain/local/methods.ts'
import { parseAddress } from '../../src/offchain/address.ts'

const LOG = { address: '0x', topics: [], data: 'x'.repeat(200) }

interface Log {
  readonly address: string
  readonly topics: readonly string[]
}

const word = (byte: string): string => `0x${byte.padStart(64, '0')}`
const [A, B, C] = [word('aa'), word('bb'), word('cc')]
/** Log as many topics as they have in their name: none, A, or A and B. */
const LOG0 = '5f5fa000'
const LOG1 = '60aa5f5fa100'
const LOG2 = '60bb60aa5f5fa200'
/** Logs until less than 65,535 gas are left. */
const FLOOD = '5b5f5fa05a61ffff105f5700'
/** Logs a mebibyte three times. */
const LARGE = '621000005fa0'.repeat(3)

async function localChain() {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-chain-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const rpc = await openLocalRpc(openBlockFiles(directory), () => new Date())
  const sender = party()
  const send = async (to: string, { data = '0x', gas = 5_000_000n } = {}) => {
    const hash = await submit(rpc, sender, to, data, gas)
    return (await rpc('eth_getTransactionReceipt', [hash])) as { contractAddress: string; blockNumber: string }
  }
  const deploy = async (code: string): Promise<string> => {
    const length = (code.length / 2).toString(16).padStart(2, '0')
    return (await send('0x', { data: `0x60${length}8060095f395ff3${code}` })).contractAddress
  }
  const logs = async (filter: object) => (await rpc('eth_getLogs', [{ fromBlock: '0x0', ...filter }])) as Log[]
  return { rpc, send, deploy, logs }
}

async function withLogs() {
  const chain = await localChain()
  const contracts: string[] = []
  for (const code of [LOG0, LOG1, LOG2]) contracts.push(await chain.deploy(code))
  for (const contract of contracts) await chain.send(contract)
  return { ...chain, contracts }
}

describe('a filter of logs', () => {
  it('finds those that have every topic it asks for at its place, and no fewer topics than it has places', async () => {
    const { logs } = await withLogs()
    const counts = async (topics?: unknown) => (await logs({ topics })).map(({ topics: { length } }) => length)
    for (const any of [undefined, null, []]) expect(await counts(any)).toEqual([0, 1, 2])
    for (const any of [[null], [[]], [[null]], [[C, null]]]) expect(await counts(any)).toEqual([1, 2])
    for (const first of [[A], [[A]], [[C, A]]]) expect(await counts(first)).toEqual([1, 2])
    for (const two of [
      [A, null],
      [A, []],
      [null, B],
      [[], [C, B]],
      [A, B],
    ])
      expect(await counts(two)).toEqual([2])
    for (const none of [[C], [B], [A, C], [null, null, null]]) expect(await counts(none)).toEqual([])
  })

  it('finds those of its addresses, and of any where it names none', async () => {
    const { logs, contracts } = await withLogs()
    const [first = '', second = '', third = ''] = contracts
    const found = async (address: unknown) => (await logs({ address })).map((log) => log.address)
    expect(await found([])).toEqual(contracts)
    expect(await found(null)).toEqual(contracts)
    expect(await found(second)).toEqual([second])
    expect(await found([third, first])).toEqual([first, third])
  })

  it('finds those of a block by its hash', async () => {
    const { rpc, contracts } = await withLogs()
    const { hash } = (await rpc('eth_getBlockByNumber', ['0x5', false])) as { hash: string }
    const filter = { blockHash: hash, fromBlock: null }
    expect(await rpc('eth_getLogs', [filter])).toMatchObject([{ address: contracts[1], blockNumber: '0x5' }])
  })

  it('may ask of blocks that are not there yet', async () => {
    const { logs } = await withLogs()
    expect(await logs({ fromBlock: '0x100', toBlock: '0x200' })).toEqual([])
    expect(await logs({ fromBlock: '0x6', toBlock: '0x200' })).toHaveLength(1)
  })

  it.each<[string, object, string]>([
    ['a block that is not there', { blockHash: C }, 'there is no block with this hash'],
    ['a block and others', { blockHash: C, fromBlock: '0x1' }, 'blockHash goes with neither fromBlock nor toBlock'],
    ['a block and those up to another', { blockHash: C, toBlock: '0x1' }, 'blockHash goes with neither'],
    ['blocks backwards', { fromBlock: '0x3', toBlock: '0x2' }, 'fromBlock is after toBlock'],
    ['five topics', { topics: [A, A, A, A, A] }, 'a log has no more than 4 topics'],
    ['too many topics at a place', { topics: [Array(1001).fill(A)] }, 'no more than 1000 at one place'],
    ['too many addresses', { address: Array(1001).fill(`0x${'aa'.repeat(20)}`) }, 'no more than 1000 at one place'],
    ['no address', { address: [null] }, 'it is not an address'],
  ])('that asks for %s is refused', async (_, filter, why) => {
    const { rpc } = await withLogs()
    const refused = { code: -32602, message: expect.stringContaining(why) as string }
    await expect(rpc('eth_getLogs', [filter])).rejects.toMatchObject(refused)
  })
})

describe('more logs than are given at once', () => {
  const refused = { code: -32005, message: expect.stringContaining('ask for fewer blocks') as string }

  it('are refused, and found in fewer blocks: an engine sees who left them', async () => {
    const { rpc, send, deploy, logs } = await localChain()
    const [flood, quiet] = [await deploy(FLOOD), await deploy(LOG1)]
    const first = Number((await send(flood, { gas: 3_000_000n })).blockNumber)
    await send(flood, { gas: 3_000_000n })
    await expect(logs({})).rejects.toMatchObject(refused)
    expect((await logs({ toBlock: `0x${first.toString(16)}` })).length).toBeGreaterThan(5000)
    expect(await logs({ address: quiet })).toEqual([])
    const chain = createEvmChain(rpc, { id: await fetchChainId(rpc), confirmations: 0 })
    const addresses = [flood, quiet].map(parseAddress)
    const start = { number: 0, hash: '', time: new Date() }
    expect(await chain.listChanged(addresses, start, await chain.fetchHead())).toEqual(addresses.slice(0, 1))
  })

  it('of one block are refused too: an engine takes all whom it asked for as changed, and goes on', async () => {
    const { rpc, send, deploy, logs } = await localChain()
    const [flood, quiet] = [await deploy(FLOOD), await deploy(LOG1)]
    await send(flood, { gas: 5_000_000n })
    await expect(logs({})).rejects.toMatchObject(refused)
    const chain = createEvmChain(rpc, { id: await fetchChainId(rpc), confirmations: 0 })
    const addresses = [flood, quiet].map(parseAddress)
    const start = { number: 0, hash: '', time: new Date() }
    expect(await chain.listChanged(addresses, start, await chain.fetchHead())).toEqual(addresses)
    expect(await chain.listChanged(addresses.slice(1), start, await chain.fetchHead())).toEqual([])
  })

  it('are few, and long', async () => {
    const { send, deploy, logs } = await localChain()
    const large = await deploy(LARGE)
    await send(large, { gas: 30_000_000n })
    expect(await logs({})).toHaveLength(3)
    await send(large, { gas: 30_000_000n })
    await expect(logs({})).rejects.toMatchObject(refused)
    expect(await logs({ fromBlock: 'latest' })).toHaveLength(3)
  })
})

describe('logs that are not in memory any more', () => {
  it('are found by running their blocks again, also in receipts', async () => {
    const { rpc, send, deploy, logs } = await localChain()
    const [small, large] = [await deploy(LOG2), await deploy(LARGE)]
    const hash = ((await rpc('eth_getBlockByNumber', [(await send(small)).blockNumber, false])) as { hash: string })
      .hash
    const before = await logs({ fromBlock: undefined, blockHash: hash })
    for (let times = 0; times < 6; times++) await send(large, { gas: 29_000_000n })
    expect(before).toHaveLength(1)
    expect(await logs({ fromBlock: undefined, blockHash: hash })).toEqual(before)
    const [{ transactionHash }] = before as unknown as [{ transactionHash: string }]
    expect(await rpc('eth_getTransactionReceipt', [transactionHash])).toMatchObject({ logs: before, status: '0x1' })
  })

  it('are few for each block, and as many as were there', async () => {
    const logsOf = (entry: LedgerEntry): readonly LogInBlock[] =>
      Array(entry.includedTransaction?.logCount ?? 0).fill(LOG) as LogInBlock[]
    const entryWith = (logCount: number): LedgerEntry =>
      ({ block: {}, includedTransaction: { logCount } }) as unknown as LedgerEntry
    const ran: LedgerEntry[] = []
    const cache = createLogCache((entry: LedgerEntry) => {
      ran.push(entry)
      return Promise.resolve(logsOf(entry))
    }, 2000)
    const [first, second, third] = [entryWith(2), entryWith(0), entryWith(3)]
    for (const entry of [first, second, third]) cache.add(entry, logsOf(entry))
    expect([first, second, third].map((entry) => cache.has(entry))).toEqual([false, true, true])
    expect(
      (await Promise.all([first, second, third].map((entry) => cache.getLogs(entry)))).map(({ length }) => length),
    ).toEqual([2, 0, 3])
    expect(ran).toEqual([first])
  })
})
