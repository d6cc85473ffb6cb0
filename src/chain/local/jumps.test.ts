import { Common, Hardfork, Mainnet } from '@ethereumjs/common'
import { createEVM } from '@ethereumjs/evm'
import { expect, it } from 'vitest'
import { rememberJumps } from './jumps.ts'
import { emptyState, viewOf } from './state.ts'

/** Jumps over an INVALID, and returns 32 bytes. */
const jumpsTo = (destination: number) => Uint8Array.of(0x60, destination, 0x56, 0xfe, 0x5b, 0x60, 0x20, 0x5f, 0xf3)

it('goes through the code of a contract once', async () => {
  const common = new Common({ chain: Mainnet, hardfork: Hardfork.Cancun })
  const evm = await createEVM({ common, stateManager: viewOf(emptyState(), 0).manager })
  await rememberJumps(evm)
  await rememberJumps(evm)
  const [good, bad] = [jumpsTo(4), jumpsTo(3)]
  const run = (code: Uint8Array) => evm.runCode({ code, gasLimit: 10_000n })
  const [first, second] = [await run(good), await run(good)]
  expect(first.returnValue).toHaveLength(32)
  expect(first.runState?.validJumps).toBe(second.runState?.validJumps)
  for (let times = 0; times < 2; times++) expect((await run(bad)).exceptionError?.error).toContain('invalid JUMP')
  expect((await run(good)).exceptionError).toBeUndefined()
})
