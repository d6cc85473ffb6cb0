import { expect, it } from 'vitest'
import { hookName, isHook } from './hooks.ts'

it('knows the names that an engine calls, and no other', () => {
  for (const id of [0, 10, 0x44, -1, 2 ** 31 - 1, -(2 ** 31)]) {
    expect(isHook(hookName({ kind: 'timer', id, payload: new Uint8Array() }))).toBe(true)
  }
  const others = ['off_chain_thread_0a', 'off_chain_thread_00', 'off_chain_thread_', 'off_chain_thread_A']
  for (const name of [...others, 'off_chain_thread_g', 'off_chain_thread_100000000', 'a', '']) {
    expect([name, isHook(name)]).toEqual([name, false])
  }
})
