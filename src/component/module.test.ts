import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../test/support/components.ts'
import { TIMES } from '../../test/support/seeds.ts'
import { binaryOf, moduleText, readsStorage } from '../../test/support/wat.ts'
import { boundModule, readModule } from './module.ts'
import { writeU32 } from './module-reader.ts'
import { ComponentError } from './runtime.ts'
import { vetComponent } from './vet.ts'

const vetted = (bytes: Uint8Array): unknown => vetComponent({ sha256: '', bytes }, LIMITS)

describe('the reader of modules', () => {
  it('reads what a compiler wrote, and writes what a compiler reads', async () => {
    const bytes = await binaryOf(
      moduleText('(i64.const 0)', { memory: '2 900', more: '(table 3 funcref) (table 1 5 funcref)' }),
    )
    const outline = readModule(bytes)
    expect(outline.memory).toEqual({ initial: 2, maximum: 900 })
    expect(outline.imports.map(({ name }) => name)).toEqual(['call', 'result', 'exit'])
    expect([...outline.exportedFunctions]).toEqual([['off_chain_on_http_request', { parameters: 'ii', results: 'I' }]])
    const again = boundModule(bytes, outline, 128, 4)
    await WebAssembly.compile(again)
    expect(readModule(again)).toMatchObject({
      memory: { initial: 2, maximum: 128 },
      tables: [
        { initial: 3, maximum: 4 },
        { initial: 1, maximum: 4 },
      ],
    })
  })

  it('keeps a lower maximum of the module itself', async () => {
    const bytes = await binaryOf(moduleText('(i64.const 0)', { memory: '1 3' }))
    expect(readModule(boundModule(bytes, readModule(bytes), 128, 4)).memory.maximum).toBe(3)
  })

  it.each([
    ['types', 1, writeU32(10_001), 10_000],
    ['parameters', 1, [1, 0x60, ...writeU32(101)], 100],
    ['results', 1, [1, 0x60, 0, ...writeU32(101)], 100],
    ['imports', 2, writeU32(50_001), 50_000],
    ['functions', 3, writeU32(50_001), 50_000],
    ['exports', 7, writeU32(2 ** 31), 50_000],
  ])('refuses a list that takes long to read, before it reads: %s', (_, id, content, most) => {
    const bytes = Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, id, ...writeU32(content.length), ...content])
    expect(() => readModule(bytes)).toThrow(ComponentError)
    expect(() => readModule(bytes)).toThrow(`The module is too large: a list in its`)
    expect(() => readModule(bytes)).toThrow(`and ${most} are allowed`)
  })

  it('throws a ComponentError, and nothing else, for whatever bytes there are', async () => {
    const whole = await binaryOf(readsStorage)
    const changed = fc
      .array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 })
      .map((changes) => {
        const bytes = Uint8Array.from(whole)
        for (const [at, value] of changes) bytes[at] = value
        return bytes
      })
    const header = fc
      .uint8Array({ maxLength: 200 })
      .map((bytes) => Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...bytes]))
    const cut = fc.nat(whole.length).map((length) => whole.subarray(0, length))
    fc.assert(
      fc.property(fc.oneof(changed, header, cut), (bytes) => {
        try {
          vetted(bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(ComponentError)
        }
      }),
      { numRuns: 500 * TIMES },
    )
  })
})
