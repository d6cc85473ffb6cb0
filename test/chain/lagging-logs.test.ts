/** Logs of an EVM chain behind one address with several nodes, of which some lack the newest blocks. */
import { expect, it } from 'vitest'
import type { Block } from '../../src/chain/chain.ts'
import { createEvmChain, type EvmOptions } from '../../src/chain/evm/evm.ts'
import { type JsonRpc, JsonRpcError } from '../../src/chain/json-rpc.ts'

const [ONE, TWO] = [`00${'aa'.repeat(20)}`, `00${'bb'.repeat(20)}`]

interface Nodes {
  readonly rpc: JsonRpc
  /** The blocks of each request for logs. */
  readonly searches: string[]
  /** The addresses that emit a log, by block. */
  readonly logs: Map<number, readonly string[]>
  /** The newest block of the node that answers questions for logs. */
  newest: number
  /** The most blocks of a request for logs. */
  most: number
}

function lagging(): Nodes {
  const nodes: Nodes = { rpc: (method, params) => Promise.resolve().then(() => answer(method, params)), ...state() }
  const answer = (method: string, [filter]: readonly unknown[]): unknown => {
    if (method !== 'eth_getLogs') return '0x7'
    const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string }
    const [from, to] = [Number(fromBlock), Number(toBlock)]
    nodes.searches.push(`${from}-${to}`)
    if (to - from >= nodes.most) throw new JsonRpcError(-32005, 'too many blocks')
    return [...nodes.logs].flatMap(([number, addresses]) =>
      number < from || number > Math.min(to, nodes.newest)
        ? []
        : addresses.map((address) => ({ address: `0x${address.slice(2)}`, blockNumber: `0x${number.toString(16)}` })),
    )
  }
  return nodes
}

const state = () => ({ searches: [], logs: new Map<number, readonly string[]>(), newest: Infinity, most: Infinity })

/** Makes the block of a chain with a block each so many seconds. */
const blocksOf =
  (seconds: number) =>
  (number: number): Block => ({ number, hash: `0x${number}`, time: new Date(number * seconds * 1000) })

function watch(nodes: Nodes, blockSeconds: number, options: Partial<EvmOptions> = {}) {
  const chain = createEvmChain(nodes.rpc, { id: '7', confirmations: 0, ...options })
  const block = blocksOf(blockSeconds)
  return (from: number, to: number, addresses = [ONE, TWO]) => chain.listChanged(addresses, block(from), block(to))
}

it.each([
  [12, 1],
  [12, 5],
  [2, 29],
  [300, 1],
])('a change is seen with blocks each %d seconds when the other node gets it %d blocks later', async (seconds, lag) => {
  const nodes = lagging()
  const listChanged = watch(nodes, seconds)
  nodes.logs.set(11, [TWO])
  const seen: [number, readonly string[]][] = []
  for (let number = 10; number < 60; number++) {
    nodes.newest = number + 1 - lag
    const changed = await listChanged(number, number + 1)
    if (changed.length > 0) seen.push([number + 1, changed])
  }
  expect(seen).toEqual([[11 + lag, [TWO]]])
  expect(nodes.searches).toHaveLength(50)
})

it('a change that was seen is not reported again, and one that the caller could not use is', async () => {
  const nodes = lagging()
  const listChanged = watch(nodes, 2)
  nodes.logs.set(11, [ONE]).set(13, [TWO])
  nodes.newest = 10
  expect(await listChanged(10, 12)).toEqual([])
  nodes.newest = 14
  // The look of the caller fails after this answer, and the next begins at the same block.
  expect(await listChanged(12, 14)).toEqual([ONE, TWO])
  expect(await listChanged(12, 15)).toEqual([ONE, TWO])
  expect(await listChanged(15, 16)).toEqual([])
  nodes.logs.set(17, [ONE])
  nodes.newest = 17
  expect(await listChanged(16, 17)).toEqual([ONE])
  expect(await listChanged(17, 18)).toEqual([])
})

it('what happened to a contract before the caller asked for it is not reported', async () => {
  const nodes = lagging()
  const listChanged = watch(nodes, 2)
  nodes.logs.set(11, [ONE, TWO])
  expect(await listChanged(10, 11, [ONE])).toEqual([ONE])
  expect(await listChanged(11, 12)).toEqual([])
})

it('the blocks of the last minute are searched again, those of one search at least, and 1000 at most', async () => {
  for (const [seconds, step, searches] of [
    [12, 1, ['101-101', '101-102', '101-103', '101-104', '101-105', '101-106', '102-107', '103-108']],
    [300, 1, ['101-101', '101-102', '102-103', '103-104']],
    [0.01, 400, ['101-500', '101-900', '301-1300', '701-1700']],
    [0.01, 1500, ['101-1100', '1101-1600', '1601-2600', '2601-3100']],
  ] as const) {
    const nodes = lagging()
    const listChanged = watch(nodes, seconds)
    for (let from = 100; nodes.searches.length < searches.length; from += step) await listChanged(from, from + step)
    expect(nodes.searches).toEqual(searches)
  }
})

it('a node that refuses the blocks of a minute is asked for those of one search before, for ten minutes', async () => {
  const nodes = lagging()
  nodes.most = 3
  const listChanged = watch(nodes, 12)
  for (let number = 100; number < 160; number++) await listChanged(number, number + 1)
  const refused = nodes.searches.filter((blocks) => {
    const [from = 0, to = 0] = blocks.split('-').map(Number)
    return to - from >= nodes.most
  })
  expect(nodes.searches.slice(0, 6)).toEqual(['101-101', '101-102', '101-103', '101-104', '103-104', '104-105'])
  expect(refused).toEqual(['101-104', '149-154'])
})

it('a chain with one node is searched once', async () => {
  const nodes = lagging()
  const listChanged = watch(nodes, 2, { isSingleNode: true })
  for (let number = 10; number < 13; number++) await listChanged(number, number + 1)
  expect(nodes.searches).toEqual(['11-11', '12-12', '13-13'])
})
