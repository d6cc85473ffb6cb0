/** What a local chain says that a transaction takes. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { party, submit } from '../../components/test/evm.ts'
import { blockFiles } from '../../src/bin/chain/block-files.ts'
import { type JsonRpc, JsonRpcError } from '../../src/chain/json-rpc.ts'
import { openLedger } from '../../src/chain/local/ledger.ts'
import { localJsonRpc } from '../../src/chain/local/local.ts'
import { answer } from '../../src/chain/local/methods.ts'
import { tellsGas } from '../../src/chain/local/tells-gas.ts'

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'))

/** Each as the code that makes a contract runs, which may do what a contract does. */
const CODE: Record<string, { readonly code: string; readonly tells: boolean }> = {
  'does nothing': { code: '00', tells: false },
  'stores, and last what is cheap to store': { code: '60015f55600260015f5500', tells: false },
  'has the number of GAS in a constant': { code: '605a5f5500', tells: false },
  'has it behind a constant of 32 bytes': { code: `7f${'5a'.repeat(32)}5f5500`, tells: false },
  'uses memory': { code: '6001618000525f5ff3', tells: false },
  'wants 100,000 left': { code: '620186a05a11600a57fe5b00', tells: true },
  'calls another, which keeps most of it': { code: `5f5f5f5f5f73${'00'.repeat(19)}045af100`, tells: true },
}

describe('how much gas a transaction takes, on a local chain', () => {
  it.each(Object.entries(CODE))('of code that %s', (_, { code, tells }) => {
    expect(tellsGas(bytes(code))).toBe(tells)
  })

  it.each(Object.entries(CODE))('is enough for code that %s, and little less is not', async (_, { code }) => {
    const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-chain-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const rpc = await localJsonRpc(blockFiles(directory), () => new Date())
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
  const { rpc, runs, trials } = await counting()
  const call = { data: `0x${GREEDY}` }
  const gas = (await rpc('eth_estimateGas', [call])) as string
  expect(trials.mock.calls.length + runs.mock.calls.length).toBeLessThan(25)
  expect(Number(gas)).toBeGreaterThan(0x1c00000)
  expect(await rpc('eth_call', [{ ...call, gas }, 'latest'])).toBe('0x')
})

/** Counts, and logs its first 32 bytes of input under the count. */
const COUNTER = '5f54600101805f555f355f5260205fa100'
const MADE_BY = `0x60${(COUNTER.length / 2).toString(16)}8060095f395ff3${COUNTER}`

/** A contract that counts, on a chain whose clock stands still. */
async function counting() {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-chain-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const clock = { now: new Date() }
  const ledger = await openLedger(blockFiles(directory), () => clock.now)
  const [runs, trials] = [vi.spyOn(ledger.machine, 'execute'), vi.spyOn(ledger.calls, 'execute')]
  const rpc: JsonRpc = (method, params) => answer(ledger, method, params)
  const sender = party()
  const send = async (to: string, data: string, gas = '0x100000') => {
    const hash = await submit(rpc, sender, to, data, BigInt(gas))
    const receipt = (await rpc('eth_getTransactionReceipt', [hash])) as {
      readonly status: string
      readonly gasUsed: string
      readonly contractAddress: string
      readonly logs: readonly { readonly topics: readonly string[]; readonly data: string }[]
    }
    const [log] = receipt.logs
    return { ...receipt, count: Number(log?.topics[0]), said: Number(log?.data) }
  }
  const { contractAddress: to } = await send('0x', MADE_BY)
  const { contractAddress: another } = await send('0x', MADE_BY)
  runs.mockClear()
  return {
    ...{ clock, runs, trials, another, rpc },
    estimate: async (value: number, other: { readonly from?: string; readonly to?: string } = {}) =>
      (await rpc('eth_estimateGas', [{ from: sender.address, to, ...other, data: word(value) }])) as string,
    sent: async () => Number(await rpc('eth_getTransactionCount', [sender.address, 'latest'])),
    send: (value: number, gas?: string) => send(to, word(value), gas),
  }
}

const word = (value: number): string => `0x${value.toString(16).padStart(64, '0')}`

describe('a transaction after its estimate, on a local chain', () => {
  it('is not run a second time', async () => {
    const { estimate, send, runs, trials } = await counting()
    const gas = await estimate(7)
    expect(trials).toHaveBeenCalledTimes(1)
    expect(await send(7, gas)).toMatchObject({ status: '0x1', count: 1, said: 7 })
    expect(runs).toHaveBeenCalledTimes(0)
    expect(await send(7)).toMatchObject({ status: '0x1', count: 2, said: 7 })
    expect(runs).toHaveBeenCalledTimes(1)
  })

  it('takes as much gas as one that was not estimated', async () => {
    const [one, other] = [await counting(), await counting()]
    await one.estimate(7)
    expect((await one.send(7)).gasUsed).toBe((await other.send(7)).gasUsed)
  })

  it('is run for itself when it says something else', async () => {
    const { estimate, send } = await counting()
    await estimate(7)
    expect(await send(8)).toMatchObject({ count: 1, said: 8 })
  })

  it('is run for itself when it is of somebody else, or for another contract', async () => {
    const { estimate, send, sent, another } = await counting()
    const before = await sent()
    await estimate(7, { from: party().address })
    expect(await send(7)).toMatchObject({ count: 1 })
    await estimate(7, { to: another })
    expect(await send(7)).toMatchObject({ count: 2 })
    expect(await sent()).toBe(before + 2)
  })

  it('is run for itself when another came in between', async () => {
    const { estimate, send } = await counting()
    await estimate(7)
    expect(await send(8)).toMatchObject({ count: 1, said: 8 })
    expect(await send(7)).toMatchObject({ count: 2, said: 7 })
  })

  it('is run for itself when the clock has moved on', async () => {
    const { estimate, send, clock, runs } = await counting()
    await estimate(7)
    clock.now = new Date(clock.now.getTime() + 1000)
    expect(await send(7)).toMatchObject({ count: 1, said: 7 })
    expect(runs).toHaveBeenCalledTimes(1)
  })

  it('is run for itself, and fails, with less gas', async () => {
    const { estimate, send } = await counting()
    const enough = Number(await estimate(7))
    expect(await send(7, `0x${(enough - 3000).toString(16)}`)).toMatchObject({ status: '0x0' })
  })
})
