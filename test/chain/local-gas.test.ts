/** The gas that a local chain says a transaction takes. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { party, submit } from '../../components/test/evm.ts'
import { openBlockFiles } from '../../src/bin/chain/block-files.ts'
import { type JsonRpc, JsonRpcError } from '../../src/chain/json-rpc.ts'
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

/** Counts, and logs its first 32 bytes of input under the count. */
const COUNTER = '5f54600101805f555f355f5260205fa100'
const MADE_BY = `0x60${(COUNTER.length / 2).toString(16)}8060095f395ff3${COUNTER}`

/** Makes a chain whose executions are counted. */
async function counting() {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-chain-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const ledger = await openLedger(openBlockFiles(directory), () => new Date())
  const rpc: JsonRpc = (method, params) => answerMethod(ledger, method, params)
  return { rpc, runs: vi.spyOn(ledger.machine, 'execute') }
}
