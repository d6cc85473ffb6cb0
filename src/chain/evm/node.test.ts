import { describe, expect, it } from 'vitest'
import { type JsonRpc, JsonRpcError } from '../json-rpc.ts'
import { createEvmNode } from './node.ts'

const SOMEBODY = `00${'33'.repeat(20)}`
const CONTRACT = `00${'44'.repeat(20)}`
const CALL = { to: CONTRACT, input: new Uint8Array([1]) }

/** Makes a node that answers so, and by which its requests are listed. */
function nodeOf(answer: unknown) {
  const requests: unknown[][] = []
  const rpc: JsonRpc = (method, params) => {
    requests.push([method, ...params])
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
  }
  return { node: createEvmNode(rpc), requests }
}

it('a call without a sender is made as the zero address, which owns nothing', async () => {
  const { node, requests } = nodeOf('0x')
  await node.call(CALL, 16)
  await node.call({ ...CALL, from: SOMEBODY }, 'latest')
  const call = { to: `0x${'44'.repeat(20)}`, data: '0x01' }
  expect(requests).toEqual([
    ['eth_call', { ...call, from: `0x${'00'.repeat(20)}` }, '0x10'],
    ['eth_call', { ...call, from: `0x${'33'.repeat(20)}` }, 'latest'],
  ])
})

it('gas is estimated for the next block, which has the transactions that wait', async () => {
  const { node, requests } = nodeOf('0x5208')
  expect(await node.estimateGas(CALL)).toBe(21_000n)
  expect(requests[0]?.at(-1)).toBe('pending')
})

it.each([
  ['0x1', true],
  ['0x0', false],
  ['0x2', false],
])('a transaction with the status %s succeeded: %s', async (status, succeeded) => {
  const { node } = nodeOf({ blockNumber: '0x1', status, gasUsed: '0x1', contractAddress: null })
  expect(await node.fetchReceipt('0x')).toEqual({ block: 1, succeeded, gasUsed: 1n, created: undefined })
})

it('the hash of a block is the same however its letters are written', async () => {
  const { node } = nodeOf({ number: '0x1', hash: `0x${'AB'.repeat(32)}`, timestamp: '0x1', gasLimit: '0x1' })
  expect(await node.fetchBlock('latest')).toMatchObject({ hash: `0x${'ab'.repeat(32)}`, baseFee: undefined })
})

describe('the error of a node', () => {
  const word = (value: number): string => value.toString(16).padStart(64, '0')
  const reasonData = (text: string): string => {
    const bytes = Buffer.from(text)
    return `0x08c379a0${word(32)}${word(bytes.length)}${bytes.toString('hex').padEnd(Math.ceil(bytes.length / 32) * 64, '0')}`
  }
  const errorOf = (error: Error): Promise<unknown> =>
    nodeOf(error)
      .node.call(CALL, 'latest')
      .catch((thrown: unknown) => thrown)

  it.each<[string, Error, string]>([
    ['has the code 3', new JsonRpcError(3, 'execution'), 'the contract refuses: execution'],
    [
      'has what the contract returned',
      new JsonRpcError(-32000, 'call', reasonData('no  way\nout')),
      'the contract refuses: no way out',
    ],
    [
      'has that within an object',
      new JsonRpcError(-32603, 'call', { data: `0x4e487b71${word(17)}` }),
      'the contract refuses: a number overflows',
    ],
    ['says that a value overflows', new JsonRpcError(-32000, 'value overflow'), 'the contract refuses: value overflow'],
    [
      'has a reason that is too long',
      new JsonRpcError(3, 'call', reasonData('a'.repeat(501))),
      'the contract refuses: error 0x08c379a0',
    ],
  ])('is a refusal of the contract where it %s', async (_, error, message) => {
    expect(await errorOf(error)).toMatchObject({ kind: 'refused', message })
  })

  it('is one of the node otherwise, and is told up to 500 characters', async () => {
    const error = await errorOf(new JsonRpcError(-32000, 'x'.repeat(600)))
    expect(error).toMatchObject({
      kind: 'failed',
      message: `the node of the chain refuses eth_call: ${'x'.repeat(500)}`,
    })
  })
})
