/** The questions that a worker may answer by itself, and those that it must ask. */
import { describe, expect, it } from 'vitest'
import type { HostRequest } from './messages.ts'
import { cacheStoredValues } from './stored-values.ts'

const [ONE, OTHER] = [`00${'11'.repeat(20)}`, `00${'22'.repeat(20)}`]
const load = (key: string, bucket = 'b'): HostRequest => ({
  ask: 'load',
  args: [Buffer.from(bucket), Buffer.from(key)],
})

/** Makes an engine that answers each question with how often it was asked. */
function engine() {
  let asked = 0
  const ask = (): Uint8Array => Uint8Array.of(++asked)
  return { ask, asked: () => asked }
}

describe('stored values', () => {
  it('are asked for once for each contract, version, bucket and key', () => {
    const [stored, { ask, asked }] = [cacheStoredValues(100_000), engine()]
    const first = stored.wrapAsk({ contract: ONE, storageVersion: 1 }, ask)
    expect([first(load('k')), first(load('k'))]).toEqual([Uint8Array.of(1), Uint8Array.of(1)])
    expect(stored.wrapAsk({ contract: ONE, storageVersion: 1 }, ask)(load('k'))).toEqual(Uint8Array.of(1))
    expect(first(load('kb', ''))).toEqual(Uint8Array.of(2))
    expect(stored.wrapAsk({ contract: OTHER, storageVersion: 1 }, ask)(load('k'))).toEqual(Uint8Array.of(3))
    expect(stored.wrapAsk({ contract: ONE, storageVersion: 2 }, ask)(load('k'))).toEqual(Uint8Array.of(4))
    expect(stored.wrapAsk({ contract: ONE, storageVersion: 1 }, ask)(load('k'))).toEqual(Uint8Array.of(5))
    expect(asked()).toBe(5)
  })

  it('that are not there are remembered too, and other questions never', () => {
    const stored = cacheStoredValues(100_000)
    let asked = 0
    const remembering = stored.wrapAsk({ contract: ONE, storageVersion: -1 }, () => {
      asked++
      return undefined
    })
    const again = stored.wrapAsk({ contract: ONE, storageVersion: -1 }, () => Uint8Array.of(9))
    expect([remembering(load('k')), again(load('k'))]).toEqual([undefined, undefined])
    remembering({ ask: 'isSpent', args: ['x'] })
    remembering({ ask: 'isSpent', args: ['x'] })
    expect(asked).toBe(3)
  })

  it('are asked for each time where the engine names no version', () => {
    const [stored, { ask, asked }] = [cacheStoredValues(100_000), engine()]
    for (let call = 0; call < 3; call++) stored.wrapAsk({ contract: ONE, storageVersion: undefined }, ask)(load('k'))
    expect(asked()).toBe(3)
  })

  it('take no more memory than they may', () => {
    const [stored, { ask, asked }] = [cacheStoredValues(1000), engine()]
    const remembering = () => stored.wrapAsk({ contract: ONE, storageVersion: 1 }, ask)
    for (const key of ['a', 'b', 'c', 'd', 'a']) remembering()(load(key))
    expect(asked()).toBe(5)
    remembering()(load('d'))
    expect(asked()).toBe(5)
    const large = stored.wrapAsk({ contract: ONE, storageVersion: 1 }, () => new Uint8Array(1000))
    expect([large(load('e')), large(load('e'))].map((value) => (value as Uint8Array).length)).toEqual([1000, 1000])
  })
})
