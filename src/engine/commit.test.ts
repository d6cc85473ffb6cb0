import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  CONTRACT,
  type Hands,
  type Script,
  serving,
  type TestEngine,
  type TestEngineOptions,
  text,
} from '../../test/support/engine.ts'
import { openTestStore } from '../../test/support/store.ts'
import { type EngineCollections, engineMigrations } from './collections.ts'

const open: TestEngine[] = []
afterEach(async () => {
  for (const { engine } of open.splice(0)) await engine.app.close()
})
const started = async (script: Script, options?: TestEngineOptions): Promise<TestEngine> => {
  const engine = await serving(script, options)
  open.push(engine)
  return engine
}
const uriOf = ({ call: { hook } }: Hands): string => (hook.kind === 'http' ? hook.request.uri : '')
const bodyOf = ({ call: { hook } }: Hands): string =>
  hook.kind === 'http' ? Buffer.from(hook.request.body).toString() : ''

/** PUT stores, GET gives back, DELETE takes away. */
const shelf: Script = {
  http: async (hands) => {
    const method = hands.call.hook.kind === 'http' ? hands.call.hook.request.method : ''
    if (method === 'GET') return text((await hands.get(uriOf(hands))) ?? '-')
    hands.set(uriOf(hands), method === 'DELETE' ? undefined : bodyOf(hands))
    hands.transact(`stored ${uriOf(hands)}`)
    if (bodyOf(hands) === 'trap') throw new Error('trap')
    return bodyOf(hands) === 'bad' ? 'bad-response' : bodyOf(hands) === 'late' ? 'deadline' : { status: 201 }
  },
}
const get = async ({ engine, url }: TestEngine, path = '/a') => (await engine.app.inject(url + path)).body
const put = ({ engine, url }: TestEngine, payload: string, path = '/a') =>
  engine.app.inject({ method: 'PUT', url: url + path, payload })

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** How a call is refused, when the engine itself does: which limit it names, and nothing of its value. */
async function refusal(engine: TestEngine, payload: string, path = '/a'): Promise<unknown[]> {
  const { statusCode, headers, body } = await put(engine, payload, path)
  const { detail } = JSON.parse(body) as { readonly detail: string }
  const [, limit] =
    /^the contract is at limits\.(\w+) of this engine, and nothing of the call was kept$/.exec(detail) ?? []
  return [statusCode, headers['x-engine-error'], headers['retry-after'], limit]
}

describe('a call', () => {
  it('leaves what it stored, and its transactions, when it ends well', async () => {
    const engine = await started(shelf)
    expect((await put(engine, 'one')).statusCode).toBe(201)
    expect(await get(engine)).toBe('one')
    await engine.rounds()
    expect(engine.chain.submitted.map(({ nonce }) => nonce)).toEqual([0])
    await engine.engine.app.inject({ method: 'DELETE', url: `${engine.url}/a` })
    expect(await get(engine)).toBe('-')
  })

  it.each(['trap', 'bad', 'late'])('leaves nothing when it ends otherwise: %s', async (body) => {
    const engine = await started(shelf)
    await put(engine, 'before')
    await engine.rounds()
    expect((await put(engine, body)).statusCode).toBeGreaterThanOrEqual(500)
    await engine.rounds()
    expect(await get(engine)).toBe('before')
    expect(engine.chain.submitted).toHaveLength(1)
  })

  it('leaves nothing when its answer cannot be sent', async () => {
    // The runtime judges the same; here it is the engine's own look.
    const engine = await started({
      http: (hands) => {
        hands.set('a', 'x')
        return Promise.resolve({ status: 99 })
      },
    })
    expect((await put(engine, '')).statusCode).toBe(502)
    expect(await engine.store.list('component_storage')).toEqual([])
  })

  it('is after all others of its contract when it writes: no update is lost', async () => {
    const engine = await started({
      http: async (hands) => {
        const count = Number((await hands.get('n')) ?? 0)
        await new Promise((resolve) => setTimeout(resolve, 1))
        hands.set('n', String(count + 1))
        return text(String(count + 1))
      },
    })
    // GET is run beside others first, finds that it writes, and is run again after them.
    const ask = (index: number) => engine.engine.app.inject({ method: index % 2 ? 'GET' : 'POST', url: engine.url })
    const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => ask(index)))
    const bodies = answers.map(({ body }) => Number(body)).sort((one, other) => one - other)
    expect(bodies).toEqual(Array.from({ length: 40 }, (_, index) => index + 1))
  })

  it('is run again when another process was first', async () => {
    const engine = await started(shelf)
    await put(engine, 'one')
    const other = await engine.restart()
    open.push(other)
    await other.rounds()
    await put(other, 'two')
    await put(engine, 'three')
    await put(other, 'four')
    await put(engine, 'five', '/b')
    expect([await get(engine), await get(other, '/b')]).toEqual(['four', 'five'])
    expect(engine.runtime.runs).toBeGreaterThan(9)
  })

  it('that reads twice while another writes between is run again', async () => {
    let between: (() => Promise<unknown>) | undefined
    const engine = await started({
      http: async (hands) => {
        if (bodyOf(hands) !== '') {
          hands.set('x', bodyOf(hands))
          hands.set('y', bodyOf(hands))
          return {}
        }
        const x = await hands.get('x')
        const first = between
        between = undefined
        await first?.()
        return text(`${x}${await hands.get('y')}`)
      },
    })
    await put(engine, '1')
    between = () => put(engine, '2')
    expect(await get(engine)).toBe('22')
  })

  it('that reads what is on disk before its writer is told so is run again', async () => {
    const store = await openTestStore<EngineCollections>(engineMigrations)
    const late: { isLanded?: () => void; told?: Promise<void> } = {}
    const commit: typeof store.commit = async (changes) => {
      const refused = await store.commit(changes)
      late.isLanded?.()
      await late.told
      return refused
    }
    let between: (() => Promise<() => void>) | undefined
    const engine = await started(
      {
        http: async (hands) => {
          if (bodyOf(hands) !== '') {
            hands.set('x', bodyOf(hands))
            hands.set('y', bodyOf(hands))
            return {}
          }
          const x = await hands.get('x')
          const tell = await between?.()
          between = undefined
          const y = await hands.get('y')
          // Once this call has ended.
          if (tell !== undefined) setImmediate(tell)
          return text(`${x}${y}`)
        },
      },
      { store: { ...store, commit } },
    )
    await put(engine, '1')
    between = async () => {
      const { promise: told, resolve: tell } = withResolvers()
      const { promise: landed, resolve: isLanded } = withResolvers()
      Object.assign(late, { told, isLanded })
      void put(engine, '2')
      await landed
      return tell
    }
    expect(await get(engine)).toBe('22')
  })

  it('waits while too many run, and is refused when too many wait', async () => {
    let release: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const engine = await started({ http: () => gate.then(() => text('')) })
    const ask = () => engine.engine.app.inject(engine.url)
    const all = Promise.all(Array.from({ length: 80 }, ask))
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(engine.runtime.runs).toBe(8)
    release()
    const statuses = (await all).map(({ statusCode }) => statusCode)
    expect(statuses.filter((status) => status === 200)).toHaveLength(72)
    expect(statuses.filter((status) => status === 503)).toHaveLength(8)
  })
})

describe('a signed request', () => {
  const signed: Script = {
    http: async (hands) => {
      if (!(await hands.authenticate('the id of this message'))) return { status: 401 }
      if (uriOf(hands) === '/writing') hands.set('a', 'b')
      return text('welcome')
    },
  }

  it.each(['GET', 'POST'] as const)('is good once, of fifty that come together: %s', async (method) => {
    for (const path of ['/reading', '/writing']) {
      const engine = await started(signed)
      const ask = () => engine.engine.app.inject({ method, url: engine.url + path })
      const statuses = (await Promise.all(Array.from({ length: 50 }, ask))).map(({ statusCode }) => statusCode)
      expect(statuses.filter((status) => status === 200)).toHaveLength(1)
      expect(statuses.filter((status) => status === 401)).toHaveLength(49)
      expect((await ask()).statusCode).toBe(401)
      const restarted = await engine.restart()
      open.push(restarted)
      await restarted.rounds()
      expect((await restarted.engine.app.inject({ method, url: engine.url + path })).statusCode).toBe(401)
    }
  })

  it('is not used up by a trap, nor by a refusal where the profile says so', async () => {
    let fails: 'trap' | 'refuse' | undefined = 'trap'
    const engine = await started({
      http: async (hands) => {
        if (!(await hands.authenticate('id', true))) return { status: 401 }
        if (fails === 'trap') throw new Error('trap')
        return { status: fails === 'refuse' ? 409 : 200 }
      },
    })
    const status = async () => (await engine.engine.app.inject(engine.url)).statusCode
    expect(await status()).toBe(500)
    fails = 'refuse'
    expect([await status(), await status()]).toEqual([409, 409])
    fails = undefined
    expect([await status(), await status()]).toEqual([200, 401])
  })

  it('is in the log, without its query and its body', async () => {
    const engine = await started(signed)
    await engine.engine.app.inject({ method: 'POST', url: `${engine.url}/path?secret`, payload: 'hidden' })
    const line = engine.logLines.find((each) => each.includes('signed_request')) ?? ''
    expect(JSON.parse(line)).toMatchObject({ contract: CONTRACT, method: 'POST', route: '/path', status: 200 })
    expect(engine.logLines.join('')).not.toMatch(/secret|hidden/)
  })

  it('is forgotten when its time is over', async () => {
    const engine = await started(signed)
    await engine.engine.app.inject(engine.url)
    expect(await engine.store.list('spent_request')).toHaveLength(1)
    engine.clock.now = new Date(engine.clock.now.getTime() + 61_000)
    await engine.task('purge')
    expect(await engine.store.list('spent_request')).toEqual([])
  })
})

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
    open.push(again)
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
    const engine = await started(shelf, { settings: { limits: { storageBytes: 1000 } } })
    expect((await put(engine, 'x'.repeat(900))).statusCode).toBe(201)
    expect(await refusal(engine, 'x'.repeat(200), '/b')).toEqual([507, 'storage-quota', undefined, 'storageBytes'])
    expect(await get(engine, '/b')).toBe('-')
    expect((await put(engine, 'x'.repeat(100))).statusCode).toBe(201)
    expect((await put(engine, 'x'.repeat(200), '/b')).statusCode).toBe(201)
    const metrics = await engine.engine.metrics.registry.metrics()
    expect(metrics).toContain(`vouchsafe_engine_storage_bytes{contract="${CONTRACT}"} 306`)
    expect(metrics).toContain('vouchsafe_engine_refused_total{limit="storageBytes"} 1')
  })

  it('count what a restarted engine finds', async () => {
    const settings = { limits: { storageBytes: 1000 } }
    const engine = await started(shelf, { settings })
    await put(engine, 'x'.repeat(900))
    const restarted = await engine.restart()
    open.push(restarted)
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
    open.push(restarted)
    await restarted.task('chain')
    await restarted.task('background')
    await restarted.engine.settled()
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
    const engine = await started(script, withLimits({ concurrent: 1, queued: 0 }))
    await put(engine, '')
    const waiting = engine.engine.app.inject(`${engine.url}/wait`)
    await vi.waitFor(() => expect(engine.runtime.runs).toBe(2))
    for (let tries = 0; tries < 20; tries++) {
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
})

describe('when the database could not say whether a call is on disk', () => {
  const sending: Script = {
    http: (hands) => {
      hands.transact('x')
      hands.timer(1, 1000)
      return Promise.resolve({})
    },
    timer: (hands) => {
      hands.transact('timer')
      return Promise.resolve()
    },
  }

  it.each([true, false])('what is there is done, and what is not is not: %s', async (isWritten) => {
    const store = await openTestStore<EngineCollections>(engineMigrations)
    let isBroken = false
    const commit: typeof store.commit = async (changes) => {
      if (!isBroken) return store.commit(changes)
      isBroken = false
      if (isWritten) await store.commit(changes)
      throw new Error('the connection broke')
    }
    const settings = { limits: { outboxTransactions: 2 } }
    const engine = await started(sending, { store: { ...store, commit }, settings })
    isBroken = true
    expect((await put(engine, '')).statusCode).toBe(500)
    await engine.rounds()
    expect(engine.chain.submitted).toHaveLength(isWritten ? 1 : 0)
    engine.clock.now = new Date(engine.clock.now.getTime() + 1000)
    await engine.rounds()
    expect(engine.chain.submitted).toHaveLength(isWritten ? 2 : 0)
    expect((await put(engine, '')).statusCode).toBe(isWritten ? 503 : 200)
  })
})

describe('at rest', () => {
  it('nothing that a component stored, sends or plans can be read, nor the keys of what it stored', async () => {
    const engine = await started({
      http: (hands) => {
        hands.set('NAMEOFTHEKEY', 'SECRETVALUE')
        hands.transact('SECRETPAYLOAD')
        hands.timer(1, 1e9, 'SECRETTIMER')
        return Promise.resolve({})
      },
    })
    await put(engine, '')
    const rows = await Promise.all(
      (['component_storage', 'outbox', 'timer', 'component_state'] as const).map((name) => engine.store.list(name)),
    )
    expect(rows.map(({ length }) => length)).toEqual([1, 1, 1, 1])
    const stored = JSON.stringify(rows)
    for (const plain of ['NAMEOFTHEKEY', 'SECRETVALUE', 'SECRETPAYLOAD', 'SECRETTIMER']) {
      for (const coding of ['utf8', 'hex', 'base64'] as const) {
        expect(stored).not.toContain(Buffer.from(plain).toString(coding).replace(/=+$/, ''))
      }
    }
  })
})
