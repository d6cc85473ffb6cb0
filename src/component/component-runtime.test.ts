import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { keySigner } from '../../sdk/client/signers.ts'
import { WORKER_DIRECTORY } from '../../test/support/component-directory.ts'
import { call, component, LIMITS, module, noHost, pool, script } from '../../test/support/components.ts'
import { fakeTimersOf } from '../../test/support/fake-timers.ts'
import { binaryOf, readsStorage } from '../../test/support/wat.ts'
import { createRuntime } from './component-runtime.ts'
import type { ComponentCode, RunOutcome, Runtime } from './runtime.ts'
import { Trap } from './trap.ts'

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

const bodyOf = (outcome: RunOutcome): string =>
  outcome.kind === 'done' ? Buffer.from(outcome.response?.body ?? []).toString() : JSON.stringify(outcome)

describe('the pool', () => {
  const both: [string, () => Promise<ComponentCode>][] = [
    ['a module', async () => component(await binaryOf(readsStorage))],
    ['a script', () => Promise.resolve(script(SCRIPT))],
  ]
  it.each(both)('answers a request with what the engine has stored: %s', async (_kind, make) => {
    const host = { ...noHost, load: () => Promise.resolve(Buffer.from('hello')) }
    const outcome = await runtime.run(call(await make()), host)
    expect(bodyOf(outcome)).toBe('hello')
    expect(outcome).toMatchObject({ kind: 'done', response: { status: 200 }, effects: { reads: 1, storage: [] } })
  })

  it.each(both)('runs what was dropped for many others while it waited for an answer: %s', async (_kind, make) => {
    const component = await make()
    const others = await Promise.all(Array.from({ length: 80 }, (_, number) => module(`(i64.const ${number})`)))
    const describeOthers = async (): Promise<void> => {
      for (const each of others) await runtime.describe(each)
    }
    const load = (): Promise<Buffer> => describeOthers().then(() => Buffer.from('hello'))
    for (const host of [
      { ...noHost, load },
      { ...noHost, load },
    ]) {
      expect(bodyOf(await runtime.run(call(component), host))).toBe('hello')
    }
  })

  it.each(['secp256k1', 'offchain-v2'] as const)('says who signed: %s', async (profile) => {
    const key = new Uint8Array(32).fill(9)
    const signer = keySigner(key, 'evm', profile)
    const asks = script(`off_chain_on_http_request(input) {
      const found = hosted(0x80, Uint8Array.of(0, 0, 0, 1, ${Buffer.from(signer.address, 'hex').join()}))
      return Uint8Array.of(0x22, 0, 0, 0, 12, 0, 0, 0, found ? 200 : 201, 0, 0, 0, 0, 0, 0, 0, 0)
    }`)
    const made = call(asks)
    const request = { method: 'PUT', uri: '/', headers: [], body: Buffer.from('x') }
    const moment = { now: made.now, random: (length: number) => new Uint8Array(length).fill(1) }
    const authorization = await signer.authorize(request, made, moment)
    const outcomes = await Promise.all(
      [authorization, `${authorization.slice(0, -1)}x`].map((value) => {
        const headers = [{ name: 'authorization', values: [value] }]
        return runtime.run({ ...made, hook: { kind: 'http', request: { ...request, headers } } }, noHost)
      }),
    )
    expect(outcomes).toMatchObject([
      { response: { status: 200 }, effects: { signers: [signer.address] } },
      { response: { status: 201 }, effects: { signers: [] } },
    ])
  })

  it.each([
    ['HEAD', 200],
    ['GET', 201],
  ])('says who signed a request by HEAD, which a component sees as GET: signed as %s', async (method, status) => {
    const signer = keySigner(new Uint8Array(32).fill(9), 'evm')
    const asks = script(`off_chain_on_http_request(input) {
      const found = hosted(0x80, Uint8Array.of(0, 0, 0, 1, ${Buffer.from(signer.address, 'hex').join()}))
      return Uint8Array.of(0x22, 0, 0, 0, 12, 0, 0, 0, found ? 200 : 201, 0, 0, 0, 0, 0, 0, 0, 0)
    }`)
    const made = call(asks)
    const request = { method, uri: '/', headers: [], body: new Uint8Array() }
    const moment = { now: made.now, random: (length: number) => new Uint8Array(length).fill(1) }
    const headers = [{ name: 'authorization', values: [await signer.authorize(request, made, moment)] }]
    const hook = { kind: 'http', request: { ...request, method: 'GET', headers }, isHead: true } as const
    expect(await runtime.run({ ...made, hook }, noHost)).toMatchObject({ response: { status } })
  })

  const state = { hook: { kind: 'state-change' } } as const
  const quick = script('off_chain_on_state_change() { return new Uint8Array(0) }')
  const spins = script('off_chain_on_state_change() { for (;;); }')
  const asks = script(
    `off_chain_on_state_change() { hosted(0x81, Uint8Array.of(0, 0, 0, 0)); return new Uint8Array(0) }`,
  )

  it('ends what does not end, and loses neither what runs beside it nor what waits', async () => {
    const two = await pool({}, 2)
    const endless = call(spins, { ...state, deadlineMs: 300 })
    const calls = Array.from({ length: 20 }, (_, at) =>
      two.run(at === 3 || at === 7 ? endless : call(quick, state), noHost),
    )
    expect(two.getLoad()).toMatchObject({ workers: 2 })
    const kinds = (await Promise.all(calls)).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'deadline').length).toBe(2)
    expect(kinds.filter((kind) => kind === 'done').length).toBe(18)
    expect(two.getLoad()).toEqual({ running: 0, waiting: 0, workers: 2 })
    await two.close()
  })

  it('has a contract that spins keep neither all workers nor the front of the queue', async () => {
    const two = await pool({}, 2)
    const contract = `00${'66'.repeat(20)}`
    const spin = (deadlineMs: number) => two.run(call(spins, { ...state, contract, deadlineMs }), noHost)
    const [first, ...flood] = [400, ...Array.from({ length: 9 }, () => 60_000)].map(spin)
    expect(await first).toEqual({ kind: 'deadline' })
    let ended = 0
    for (const each of flood) void each.then(() => ended++)
    for (let calls = 0; calls < 10; calls += 1) {
      expect((await two.run(call(quick, state), noHost)).kind).toBe('done')
    }
    // Calls behind those that spin would have waited for a minute.
    expect(ended).toBe(0)
    await two.close()
    await Promise.all(flood)
  })

  it('has hooks of many contracts that spin leave workers to requests', async () => {
    const two = await pool({}, 2)
    const contracts = Array.from({ length: 10 }, (_, n) => `00${String(n).repeat(40)}`)
    const flood = contracts.map((contract) => two.run(call(spins, { ...state, contract, deadlineMs: 60_000 }), noHost))
    let ended = 0
    for (const each of flood) void each.then(() => ended++)
    for (let calls = 0; calls < 10; calls += 1) {
      expect(await two.run(call(script(SCRIPT)), noHost)).toMatchObject({ kind: 'done' })
    }
    expect(ended).toBe(0)
    await two.close()
    await Promise.all(flood)
  })

  it('ends a call that waited for a worker for longer than it may, which has not run', async () => {
    const one = await pool({}, 1)
    const ended: string[] = []
    const note = async (name: string, outcome: Promise<RunOutcome>) =>
      void ended.push(`${name} ${(await outcome).kind}`)
    await Promise.all([
      note('spinning', one.run(call(spins, { ...state, deadlineMs: 600 }), noHost)),
      note('patient', one.run(call(quick, { ...state, queueMs: 60_000 }), noHost)),
      note('impatient', one.run(call(quick, { ...state, queueMs: 100 }), noHost)),
    ])
    expect(ended).toEqual(['impatient overloaded', 'spinning deadline', 'patient done'])
    expect(one.getLoad().waiting).toBe(0)
    await one.close()
  })

  it('keeps no timer of a call that has waited and then ran', async () => {
    const one = await pool({}, 1)
    const countTimers = fakeTimersOf(60_013)
    try {
      const calls = Array.from({ length: 5 }, () => one.run(call(quick, { ...state, queueMs: 60_013 }), noHost))
      expect((await Promise.all(calls)).map(({ kind }) => kind)).toEqual(calls.map(() => 'done'))
      vi.advanceTimersByTime(1000)
      expect(countTimers()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
    await one.close()
  })

  it('runs calls of one contract beside each other while they wait for answers, also after one that was slow', async () => {
    const two = await pool({}, 2)
    expect(await two.run(call(spins, { ...state, deadlineMs: 400 }), noHost)).toEqual({ kind: 'deadline' })
    let asking = 0
    let answerAll = (): void => undefined
    const allAsk = new Promise<void>((resolve) => {
      answerAll = resolve
    })
    const host = {
      ...noHost,
      readContract: async () => {
        asking += 1
        if (asking === 4) answerAll()
        await allAsk
        return new Uint8Array(0)
      },
    }
    const calls = Array.from({ length: 4 }, () => two.run(call(asks, { ...state, deadlineMs: 60_000 }), host))
    expect((await Promise.all(calls)).map(({ kind }) => kind)).toEqual(['done', 'done', 'done', 'done'])
    await two.close()
  })

  it.each([
    [
      'loads of the engine make slow',
      '0x21, Uint8Array.of(0, 0, 0, 1, 98, 0, 0, 0, 1, each)',
      { running: 1, waiting: 1 },
    ],
    ['reads of the chain do not', '0x81, Uint8Array.of(0, 0, 0, 1, each)', { running: 2, waiting: 0 }],
  ])('gives a contract that is slow a worker less: %s', async (_what, question, load) => {
    // Only what the engine does takes time, so that the time of a busy machine makes no contract slow.
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const two = await pool({ stateChangeReads: 12 }, 2)
    const work = <T>(answer: T): Promise<T> => {
      vi.advanceTimersByTime(40)
      return Promise.resolve(answer)
    }
    const host = { ...noHost, load: () => work(undefined), readContract: () => work(new Uint8Array()) }
    const asksOften = script(`off_chain_on_state_change() {
      for (let each = 0; each < 12; each++) hosted(${question})
      return new Uint8Array(0)
    }`)
    await Promise.all([1, 2].map(() => two.run(call(quick, state), noHost)))
    expect(await two.run(call(asksOften, state), host)).toMatchObject({ kind: 'done' })
    const calls = [1, 2].map(() => two.run(call(spins, { ...state, deadlineMs: 10_000 }), noHost))
    await expect.poll(() => two.getLoad(), { timeout: 8000 }).toMatchObject(load)
    await two.close()
    await Promise.all(calls)
  })

  it('counts the time that the engine takes to answer', async () => {
    const host = { ...noHost, readContract: () => new Promise<never>(() => undefined) }
    expect(await runtime.run(call(asks, { ...state, deadlineMs: 300 }), host)).toEqual({ kind: 'deadline' })
  })

  it('takes a silence of the engine that lasts until the deadline for an outage, and no silence of another host', async () => {
    const silent = new Promise<never>(() => undefined)
    const host = { ...noHost, readContract: () => silent, send: () => silent }
    const outcome = await runtime.run(call(asks, { ...state, deadlineMs: 1500 }), host)
    expect(outcome).toMatchObject({ kind: 'outage', error: { name: 'SilenceError', operation: 'readContract' } })
    const sends = script(`off_chain_on_state_change() {
      hosted(0x30, Uint8Array.of(0, 0, 0, 1, 65, 0, 0, 0, 1, 97, 0, 0, 0, 0, 0, 0, 0, 0))
      return new Uint8Array(0)
    }`)
    expect(await runtime.run(call(sends, { ...state, deadlineMs: 1500 }), host)).toEqual({ kind: 'deadline' })
  })

  it('traps with the reason that the engine gives', async () => {
    const host = { ...noHost, readContract: () => Promise.reject(new Trap('it reverts')) }
    expect(await runtime.run(call(asks, state), host)).toMatchObject({ kind: 'trap', message: 'it reverts' })
  })

  it('tells a trap from an outage, in which the engine cannot do what it was asked for', async () => {
    const error = new Error('the node does not answer')
    const host = { ...noHost, readContract: () => Promise.reject(error) }
    const catches = script(`off_chain_on_state_change() {
      hosted(0x82, Uint8Array.of(0, 0, 0, 1, 97))
      try { hosted(0x81, Uint8Array.of(0, 0, 0, 0)) } catch {}
      return new Uint8Array(0)
    }`)
    const outcome = await runtime.run(call(catches, state), host)
    expect(outcome).toEqual({ kind: 'outage', error, log: ['a'] })
    expect(outcome.kind === 'outage' && outcome.error === error).toBe(true)
    const traps = script(`off_chain_on_state_change() { throw new Error('on purpose') }`)
    expect(await runtime.run(call(traps, state), host)).toMatchObject({ kind: 'trap' })
  })

  it('gives what a call would change, each thing once and in its order', async () => {
    const changes = script(`off_chain_on_state_change() {
      const key = (k, ...value) => hosted(0x20, Uint8Array.of(0, 0, 0, 1, 98, 0, 0, 0, 1, k, ...value))
      const load = (k) => hosted(0x21, Uint8Array.of(0, 0, 0, 1, 98, 0, 0, 0, 1, k))
      key(1, 1, 0, 0, 0, 1, 7); key(2, 0); key(1, 1, 0, 0, 0, 1, 8)
      console.log(load(1)[0], load(2), load(3)[0], load(3)[0])
      hosted(0x64, Uint8Array.of(0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 3, 232, 0, 0, 0, 0)); hosted(0x62, Uint8Array.of(0, 0, 0, 9))
      console.log(hosted(0x61, Uint8Array.of(0, 0, 0, 5))[0], hosted(0x61, Uint8Array.of(0, 0, 0, 6))[0])
      return new Uint8Array(0) }`)
    let loads = 0
    const load = (): Promise<Uint8Array> => {
      loads += 1
      return Promise.resolve(Uint8Array.of(40 + loads))
    }
    const host = { ...noHost, load }
    const outcome = await runtime.run(call(changes, state), host)
    expect(outcome).toMatchObject({
      kind: 'done',
      effects: {
        storage: [
          { key: Uint8Array.of(2), value: undefined },
          { key: Uint8Array.of(1), value: Uint8Array.of(8) },
        ],
        timers: [
          { id: 5, delayMs: 1000 },
          { id: 9, cancel: true },
        ],
        log: ['8 undefined 41 41', '6 4'],
        reads: 1,
      },
    })
  })

  it('says which hooks there are', async () => {
    const timers = script('off_chain_thread_44() {}, off_chain_on_state_change() {}, other() {}')
    expect(await runtime.describe(timers)).toEqual({
      kind: 'javascript',
      hooks: ['off_chain_on_state_change', 'off_chain_thread_44'],
    })
    expect(await runtime.describe(component(await binaryOf(readsStorage)))).toEqual({
      kind: 'wasm',
      hooks: ['off_chain_on_http_request'],
    })
  })

  it.each([
    ['a script', script('off_chain_on_state_change() {}')],
    ['a module', module('(i64.const 0)')],
  ])('says which hook a component does not have: %s', async (_kind, made) => {
    const outcome = await runtime.run(
      call(await made, { hook: { kind: 'timer', id: 10, payload: new Uint8Array() } }),
      noHost,
    )
    expect(outcome).toMatchObject({ kind: 'trap', message: 'the component has no off_chain_thread_a' })
  })

  it.each([
    ['a script', (hooks: string[]) => script(hooks.map((name) => `${name}() {}`).join())],
    [
      'a module',
      (hooks: string[]) =>
        module('(i64.const 0)', { more: hooks.map((name) => `(export "${name}" (func 3))`).join('') }),
    ],
  ])('refuses more hooks than a contract may have timers: %s', async (kind, make) => {
    const hooks = Array.from({ length: 10_001 }, (_, id) => `off_chain_thread_${id.toString(16)}`)
    const roomy = await pool({ memoryBytes: 32 * 1024 * 1024 })
    const described = kind === 'a script' ? await roomy.describe(await make(hooks.slice(1))) : undefined
    expect(described?.hooks.length ?? 10_000).toBe(10_000)
    await expect(roomy.describe(await make(hooks))).rejects.toThrow('more than 10000 hooks')
    await roomy.close()
  })

  it('rejects where no worker can start, and says why', async () => {
    const broken = await createRuntime({
      workers: 1,
      limits: LIMITS,
      workerProgram: `throw new Error('something is missing')`,
      quickjs: readFileSync(join(WORKER_DIRECTORY, 'quickjs.wasm')),
    })
    await expect(broken.run(call(quick, state), noHost)).rejects.toThrow('something is missing')
    await broken.close()
  })

  it('ends what runs and what waits when it is closed', async () => {
    const closing = await pool()
    const calls = [spins, quick].map((one) => closing.run(call(one, state), noHost))
    await vi.waitUntil(() => closing.getLoad().running === 1, { timeout: 60_000 })
    await closing.close()
    expect((await Promise.all(calls)).map(({ kind }) => kind)).toEqual(['stopped', 'stopped'])
    await expect(closing.run(call(quick, state), noHost)).rejects.toThrow('closed')
  })
})
