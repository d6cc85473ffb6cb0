import { describe, expect, it } from 'vitest'
import { LIMITS, module, script } from '../../test/support/components.ts'
import { createProgramCache } from './programs.ts'
import type { ComponentCode } from './runtime.ts'

const MIB = 1024 * 1024
const limits = { ...LIMITS, moduleBytes: 8 * MIB }

/** Makes a script of a number of bytes, nearly all of which are a comment. */
const scriptOf = (bytes: number, name: string): ComponentCode => script(name, `// ${'x'.repeat(bytes)}`)

describe('the cache of programs', () => {
  it('holds four of the largest components, and drops the one that was used least recently', async () => {
    const evicted: string[] = []
    const programs = createProgramCache(limits, (sha256) => evicted.push(sha256))
    const large = ['a', 'b', 'c', 'd', 'e'].map((name) => scriptOf(7.9 * MIB, name))
    const [first, second] = large as [ComponentCode, ComponentCode]
    for (const each of large.slice(0, 4)) await programs.prepare(each)
    await programs.prepare(first)
    expect(evicted).toEqual([])
    await programs.prepare(large[4] as ComponentCode)
    expect(evicted).toEqual([second.sha256])
  })

  it('holds no more than 67 small ones', async () => {
    const evicted: string[] = []
    const programs = createProgramCache(limits, (sha256) => evicted.push(sha256))
    for (let number = 0; number < 70; number++) await programs.prepare(await module(`(i64.const ${number})`))
    expect(evicted).toHaveLength(3)
  })

  it('compiles a module once for all that ask for it at the same time', async () => {
    const programs = createProgramCache(limits, () => undefined)
    const component = await module('(i64.const 0)')
    const [one, other] = await Promise.all([programs.prepare(component), programs.prepare(component)])
    expect(one).toBe(other)
    expect(await programs.prepare(component)).toBe(one)
  })

  it('does not keep a failure', async () => {
    const programs = createProgramCache(limits, () => undefined)
    const component = { sha256: 'x', bytes: Uint8Array.of(0) }
    await expect(programs.prepare(component)).rejects.toThrow()
    await expect(programs.prepare({ ...(await module('(i64.const 0)')), sha256: 'x' })).resolves.toMatchObject({
      bytes: expect.any(Number) as number,
    })
  })

  it('holds again what a worker is about to get', async () => {
    const evicted: string[] = []
    const programs = createProgramCache(limits, (sha256) => evicted.push(sha256))
    const large = ['a', 'b', 'c', 'd', 'e'].map((name) => scriptOf(7.9 * MIB, name))
    const first = large[0] as ComponentCode
    const prepared = await programs.prepare(first)
    for (const each of large.slice(1)) await programs.prepare(each)
    programs.keep(first.sha256, prepared)
    expect(evicted).toEqual([first.sha256, large[1]?.sha256])
    expect(await programs.prepare(first)).toBe(prepared)
  })
})
