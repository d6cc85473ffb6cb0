import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { WORKER_DIRECTORY } from '../../test/support/component-directory.ts'
import { LIMITS, module } from '../../test/support/components.ts'
import { TIMES } from '../../test/support/seeds.ts'
import { binaryOf, moduleText } from '../../test/support/wat.ts'
import { checkFunctions, MAX_VALUES } from './function-check.ts'
import { estimateFunction } from './function-cost.ts'
import { CODE, type FunctionType, readModule } from './module.ts'
import { createModuleReader } from './module-reader.ts'
import { createProgramCache } from './programs.ts'
import { ComponentError } from './runtime.ts'

const programs = createProgramCache(LIMITS, () => undefined)
const repeat = (times: number, text: string): string => Array(times).fill(text).join(' ')

/** Estimates the last function of a module. */
function estimateLast(bytes: Uint8Array): number {
  const outline = readModule(bytes)
  const code = outline.sections.find(({ id }) => id === CODE)
  const from = createModuleReader(bytes, code?.start ?? 0, code?.end ?? 0, 'its code')
  const bodies = from.vector(() => {
    const length = from.u32()
    from.skip(length)
    return bytes.subarray(from.at() - length, from.at())
  })
  return estimateFunction(
    bodies.at(-1) as Uint8Array,
    outline.functionTypes.at(-1) as FunctionType,
    outline,
    MAX_VALUES,
  )
}

const LOCALS = repeat(1000, '(local i32)')
const BRANCH = '(block (br_if 0 (local.get $ptr)) (local.set 2 (local.get $len)))'
const MANY = repeat(100, 'i32')

describe('functions that V8 needs too much memory to compile', () => {
  const rows: [string, string, Parameters<typeof module>[1]?][] = [
    ['locals, and blocks in a loop', `${LOCALS} (loop ${repeat(1000, BRANCH)} (br 0)) (i64.const 0)`],
    [
      'operands on the stack, and blocks',
      `(local i32) ${repeat(1000, '(i32.const 1)')} ${repeat(1000, BRANCH)} ${repeat(1000, 'drop')} (i64.const 0)`,
    ],
    ['a table of branches', `${LOCALS} (block (br_table ${repeat(700, '0')} (local.get $ptr))) (i64.const 0)`],
    ['nothing but locals', `${repeat(20, '(local i32)')} ${repeat(20_000, BRANCH)} (i64.const 0)`],
    [
      'calls with many results',
      `${repeat(100, '(i32.const 1)')} ${repeat(4000, '(call $f)')} ${repeat(100, 'drop')} (i64.const 0)`,
      { more: `(func $f (param ${MANY}) (result ${MANY}) unreachable)` },
    ],
    ['instructions', `(local.get $ptr) ${repeat(200_000, 'i32.load')} drop (i64.const 0)`],
  ]
  it.each(rows)('are refused: %s', async (_name, body, more) => {
    await expect(programs.prepare(await module(body, more))).rejects.toThrow(/^Function \d+ of the module has too many/)
  })

  it('are none of those of QuickJS', async () => {
    const bytes = readFileSync(join(WORKER_DIRECTORY, 'quickjs.wasm'))
    await expect(checkFunctions(bytes, readModule(bytes))).resolves.toBeUndefined()
  })
})

describe('the estimate of a function', () => {
  const estimate = async (body: string, more = {}): Promise<number> =>
    estimateLast(await binaryOf(moduleText(body, more)))

  it('counts the locals and operands at every place where ways part or meet', async () => {
    const empty = await estimate('(i64.const 0)')
    // Two parameters, a constant, and the end, with its result and its own cost.
    expect(empty).toBe(2 + 1 + (1 + 8 + 2 + 1))
    const locals = await estimate('(local i32 i32 i32) (block (br_if 0 (local.get 0))) (i64.const 0)')
    const operand = await estimate(
      '(local i32 i32 i32) (local.get 0) (block (br_if 0 (local.get 0))) drop (i64.const 0)',
    )
    // A branch and the end of the block, each with an operand more; the instruction, and the one that drops it.
    expect(operand - locals).toBe(2 + 2)
  })

  it('knows the heights of the stack behind blocks with types, and where nothing is reached', async () => {
    const plain = await estimate('(local.get 0) (if (then)) (i64.const 0)')
    for (const before of [
      '(block (result i32) (i32.const 1) (br 0) i32.add i32.add) drop',
      '(i32.const 1) (if (param i32) (result i32) (local.get 0) (then (return (i64.const 0))) (else)) drop',
      '(block (unreachable) (call $result) (drop) (drop))',
      '(call $result (i32.const 1) (i32.const 2))',
      '(drop (call_indirect (param i32) (result i64) (i32.const 1) (i32.const 0)))',
    ]) {
      const tables = { more: '(table 1 funcref)' }
      const once = await estimate(`${before} (i64.const 0)`, tables)
      const both = await estimate(`${before} (local.get 0) (if (then)) (i64.const 0)`, tables)
      expect(both - once).toBe(plain - (await estimate('(i64.const 0)')))
    }
  })

  it('reads every kind of instruction to its end', async () => {
    const body = `(local $v v128) (local $d f64) (local $f f32)
      (drop (f64.add (f64.const 1) (local.get $d))) (drop (f32.const 2)) (drop (i64.const -9223372036854775808))
      (i64.store offset=100 (i32.const 1) (i64.load align=1 (i32.const 7))) (drop (memory.grow (memory.size)))
      (drop (i32.trunc_sat_f64_s (local.get $d))) (drop (i32.div_u (i32.const 1) (i32.const 1)))
      (memory.copy (i32.const 0) (i32.const 1) (i32.const 1)) (memory.fill (i32.const 0) (i32.const 1) (i32.const 1))
      (memory.init 0 (i32.const 0) (i32.const 0) (i32.const 1)) (data.drop 0)
      (table.set 0 (i32.const 0) (ref.null func)) (drop (ref.is_null (table.get 0 (i32.const 0))))
      (drop (table.grow 0 (ref.null func) (i32.const 1))) (drop (table.size 0)) (drop (ref.func $exit))
      (drop (select (result i32) (i32.const 1) (i32.const 1) (i32.const 1)))
      (local.set $v (v128.const i32x4 1 2 3 4)) (local.set $v (i8x16.shuffle 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 (local.get $v) (local.get $v)))
      (local.set $v (v128.load8_lane 0 (i32.const 0) (local.get $v))) (drop (i8x16.extract_lane_s 3 (local.get $v)))
      (local.set $v (i32x4.mul (v128.load32_zero (i32.const 0)) (i16x8.splat (i32.const 1)))) (i64.const 0)`
    const all = await module(body, { more: '(table 1 funcref) (data "x") (elem declare func $exit)' })
    await expect(programs.prepare(all)).resolves.toMatchObject({ hooks: ['off_chain_on_http_request'] })
  })

  it('refuses an instruction that is not of core WebAssembly', async () => {
    const caught = await module('(try (do) (catch_all)) (i64.const 0)')
    await expect(programs.prepare(caught)).rejects.toThrow('instruction 0x6, which is not of core WebAssembly')
  })

  it('throws a ComponentError, and nothing else, for whatever bytes there are', () => {
    const type: FunctionType = { parameters: 'ii', results: 'I' }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          estimateFunction(bytes, type, { types: [type], functionTypes: [type] }, MAX_VALUES)
        } catch (error) {
          expect(error).toBeInstanceOf(ComponentError)
        }
      }),
      { numRuns: 1000 * TIMES },
    )
  })
})
