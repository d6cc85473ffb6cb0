import { describe, expect, it } from 'vitest'
import { CONTRACT, type Hands, type Script, text } from '../../test/support/engine.ts'
import { bodyOf, closedAfterwards, get, put, shelf, started, uriOf } from '../../test/support/engine-calls.ts'
import { openTestStore } from '../../test/support/store.ts'
import { type EngineCollections, engineMigrations } from './collections.ts'

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** Stores the body under both keys, unless it is empty; tests whether it did. */
function hasStoredBoth(hands: Hands): boolean {
  if (bodyOf(hands) === '') return false
  hands.set('x', bodyOf(hands))
  hands.set('y', bodyOf(hands))
  return true
}

describe('a call', () => {
  it('leaves what it stored, and its transactions, when it ends well', async () => {
    const engine = await started(shelf)
    expect((await put(engine, 'one')).statusCode).toBe(201)
    expect(await get(engine)).toBe('one')
    await engine.rounds()
    expect(engine.chain.submitted.map(({ nonce }) => nonce)).toEqual([0])
    expect((await engine.store.get('component_state', CONTRACT))?.value.asked?.transactions).toBe(1)
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

  it('is after all others of its contract when it writes: no update is lost', async () => {
    const engine = await started({
      http: async (hands) => {
        const count = Number((await hands.get('n')) ?? 0)
        await new Promise((resolve) => setImmediate(resolve))
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
    closedAfterwards(other)
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
        if (hasStoredBoth(hands)) return {}
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
          if (hasStoredBoth(hands)) return {}
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
    let refused = 0
    const calls = Array.from({ length: 80 }, async () => {
      const { statusCode } = await ask()
      if (statusCode === 503) refused += 1
      return statusCode
    })
    // All have come when the last are refused, and no other run begins while these wait.
    await expect.poll(() => refused).toBe(8)
    await expect.poll(() => engine.runtime.runs).toBe(8)
    release()
    const statuses = await Promise.all(calls)
    expect(statuses.filter((status) => status === 200)).toHaveLength(72)
    expect(statuses.filter((status) => status === 503)).toHaveLength(8)
  })

  it('that has to run again waits for its turn, also where no more calls may wait', async () => {
    const gate = withResolvers()
    const script: Script = {
      http: async (hands) => {
        if (uriOf(hands) === '/slow') await gate.promise
        hands.set('a', uriOf(hands))
        return text('stored')
      },
    }
    const engine = await started(script, { settings: { limits: { concurrent: 2, queued: 0 } } })
    const slow = put(engine, '', '/slow')
    await expect.poll(() => engine.runtime.runs).toBe(1)
    const reading = engine.engine.app.inject(`${engine.url}/a`)
    // A GET that writes runs again.
    const { registry } = engine.engine.metrics
    await expect.poll(() => registry.metrics()).toContain('vouchsafe_engine_conflicts_total 1')
    gate.resolve()
    expect([(await slow).statusCode, (await reading).statusCode, engine.runtime.runs]).toEqual([200, 200, 3])
  })

  it('that another process was before runs again with the timers that the other left', async () => {
    const script: Script = {
      http: (hands) => {
        hands.timer(1, 1000, uriOf(hands))
        return Promise.resolve({})
      },
      timer: () => Promise.resolve(),
    }
    const engine = await started(script)
    await put(engine, '', '/first')
    const other = closedAfterwards(await engine.restart())
    await other.rounds()
    for (const each of [engine, other, engine]) expect((await put(each, '', '/again')).statusCode).toBe(200)
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
      closedAfterwards(restarted)
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

  it('is forgotten ten minutes after its time is over', async () => {
    const engine = await started(signed)
    await engine.engine.app.inject(engine.url)
    expect(await engine.store.list('spent_request')).toHaveLength(1)
    engine.clock.now = new Date(engine.clock.now.getTime() + 61_000)
    await engine.task('purge')
    expect(await engine.store.list('spent_request')).toHaveLength(1)
    engine.clock.now = new Date(engine.clock.now.getTime() + 600_000)
    await engine.task('purge')
    expect(await engine.store.list('spent_request')).toEqual([])
  })
})

describe('when the database could not say whether a call is on disk', () => {
  const versions: unknown[] = []
  const sending: Script = {
    http: (hands) => {
      versions.push(hands.call.storageVersion)
      hands.transact('x')
      hands.timer(1, 1000)
      return Promise.resolve({})
    },
    timer: (hands) => {
      hands.transact('timer')
      return Promise.resolve()
    },
  }

  /** Starts an engine whose database breaks the connection in one commit, once the test says so. */
  async function startedOn(script: Script, isWritten: boolean) {
    const store = await openTestStore<EngineCollections>(engineMigrations)
    const connection = { breaks: false }
    const commit: typeof store.commit = async (changes) => {
      if (!connection.breaks) return store.commit(changes)
      connection.breaks = false
      if (isWritten) await store.commit(changes)
      throw new Error('the connection broke')
    }
    const settings = { limits: { outboxTransactions: 2 } }
    return { engine: await started(script, { store: { ...store, commit }, settings }), connection }
  }

  it.each([true, false])(
    'runs the next call on what is on disk, where the commit was stored: %s',
    async (isWritten) => {
      const versions: (number | undefined)[] = []
      const script: Script = {
        http: (hands) => {
          versions.push(hands.call.storageVersion)
          hands.set('a', bodyOf(hands))
          return Promise.resolve({})
        },
      }
      const { engine, connection } = await startedOn(script, isWritten)
      await put(engine, '')
      connection.breaks = true
      expect((await put(engine, '')).statusCode).toBe(500)
      expect((await put(engine, '')).statusCode).toBe(200)
      expect(versions).toEqual([-1, 0, isWritten ? 1 : 0])
    },
  )

  it.each([true, false])('reads from disk whether the failed commit was stored: %s', async (isWritten) => {
    const { engine, connection } = await startedOn(sending, isWritten)
    connection.breaks = true
    expect((await put(engine, '')).statusCode).toBe(500)
    await engine.rounds()
    expect(engine.chain.submitted).toHaveLength(isWritten ? 1 : 0)
    engine.clock.now = new Date(engine.clock.now.getTime() + 1000)
    await engine.rounds()
    expect(engine.chain.submitted).toHaveLength(isWritten ? 2 : 0)
    expect((await put(engine, '')).statusCode).toBe(isWritten ? 503 : 200)
  })
})

describe('a timer whose end cannot be written', () => {
  it('runs again after pauses that grow, until it can', async () => {
    const store = await openTestStore<EngineCollections>(engineMigrations)
    let isFull = false
    const commit: typeof store.commit = (changes) =>
      isFull ? Promise.reject(new Error('the disk is full')) : store.commit(changes)
    const scheduling: Script = {
      http: (hands) => {
        hands.timer(1, 0)
        return Promise.resolve({})
      },
      timer: () => Promise.resolve(),
    }
    const engine = await started(scheduling, { store: { ...store, commit } })
    await put(engine, '')
    const runsInRounds = async (seconds: number): Promise<number> => {
      engine.clock.now = new Date(engine.clock.now.getTime() + seconds * 1000)
      const before = engine.runtime.runs
      for (let round = 0; round < 3; round++) await engine.rounds()
      return engine.runtime.runs - before
    }
    isFull = true
    expect([await runsInRounds(1), await runsInRounds(0.5), await runsInRounds(0.5)]).toEqual([1, 0, 1])
    isFull = false
    expect([await runsInRounds(1), await runsInRounds(1), await runsInRounds(60)]).toEqual([0, 1, 0])
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
        expect(stored).not.toContain(
          Buffer.from(plain)
            .toString(coding)
            .replace(/={1,2}$/, ''),
        )
      }
    }
  })
})
