import { describe, expect, it } from 'vitest'
import { AnswerTooLargeError, type JsonRpc } from '../json-rpc.ts'
import { createEvmChain } from './evm.ts'

const CONTRACT = `00${'aa'.repeat(20)}`
const blockAt = (number: number) => ({ number, hash: `0x${'05'.repeat(32)}`, time: new Date(0) })
const blockObject = (number: number) => ({
  ...{ number: `0x${number.toString(16)}`, hash: `0x${number.toString(16).padStart(64, '0')}` },
  ...{ timestamp: '0x5', gasLimit: '0x5' },
})

/** Makes a chain whose node answers by `answers`, and lists the methods that it is asked for. */
function chainOf(answers: Readonly<Record<string, (...params: never[]) => unknown>>, options: object = {}) {
  const methods: string[] = []
  const notes: string[] = []
  const rpc: JsonRpc = (method, params) => {
    methods.push(method)
    const answer = method === 'eth_chainId' ? '0x7' : answers[method]?.(...(params as never[]))
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
  }
  const reportProblem = (problem: string): void => void notes.push(problem)
  return { chain: createEvmChain(rpc, { id: '7', confirmations: 12, reportProblem, ...options }), methods, notes }
}

describe('a chain with fewer blocks than the confirmations', () => {
  const young = {
    eth_blockNumber: () => '0x5',
    eth_getBlockByNumber: (tag: string) => blockObject(tag === 'latest' ? 5 : Number(tag)),
    eth_getTransactionReceipt: () => ({ blockNumber: '0x0', status: '0x1', gasUsed: '0x1' }),
  }

  it('has its first block as its head', async () => {
    expect(await chainOf(young).chain.fetchHead()).toMatchObject({ number: 0, newest: { number: 5 } })
  })

  it('has included what is in its first block', async () => {
    const account = chainOf(young).chain.createAccount(new Uint8Array(32).fill(1))
    expect(await account.fetchOutcome({ hash: '0x', nonce: 0, raw: '' })).toBe('included')
  })
})

it('the node is asked for its chain once, also after an answer that was too large', async () => {
  const { chain, methods } = chainOf({ eth_call: () => new AnswerTooLargeError('too large') })
  for (let times = 0; times < 2; times++)
    await expect(chain.read(CONTRACT, new Uint8Array(), blockAt(5))).rejects.toMatchObject({ kind: 'refused' })
  expect(methods).toEqual(['eth_chainId', 'eth_call', 'eth_call'])
})

it('an address without code is no contract, of which nobody is told', async () => {
  const { chain, notes } = chainOf({ eth_call: () => '0x' })
  expect(await chain.fetchContract(CONTRACT, blockAt(5))).toBeUndefined()
  expect(notes).toEqual([])
})

it('a registry whose answer cannot be read is a chain that cannot be asked', async () => {
  const { chain } = chainOf({ eth_call: () => '0x01' }, { registry: CONTRACT })
  await expect(chain.listContracts?.(blockAt(5))).rejects.toMatchObject({ kind: 'unreachable' })
})

it.each([
  [20_000, []],
  [20_001, [CONTRACT]],
])('after %i blocks, contracts that emitted nothing have changed: %j', async (blocks, changed) => {
  const { chain } = chainOf({ eth_getLogs: () => [] })
  expect(await chain.listChanged([CONTRACT], blockAt(5), blockAt(5 + blocks))).toEqual(changed)
})
