/** A local chain in a thread of its own: what the thread cannot do. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { openBlockFiles } from '../../src/bin/chain/block-files.ts'
import { openLocalChain } from '../../src/bin/chain/local-chain.ts'
import { findBuiltDirectory } from '../../src/toolchain/places.ts'

const worker = (): string => join(findBuiltDirectory(), 'local-chain-worker.cjs')

function directory(): string {
  const made = mkdtempSync(join(tmpdir(), 'vouchsafe-thread-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

it('says what is wrong with a directory that is not a chain', async () => {
  const place = directory()
  await openBlockFiles(place).create(1, 'later')
  await expect(openLocalChain(place, worker())).rejects.toThrow(/block 0 is missing, and there are later ones/)
})

it('answers what the chain refuses with its code', async () => {
  const rpc = await openLocalChain(directory(), worker())
  await expect(rpc('eth_coinbase', [])).rejects.toMatchObject({ name: 'JsonRpcError', code: -32601 })
  await expect(rpc('eth_sendRawTransaction', ['0x00'])).rejects.toMatchObject({ name: 'JsonRpcError', code: -32000 })
})

it('keeps nobody waiting in the thread that asks, however long a call takes', async () => {
  const rpc = await openLocalChain(directory(), worker())
  const events: string[] = []
  // Jumps to its own beginning.
  const call = rpc('eth_call', [{ data: '0x5b5f56' }, 'latest']).catch(() => events.push('call'))
  for (let times = 0; times < 3; times++) {
    await setImmediate()
    events.push('turn')
  }
  await call
  expect(events).toEqual(['turn', 'turn', 'turn', 'call'])
})
