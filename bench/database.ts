/** How many batches a second does a database take and find again, empty and with a million sessions in it? */
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { openPostgres } from '../src/store/postgres.ts'
import { withConnection } from '../src/store/postgres-connections.ts'
import { loadDriver, openSqlite } from '../src/store/sqlite.ts'
import { type Change, createCollection, type Migration, type Store } from '../src/store/store.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { postgresOf } from '../test/support/store.ts'
import { note, percentile, show, table, type Verdict } from './report.ts'
import type { Workplace } from './workplace.ts'

const ROWS = 1_000_000
const SESSIONS = 2000
const ROUNDS = 5
const CONCURRENCY = 32
const MIN_RATIO = 0.5

type Collections = { session: { readonly text: string }; nonce: Record<string, never> }

const migrations: readonly Migration[] = [
  { id: 'bench-0001', statements: [...createCollection('session'), ...createCollection('nonce')] },
]
/** A text of about the size of a session. */
const value = { text: 'a'.repeat(600) }
const FILL_STATEMENT = `insert into session (id, value, version, due_at) select`

interface Place {
  readonly store: Store<Collections>
  fill(): Promise<void>
  close(): Promise<void>
}

export async function measureDatabase(workplace: Workplace): Promise<Verdict> {
  const results: Record<string, { readonly empty: number; readonly full: number; readonly ratio: number }> = {}
  for (const [name, open] of Object.entries({ sqlite: sqlitePlace, postgresql: postgresPlace })) {
    const place = await open(workplace)
    try {
      await sessionsPerSecond(place.store)
      const empty = await median(place.store)
      note(`${name}, empty: ${empty.toFixed(0)} sessions a second; filling it`)
      await place.fill()
      const full = await median(place.store)
      results[name] = { empty, full, ratio: full / empty }
    } finally {
      await place.close()
    }
  }
  show(
    table(
      ['sessions a second, four batches each', 'empty', `with ${ROWS} sessions`, 'ratio'],
      Object.entries(results).map(([name, { empty, full, ratio }]) => [
        name,
        ...[empty, full].map((each) => each.toFixed(0)),
        ratio.toFixed(2),
      ]),
    ),
  )
  const targets = Object.entries(results).map(([name, { ratio }]) => ({
    target: `${name}: with ${ROWS} sessions at least ${MIN_RATIO} times as many as with none`,
    reached: ratio >= MIN_RATIO,
    figure: `${ratio.toFixed(2)} times`,
  }))
  return { section: 'database', options: { ROWS, SESSIONS, ROUNDS, CONCURRENCY }, results, targets }
}

async function median(store: Store<Collections>): Promise<number> {
  const rounds: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await sessionsPerSecond(store))
  return percentile(rounds, 50)
}

/** Moves sessions through their life: begins, reads, moves twice with a nonce spent each time, and ends each. */
async function sessionsPerSecond(store: Store<Collections>): Promise<number> {
  let remaining = SESSIONS
  const begin = performance.now()
  const must = (conflict: Change<Collections> | undefined): void => {
    if (conflict !== undefined) throw new Error(`a change of ${conflict.id} did not apply`)
  }
  const nonce = () => ({ insert: 'nonce', id: randomBytes(16).toString('hex'), value: {}, dueAt: new Date() }) as const
  const worker = async (): Promise<void> => {
    while (remaining-- > 0) {
      const id = randomBytes(16).toString('hex')
      must(await store.commit([{ insert: 'session', id, value }, nonce()]))
      for (const version of [0, 1]) {
        if ((await store.get('session', id)) === undefined) throw new Error('a session is not there')
        must(await store.commit([{ update: 'session', id, version, value }, nonce()]))
      }
      must(await store.commit([{ delete: 'session', id, version: 2 }]))
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  await store.purge('nonce', new Date())
  return SESSIONS / ((performance.now() - begin) / 1000)
}

async function sqlitePlace({ directory }: Workplace): Promise<Place> {
  const file = join(directory, 'filled.db')
  const store = await openSqlite<Collections>(file, migrations)
  return {
    store,
    fill: async () => {
      const Driver = await loadDriver()
      const database = new Driver(file)
      const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${ROWS})`
      database.exec(
        `${numbers} ${FILL_STATEMENT} lower(hex(randomblob(16))), '${JSON.stringify(value)}', 0, 9e12 + i from n`,
      )
      database.exec('pragma wal_checkpoint(truncate)')
      database.close()
    },
    close: async () => {
      await store.close()
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
    },
  }
}

async function postgresPlace(): Promise<Place> {
  const server = await startPostgres()
  const options = postgresOf(server.url)
  const store = await openPostgres<Collections>(options, migrations)
  return {
    store,
    fill: () =>
      withConnection(options, async (run) => {
        const numbers = `from generate_series(1, ${ROWS}) as i`
        const id = `replace(gen_random_uuid()::text, '-', '')`
        await run({
          text: `${FILL_STATEMENT} ${id}, '${JSON.stringify(value)}', 0, 9000000000000 + i ${numbers}`,
          values: [],
        })
        await run({ text: 'checkpoint', values: [] })
      }),
    close: async () => {
      await store.close()
      await server.stop()
    },
  }
}
