/**
 * Modules that try to carry something from one call to the next, by each thing that an instance has. Each call has an
 * instance of its own: every module here traps where it finds what the call before it left.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ComponentCall, ComponentCode, Runtime } from '../../src/component/runtime.ts'
import { call, get, module, noHost, pool } from '../support/components.ts'

let runtime: Runtime
beforeAll(async () => {
  runtime = await pool()
})
afterAll(() => runtime.close())

const hook = 'off_chain_on_state_change'
const stateChange = { hook: { kind: 'state-change' } } as const
const none = '(i64.const 0)'
const unless = (condition: string): string => `(if (i32.eqz ${condition}) (then unreachable))`
const is = (value: string, expected: number, type = 'i32'): string =>
  unless(`(${type}.eq ${value} (${type}.const ${expected}))`)
const table = '(type $f (func (result i32))) (func $one (type $f) (i32.const 1)) (func $two (type $f) (i32.const 2))'
const called = (index: number, of = ''): string => `(call_indirect ${of} (type $f) (i32.const ${index}))`

/**
 * The name of what an instance has, the declarations of the module, and what the module looks for and leaves in a call.
 */
const rows: [name: string, more: string, body: string][] = [
  [
    'its memory, over its data',
    '(data (i32.const 100) "\\05\\00\\00\\00")',
    `${is('(i32.load (i32.const 100))', 5)} (i32.store (i32.const 100) (i32.const 6))
    ${is('(i32.load (i32.const 65532))', 0)} (i32.store (i32.const 65532) (i32.const 6))`,
  ],
  [
    'the page of its input',
    '',
    `${is('(i32.load (i32.const 131068))', 0)} (i32.store (i32.const 131068) (i32.const 6))`,
  ],
  [
    'memory that it lets grow',
    '',
    `${is('(memory.size)', 2)} ${is('(memory.grow (i32.const 1))', 2)}
    ${is('(i32.load (i32.const 196604))', 0)} (i32.store (i32.const 196604) (i32.const 6))`,
  ],
  [
    'more memory than is put back',
    '',
    `${is('(memory.size)', 2)} ${is('(memory.grow (i32.const 64))', 2)} (memory.fill (i32.const 8) (i32.const 7) (i32.const 4000000))`,
  ],
  [
    'globals of every type',
    '(global $a (mut i32) (i32.const -7)) (global $b (mut i64) (i64.const -9)) (global $c (mut f32) (f32.const 0.5)) (global $d (mut f64) (f64.const 1e300))',
    `${is('(global.get $a)', -7)} ${is('(global.get $b)', -9, 'i64')} ${is('(global.get $c)', 0.5, 'f32')} ${is('(global.get $d)', 1e300, 'f64')}
    (global.set $a (i32.const 1)) (global.set $b (i64.const 1)) (global.set $c (f32.const 1)) (global.set $d (f64.const 1))`,
  ],
  [
    'a global that it exports, beside immutable ones',
    '(global $k i32 (i32.const 3)) (global $g (export "g") (mut i32) (i32.const 0)) (global $l f64 (f64.const 3))',
    `${is('(global.get $g)', 0)} (global.set $g (global.get $k))`,
  ],
  [
    'the bits of what is not a number',
    '(global $n (mut f64) (f64.const nan:0x4000000000001))',
    `${unless('(i64.eq (i64.reinterpret_f64 (global.get $n)) (i64.const 0x7ff4000000000001))')}
    (global.set $n (f64.const nan:0x8000000000002))`,
  ],
  [
    'a vector',
    '(global $v (mut v128) (v128.const i64x2 1 2))',
    `${is('(i64x2.extract_lane 1 (global.get $v))', 2, 'i64')} (global.set $v (v128.const i64x2 3 4))`,
  ],
  [
    'a reference in a global',
    `${table} (global $r (mut funcref) (ref.null func)) (elem declare func $one)`,
    `${unless('(ref.is_null (global.get $r))')} (global.set $r (ref.func $one))`,
  ],
  [
    'a table that it writes',
    `${table} (table $t 2 funcref) (elem (i32.const 0) $one $one) (elem declare func $two)`,
    `${is(called(0), 1)} (table.set $t (i32.const 0) (ref.func $two)) ${is(called(0), 2)}`,
  ],
  [
    'an empty place of its second table',
    `${table} (table $t 2 funcref) (elem (i32.const 0) $one $two) (table $u 3 funcref)`,
    `${unless('(ref.is_null (table.get $u (i32.const 2)))')} (table.set $u (i32.const 2) (ref.func $two))`,
  ],
  [
    'a table that it lets grow',
    `${table} (table $t 2 funcref) (elem (i32.const 0) $one $two)`,
    `${is('(table.size $t)', 2)} (drop (table.grow $t (ref.func $one) (i32.const 3)))`,
  ],
  [
    'a large table',
    `${table} (table $t 5000 funcref) (elem (i32.const 0) $one $two)`,
    `${unless('(ref.is_null (table.get $t (i32.const 4999)))')} (table.set $t (i32.const 4999) (ref.func $two))`,
  ],
  [
    'elements that it drops',
    `${table} (table $t 2 funcref) (elem $e func $one $two)`,
    `(table.init $t $e (i32.const 0) (i32.const 0) (i32.const 2)) (elem.drop $e)`,
  ],
  [
    'data that it drops',
    '(data $d "abcd")',
    `(memory.init $d (i32.const 100) (i32.const 0) (i32.const 4)) (data.drop $d)`,
  ],
  [
    'data that is dropped anyhow',
    '(data $d (i32.const 100) "\\05")',
    `${is('(i32.load8_u (i32.const 100))', 5)} (i32.store8 (i32.const 100) (i32.const 6)) (data.drop $d)`,
  ],
  [
    'what its start function counts',
    `(global $g (mut i32) (i32.const 0)) (start $s)
    (func $s (global.set $g (i32.add (global.get $g) (i32.const 1))) (i32.store (i32.const 200) (i32.add (i32.load (i32.const 200)) (i32.const 1))))`,
    `${is('(global.get $g)', 1)} ${is('(i32.load (i32.const 200))', 1)}
    (global.set $g (i32.const 9)) (i32.store (i32.const 200) (i32.const 9))`,
  ],
  [
    'names under which its state is looked for',
    '(global $g (export "engine:global0") (mut i32) (i32.const 0))',
    `${is('(global.get $g)', 0)} (global.set $g (i32.const 1))`,
  ],
  [
    'an answer that it did not take',
    '',
    is('(i32.wrap_i64 (i64.shr_u (call $call (i32.const 0x51) (i32.const 0) (i32.const 0)) (i64.const 32)))', 1),
  ],
  [
    'a map',
    '',
    `${is('(call $new)', 0)} ${is('(call $len (i32.const 0))', 0)} (call $insert (i32.const 0) (i32.const 0) (i32.const 4) (i32.const 0) (i32.const 4))`,
  ],
]

const imports = `(import "pbc" "avl_new" (func $new (result i32))) (import "pbc" "avl_len" (func $len (param i32) (result i32)))
  (import "pbc" "avl_insert" (func $insert (param i32 i32 i32 i32 i32)))`
// Imports come first.
const make = (more: string, body: string): Promise<ComponentCode> =>
  module(`${body} ${none}`, { hook, more, before: imports })

describe('a module that leaves something for its next call', () => {
  const run = (component: ComponentCode, over: Partial<ComponentCall> = stateChange) =>
    runtime.run(call(component, over), noHost)

  it.each(rows)('in %s does not find it there', async (_name, more, body) => {
    const code = await make(more, body)
    for (let round = 0; round < 4; round += 1) expect(await run(code)).toMatchObject({ kind: 'done' })
  })

  it.each(rows)('in %s does not find it there after a trap', async (_name, more, body) => {
    const code = await make(more, `${body} (if (i32.ge_u (local.get $len) (i32.const 60)) (then unreachable))`)
    for (let round = 0; round < 3; round += 1) {
      expect(await run(code)).toMatchObject({ kind: 'done' })
      const long = { ...stateChange, state: new Uint8Array(60) }
      expect(await run(code, long)).toMatchObject({ kind: 'trap', message: 'unreachable' })
    }
  })

  it('finds as much memory as its input needs, whatever the input before was', async () => {
    const size = '(i32.add (i32.const 2) (i32.div_u (i32.sub (local.get $len) (i32.const 1)) (i32.const 65536)))'
    const code = await make(
      '',
      `${unless(`(i32.eq (memory.size) ${size})`)}
      ${is('(local.get $ptr)', 65_536)}
      ${is('(i32.load8_u (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 1)))', 0)}`,
    )
    for (const length of [0, 200_000, 0, 70_000, 70_000, 300_000, 1_000_000, 5, 600_000]) {
      expect(await run(code, { ...stateChange, state: new Uint8Array(length).fill(9) })).toMatchObject({ kind: 'done' })
    }
  })

  it('has in each call the maps of its start function, and those of no other call', async () => {
    const code = await make('(start $s) (func $s (drop (call $new)))', is('(call $new)', 1))
    for (let round = 0; round < 3; round += 1) expect(await run(code)).toMatchObject({ kind: 'done' })
  })

  it('is no other component: two have a state each', async () => {
    const [name, more, body] = rows[4] ?? expect.fail('there is no such row')
    const [one, other] = [await make(more, body), await make(more, `${body} (nop)`)]
    for (const each of [one, other, other, one]) expect([name, await run(each)]).toMatchObject([name, { kind: 'done' }])
    expect(await run(one, { hook: get })).toMatchObject({ kind: 'trap' })
  })
})
