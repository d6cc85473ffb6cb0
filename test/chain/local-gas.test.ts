/** The gas that a local chain says a transaction takes. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Transaction } from 'micro-eth-signer'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { party, submit } from '../../components/test/evm.ts'
import { openBlockFiles } from '../../src/bin/chain/block-files.ts'
import { fetchChainId } from '../../src/chain/evm/evm.ts'
import { type JsonRpc, JsonRpcError } from '../../src/chain/json-rpc.ts'
import { hashBlock, readBlock, writeBlock } from '../../src/chain/local/block.ts'
import { openLedger } from '../../src/chain/local/ledger.ts'
import { answerMethod, openLocalRpc } from '../../src/chain/local/methods.ts'

/** Each as the code that makes a contract runs, which may do what a contract does. */
const CODE: Readonly<Record<string, string>> = {
  'does nothing': '00',
  'stores, and last what is cheap to store': '60015f55600260015f5500',
  'has the number of GAS in a constant': '605a5f5500',
  'uses memory': '6001618000525f5ff3',
  'wants 100,000 left': '620186a05a11600a57fe5b00',
  'calls another, which keeps most of it': `5f5f5f5f5f73${'00'.repeat(19)}045af100`,
}

describe('how much gas a transaction takes, on a local chain', () => {
  it.each(Object.entries(CODE))('is enough for code that %s, and little less is not', async (_, code) => {
    const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-chain-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const rpc = await openLocalRpc(openBlockFiles(directory), () => new Date())
    const call = { data: `0x${code}` }
    const gas = Number(await rpc('eth_estimateGas', [call]))
    const result = (given: number) => rpc('eth_call', [{ ...call, gas: `0x${given.toString(16)}` }, 'latest'])
    expect(await result(gas)).toMatch(/^0x/)
    await expect(result(Math.floor((gas - 2300) * 0.96))).rejects.toThrow(JsonRpcError)
  })
})

/** Stops when it has more than 29,360,128 gas, and goes on and on when it has not. */
const GREEDY = '5a6301c0000010600e575b600a565b00'

it('is found in few runs for code that looks how much it has, on a local chain', async () => {
  const { rpc, runs } = await counting()
  const call = { data: `0x${GREEDY}` }
  const gas = (await rpc('eth_estimateGas', [call])) as string
  expect(runs.mock.calls.length).toBeLessThan(25)
  expect(Number(gas)).toBeGreaterThan(0x1c00000)
  expect(await rpc('eth_call', [{ ...call, gas }, 'latest'])).toBe('0x')
})

it('is found in two runs for most code, and is enough in the next block', async () => {
  const { rpc, runs } = await counting()
  const sender = party()
  const send = async (to: string, data: string, gas: bigint) => {
    const hash = await submit(rpc, sender, to, data, gas)
    return (await rpc('eth_getTransactionReceipt', [hash])) as { status: string; contractAddress: string }
  }
  const { contractAddress: to } = await send('0x', MADE_BY, 1_000_000n)
  const data = `0x${'07'.padStart(64, '0')}`
  runs.mockClear()
  const gas = BigInt((await rpc('eth_estimateGas', [{ from: sender.address, to, data }])) as string)
  expect(runs).toHaveBeenCalledTimes(2)
  expect((await send(to, data, gas - 20_000n)).status).toBe('0x0')
  expect((await send(to, data, gas)).status).toBe('0x1')
})

describe('a transaction with less gas than it costs at least, on a local chain', () => {
  const sender = party()

  /** Signs the first transaction of the sender with so much gas. */
  async function sign(rpc: JsonRpc, gasLimit: bigint): Promise<string> {
    const chainId = BigInt(await fetchChainId(rpc))
    const fields = { nonce: 0n, to: `0x${'22'.repeat(20)}`, value: 0n, data: '0x0102', gasLimit, gasPrice: 0n }
    return Transaction.prepare({ type: 'legacy', chainId, ...fields }, false)
      .signBy(sender.key)
      .toHex()
  }

  const countOf = (rpc: JsonRpc) => rpc('eth_getTransactionCount', [sender.address, 'latest'])

  it('is in no block, and leaves its nonce to the next', async () => {
    const { rpc } = await counting()
    for (const gas of [0n, 1000n, 21_031n]) {
      const raw = await sign(rpc, gas)
      await expect(rpc('eth_sendRawTransaction', [raw])).rejects.toThrow(
        `intrinsic gas too low: the transaction takes 21032 at least, and may take ${gas}`,
      )
    }
    expect([await rpc('eth_blockNumber', []), await countOf(rpc)]).toEqual(['0x0', '0x0'])
    await rpc('eth_sendRawTransaction', [await sign(rpc, 21_032n)])
    expect([await rpc('eth_blockNumber', []), await countOf(rpc)]).toEqual(['0x1', '0x1'])
  })

  it('stays what it was in a block that has one', async () => {
    const { rpc, directory } = await counting()
    const { number, hash: parent } = readBlock(openBlockFiles(directory).read(0) ?? '')
    const raw = await sign(rpc, 1000n)
    const block = hashBlock({ number: number + 1, parent, time: 2 ** 31, transaction: { raw, from: sender.address } })
    await openBlockFiles(directory).create(1, writeBlock(block))
    const { hash } = (await rpc('eth_getBlockByNumber', ['latest', false])) as { hash: string }
    const { hash: transaction } = Transaction.fromHex(raw)
    expect(hash).toBe(block.hash)
    expect(await rpc('eth_getTransactionReceipt', [transaction])).toMatchObject({ status: '0x0', gasUsed: '0x3e8' })
    expect(await countOf(rpc)).toBe('0x0')
  })
})

/** Counts, and logs its first 32 bytes of input under the count. */
const COUNTER = '5f54600101805f555f355f5260205fa100'
const MADE_BY = `0x60${(COUNTER.length / 2).toString(16)}8060095f395ff3${COUNTER}`

/** Makes a chain whose executions are counted. */
async function counting() {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-chain-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const ledger = await openLedger(openBlockFiles(directory), () => new Date())
  const rpc: JsonRpc = (method, params) => answerMethod(ledger, method, params)
  return { rpc, directory, runs: vi.spyOn(ledger.machine, 'execute') }
}
