import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Block } from '../chain/chain.ts'
import { cacheReads } from './chain-read-cache.ts'

const [ONE, OTHER] = [`00${'11'.repeat(20)}`, `00${'22'.repeat(20)}`]
const block = (hash: string): Block => ({ number: 1, hash, time: new Date(0) })
const input = (text: string): Uint8Array => Buffer.from(text)

function chain(answer: () => Uint8Array) {
  let asked = 0
  const read = (): Promise<Uint8Array> => {
    asked++
    return new Promise((resolve) => resolve(answer()))
  }
  return { read, asked: () => asked }
}

describe('what contracts answered', () => {
  it('is asked once for each contract, input and block, forks apart', async () => {
    const { read, asked } = chain(() => Uint8Array.of(asked()))
    const reads = cacheReads({ read })
    const given: Uint8Array[] = []
    for (const [contract, text, hash] of [
      ...[[ONE, 'a', 'x'] as const, [ONE, 'a', 'x'] as const, [OTHER, 'a', 'x'] as const],
      ...[[ONE, 'b', 'x'] as const, [ONE, 'a', 'y'] as const, [ONE, 'a', 'x'] as const],
    ]) {
      given.push(await reads(contract, input(text), block(hash)))
    }
    expect(given.map(([first]) => first)).toEqual([1, 1, 2, 3, 4, 1])
  })

  it('is asked by sixteen reads at once at most, so that the engine has connections of its own to the node', async () => {
    let count = 0
    const answers: (() => void)[] = []
    const read = (): Promise<Uint8Array> => {
      count += 1
      return new Promise((resolve) => answers.push(() => resolve(Uint8Array.of(1))))
    }
    const reads = cacheReads({ read })
    const all = Array.from({ length: 40 }, (_, n) => reads(ONE, input(String(n)), block('x')))
    await setImmediate()
    expect(count).toBe(16)
    while (answers.length > 0) {
      answers.shift()?.()
      await setImmediate()
    }
    expect(await Promise.all(all)).toHaveLength(40)
  })

  it('is asked again when it failed, or is large', async () => {
    let fails = true
    const { read, asked } = chain(() => {
      if (fails) throw new Error('down')
      return new Uint8Array(5000)
    })
    const reads = cacheReads({ read })
    await expect(reads(ONE, input('a'), block('x'))).rejects.toThrow('down')
    fails = false
    for (let time = 0; time < 2; time++) expect((await reads(ONE, input('a'), block('x'))).length).toBe(5000)
    expect(asked()).toBe(3)
  })
})
