/**
 * WebAssembly components that mean harm, or are broken: each comes to a clear end, and the next call finds everything
 * as it was.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ComponentCode, Runtime } from '../../src/component/runtime.ts'
import { call, component, LIMITS, module, noHost, pool } from '../support/components.ts'
import { binaryOf, moduleText, readsStorage } from '../support/wat.ts'

let runtime: Runtime
let good: ComponentCode
beforeAll(async () => {
  runtime = await pool({ memoryBytes: 2 * 1024 * 1024 }, 2)
  good = component(await binaryOf(readsStorage))
})
afterAll(() => runtime.close())

const NOTHING = '(i64.const 0)'
/** An operation over the bytes at 0, whose answer is let go. */
const ask = (operation: number, length: number): string =>
  `(drop (call $call (i32.const ${operation}) (i32.const 0) (i32.const ${length})))`
const take = (operation: number): string =>
  `(call $result (i32.wrap_i64 (i64.shr_u (call $call (i32.const ${operation}) (i32.const 0) (i32.const 0)) (i64.const 32))) (i32.const 0))`
const forEver = (body: string): string => `(loop $again ${body} (br $again)) ${NOTHING}`
const data = (bytes: string): { more: string } => ({ more: `(data (i32.const 0) "${bytes}")` })
const ONE = '\\00\\00\\00\\01'
const TO = `\\00${'\\11'.repeat(20)}`

describe('a module that', () => {
  const rows: [string, string, object | undefined, object | RegExp][] = [
    ['never ends', forEver(''), {}, { kind: 'deadline' }],
    ['never ends asking', forEver(take(0x51)), {}, { kind: 'deadline' }],
    ['takes none of its results', forEver(ask(0x51, 0)), {}, /results .* not taken.*limits\.memoryBytes/],
    [
      'never ends in its start function',
      NOTHING,
      { more: '(func $s (loop $l (br $l))) (start $s)' },
      { kind: 'deadline' },
    ],
    ['runs into unreachable', 'unreachable', {}, /unreachable/],
    ['calls itself without end', '(call $r) (i64.const 0)', { more: '(func $r (call $r))' }, /stack is full/],
    [
      'asks for all memory there is',
      `(loop $l (br_if $l (i32.ge_s (memory.grow (i32.const 1)) (i32.const 0)))) ${forEver('(drop (memory.grow (i32.const 1)))')}`,
      {},
      { kind: 'deadline' },
    ],
    ['leaves no memory for its input', NOTHING, { memory: '32' }, /no room for its input.*limits\.memoryBytes/],
    ['points outside its memory', '(i64.const -1)', {}, /points outside its memory/],
    ['points at its last byte', '(i64.const 131071)', {}, /points outside its memory/],
    ['announces more than it has', '(i64.const 0)', data('\\7f\\ff\\ff\\ff'), /limits\.responseBytes/],
    [
      'announces more than its memory',
      '(i64.const 131000)',
      { more: '(data (i32.const 60000) "\\00")' },
      /no section 0x22/,
    ],
    [
      'has a section that lies about its length',
      NOTHING,
      data('\\00\\00\\00\\06\\22\\ff\\ff\\ff\\ff\\00'),
      /ends .* too early/,
    ],
    [
      'gives back its sections out of order',
      NOTHING,
      data('\\00\\00\\00\\0a\\22\\00\\00\\00\\00\\22\\00\\00\\00\\00'),
      /ascending order/,
    ],
    ['gives back nothing', NOTHING, {}, /no section 0x22/],
    [
      'gives back a status of 42',
      NOTHING,
      data('\\00\\00\\00\\11\\22\\00\\00\\00\\0c\\00\\00\\00\\2a\\00\\00\\00\\00\\00\\00\\00\\00'),
      /status 42/,
    ],
    ['asks for an operation that is not there', `${ask(0x99, 0)} ${NOTHING}`, {}, /0x99/],
    [
      'asks with an operand outside its memory',
      '(drop (call $call (i32.const 81) (i32.const -8) (i32.const 64))) (i64.const 0)',
      {},
      /outside its memory/,
    ],
    ['asks with an operand that ends too early', `${ask(0x20, 3)} ${NOTHING}`, {}, /0x20: it ends/],
    ['asks with an operand that has too much', `${ask(0x51, 3)} ${NOTHING}`, {}, /3 bytes are left over/],
    ['takes a result that is not there', '(call $result (i32.const 5) (i32.const 0)) (i64.const 0)', {}, /no result 5/],
    [
      'floods the storage',
      forEver(`(i32.store (i32.const 9) (i32.add (i32.load (i32.const 9)) (i32.const 1))) ${ask(0x20, 14)}`),
      data(`${ONE}b\\00\\00\\00\\04aaaa\\00`),
      /limits\.storageChanges is 100/,
    ],
    ['sends too many transactions', forEver(ask(0x10, 33)), data(`${TO}\\00\\00\\00\\00`), /limits\.transactions is 4/],
    ['sends a transaction to another contract', `${ask(0x10, 33)} ${NOTHING}`, {}, /its own contract only/],
    [
      'schedules too many timers',
      forEver(`(i32.store8 (i32.const 3) (i32.add (i32.load8_u (i32.const 3)) (i32.const 1))) ${ask(0x60, 8)}`),
      {},
      /limits\.timers is 4/,
    ],
    [
      'asks for too much randomness',
      `${ask(0x50, 4)} ${NOTHING}`,
      data('\\00\\00\\04\\01'),
      /limits\.randomBytes is 1024/,
    ],
    ['asks others too often', forEver(ask(0x30, 16)), {}, /limits\.outboundRequests is 2/],
    [
      'stores under a long key',
      `${ask(0x20, 74)} ${NOTHING}`,
      { more: '(data (i32.const 3) "\\41")' },
      /limits\.storageKeyBytes is 64/,
    ],
    ['would catch what its engine throws', `(try (do ${ask(0x99, 0)}) (catch_all)) ${NOTHING}`, {}, /instruction 0x6/],
    ['ends with a message', '(call $exit (i32.const 0) (i32.const 4)) (i64.const 0)', data('oops'), /^oops$/],
    [
      'asks in its start function',
      NOTHING,
      { more: '(func $s (call $result (i32.const 0) (i32.const 0))) (start $s)' },
      /before it has started|no result/,
    ],
  ]

  it.each(rows)('%s ends as it should, and the next call is none the worse', async (_name, body, more, expected) => {
    const deadlineMs = expected instanceof RegExp ? 10_000 : 400
    const outcome = await runtime.run(call(await module(body, more ?? {}), { deadlineMs }), noHost)
    if (expected instanceof RegExp) {
      expect(outcome.kind).toMatch(/^(trap|bad-response)$/)
      expect((outcome as { message: string }).message).toMatch(expected)
    } else expect(outcome).toMatchObject(expected)
    const next = await runtime.run(call(good), { ...noHost, load: () => Promise.resolve(Buffer.from('x')) })
    expect(next).toMatchObject({ kind: 'done', response: { status: 200 } })
  })

  it.each([
    ['takes none of its results', forEver(ask(0x51, 0)), '', /more than 200000 results are not taken/],
    [
      'fills its maps',
      `(local $tree i32) (local.set $tree (call $new))
      (loop $again
        (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
        (call $insert (local.get $tree) (i32.const 0) (i32.const 4) (i32.const 0) (i32.const 4))
        (br $again))
      ${NOTHING}`,
      `(import "pbc" "avl_new" (func $new (result i32)))
      (import "pbc" "avl_insert" (func $insert (param i32 i32 i32 i32 i32)))`,
      /more than 200000 values/,
    ],
  ])(
    '%s ends as it should where its memory may be larger than that of a worker',
    async (_name, body, before, expected) => {
      const large = await pool({ memoryBytes: 4096 * 1024 * 1024 })
      const outcome = await large.run(call(await module(body, { before }), { deadlineMs: 30_000 }), noHost)
      expect(outcome).toMatchObject({ kind: 'trap', message: expect.stringMatching(expected) as string })
      await large.close()
    },
  )

  it('writes a long log has it cut, and is answered all the same', async () => {
    const body = `(local $n i32) (loop $l (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (drop (call $call (i32.const 0x82) (i32.const 100) (i32.const 5))) (br_if $l (i32.lt_u (local.get $n) (i32.const 9999)))) (i64.const 0)`
    const log = await module(body, { hook: 'off_chain_on_state_change', more: `(data (i32.const 100) "${ONE}x")` })
    const outcome = await runtime.run(call(log, { hook: { kind: 'state-change' } }), noHost)
    expect(outcome.kind === 'done' && outcome.effects.log.join('').length).toBeLessThan(LIMITS.logBytes + 100)
    expect(outcome.kind === 'done' && outcome.effects.log.at(-1)).toMatch(/limits\.logBytes/)
  })

  it('keeps something in its memory does not find it in the next call', async () => {
    const body = `(if (i32.load (i32.const 512)) (then unreachable)) (i32.store (i32.const 512) (i32.const 1))
      (global.set $g (i32.add (global.get $g) (i32.const 1))) (if (i32.gt_u (global.get $g) (i32.const 1)) (then unreachable)) (i64.const 0)`
    const keeps = await module(body, { hook: 'off_chain_on_state_change', more: '(global $g (mut i32) (i32.const 0))' })
    for (let round = 0; round < 5; round += 1) {
      expect((await runtime.run(call(keeps, { hook: { kind: 'state-change' } }), noHost)).kind).toBe('done')
    }
  })
})

describe('a module is refused, by what is wrong with it, that', () => {
  const text = (inside: string): Promise<Uint8Array> => binaryOf(`(module ${inside})`)
  const hook = '(func (export "off_chain_on_state_change") (param i32 i32) (result i64) (i64.const 0))'
  const memory = '(memory (export "memory") 1)'
  const rows: [string, () => Promise<Uint8Array> | Uint8Array, RegExp][] = [
    [
      'imports something of Node',
      () => text(`(import "node" "exit" (func)) ${memory} ${hook}`),
      /"node"."exit".*does not have/,
    ],
    [
      'imports an unknown function of its chain',
      () => text(`(import "pbc" "zk_open" (func)) ${memory} ${hook}`),
      /"pbc"."zk_open"/,
    ],
    [
      'imports by a name of every object',
      () => text(`(import "constructor" "name" (func)) ${memory} ${hook}`),
      /"constructor"."name"/,
    ],
    [
      'imports a function as another',
      () => text(`(import "offchain" "call" (func (param i32))) ${memory} ${hook}`),
      /\(i32\) -> \(\); it is \(i32, i32, i32\) -> \(i64\)/,
    ],
    ['imports its memory', () => text(`(import "offchain" "memory" (memory 1)) ${hook}`), /not a function/],
    ['has no memory', () => text(hook), /no memory/],
    ['keeps its memory to itself', () => text(`(memory 1) ${hook}`), /does not export its memory/],
    [
      'begins with too much memory',
      () => text(`(memory (export "memory") 40) ${hook}`),
      /40 pages.*limits\.memoryBytes/,
    ],
    ['has a shared memory', () => text(`(memory (export "memory") 1 2 shared) ${hook}`), /shared/],
    ['has a huge table', () => text(`(table 200000 funcref) ${memory} ${hook}`), /table of more than/],
    ['has no hook', () => text(memory), /no hook/],
    [
      'has a hook of another type',
      () => text(`${memory} (func (export "off_chain_on_http_request") (param i32) (result i64) (i64.const 0))`),
      /\(i32\) -> \(i64\)/,
    ],
    ['is too large', () => new Uint8Array(LIMITS.moduleBytes + 1), /limits\.moduleBytes/],
    ['is of another version', () => Uint8Array.from([0, 0x61, 0x73, 0x6d, 2, 0, 0, 0]), /version 1/],
    ['ends in the middle', async () => (await binaryOf(readsStorage)).subarray(0, 60), /broken|not valid/],
    [
      'has a number without an end',
      () => Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, ...new Array<number>(9).fill(0xff)]),
      /too long/,
    ],
    [
      'announces more types than it has bytes',
      () => Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 1, 100]),
      /too early/,
    ],
    [
      'has functions that are not valid',
      async () => broken(await binaryOf(moduleText('(i64.const 77)'))),
      /instruction 0xff/,
    ],
    ['is neither a module nor a text', () => Uint8Array.from([0xff, 0xfe, 0xfd]), /neither/],
  ]

  it.each(rows)('%s', async (_name, make, expected) => {
    const made = component(await make())
    await expect(runtime.describe(made)).rejects.toThrow(expected)
    expect(await runtime.run(call(made), noHost)).toMatchObject({ kind: 'trap' })
  })

  /** The constant 77 is not an instruction of its own. */
  const broken = (bytes: Uint8Array): Uint8Array => {
    const at = Buffer.from(bytes).lastIndexOf(Buffer.from([0x42, 0xcd]))
    return Uint8Array.from(bytes, (byte, index) => (index === at ? 0xff : byte))
  }
})
