import { describe, expect, it } from 'vitest'
import { CONTRACT, type Script, type TestEngine, type TestEngineOptions } from '../../test/support/engine.ts'
import { bodyOf, closedAfterwards, get, put, shelf, started, uriOf } from '../../test/support/engine-calls.ts'

/** Returns how a call is refused, when the engine itself does: which limit it names, and nothing of its value. */
async function refusal(engine: TestEngine, payload: string, path = '/a'): Promise<unknown[]> {
  const { statusCode, headers, body } = await put(engine, payload, path)
  const { detail } = JSON.parse(body) as { readonly detail: string }
  const [, limit] =
    /^the contract is at limits\.(\w+) of this engine, and nothing of the call was kept$/.exec(detail) ?? []
  return [statusCode, headers['x-engine-error'], headers['retry-after'], limit]
}

describe('quotas', () => {
  it('are of the transactions that a contract may ask for in a day, whatever is restarted', async () => {
    const engine = await started(shelf, { settings: { limits: { transactionsPerDay: 3 } } })
    for (const value of ['1', '2', '3']) expect((await put(engine, value)).statusCode).toBe(201)
    await engine.rounds()
    expect(await refusal(engine, '4')).toEqual([503, 'transaction-quota', '86400', 'transactionsPerDay'])
    expect(engine.logLines.some((line) => line.includes('"limit":"transactionsPerDay","value":3'))).toBe(true)
    const metrics = await engine.engine.metrics.registry.metrics()
    expect(metrics).toContain('vouchsafe_engine_refused_total{limit="transactionsPerDay"} 1')
    const again = await engine.restart()
    closedAfterwards(again)
    await again.rounds()
    expect((await put(again, '5')).statusCode).toBe(503)
    expect(await get(again)).toBe('3')
    again.clock.now = new Date(again.clock.now.getTime() + 86_400_000)
    await again.rounds()
    expect((await put(again, '6')).statusCode).toBe(201)
    await again.rounds()
    expect(new Set(again.chain.submitted.map(({ nonce }) => nonce)).size).toBe(4)
  })

  it('of transactions in a day give up no timer and no change of state: they come on the next', async () => {
    const changes: number[] = []
    const engine = await started(
      {
        http: (hands) => {
          hands.transact('first')
          hands.timer(1, 0)
          return Promise.resolve({ status: 201 })
        },
        stateChange: (hands) => {
          changes.push(hands.call.block.number)
          if (changes.length > 1) hands.transact('changed')
          return Promise.resolve()
        },
        timer: (hands) => {
          hands.transact('timer')
          return Promise.resolve()
        },
      },
      { settings: { limits: { transactionsPerDay: 1 } } },
    )
    expect((await put(engine, '')).statusCode).toBe(201)
    engine.chain.mine([CONTRACT])
    const before = changes.length
    const nonces = () => new Set(engine.chain.submitted.map(({ nonce }) => nonce)).size
    for (let tries = 0; tries < 20; tries++) {
      engine.clock.now = new Date(engine.clock.now.getTime() + 300_000)
      await engine.rounds(1)
    }
    expect(changes).toHaveLength(before + 1)
    expect(nonces()).toBe(1)
    engine.clock.now = new Date(engine.clock.now.getTime() + 86_400_000)
    await engine.rounds()
    expect(changes).toHaveLength(before + 2)
    engine.clock.now = new Date(engine.clock.now.getTime() + 86_400_000)
    await engine.rounds()
    expect(nonces()).toBe(3)
  })

  it('keep the storage of a contract below its limit, and let it shrink', async () => {
    // Each value counts with 256 bytes more, for its row.
    const engine = await started(shelf, { settings: { limits: { storageBytes: 1512 } } })
    expect((await put(engine, 'x'.repeat(900))).statusCode).toBe(201)
    expect(await refusal(engine, 'x'.repeat(200), '/b')).toEqual([507, 'storage-quota', undefined, 'storageBytes'])
    expect(await get(engine, '/b')).toBe('-')
    expect((await put(engine, 'x'.repeat(95), '/b')).statusCode).toBe(507)
    expect((await put(engine, 'x'.repeat(94), '/b')).statusCode).toBe(201)
    expect((await put(engine, 'x'.repeat(100))).statusCode).toBe(201)
    expect((await put(engine, 'x'.repeat(200), '/b')).statusCode).toBe(201)
    const metrics = await engine.engine.metrics.registry.metrics()
    expect(metrics).toContain(`vouchsafe_engine_storage_bytes{contract="${CONTRACT}"} 818`)
    expect(metrics).toContain('vouchsafe_engine_refused_total{limit="storageBytes"} 2')
  })

  it('of bodies in memory count none whose call has ended, however it ended', async () => {
    const engine = await started(shelf)
    for (const payload of ['well', 'trap', 'bad', 'late']) await put(engine, payload)
    expect(await engine.engine.metrics.registry.metrics()).toContain('vouchsafe_engine_buffered_bytes 0')
  })

  it('count what a restarted engine finds', async () => {
    const settings = { limits: { storageBytes: 1512 } }
    const engine = await started(shelf, { settings })
    await put(engine, 'x'.repeat(900))
    const restarted = await engine.restart()
    closedAfterwards(restarted)
    await restarted.rounds()
    expect((await put(restarted, 'x'.repeat(200), '/b')).statusCode).toBe(507)
  })

  /** PUT /timer schedules one, with the id in the body; DELETE cancels it; anything else sends so many transactions. */
  const busy: Script = {
    http: (hands) => {
      const { hook } = hands.call
      if (uriOf(hands) !== '/timer') for (let sent = 0; sent < Number(bodyOf(hands)); sent++) hands.transact('x')
      else if (hook.kind === 'http' && hook.request.method === 'DELETE') hands.cancel(Number(bodyOf(hands)))
      else hands.timer(Number(bodyOf(hands)), 1e9)
      return Promise.resolve({})
    },
  }
  const withLimits = (limits: Record<string, number>): TestEngineOptions => ({ settings: { limits } })

  it('keep the outbox and the timers of a contract below theirs', async () => {
    const engine = await started(busy, withLimits({ outboxTransactions: 2, timers: 2 }))
    for (const id of ['1', '2', '2']) expect((await put(engine, id, '/timer')).statusCode).toBe(200)
    expect(await refusal(engine, '3', '/timer')).toEqual([507, 'storage-quota', undefined, 'timers'])
    for (const count of ['1', '1']) expect((await put(engine, count)).statusCode).toBe(200)
    expect(await refusal(engine, '1')).toEqual([503, 'transaction-quota', '10', 'outboxTransactions'])
  })

  it('keep the payloads that wait in the outbox of a contract below theirs', async () => {
    const script: Script = {
      http: (hands) => {
        hands.transact('x'.repeat(Number(bodyOf(hands))))
        return Promise.resolve({})
      },
    }
    const engine = await started(script, withLimits({ outboxBytes: 100 }))
    engine.chain.isDown = true
    expect((await put(engine, '60')).statusCode).toBe(200)
    for (const bytes of ['41', '100'])
      expect(await refusal(engine, bytes)).toEqual([503, 'transaction-quota', '10', 'outboxBytes'])
    expect(await refusal(engine, '101')).toEqual([503, 'transaction-quota', undefined, 'outboxBytes'])
    expect((await put(engine, '40')).statusCode).toBe(200)
    engine.chain.isDown = false
    await engine.rounds()
    for (const { hash } of engine.chain.submitted) engine.chain.outcomes.set(hash, 'included')
    engine.chain.mine()
    await engine.rounds()
    expect((await put(engine, '100')).statusCode).toBe(200)
  })

  it('let timers become fewer where a restart found more than its limit', async () => {
    const engine = await started(busy, withLimits({ timers: 3 }))
    for (const id of ['1', '2', '3']) await put(engine, id, '/timer')
    const restarted = await started(busy, { ...withLimits({ timers: 1 }), from: engine })
    const cancel = { method: 'DELETE', url: `${engine.url}/timer`, payload: '1' } as const
    expect((await restarted.engine.app.inject(cancel)).statusCode).toBe(200)
    expect((await put(restarted, '1', '/timer')).statusCode).toBe(507)
    expect((await put(restarted, '2', '/timer')).statusCode).toBe(200)
  })

  it('count the outbox that a restarted engine finds, before it has looked at it', async () => {
    const engine = await started(busy, withLimits({ outboxTransactions: 2 }))
    await put(engine, '2')
    const restarted = await engine.restart()
    closedAfterwards(restarted)
    await restarted.task('chain')
    await restarted.task('background')
    await restarted.engine.waitUntilIdle()
    expect((await put(restarted, '1')).statusCode).toBe(503)
  })

  it('count all that wait in the outbox, and not only what is looked at together', async () => {
    const many = { outboxTransactions: 10_001, transactionsPerDay: 100_000 }
    const engine = await started(busy, withLimits(many))
    engine.chain.isDown = true
    expect((await put(engine, '10001')).statusCode).toBe(200)
    await engine.rounds(1)
    expect((await put(engine, '1')).statusCode).toBe(503)
  })

  it('promise nothing to a call that asks for more than there ever is', async () => {
    const engine = await started(busy, withLimits({ outboxTransactions: 3, transactionsPerDay: 2 }))
    expect(await refusal(engine, '4')).toEqual([503, 'transaction-quota', undefined, 'outboxTransactions'])
    expect(await refusal(engine, '3')).toEqual([503, 'transaction-quota', undefined, 'transactionsPerDay'])
    expect((await put(engine, '2')).statusCode).toBe(200)
  })

  it('of a day are not those of one that a wrong clock saw, far ahead', async () => {
    const engine = await started(busy, withLimits({ transactionsPerDay: 1 }))
    engine.clock.now = new Date('2099-01-01T00:00:00Z')
    await engine.rounds()
    expect((await put(engine, '1')).statusCode).toBe(200)
    engine.clock.now = new Date('2026-01-02T00:00:00Z')
    expect((await put(engine, '1')).statusCode).toBe(200)
    expect(await refusal(engine, '1')).toEqual([503, 'transaction-quota', '86400', 'transactionsPerDay'])
  })

  it('of a day begin anew with the next, and not when a clock is set back', async () => {
    const engine = await started(busy, withLimits({ transactionsPerDay: 1 }))
    engine.clock.now = new Date('2026-01-02T00:00:10Z')
    await engine.rounds()
    expect((await put(engine, '1')).statusCode).toBe(200)
    engine.clock.now = new Date('2026-01-01T23:59:50Z')
    expect(await refusal(engine, '1')).toEqual([503, 'transaction-quota', '86410', 'transactionsPerDay'])
    engine.clock.now = new Date('2026-01-02T00:00:10Z')
    expect((await put(engine, '1')).statusCode).toBe(503)
    engine.clock.now = new Date('2026-01-02T23:59:59.900Z')
    await engine.rounds()
    expect(await refusal(engine, '1')).toEqual([503, 'transaction-quota', '1', 'transactionsPerDay'])
    engine.clock.now = new Date('2026-01-03T00:00:00Z')
    await engine.rounds()
    expect((await put(engine, '1')).statusCode).toBe(200)
  })

  it('of a full outbox give up no timer and no change of state: they come when it has emptied', async () => {
    const ran = { stateChange: 0, timer: 0 }
    const script: Script = {
      http: (hands) => {
        hands.transact('first')
        hands.timer(1, 0)
        return Promise.resolve({})
      },
      stateChange: (hands) => {
        if (++ran.stateChange > 1) hands.transact('changed')
        return Promise.resolve()
      },
      timer: (hands) => {
        ran.timer++
        hands.transact('timer')
        return Promise.resolve()
      },
    }
    const engine = await started(script, withLimits({ outboxTransactions: 1 }))
    const pass = async (seconds: number): Promise<void> => {
      engine.clock.now = new Date(engine.clock.now.getTime() + seconds * 1000)
      await engine.rounds(1)
    }
    const include = (): void => {
      for (const { hash } of engine.chain.submitted) engine.chain.outcomes.set(hash, 'included')
      engine.chain.mine()
    }
    await put(engine, '')
    engine.chain.mine([CONTRACT])
    await pass(0)
    // Not with each round, and as often as it takes.
    for (let tries = 0; tries < 20; tries++) await pass(5)
    expect([ran.stateChange - 1, ran.timer]).toEqual([11, 11])
    for (let included = 0; included < 3; included++) {
      include()
      await pass(5)
      await pass(10)
    }
    expect(await engine.store.list('outbox')).toEqual([])
    expect(engine.logLines.join('')).not.toMatch(/state_change_dead|timer_failed/)
    const nonces = new Set(engine.chain.submitted.map(({ nonce }) => nonce))
    expect([...nonces]).toEqual([0, 1, 2])
  })

  it('that a change of state met keep no later change waiting', async () => {
    const seen: string[] = []
    const script: Script = {
      http: (hands) => {
        hands.transact('first')
        return Promise.resolve({})
      },
      stateChange: async (hands) => {
        const state = Buffer.from(hands.call.state).toString()
        seen.push(state)
        if (state !== 'busy') return
        hands.transact('changed')
        // The contract changes while this runs.
        engine.chain.set({ address: CONTRACT, state: Buffer.from('calm') })
        await engine.task('chain')
      },
    }
    const engine = await started(script, withLimits({ transactionsPerDay: 1 }))
    await put(engine, '')
    engine.chain.set({ address: CONTRACT, state: Buffer.from('busy') })
    await engine.rounds()
    expect(seen).toEqual(['', 'busy', 'calm'])
  })

  it('of calls and bodies at once say when to try again, as what waits in the engine does', async () => {
    let release: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const script: Script = {
      http: async () => {
        await gate
        return {}
      },
    }
    const engine = await started(script, withLimits({ concurrent: 1, queued: 0, bodyBytes: 1000, bufferedBytes: 1000 }))
    const waiting = put(engine, 'x'.repeat(600))
    await expect.poll(() => engine.runtime.runs).toBe(1)
    for (const bytes of [1, 1000]) {
      const { statusCode, headers } = await put(engine, 'x'.repeat(bytes))
      expect([statusCode, headers['x-engine-error'], headers['retry-after']]).toEqual([503, 'overloaded', '10'])
    }
    release()
    expect((await waiting).statusCode).toBe(200)
    const metrics = await engine.engine.metrics.registry.metrics()
    expect(metrics).toContain('vouchsafe_engine_refused_total{limit="queued"} 1')
  })

  it('of calls that wait are not what a lack of workers is counted as', async () => {
    const engine = await started({ http: () => Promise.resolve('overloaded') })
    expect((await put(engine, '')).headers['x-engine-error']).toBe('overloaded')
    const metrics = await engine.engine.metrics.registry.metrics()
    expect(metrics).toContain('vouchsafe_engine_refused_total{limit="workers"} 1')
    expect(metrics).not.toContain('limit="queued"} 1')
  })

  it('of calls that wait give up no timer', async () => {
    let release: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    let ran = 0
    const script: Script = {
      http: async (hands) => {
        if (uriOf(hands) === '/wait') await gate
        else hands.timer(1, 0)
        return {}
      },
      timer: () => {
        ran++
        return Promise.resolve()
      },
    }
    const engine = await started(script, withLimits({ concurrent: 1, queueSeconds: 1 }))
    await put(engine, '')
    const waiting = engine.engine.app.inject(`${engine.url}/wait`)
    await expect.poll(() => engine.runtime.runs).toBe(2)
    // A timer is given up after eight attempts that fail.
    for (let tries = 0; tries < 9; tries++) {
      engine.clock.now = new Date(engine.clock.now.getTime() + 300_000)
      await engine.rounds(1)
    }
    release()
    await waiting
    expect(ran).toBe(0)
    engine.clock.now = new Date(engine.clock.now.getTime() + 10_000)
    await engine.rounds(1)
    expect(ran).toBe(1)
  })

  it('of calls that wait keep no hook and no timer behind requests, however many wait', async () => {
    const order: string[] = []
    let release: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const script: Script = {
      http: async (hands) => {
        order.push(uriOf(hands))
        if (uriOf(hands) === '/a') hands.timer(1, 0)
        if (uriOf(hands) === '/first') await gate
        return {}
      },
      stateChange: () => Promise.resolve(order.push('hook')),
      timer: () => Promise.resolve(order.push('timer')),
    }
    const engine = await started(script, withLimits({ concurrent: 1, queued: 2 }))
    await put(engine, '')
    const requests = ['/first', '/second', '/third'].map((path) => put(engine, '', path))
    await expect.poll(() => order).toEqual(['hook', '/a', '/first'])
    await expect.poll(() => engine.engine.metrics.registry.metrics()).toContain('vouchsafe_engine_queued 2')
    engine.clock.now = new Date(engine.clock.now.getTime() + 1000)
    engine.chain.mine([CONTRACT])
    for (const name of ['chain', 'background']) await engine.task(name)
    await expect.poll(() => engine.engine.metrics.registry.metrics()).toContain('vouchsafe_engine_queued 3')
    release()
    await Promise.all([...requests, engine.engine.waitUntilIdle()])
    expect(order.slice(0, 5)).toEqual(['hook', '/a', '/first', 'hook', '/second'])
    expect(order).toContain('timer')
  })
})
