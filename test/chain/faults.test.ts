/** A node of an EVM chain that is slow, says nonsense, is another, or changes its mind. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Transaction } from 'micro-eth-signer'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHttpJsonRpc } from '../../src/bin/chain/json-rpc-http.ts'
import { createOutbound } from '../../src/bin/network/outbound.ts'
import { ChainError, type ChainFailure } from '../../src/chain/chain.ts'
import { readEngines } from '../../src/chain/evm/contract.ts'
import { createEvmChain, fetchChainId } from '../../src/chain/evm/evm.ts'
import { AnswerTooLargeError, type JsonRpc, JsonRpcError } from '../../src/chain/json-rpc.ts'
import { MalformedError } from '../../src/codec/malformed.ts'

const CONTRACT = `00${'aa'.repeat(20)}`
const NEWEST = { number: '0x5', hash: `0x${'05'.repeat(32)}`, timestamp: '0x5', gasLimit: '0x5' }
const BLOCK = { number: 5, hash: `0x${'05'.repeat(32)}`, time: new Date(5000) }

const word = (value: number): string => value.toString(16).padStart(64, '0')

const over = (url: string, timeoutMs = 120_000): JsonRpc =>
  createHttpJsonRpc(url, createOutbound(), { pausesMs: [10], timeoutMs })

async function server(listener: RequestListener): Promise<string> {
  const http = createServer(listener).listen(0, '127.0.0.1')
  await once(http, 'listening')
  onTestFinished(() => {
    http.close()
    http.closeAllConnections()
  })
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`
}

/** Answers as its chain id is 7, and everything else by the table. */
function answering(answers: Readonly<Record<string, unknown>>): JsonRpc {
  return (method) => {
    const answer = method === 'eth_chainId' ? '0x7' : answers[method]
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
  }
}

const chainOf = (answers: Readonly<Record<string, unknown>>, notes: string[] = []) =>
  createEvmChain(answering(answers), { id: '7', confirmations: 0, reportProblem: (problem) => notes.push(problem) })

describe('a server of JSON-RPC', () => {
  it.each<[string, RequestListener]>([
    ['answers nothing', () => undefined],
    ['is not JSON', (_, response) => response.end('<html>')],
    ['is JSON of another kind', (_, response) => response.end('[1]')],
    ['answers another question', (_, response) => response.end('{"jsonrpc":"2.0","id":99,"result":"0x7"}')],
    ['has no result', (_, response) => response.end('{"jsonrpc":"2.0","id":1}')],
    ['is nested too deep', (_, response) => response.end('['.repeat(100_000))],
    ['never ends', (_, response) => flood(response)],
    ['is overloaded', (_, response) => response.writeHead(503).end()],
    ['closes the connection', (request) => request.socket.destroy()],
  ])('%s: the chain cannot be asked', async (_, listener) => {
    const refused = fetchChainId(over(await server(listener), 1000))
    await expect(refused).rejects.toMatchObject({
      name: 'ChainError',
      kind: expect.stringMatching(/^(unreachable|failed)$/) as string,
    })
  })

  it('is asked again when the connection fails, and is not when it answers', async () => {
    let asked = 0
    const url = await server((request, response) => {
      asked += 1
      if (asked === 1) request.socket.destroy()
      else response.end('{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}')
    })
    await expect(fetchChainId(over(url))).rejects.toThrow('the node of the chain refuses eth_chainId: no')
    expect(asked).toBe(2)
  })
})

it('a server of JSON-RPC that answers with a million members is refused before it is parsed', async () => {
  const members = Array.from({ length: 1_000_000 }, (_, at) => `"${at}":0`).join()
  const url = await server((_, response) => response.end(`{"jsonrpc":"2.0","id":1,"result":{${members}}}`))
  const error: unknown = await over(url)('eth_getBlockByNumber', []).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(AnswerTooLargeError)
  expect((error as Error).message).toBe('the answer has more than 200000 values')
})

it('a server of JSON-RPC may answer with fifteen thousand logs', async () => {
  const topics = Array(3).fill(`0x${'bb'.repeat(32)}`) as string[]
  const place = { blockNumber: '0x5', blockHash: NEWEST.hash, transactionHash: NEWEST.hash, transactionIndex: '0x1' }
  const log = { address: `0x${'aa'.repeat(20)}`, topics, data: '0x', ...place, logIndex: '0x1', removed: false }
  const result = Array(15_000).fill(log) as object[]
  const url = await server((_, response) => response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result })))
  expect(await over(url)('eth_getLogs', [])).toHaveLength(15_000)
})

function flood(response: Parameters<RequestListener>[1]): void {
  const more = (): void => {
    while (!response.destroyed && response.write('x'.repeat(65_536)));
    if (!response.destroyed) response.once('drain', more)
  }
  more()
}

describe('what a node answers', () => {
  it.each([
    ['a head without a hash', { eth_getBlockByNumber: { number: '0x5', timestamp: '0x5' } }],
    ['a head that is not an object', { eth_getBlockByNumber: 'no' }],
    ['a number past all numbers', { eth_getBlockByNumber: { ...NEWEST, number: `0x${'f'.repeat(40)}` } }],
    ['a time past all times', { eth_getBlockByNumber: { ...NEWEST, timestamp: '0x1fffffffffffff' } }],
    ['a number as a number', { eth_getBlockByNumber: { ...NEWEST, number: 5 } }],
    ['its newest block nowhere', { eth_getBlockByNumber: null }],
  ])('%s is not a head', async (_, answers) => {
    await expect(chainOf(answers).fetchHead()).rejects.toThrow(ChainError)
  })

  it('is the cause of the error where it cannot be read, and so is what the node refuses with', async () => {
    const unreadable = chainOf({ eth_getBlockByNumber: 'no' }).fetchHead()
    await expect(unreadable).rejects.toMatchObject({ cause: expect.any(MalformedError) as unknown })
    const refusal = new JsonRpcError(-32000, 'header not found')
    const refused = chainOf({ eth_call: refusal }).fetchContract(CONTRACT, BLOCK)
    await expect(refused).rejects.toMatchObject({ cause: refusal })
  })

  it.each([
    ['is cut', `0x${'00'.repeat(31)}20`],
    ['points past its end', `0x${'ff'.repeat(32)}`],
    ['has more engines than bytes', `0x${'00'.repeat(31)}20${'00'.repeat(28)}00000300`],
    ['has engines without end', `0x${'00'.repeat(31)}20${'7f'.repeat(32)}`],
  ])('to engines() %s: the contract is not served, and somebody is told', async (_, answer) => {
    const notes: string[] = []
    expect(await chainOf({ eth_call: answer }, notes).fetchContract(CONTRACT, BLOCK)).toBeUndefined()
    expect(notes).toEqual([expect.stringContaining('what engines() answers cannot be read') as string])
  })

  it('to engines() may point a thousand times to one long text, which is not a URL of any engine', () => {
    const count = 1000
    const tuple = word(1) + word(64) + word(2048) + '61'.repeat(2048)
    const answer = `${word(32)}${word(count)}${word(32 * count).repeat(count)}${tuple}`
    const engines = readEngines(Buffer.from(answer, 'hex'))
    expect(engines).toHaveLength(count)
    expect(new Set(engines.map(({ endpoint }) => endpoint))).toEqual(new Set(['']))
  })

  it.each([
    ['another scheme', Buffer.from('ftp://a.example')],
    ['a space', Buffer.from('http://a .example')],
    ['bytes that are not UTF-8', Buffer.from('ff', 'hex')],
    ['more bytes than a URL may have', Buffer.from(`http://a.example/${'a'.repeat(2048)}`)],
  ])('to engines() may have an endpoint with %s: that engine alone has no URL', (_, endpoint) => {
    const text = (bytes: Buffer): string =>
      word(bytes.length) + bytes.toString('hex').padEnd(64 * Math.ceil(bytes.length / 32), '0')
    const tuples = [endpoint, Buffer.from('http://b.example')].map((bytes, at) => word(at + 1) + word(64) + text(bytes))
    const places = [64, 64 + (tuples[0]?.length ?? 0) / 2]
    const answer = `${word(32)}${word(2)}${places.map(word).join('')}${tuples.join('')}`
    const engines = readEngines(Buffer.from(answer, 'hex'))
    expect(engines.map((engine) => engine.endpoint)).toEqual(['', 'http://b.example'])
  })

  it.each([
    ['knows the transaction, as where receipts come later than blocks', { hash: NEWEST.hash }, 'pending'],
    ['does not know the transaction', null, 'lost'],
  ])('has no receipt though the nonce is used, and it %s', async (_, transaction, outcome) => {
    const used = { eth_blockNumber: '0x5', eth_getTransactionCount: '0x1', eth_getTransactionReceipt: null }
    const account = chainOf({ ...used, eth_getTransactionByHash: transaction }).createAccount(Buffer.alloc(32, 1))
    expect(await account.fetchOutcome({ hash: NEWEST.hash, nonce: 0, raw: '0x' })).toBe(outcome)
  })

  it.each([
    ['is in a block that was reached', '0x5', '0x1', 'included'],
    ['is in a later block', '0x6', '0x0', 'unconfirmed'],
    ['is in no block', null, '0x0', 'pending'],
  ])('is a receipt of too many logs, and the transaction %s', async (_, blockNumber, count, outcome) => {
    const used = { eth_blockNumber: '0x5', eth_getTransactionCount: count }
    const eth_getTransactionReceipt = new AnswerTooLargeError('the answer has more than 200000 values')
    const eth_getTransactionByHash = { hash: NEWEST.hash, blockNumber }
    const answers = { ...used, eth_getTransactionReceipt, eth_getTransactionByHash }
    const account = chainOf(answers).createAccount(Buffer.alloc(32, 1))
    expect(await account.fetchOutcome({ hash: NEWEST.hash, nonce: 0, raw: '0x' })).toBe(outcome)
  })

  it('is a revert: the contract has no component; is a failure: nothing is known of it', async () => {
    const reverted = new JsonRpcError(3, 'execution reverted', '0x')
    expect(await chainOf({ eth_call: reverted }).fetchContract(CONTRACT, BLOCK)).toBeUndefined()
    const failed = new JsonRpcError(-32000, 'header not found')
    await expect(chainOf({ eth_call: failed }).fetchContract(CONTRACT, BLOCK)).rejects.toMatchObject({
      kind: 'failed',
    })
  })

  it.each<[string, unknown, number | undefined, ChainFailure]>([
    [
      'refuses it at the block that the engine has reached too',
      new JsonRpcError(3, 'execution reverted'),
      5,
      'refused',
    ],
    ['accepts it at the block that the engine has reached', '0x', 5, 'failed'],
    ['lacks the block that the engine has reached', new JsonRpcError(-32000, 'header not found'), 5, 'failed'],
    ['is asked before the engine has reached a block', '0x', undefined, 'failed'],
  ])('is a revert of a transaction, and the node %s', async (_, answer, number, kind) => {
    const asked: unknown[] = []
    const answers = answering({ eth_estimateGas: new JsonRpcError(3, 'execution reverted'), eth_call: answer })
    const rpc: JsonRpc = (method, params) => {
      if (method === 'eth_call') asked.push(params[1])
      return answers(method, params)
    }
    const account = createEvmChain(rpc, { id: '7', confirmations: 0 }).createAccount(
      Buffer.alloc(32, 1),
      {},
      () => number,
    )
    const refused = account.sign(CONTRACT, Buffer.alloc(0), 0n, 0)
    await expect(refused).rejects.toMatchObject({ name: 'ChainError', kind })
    expect(asked).toEqual(number === undefined ? [] : ['0x5'])
  })

  it.each([
    ['geth', -32000, 'out of gas'],
    ['geth', -32000, 'stack underflow (0 <=> 1)'],
    ['geth', -32000, 'stack limit reached 1024 (1023)'],
    ['geth', -32000, 'invalid jump destination'],
    ['geth', -32000, 'write protection'],
    ['geth', -32000, 'return data out of bounds'],
    ['geth', -32000, 'gas uint64 overflow'],
    ['Hardhat', -32603, 'Error: Transaction ran out of gas'],
    ['Nethermind', -32015, 'VM execution error.'],
    ['a local chain', -32000, 'execution failed: stack underflow'],
  ])('is what %s says of code that fails (%s, %s): the contract has no component', async (_, code, message) => {
    const failed = new JsonRpcError(code, message)
    expect(await chainOf({ eth_call: failed }).fetchContract(CONTRACT, BLOCK)).toBeUndefined()
  })

  it('is longer than anything is read: the contract is not served, and somebody is told', async () => {
    const notes: string[] = []
    const long = `0x${'00'.repeat(5_000_000)}`
    expect(await chainOf({ eth_call: long }, notes).fetchContract(CONTRACT, BLOCK)).toBeUndefined()
    const tooLong = new AnswerTooLargeError('the answer is larger than 16777216 bytes')
    expect(await chainOf({ eth_call: tooLong }, notes).fetchContract(CONTRACT, BLOCK)).toBeUndefined()
    expect(notes).toEqual(Array(2).fill(expect.stringContaining(`contract 0x${'aa'.repeat(20)}: `)))
  })

  it('is longer than anything is read: a component that asked for it is refused, and not the node out of reach', async () => {
    const tooLong = new AnswerTooLargeError('the answer is larger than 16777216 bytes')
    for (const answer of [tooLong, `0x${'00'.repeat(4 * 1024 * 1024 + 1)}`]) {
      const refused = chainOf({ eth_call: answer }, []).read(CONTRACT, new Uint8Array(4), BLOCK)
      await expect(refused).rejects.toMatchObject({
        kind: 'refused',
        message: expect.stringContaining('larger') as string,
      })
    }
    const busy = chainOf({ eth_call: new JsonRpcError(-32005, 'too many requests') }, [])
    await expect(busy.read(CONTRACT, new Uint8Array(4), BLOCK)).rejects.toMatchObject({ kind: 'failed' })
  })

  it('is refused even for one block: whoever was asked for may have changed', async () => {
    let asked = 0
    const rpc: JsonRpc = (method) => {
      if (method !== 'eth_getLogs') return Promise.resolve('0x7')
      asked += 1
      return Promise.reject(new JsonRpcError(-32005, 'too many logs'))
    }
    const chain = createEvmChain(rpc, { id: '7', confirmations: 0 })
    expect(await chain.listChanged([CONTRACT], { ...BLOCK, number: 3 }, { ...BLOCK, number: 20_003 })).toEqual([
      CONTRACT,
    ])
    // 1000 blocks, 500, 250, and so on to one.
    expect(asked).toBe(11)
  })

  it('is more logs of one block than are read: whoever was asked for may have changed, and the others are seen', async () => {
    const asked: string[] = []
    const rpc: JsonRpc = (method, [filter]) => {
      if (method !== 'eth_getLogs') return Promise.resolve('0x7')
      const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string }
      asked.push(`${Number(fromBlock)}-${Number(toBlock)}`)
      const flood = Number(fromBlock) <= 5 && Number(toBlock) >= 5
      return Promise.resolve(flood ? Array(100_001).fill({ address: `0x${'bb'.repeat(20)}` }) : [])
    }
    const chain = createEvmChain(rpc, { id: '7', confirmations: 0 })
    const both = [CONTRACT, `00${'bb'.repeat(20)}`]
    expect(await chain.listChanged(both, { ...BLOCK, number: 3 }, { ...BLOCK, number: 6 })).toEqual(both)
    expect(asked).toEqual(['4-6', '4-5', '4-4', '5-5', '6-6'])
  })

  it('is too much for so many blocks at once: they are asked for in halves', async () => {
    const asked: string[] = []
    const rpc: JsonRpc = (method, [filter]) => {
      if (method !== 'eth_getLogs') return Promise.resolve('0x7')
      const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string }
      asked.push(`${Number(fromBlock)}-${Number(toBlock)}`)
      if (Number(toBlock) - Number(fromBlock) > 1) return Promise.reject(new JsonRpcError(-32005, 'too many blocks'))
      return Promise.resolve(Number(fromBlock) === 5 ? [{ address: `0x${'aa'.repeat(20)}`, blockNumber: '0x5' }] : [])
    }
    const chain = createEvmChain(rpc, { id: '7', confirmations: 0 })
    const to = { ...BLOCK, number: 8 }
    expect(await chain.listChanged([CONTRACT], { ...BLOCK, number: 2 }, to)).toEqual([CONTRACT])
    expect(asked).toEqual(['3-8', '3-5', '3-4', '5-5', '6-8', '6-7', '8-8'])
    expect(await chain.listChanged([CONTRACT], { ...BLOCK, number: 0 }, { ...BLOCK, number: 1_000_000 })).toEqual([
      CONTRACT,
    ])
  })

  it('lists the contracts of a registry', async () => {
    const address = `00${'bb'.repeat(20)}`
    const answer = `0x${'00'.repeat(31)}20${'00'.repeat(31)}01${'00'.repeat(12)}${'bb'.repeat(20)}`
    const open = (registry: string) =>
      createEvmChain(answering({ eth_call: answer }), { id: '7', confirmations: 0, registry })
    expect(await open(CONTRACT).listContracts?.(BLOCK)).toEqual([address])
    expect('contracts' in chainOf({})).toBe(false)
  })
})

describe('a node that says what a unit of gas costs', () => {
  const wei = (gwei: number): string => `0x${(BigInt(gwei) * 10n ** 9n).toString(16)}`
  const ANSWERS = { eth_estimateGas: '0x5208', eth_gasPrice: wei(100), eth_maxPriorityFeePerGas: wei(2) }
  const sign = (answers: Readonly<Record<string, unknown>>) =>
    chainOf({ ...ANSWERS, ...answers })
      .createAccount(Buffer.alloc(32, 1), { mostGasPrice: 100n * 10n ** 9n })
      .sign(CONTRACT, Buffer.alloc(0), 0n, 0)
  const dynamic = { ...NEWEST, baseFeePerGas: wei(49) }

  it.each([
    ['a priority fee of a whole coin', { eth_getBlockByNumber: dynamic, eth_maxPriorityFeePerGas: wei(10 ** 9) }],
    ['a base fee without measure', { eth_getBlockByNumber: { ...NEWEST, baseFeePerGas: `0x${'f'.repeat(64)}` } }],
    ['one gwei too much', { eth_getBlockByNumber: dynamic, eth_maxPriorityFeePerGas: wei(3) }],
    ['a gas price of one gwei too much', { eth_getBlockByNumber: NEWEST, eth_gasPrice: wei(101) }],
  ])('is not paid %s', async (_, answers) => {
    await expect(sign(answers)).rejects.toMatchObject({
      kind: 'failed',
      message: expect.stringMatching(
        /^by the node of the chain, a unit of gas costs \d+ wei, and this account pays 100000000000 wei at most$/,
      ) as string,
    })
  })

  it('is paid as much as the account pays at most', async () => {
    const prices = await Promise.all([dynamic, NEWEST].map((block) => sign({ eth_getBlockByNumber: block })))
    const raws = prices.map(({ raw }) => Transaction.fromHex(raw).raw)
    expect(raws).toMatchObject([{ maxFeePerGas: 100n * 10n ** 9n }, { gasPrice: 100n * 10n ** 9n }])
  })
})

it('of another chain is not believed that a block was taken back, where it took the place of the node unseen', async () => {
  let chainId = '0x7'
  let hash = BLOCK.hash
  const rpc: JsonRpc = (method) => Promise.resolve(method === 'eth_chainId' ? chainId : { ...NEWEST, hash })
  const chain = createEvmChain(rpc, { id: '7', confirmations: 0 })
  expect(await chain.hasBlock(BLOCK)).toBe(true)
  hash = `0x${'06'.repeat(32)}`
  expect(await chain.hasBlock(BLOCK)).toBe(false)
  chainId = '0x8'
  await expect(chain.hasBlock(BLOCK)).rejects.toThrow('the node is of chain 8, and the configuration says 7')
  await expect(chain.fetchHead()).rejects.toThrow('the node is of chain 8')
})
