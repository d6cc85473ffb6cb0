import { describe, expect, it } from 'vitest'
import type { Script, TestEngine } from '../../test/support/engine.ts'
import { closedAfterwards, started } from '../../test/support/engine-calls.ts'
import { openTestStore } from '../../test/support/store.ts'
import { type EngineCollections, engineMigrations } from './collections.ts'

describe('timers', () => {
  const timed = () => {
    const ran: string[] = []
    const states: unknown[] = []
    let fails = false
    const script: Script = {
      http: async (hands) => {
        const { hook } = hands.call
        const [, what, id, delay] = hook.kind === 'http' ? hook.request.uri.split('/') : []
        if (what === 'schedule') hands.timer(Number(id), Number(delay), `payload of ${id}`)
        if (what === 'cancel') hands.cancel(Number(id))
        states.push(await hands.host.listTimers())
        return {}
      },
      timer: (hands, id, payload) => {
        if (fails) return Promise.reject(new Error('not now'))
        ran.push(`${id} ${payload}`)
        if (id === 7) hands.timer(7, 1000, 'again')
        return Promise.resolve()
      },
    }
    return {
      ran,
      states,
      script,
      fail: (so: boolean) => {
        fails = so
      },
    }
  }
  const ask = (engine: TestEngine, path: string) =>
    engine.engine.app.inject({ method: 'POST', url: `${engine.url}/${path}` })
  const pass = async (engine: TestEngine, seconds: number): Promise<void> => {
    engine.clock.now = new Date(engine.clock.now.getTime() + seconds * 1000)
    await engine.rounds(1)
  }

  it('run when they are due, once, and after a restart too', async () => {
    const { ran, states, script } = timed()
    const engine = await started(script)
    await ask(engine, 'schedule/1/5000')
    await ask(engine, 'schedule/2/60000')
    await pass(engine, 4)
    expect(ran).toEqual([])
    await pass(engine, 2)
    await pass(engine, 2)
    expect(ran).toEqual(['1 payload of 1'])
    const restarted = closedAfterwards(await engine.restart())
    await pass(restarted, 60)
    expect(ran).toEqual(['1 payload of 1'])
    await restarted.rounds()
    expect(ran).toEqual(['1 payload of 1', '2 payload of 2'])
    await ask(restarted, 'look')
    expect(states.at(-1)).toEqual([
      { id: 1, status: 'done' },
      { id: 2, status: 'done' },
    ])
  })

  it('can be cancelled, taken the place of, and scheduled by themselves', async () => {
    const { ran, states, script } = timed()
    const engine = await started(script)
    await ask(engine, 'schedule/1/5000')
    await ask(engine, 'cancel/1/')
    await ask(engine, 'schedule/2/5000')
    await ask(engine, 'schedule/2/20000')
    await ask(engine, 'schedule/7/1000')
    for (let second = 0; second < 10; second++) await pass(engine, 1)
    expect(ran).toEqual(['7 payload of 7', ...Array<string>(9).fill('7 again')])
    await ask(engine, 'look')
    expect(states.at(-1)).toContainEqual({ id: 1, status: 'cancelled' })
    expect(states.at(-1)).toContainEqual({ id: 2, status: 'scheduled' })
  })

  it('that fail are tried again, and given up', async () => {
    const { ran, states, script, fail } = timed()
    const engine = await started(script)
    fail(true)
    await ask(engine, 'schedule/1/0')
    await pass(engine, 0)
    fail(false)
    await pass(engine, 2)
    expect(ran).toEqual(['1 payload of 1'])
    fail(true)
    await ask(engine, 'schedule/1/0')
    for (let tries = 0; tries < 7; tries++) await pass(engine, 300)
    await ask(engine, 'look')
    expect(states.at(-1)).toEqual([{ id: 1, status: 'scheduled' }])
    await pass(engine, 300)
    await ask(engine, 'look')
    expect(states.at(-1)).toEqual([{ id: 1, status: 'failed' }])
    engine.clock.now = new Date(engine.clock.now.getTime() + 25 * 3_600_000)
    await engine.task('purge')
    expect(await engine.store.list('timer')).toEqual([])
  })

  it('that fail wait for their next attempt when the database could not say that they do', async () => {
    const store = await openTestStore<EngineCollections>(engineMigrations)
    let isBroken = false
    const commit: typeof store.commit = async (changes) => {
      const refused = await store.commit(changes)
      if (isBroken) throw new Error('the connection broke')
      return refused
    }
    const { script, fail, ran } = timed()
    const engine = await started(script, { store: { ...store, commit } })
    await ask(engine, 'schedule/1/0')
    fail(true)
    isBroken = true
    await pass(engine, 0)
    isBroken = false
    const before = engine.runtime.runs
    await pass(engine, 0)
    await pass(engine, 0)
    expect(engine.runtime.runs).toBe(before)
    fail(false)
    await pass(engine, 1)
    expect(ran).toEqual(['1 payload of 1'])
  })

  it('that wait after a failed commit do so for as long when the clock is set back', async () => {
    const store = await openTestStore<EngineCollections>(engineMigrations)
    let isBroken = false
    const commit: typeof store.commit = (changes) =>
      isBroken ? Promise.reject(new Error('the connection broke')) : store.commit(changes)
    const { script, ran } = timed()
    const engine = await started(script, { store: { ...store, commit } })
    engine.clock.aheadMs = 3_600_000
    await ask(engine, 'schedule/1/-1000')
    engine.clock.aheadMs = 3_700_000
    isBroken = true
    await pass(engine, 0)
    expect(ran).toHaveLength(1)
    isBroken = false
    engine.clock.aheadMs = 3_600_000
    await pass(engine, 1)
    expect(ran).toHaveLength(2)
  })
})
