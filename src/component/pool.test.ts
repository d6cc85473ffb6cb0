import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, module, noHost, pool, script } from '../../test/support/components.ts'
import type { Component, Outcome, Runtime } from './runtime.ts'

/** Answers what operation 0x21 loads for bucket "b" and key "k", in a response of status 200. */
const LOADS = `
  (local $packed i64) (local $size i32)
  (local.set $packed (call $call (i32.const 0x21) (i32.const 0) (i32.const 10)))
  (local.set $size (i32.wrap_i64 (local.get $packed)))
  (call $result (i32.wrap_i64 (i64.shr_u (local.get $packed) (i64.const 32))) (i32.const 1041))
  (i32.store8 (i32.const 1027) (i32.add (local.get $size) (i32.const 0)))
  (i32.store8 (i32.const 1003) (i32.add (local.get $size) (i32.const 17)))
  (i32.store8 (i32.const 1004) (i32.const 0x22))
  (i32.store8 (i32.const 1008) (i32.add (local.get $size) (i32.const 12)))
  (i32.store8 (i32.const 1012) (i32.const 200))
  (i32.store8 (i32.const 1020) (local.get $size))
  (memory.copy (i32.const 1021) (i32.const 1041) (local.get $size))
  (i64.const 1000)`
const NAME = '(data (i32.const 0) "\\00\\00\\00\\01b\\00\\00\\00\\01k")'

const SCRIPT = `
  off_chain_on_http_request(input) {
    const value = hosted(0x21, Uint8Array.of(0, 0, 0, 1, 98, 0, 0, 0, 1, 107))
    const body = value ?? new Uint8Array(0)
    return Uint8Array.of(0x22, 0, 0, 0, 12 + body.length, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0, body.length, ...body)
  }`

let runtime: Runtime
beforeAll(async () => {
  runtime = await pool()
})
afterAll(() => runtime.close())

const bodyOf = (outcome: Outcome): string =>
  outcome.kind === 'done' ? Buffer.from(outcome.response?.body ?? []).toString() : JSON.stringify(outcome)

describe('the pool', () => {
  const both: [string, () => Promise<Component>][] = [
    ['a module', () => module(LOADS, { more: NAME })],
    ['a script', () => Promise.resolve(script(SCRIPT))],
  ]
  it.each(both)('answers a request with what the engine has stored: %s', async (_kind, make) => {
    const host = { ...noHost, load: () => Promise.resolve(Buffer.from('hello')) }
    const outcome = await runtime.run(call(await make()), host)
    expect(bodyOf(outcome)).toBe('hello')
    expect(outcome).toMatchObject({ kind: 'done', response: { status: 200 }, effects: { reads: 1, storage: [] } })
  })
})
