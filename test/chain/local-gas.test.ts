/** What a local chain says that a transaction takes. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { blockFiles } from '../../src/bin/chain/block-files.ts'
import { JsonRpcError } from '../../src/chain/json-rpc.ts'
import { localJsonRpc } from '../../src/chain/local/local.ts'
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
