/**
 * JavaScript components that mean harm, or are broken: each comes to a clear end, and nothing of one call is there in
 * the next.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ComponentCode, RunOutcome, Runtime } from '../../src/component/runtime.ts'
import { call, component, LIMITS, noHost, pool, script } from '../support/components.ts'

let runtime: Runtime
beforeAll(async () => {
  runtime = await pool({}, 2)
})
afterAll(() => runtime.close())

const stateChange = { hook: { kind: 'state-change' } } as const
const NOTHING = 'new Uint8Array(0)'
const body = (code: string): ComponentCode => script(`off_chain_on_state_change() { ${code}; return ${NOTHING} }`)
/** Leaves in the log what an expression is. */
const says = (expression: string, before = ''): ComponentCode =>
  script(`off_chain_on_state_change() { ${before}; console.log(${expression}); return ${NOTHING} }`)
const logOf = (outcome: RunOutcome): string =>
  outcome.kind === 'done' ? outcome.effects.log.join('\n') : JSON.stringify(outcome)

describe('a script that', () => {
  const rows: [string, string, object | RegExp][] = [
    ['never ends', 'for (;;);', { kind: 'deadline' }],
    ['never ends matching', '/(a+)+$/.test("a".repeat(40) + "b")', { kind: 'deadline' }],
    ['never ends its tasks', 'const f = () => { for (;;) hosted(0x51, new Uint8Array(0)) }; f()', { kind: 'deadline' }],
    ['asks for all memory there is', 'const all = []; for (;;) all.push(new Uint8Array(65536))', /memory/],
    ['asks for one huge array', 'new Uint8Array(2 ** 31)', /memory|length|range/i],
    ['grows a text without end', 'let s = "x"; for (;;) s += s', /memory|too long/],
    ['calls itself without end', 'const f = () => f() + 1; f()', /stack/],
    ['nests JSON without end', 'JSON.parse("[".repeat(1e6))', /stack|overflow/],
    ['throws', 'throw new TypeError("this is why")', /TypeError: this is why/],
    ['throws nothing at all', 'throw undefined', /threw undefined, which is not an Error/],
    ['throws what cannot be shown', 'throw { toString() { throw 1 } }', /./],
    ['gives back a text', 'return "yes"', /./],
    ['gives back a promise', 'return Promise.resolve(1)', /not asynchronous/],
    ['pretends to give back bytes', 'return Object.create(Uint8Array.prototype)', /./],
    [
      'gives back bytes that are gone',
      'const b = new Uint8Array(8); b.buffer.transfer(); return { __proto__: b }',
      /./,
    ],
    ['gives back sections that lie', 'return Uint8Array.of(0x22, 255, 255, 255, 255)', /too early/],
    ['asks for an operation that is not there', 'hosted(0x99, new Uint8Array(0))', /0x99/],
    ['catches what its engine throws', 'try { hosted(0x99, new Uint8Array(0)) } catch {}', /0x99/],
    ['asks with no bytes', 'hosted(0x51, "x")', /Uint8Array/],
    ['asks with nothing', 'hosted()', /./],
    [
      'floods the storage',
      'for (let i = 0; ; i++) hosted(0x20, Uint8Array.of(0, 0, 0, 1, 98, 0, 0, 0, 4, i >> 24, i >> 16, i >> 8, i, 0))',
      /too many stored values.*limits\.storageChanges is 100/,
    ],
    [
      'keeps in a timer what is not a payload',
      'const b = new Uint8Array(8 + 1025); b.set([0, 0, 0, 1, 0, 0, 4, 1]); hosted(0x60, b)',
      /1025 bytes; limits\.timerBytes is 1024/,
    ],
    [
      'sends a transaction that no chain takes',
      'const b = new Uint8Array(33 + 1025); b.set([0, ...new Array(20).fill(0x11), 0, 0, 4, 1]); hosted(0x10, b)',
      /1025 bytes; limits\.transactionBytes is 1024/,
    ],
    [
      'sends too many transactions',
      'for (;;) hosted(0x10, Uint8Array.from([0, ...new Array(20).fill(0x11), ...new Array(12).fill(0)]))',
      /limits\.transactions is 4/,
    ],
    [
      'schedules too many timers',
      'for (let i = 0; ; i++) hosted(0x60, Uint8Array.of(0, 0, 0, i, 0, 0, 0, 0))',
      /limits\.timers is 4/,
    ],
    ['asks for too much randomness', 'hosted(0x50, Uint8Array.of(0, 1, 0, 0))', /limits\.randomBytes is 1024/],
    ['asks for another module', 'return import("node:fs")', /not asynchronous/],
  ]

  it.each(rows)('%s ends as it should, and the next call is none the worse', async (_name, code, expected) => {
    const deadlineMs = expected instanceof RegExp ? 10_000 : 1_000
    const outcome = await runtime.run(call(body(code), { ...stateChange, deadlineMs }), noHost)
    if (expected instanceof RegExp) {
      expect(outcome.kind).toMatch(/^(trap|bad-response)$/)
      expect((outcome as { message: string }).message).toMatch(expected)
    } else expect(outcome).toMatchObject(expected)
    expect(logOf(await runtime.run(call(says('1 + 1'), stateChange), noHost))).toBe('2')
  })

  it('finds nothing of the process, of Node, or of the engine around it', async () => {
    const names = [
      'process',
      'require',
      'module',
      'fetch',
      'setTimeout',
      'WebAssembly',
      'SharedArrayBuffer',
      'encode',
      'decode',
      'engineRun',
    ]
    const found = `${JSON.stringify(names)}.filter((name) => name in globalThis && name !== 'SharedArrayBuffer').join()`
    expect(logOf(await runtime.run(call(says(found), stateChange), noHost))).toBe('')
  })

  it('leaves nothing for the next call, wherever it leaves it', async () => {
    const leave = `globalThis.count = (globalThis.count ?? 0) + 1; kept.push(1); Object.prototype.left = 1; Array.prototype.map = 1
      Math.random = () => 4; TextDecoder.prototype.decode = () => 'wrong'; delete globalThis.JSON; offChain.more = 1`
    const left = script(
      `off_chain_on_state_change() {
        console.log([globalThis.count, kept.length, {}.left, typeof [].map, Math.random() < 1, typeof JSON, Object.keys(offChain).length].join())
        ${leave}
        if (kept.length > 1) throw 1
        return ${NOTHING} }`,
      'const kept = []',
    )
    for (let round = 0; round < 6; round += 1) {
      const outcome = await runtime.run(call(left, stateChange), noHost)
      expect(logOf(outcome)).toBe(',0,,function,true,object,1')
    }
  })

  it('leaves nothing after a trap, or after its memory had grown', async () => {
    const grows = script(
      `off_chain_on_state_change() { console.log(kept.length); for (let i = 0; i < 40; i++) kept.push(new Uint8Array(65536).fill(7)); if (hosted(0x21, Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0))) throw 1; return ${NOTHING} }`,
      'const kept = []',
    )
    for (const value of [undefined, Buffer.of(1), undefined, Buffer.of(1), undefined]) {
      const outcome = await runtime.run(call(grows, stateChange), { ...noHost, load: () => Promise.resolve(value) })
      expect(outcome.kind === 'deadline' ? undefined : outcome.kind).toBe(value === undefined ? 'done' : 'trap')
      expect(outcome.kind === 'done' ? outcome.effects.log : outcome.kind === 'trap' && outcome.log).toEqual(['0'])
    }
  })

  it('has other random numbers and another time in each call', async () => {
    const random = says('[Math.random(), Date.now()].join()')
    const at = (now: number): Promise<RunOutcome> =>
      runtime.run(call(random, { ...stateChange, now: new Date(now) }), noHost)
    const [[one, early], [other, late]] = [logOf(await at(1_000)).split(','), logOf(await at(2_000)).split(',')] as [
      string[],
      string[],
    ]
    expect(one).not.toBe(other)
    expect([early, late]).toEqual(['1000', '2000'])
  })

  it('asks ten thousand times takes no more memory for it', async () => {
    const asks = body(
      'for (let i = 0; i < 10000; i++) { hosted(0x51, new Uint8Array(1000).subarray(0, 0)); new TextEncoder().encode("x".repeat(2000)) }',
    )
    expect(await runtime.run(call(asks, { ...stateChange, deadlineMs: 300_000 }), noHost)).toMatchObject({
      kind: 'done',
    })
  })

  it('fills its memory when it is loaded does not stay loaded beside many like it', async () => {
    const MIB = 1024 * 1024
    const large = await pool({ memoryBytes: 64 * MIB }, 1)
    const fill = (n: number) =>
      script(`off_chain_on_state_change() { return ${NOTHING} }`, `const all${n} = new Uint8Array(5e7).fill(1)`)
    const bytesBefore = process.memoryUsage.rss()
    for (let n = 0; n < 16; n++) {
      expect(await large.run(call(fill(n), stateChange), noHost)).toMatchObject({ kind: 'done' })
    }
    expect(process.memoryUsage.rss() - bytesBefore).toBeLessThan(900 * MIB)
    await large.close()
  })

  it('writes a long log has it cut', async () => {
    const outcome = await runtime.run(
      call(body('for (let i = 0; i < 500; i++) console.log("0123456789")'), stateChange),
      noHost,
    )
    expect(logOf(outcome).length).toBeLessThan(LIMITS.logBytes + 100)
    expect(logOf(outcome)).toMatch(/limits\.logBytes/)
  })

  it('writes empty lines does not have them for nothing', async () => {
    const outcome = await runtime.run(
      call(body('for (let i = 0; i < 5000; i++) hosted(0x82, new Uint8Array(4))'), stateChange),
      noHost,
    )
    expect(logOf(outcome).split('\n').length).toBeLessThan(LIMITS.logBytes / 50)
  })

  it('throws a book has its first page in the log', async () => {
    const outcome = await runtime.run(call(body('throw new Error("x".repeat(2e6))'), stateChange), noHost)
    expect(outcome.kind === 'trap' && outcome.message.length).toBeLessThanOrEqual(4096)
  })

  it('has texts in UTF-8, and says what is none', async () => {
    const text = says(
      `[new TextDecoder().decode(new TextEncoder().encode('aé€😀\\ud800')), (() => { try { new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.of(255)) } catch (e) { return e.name } })(), new TextDecoder().decode(Uint8Array.of(97, 255)), new TextDecoder().decode(Uint8Array.of(239, 187, 191, 97))].join('|')`,
    )
    expect(logOf(await runtime.run(call(text, stateChange), noHost))).toBe('aé€😀\ufffd|TypeError|a\ufffd|a')
  })
})

describe('a script is refused that', () => {
  const rows: [string, string, RegExp][] = [
    ['is not JavaScript', 'this is not', /SyntaxError/],
    ['throws while it is loaded', 'throw new Error("no config")', /no config/],
    ['asks its engine while it is loaded', 'hosted(0x51, new Uint8Array(0))', /while it is loaded/],
    ['has no hooks', '1 + 1', /no hooks/],
    ['has hooks of other names', 'globalThis.offChain = { http() {} }', /no hooks/],
    ['fills its memory while it is loaded', 'const a = []; for (;;) a.push(new Uint8Array(65536))', /memory/],
  ]
  it.each(rows)('%s', async (_name, source, expected) => {
    const made = component(Buffer.from(source))
    await expect(runtime.describe(made)).rejects.toThrow(expected)
    expect(await runtime.run(call(made), noHost)).toMatchObject({ kind: 'trap' })
  })
})
