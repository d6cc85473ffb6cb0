import { randomBytes } from 'node:crypto'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { freshUrl, postgresOf, retryOnConflict, serverUrl } from '../../test/support/store.ts'
import { checkWritable, type GenerationCollections, generationCollection } from './generation.ts'
import { openPostgres } from './postgres.ts'
import { isUnreachable, type StatementRunner, withConnection } from './postgres-connections.ts'
import { refuseMissingRights } from './postgres-schema.ts'
import { newestStatement } from './statements.ts'
import { storeContract } from './store.contract.ts'
import { addCreationTime, type Change, createCollection, type Store } from './store.ts'

type Things = { thing: { n: number }; spent: Record<string, never> }

const migrations = [{ id: 'thing-0001', statements: [...createCollection('thing'), ...createCollection('spent')] }]
const insert = (id: string, n: number): Change<Things> => ({ insert: 'thing', id, value: { n } })
const next = (n: number): Change<Things> => ({ update: 'thing', id: 'a', version: n - 1, value: { n } })

const WAITING = 'select count(*) as waiting from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))'
/** The same, for whoever is not the one that they wait for. */
const LOCKED_OUT =
  "select count(*) as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"

/** Opens another connection to the same place. */
const other = <T>(url: string, work: (run: (text: string) => ReturnType<StatementRunner>) => Promise<T>): Promise<T> =>
  withConnection(postgresOf(url), (run) => work((text) => run({ text, values: [] })))
const administer = (...texts: readonly string[]) =>
  other(serverUrl(), async (run) => {
    for (const text of texts) await run(text)
  })

/** Returns the name of the schema that the URL selects. */
const schemaOf = (url: string) => String(new URL(url).searchParams.get('currentSchema'))

/** Returns everything that a log could write of an error. */
function textOf(error: Error): string {
  const members = Object.getOwnPropertyNames(error).map((name) => [name, error[name as keyof Error]])
  return JSON.stringify(Object.fromEntries(members))
}

async function failure(promise: Promise<unknown>): Promise<Error & { readonly code?: string }> {
  try {
    await promise
  } catch (error) {
    return error as Error
  }
  throw new Error('it did not fail')
}

describe('PostgreSQL', () => {
  storeContract(freshUrl, (url, steps) => openPostgres(postgresOf(url), steps))
})

describe('PostgreSQL with others on it', () => {
  let url: string
  let store: Store<Things>
  beforeEach(async () => {
    url = freshUrl()
    store = await openPostgres(postgresOf(url, { statementTimeoutSeconds: 1, connectTimeoutSeconds: 2 }), migrations)
    await store.commit([insert('a', 0)])
  })
  afterEach(() => store.close())

  /** Runs `start` while another connection has changed row a and not yet committed. */
  const whileLocked = <T>(start: () => Promise<T>, end: 'commit' | 'rollback' | undefined): Promise<T> =>
    other(url, async (run) => {
      await run('begin')
      await run("update thing set version = version + 1 where id = 'a'")
      const waiting = start()
      if (end === undefined) return waiting
      while (Number((await run(WAITING)).rows[0]?.waiting) === 0) await new Promise((resolve) => setTimeout(resolve, 5))
      await run(end)
      return waiting
    })

  it('applies nothing of a batch whose row changed while it waited for it', async () => {
    const overtaken = next(1)
    const batch = () => store.commit([insert('b', 1), overtaken, { insert: 'spent', id: 'nonce', value: {} }])
    expect(await whileLocked(batch, 'commit')).toBe(overtaken)
    expect((await store.list('thing')).map(({ id }) => id)).toEqual(['a'])
    expect(await store.list('spent')).toEqual([])
    expect(await store.get('thing', 'a')).toEqual({ value: { n: 0 }, version: 1 })
  })

  it('applies the whole of a batch that waited for one that was undone', async () => {
    expect(await whileLocked(() => store.commit([next(1), insert('b', 1)]), 'rollback')).toBe(undefined)
    expect(await store.list('thing')).toHaveLength(2)
  })

  it('gives up a statement that takes too long, without effect, and goes on', async () => {
    const error = await whileLocked(() => failure(store.commit([insert('b', 1), next(1)])), undefined)
    expect([error.code, error.message]).toEqual(['57014', expect.stringMatching(/^PostgreSQL: .*statement timeout/)])
    expect(await store.commit([next(1)])).toBe(undefined)
    expect((await store.list('thing')).map(({ id }) => id)).toEqual(['a'])
  })

  it('lets no request wait for a connection for ever', async () => {
    const small = await openPostgres<Things>(
      postgresOf(url, { maxConnections: 1, statementTimeoutSeconds: 5, connectTimeoutSeconds: 1 }),
      migrations,
    )
    const [first, second] = await whileLocked(
      () => Promise.all([failure(small.commit([next(1)])), failure(small.get('thing', 'a'))]),
      undefined,
    )
    expect(first.code).toBe('57014')
    expect(second.message).toMatch(/timeout.*connect/)
    expect(await small.get('thing', 'a')).toMatchObject({ version: 0 })
    await small.close()
  })

  it('counts its connections, and the statements that wait for one', async () => {
    const small = await openPostgres<Things>(postgresOf(url, { maxConnections: 1 }), migrations)
    const counts = await whileLocked(() => {
      void Promise.allSettled([small.commit([next(1)]), small.commit([next(2)])])
      return Promise.resolve(small.countConnections?.())
    }, undefined)
    expect(counts).toEqual({ busy: 1, idle: 0, waiting: 1 })
    await small.close()
  })

  it('goes on after its connections were ended, also while it used them', async () => {
    // A user of its own, so that nobody else's connections are ended.
    const user = `ended_${randomBytes(8).toString('hex')}`
    await administer(`create role ${user} superuser login password '${user}'`)
    const own = Object.assign(new URL(url), { username: user, password: user }).href
    const ended = await openPostgres<Things>(postgresOf(own, { connectTimeoutSeconds: 2 }), migrations)
    const end = `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${user}'`
    await Promise.all(Array.from({ length: 10 }, (_, n) => ended.commit([insert(`idle ${n}`, n)])))
    await other(url, (run) => run(end))
    await expect.poll(() => ended.get('thing', 'a').catch(() => 'lost')).toMatchObject({ version: 0 })
    expect(await ended.commit([insert('after', 1)])).toBe(undefined)
    const error = await whileLocked(async () => {
      const failing = failure(ended.commit([insert('lost', 1), next(1)]))
      await expect.poll(() => other(url, async (run) => Number((await run(LOCKED_OUT)).rows[0]?.waiting))).not.toBe(0)
      await other(url, (run) => run(end))
      return failing
    }, undefined)
    expect(error.message).toMatch(/^PostgreSQL: .*terminat/)
    expect(await ended.commit([insert('later', 1)])).toBe(undefined)
    expect(await ended.get('thing', 'lost')).toBe(undefined)
    await ended.close()
  })

  it('uses no connection again once one has become read-only, as those of a server that became a standby', async () => {
    const user = `standby_${randomBytes(8).toString('hex')}`
    await administer(`create role ${user} superuser login password '${user}'`)
    const own = Object.assign(new URL(url), { username: user, password: user }).href
    const several = await openPostgres<Things>(postgresOf(own, { connectTimeoutSeconds: 2 }), migrations)
    onTestFinished(() => several.close())
    // A session keeps the settings that it was given at its beginning.
    await administer(`alter role ${user} set default_transaction_read_only = on`)
    const many = await Promise.allSettled(Array.from({ length: 8 }, (_, n) => several.commit([insert(`many ${n}`, n)])))
    const codes = many.map((each) =>
      each.status === 'rejected' ? (each.reason as { code?: string }).code : each.value,
    )
    expect(new Set(codes)).toEqual(new Set(['25006']))
    // Reading opens several again, and goes on.
    await Promise.all(Array.from({ length: 8 }, (_, n) => several.list(n % 2 === 0 ? 'thing' : 'spent')))
    await administer(`alter role ${user} reset default_transaction_read_only`)
    expect((await failure(several.commit([insert('b', 1)]))).code).toBe('25006')
    for (let n = 0; n < 8; n += 1) expect(await several.commit([insert(`later ${n}`, n)])).toBe(undefined)
    expect((await several.list('thing')).map(({ id }) => id)).not.toContain('b')
  })

  it('says that it cannot be written once it can only be read', async () => {
    const user = `reader_${randomBytes(8).toString('hex')}`
    await administer(`create role ${user} superuser login password '${user}'`)
    const own = Object.assign(new URL(freshUrl()), { username: user, password: user }).href
    const steps = [{ id: 'generation-0001', statements: generationCollection }]
    const one = await openPostgres<GenerationCollections>(postgresOf(own, { maxConnections: 1 }), steps)
    onTestFinished(() => one.close())
    await checkWritable({ store: one, now: () => new Date(), random: randomBytes, retryOnConflict })
    const end = `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${user}'`
    await administer(`alter role ${user} set default_transaction_read_only = on`, end)
    await expect
      .poll(() =>
        one.list('generation').then(
          () => 'read',
          () => 'lost',
        ),
      )
      .toBe('read')
    expect(
      (await failure(checkWritable({ store: one, now: () => new Date(), random: randomBytes, retryOnConflict }))).code,
    ).toBe('25006')
    await administer(`alter role ${user} reset default_transaction_read_only`)
    await checkWritable({ store: one, now: () => new Date(), random: randomBytes, retryOnConflict })
  })

  it('tells nothing of a value in an error', async () => {
    await other(url, (run) => run('alter table thing add check (length(value) < 20)'))
    const long = { insert: 'thing', id: 'secret id', value: { n: 1, text: 'a secret claim' } } as Change<Things>
    for (const batch of [[long], [insert('b', 1), long]]) {
      const error = await failure(store.commit(batch))
      expect(error.code).toBe('23514')
      expect(textOf(error)).not.toMatch(/secret/)
    }
  })

  it('takes turns with another that purges', async () => {
    const again = await openPostgres<Things>(postgresOf(url), migrations)
    for (const part of ['b', 'c', 'd', 'e'])
      await store.commit(
        Array.from({ length: 1000 }, (_, n) => ({ insert: 'spent', id: `${part}${n}`, value: {}, dueAt: new Date(1) })),
      )
    const purged = await Promise.all([store, again, store].map((each) => each.purge('spent', new Date(1))))
    expect(purged.reduce((a, b) => a + b)).toBe(4000)
    await again.close()
  })
})

describe('a PostgreSQL database', () => {
  const open = (url: string) => openPostgres(postgresOf(url), migrations)
  const at = (change: (url: URL) => unknown): string => {
    const url = new URL(freshUrl())
    change(url)
    return url.href
  }
  const name = () => `test_${Math.random().toString(36).slice(2)}`

  it.each([
    [
      'another password',
      (url: URL) => Object.assign(url, { password: 'wrong-password' }),
      /password authentication failed/,
    ],
    ['no password', (url: URL) => Object.assign(url, { password: '' }), /password/],
    [
      'another database',
      (url: URL) => Object.assign(url, { pathname: '/missing' }),
      /database "missing" does not exist/,
    ],
    ['another port', (url: URL) => Object.assign(url, { port: '1' }), /ECONNREFUSED/],
  ])('is not reached with %s, and says so without the password', async (_, change, reason) => {
    const error = await failure(open(at(change)))
    expect(error.message).toMatch(reason)
    expect(textOf(error)).not.toMatch(/wrong-password/)
  })

  it('takes no password from the environment', async () => {
    process.env.PGPASSWORD = new URL(serverUrl()).password
    try {
      await expect(open(at((url) => Object.assign(url, { password: '' })))).rejects.toThrow(/password/)
    } finally {
      delete process.env.PGPASSWORD
    }
  })

  it.each([
    ['synchronous_commit = off', /synchronous_commit is off/, undefined],
    ['default_transaction_read_only = on', /can only be read/, '25006'],
  ])('is refused with %s', async (setting, message, code) => {
    const role = name()
    await administer(`create role ${role} login password 'a'`, `alter role ${role} set ${setting}`)
    const url = at((each) => Object.assign(each, { username: role, password: 'a' }))
    const error = await failure(open(url))
    expect([error.message, error.code]).toEqual([expect.stringMatching(message), code])
  })

  it('is refused when it is not in UTF-8', async () => {
    const database = name()
    await administer(`create database ${database} encoding 'LATIN1' locale 'C' locale_provider libc template template0`)
    await expect(open(at((url) => Object.assign(url, { pathname: `/${database}` })))).rejects.toThrow(/not in UTF-8/)
    await administer(`drop database ${database}`)
  })

  it('is refused when another service has it, and tells what to do', async () => {
    const url = freshUrl()
    await (await open(url)).close()
    const another = [{ id: 'another-0001', statements: [] }]
    await expect(openPostgres(postgresOf(url), another)).rejects.toThrow(/another service.*thing-0001.*one of its own/)
  })

  it('serves two services in a schema each', async () => {
    const first = await openPostgres<Things>(postgresOf(freshUrl()), migrations)
    const second = await openPostgres<Things>(postgresOf(freshUrl()), migrations)
    await first.commit([insert('a', 1)])
    expect(await second.list('thing')).toEqual([])
    await Promise.all([first.close(), second.close()])
  })

  it('needs no right to make tables once they are made', async () => {
    const [role, url] = [name(), freshUrl()]
    const schema = new URL(url).searchParams.get('currentSchema') ?? ''
    const byRole = Object.assign(new URL(url), { username: role, password: 'a' }).href
    await administer(`create role ${role} login password 'a'`)
    await expect(open(byRole)).rejects.toThrow(/permission denied/)
    await (await open(url)).close()
    await administer(
      `grant usage on schema ${schema} to ${role}`,
      `grant select, insert, update, delete on all tables in schema ${schema} to ${role}`,
    )
    const store = await openPostgres<Things>(postgresOf(byRole), migrations)
    expect(await store.commit([insert('a', 1), insert('b', 1)])).toBe(undefined)
    await store.close()
  })

  it('is refused to a service whose user lacks rights on the schema or a table, with what to grant', async () => {
    const [role, url] = [`${name()}-a`, freshUrl()]
    const schema = new URL(url).searchParams.get('currentSchema') ?? ''
    const byRole = Object.assign(new URL(url), { username: role, password: 'a' }).href
    const refusal = () => failure(refuseMissingRights(postgresOf(byRole))).then(({ message }) => message)
    const grant = async (message: string) => administer(/run: (grant .*)/.exec(message)?.[1] ?? message)
    await administer(`create role "${role}" login password 'a'`)
    await (await open(url)).close()
    const schemaRefusal = await refusal()
    expect(schemaRefusal).toBe(`this user may not use the schema; run: grant usage on schema ${schema} to "${role}"`)
    await grant(schemaRefusal)
    const tableRefusal = await refusal()
    expect(tableRefusal).toMatch(/: grant select, insert, update, delete on .*\.migration, .*\.thing/)
    await grant(tableRefusal)
    await refuseMissingRights(postgresOf(byRole))
    const store = await openPostgres<Things>(postgresOf(byRole), migrations)
    expect(await store.commit([insert('a', 1)])).toBe(undefined)
    await store.close()
  })

  it('is refused for a table that a step has renamed, and for none of something else', async () => {
    const [role, url] = [name(), freshUrl()]
    const schema = new URL(url).searchParams.get('currentSchema') ?? ''
    const byRole = Object.assign(new URL(url), { username: role, password: 'a' }).href
    const renaming = { id: 'thing-9999', statements: ['alter table spent rename to used'] }
    await (await openPostgres(postgresOf(url), [...migrations, renaming])).close()
    await administer(
      `create role ${role} login password 'a'`,
      `grant usage on schema ${schema} to ${role}`,
      `grant select, insert, update, delete on all tables in schema ${schema} to ${role}`,
      `create table ${schema}.spatial_ref_sys (id text)`,
    )
    await refuseMissingRights(postgresOf(byRole))
    await administer(`revoke insert on ${schema}.used from ${role}`)
    expect((await failure(refuseMissingRights(postgresOf(byRole)))).message).toContain(` on ${schema}.used to ${role}`)
  })

  it('is not waited for longer than its time when it accepts connections and answers nothing, as if frozen', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    // AuthenticationOk and ReadyForQuery, which are the answer to the first message alone.
    const ready = Buffer.from('5200000008000000005a0000000549', 'hex')
    const messages: string[] = []
    const frozen = createServer((client) => {
      client.on('error', () => undefined)
      client.on('data', (message) => {
        if (messages.push(message.toString('latin1')) % 2 === 1) client.write(ready)
        else vi.advanceTimersByTime(30_000)
      })
    })
    await new Promise<void>((resolve) => frozen.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void frozen.close())
    const { port } = frozen.address() as AddressInfo
    const server = { ...postgresOf(serverUrl()), host: '127.0.0.1', port }
    for (const schema of [{}, { schema: 'a' }]) {
      const error = await failure(refuseMissingRights({ ...server, ...schema }))
      expect(error.message).toBe('PostgreSQL: Query read timeout')
      expect(isUnreachable(error)).toBe(true)
    }
    expect(messages.at(1)).toContain('pg_namespace')
    expect(messages.at(3)).toContain('search_path')
  })

  it('selects a schema that is named by a word of SQL', async () => {
    const url = Object.assign(new URL(freshUrl()), { search: '?currentSchema=order' }).href
    const store = await openPostgres<Things>(postgresOf(url), migrations)
    await store.close()
    const tables = await other(serverUrl(), (run) => run(`select from pg_tables where schemaname = 'order'`))
    await administer('drop schema "order" cascade')
    expect(tables.rowCount).toBeGreaterThan(1)
  })

  it('waits for another process that migrates, whatever time limit for statements its user has', async () => {
    const [role, url] = [name(), freshUrl()]
    await administer(
      `create role ${role} superuser login password 'a'`,
      `alter role ${role} set statement_timeout = '100ms'`,
    )
    const store = await other(url, async (run) => {
      await run('begin')
      await run(`select pg_advisory_xact_lock(1987016035, hashtext('${schemaOf(url)}'))`)
      const opening = openPostgres<Things>(
        postgresOf(Object.assign(new URL(url), { username: role, password: 'a' }).href),
        migrations,
      )
      await new Promise((resolve) => setTimeout(resolve, 400))
      await run('commit')
      return opening
    })
    expect(await store.list('thing')).toEqual([])
    await store.close()
  })

  it('asks for a table in one process alone while a backup keeps it from being changed', async () => {
    const url = freshUrl()
    const old = await openPostgres<Things>(postgresOf(url), migrations)
    const column = `note_${randomBytes(4).toString('hex')}`
    const step = { id: 'thing-0002', statements: [`alter table thing add column ${column} text`] }
    const asking = `select pid from pg_stat_activity where wait_event_type = 'Lock' and query = '${step.statements[0]}'`
    const pids = new Set<unknown>()
    const opened = await other(url, async (run) => {
      await run('begin')
      await run('select from thing')
      const all = Array.from({ length: 3 }, () => openPostgres<Things>(postgresOf(url), [...migrations, step]))
      // The first one gives the table up after two seconds, and asks again five seconds later.
      for (const end = Date.now() + 5000; Date.now() < end; await new Promise((next) => setTimeout(next, 50))) {
        for (const { pid } of (await other(url, (ask) => ask(asking))).rows) pids.add(pid)
      }
      await run('commit')
      return Promise.all(all)
    })
    expect(pids.size).toBe(1)
    for (const each of [old, ...opened]) await each.close()
  })

  it('leaves a table to those that use it while a backup keeps it from being changed, and changes it then', async () => {
    const url = freshUrl()
    const old = await openPostgres<Things>(postgresOf(url), migrations)
    await old.commit([insert('a', 0)])
    const step = { id: 'thing-0002', statements: ['alter table thing add column note text'] }
    let waits = 0
    const store = await other(url, async (run) => {
      await run('begin')
      await run('select from thing')
      const opening = openPostgres<Things>(postgresOf(url), [...migrations, step], () => {
        waits += 1
      })
      await vi.waitUntil(() => waits > 0, { timeout: 30_000 })
      expect((await old.get('thing', 'a'))?.value).toEqual({ n: 0 })
      await run('commit')
      return opening
    })
    expect(waits).toBe(1)
    for (const each of [old, store]) await each.close()
  })

  it('does not wait for a process that migrates another schema of the same database', async () => {
    const slow = { id: 'thing-0002', statements: ['select pg_sleep(2)'] }
    const order: string[] = []
    const openNoted = async (word: string, steps: typeof migrations) => {
      const store = await openPostgres<Things>(postgresOf(freshUrl()), steps)
      order.push(word)
      await store.close()
    }
    const opening = openNoted('slow', [...migrations, slow])
    const count = "select count(*) as waiting from pg_stat_activity where query = 'select pg_sleep(2)'"
    await other(serverUrl(), (run) =>
      vi.waitUntil(async () => Number((await run(count)).rows[0]?.waiting) > 0, { timeout: 10_000 }),
    )
    await openNoted('other', migrations)
    await opening
    expect(order).toEqual(['other', 'slow'])
  })

  it('is reached through a proxy like PgBouncer, which refuses settings in the first message', async () => {
    const url = new URL(freshUrl())
    const server = postgresOf(url.href)
    const names: string[] = []
    const proxy = createServer((client) => {
      const upstream = connect(server.port, server.host)
      client.once('data', (message) => {
        // The length and the version of the protocol are before the pairs of a name and a value.
        const texts = message.subarray(8).toString().split('\0')
        names.push(...texts.filter((_, at) => at % 2 === 0 && texts[at] !== ''))
        upstream.write(message)
        client.pipe(upstream).pipe(client)
      })
      for (const socket of [client, upstream]) socket.on('error', () => client.destroy())
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    Object.assign(url, { hostname: '127.0.0.1', port: String((proxy.address() as AddressInfo).port) })
    const store = await open(url.href)
    await store.close()
    proxy.close()
    const allowedNames = ['user', 'database', 'application_name', 'client_encoding']
    expect(names.filter((each) => !allowedNames.includes(each))).toEqual([])
    const tables = await other(serverUrl(), (run) =>
      run(`select from pg_tables where schemaname = '${schemaOf(url.href)}'`),
    )
    expect(tables.rowCount).toBeGreaterThan(1)
  })

  it('is refused behind a proxy that gives a connection to others after each transaction', async () => {
    const url = new URL(freshUrl())
    const server = postgresOf(url.href)
    let upstream: Socket | undefined
    const sharing = createServer((client) => {
      client.on('error', () => undefined)
      client.once('data', (startup) => {
        // Like PgBouncer, the proxy itself lets in all but the first: AuthenticationOk, ReadyForQuery.
        if (upstream !== undefined) client.write(Buffer.from('5200000008000000005a0000000549', 'hex'))
        const shared = upstream ?? connect(server.port, server.host).on('error', () => undefined)
        if (upstream === undefined) shared.write(startup)
        upstream = shared
        const readBy = (): Socket => shared.removeAllListeners('data').on('data', (answer) => client.write(answer))
        readBy()
        client.on('data', (message) => {
          readBy()
          // Terminate ends the connection to the proxy alone.
          if (message[0] !== 'X'.charCodeAt(0)) shared.write(message)
        })
      })
    })
    await new Promise<void>((resolve) => sharing.listen(0, '127.0.0.1', resolve))
    Object.assign(url, { hostname: '127.0.0.1', port: String((sharing.address() as AddressInfo).port) })
    await expect(openPostgres(postgresOf(url.href), migrations)).rejects.toThrow(
      /after each transaction.*let it keep them \(pool_mode = session/,
    )
    upstream?.destroy()
    sharing.close()
    const made = await other(serverUrl(), (run) =>
      run(`select from pg_tables where schemaname = '${schemaOf(url.href)}'`),
    )
    expect(made.rowCount).toBe(0)
  })

  it('reads no row beside a page of a hundred thousand', async () => {
    const url = freshUrl()
    const ordered = [...migrations, { id: 'thing-0002', statements: addCreationTime('thing') }]
    await (await openPostgres(postgresOf(url), ordered)).close()
    await other(url, async (run) => {
      await run(`insert into thing (id, value, version, created_at)
        select 'row ' || n, '{"n":1}', 0, n from generate_series(1, 100000) n`)
      await run('analyze thing')
      for (const n of [100_000, 50_000, 60]) {
        const after = { createdAt: new Date(n), id: `row ${n}` }
        const [sql, ...values] = newestStatement('thing', 50, after)
        const text = values.reduce<string>((before, value) => before.replace('?', `'${value}'`), sql)
        const lines = (await run(`explain (analyze, timing off, buffers off) ${text}`)).rows.map((row) =>
          String(row['QUERY PLAN']),
        )
        expect(lines[0]).toMatch(/^Limit .*actual rows=50\b/)
        expect(lines[1]).toMatch(/Index Scan Backward using thing_created_at .*actual rows=50\b/)
        expect(lines.join()).not.toMatch(/Sort|Filter|Removed/)
      }
    })
  })

  it('has nothing of a schema that could not be made whole', async () => {
    const url = freshUrl()
    const broken = [...migrations, { id: 'thing-0002', statements: ['create table more (id text)', 'nonsense'] }]
    await expect(openPostgres(postgresOf(url), broken)).rejects.toThrow(/syntax error/)
    expect(await other(url, async (run) => (await run("select to_regclass('thing') as there")).rows)).toEqual([
      { there: null },
    ])
    await (await open(url)).close()
  })
})
