import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, component, noHost, pool, script } from '../../test/support/components.ts'
import { binaryOf, readsStorage } from '../../test/support/wat.ts'
import type { Component, Outcome, Runtime } from './runtime.ts'

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
    ['a module', async () => component(await binaryOf(readsStorage))],
    ['a script', () => Promise.resolve(script(SCRIPT))],
  ]
  it.each(both)('answers a request with what the engine has stored: %s', async (_kind, make) => {
    const host = { ...noHost, load: () => Promise.resolve(Buffer.from('hello')) }
    const outcome = await runtime.run(call(await make()), host)
    expect(bodyOf(outcome)).toBe('hello')
    expect(outcome).toMatchObject({ kind: 'done', response: { status: 200 }, effects: { reads: 1, storage: [] } })
  })
})
