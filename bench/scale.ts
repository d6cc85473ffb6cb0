/** Do flows cost more in a database with a million sessions than in an empty one? Whole flows, measured by turns. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { withConnection } from '../src/store/postgres-connections.ts'
import { loadDriver } from '../src/store/sqlite.ts'
import { postgresOf } from '../test/support/store.ts'
import { issuance, type Kind, verification } from './kinds.ts'
import { type Pair, pairRatio, runPairs, type Side, startSide } from './pairs.ts'
import { note, show, table, type Verdict } from './report.ts'
import { runRound } from './speed.ts'
import { atLeast, type Spread, spreadText } from './spread.ts'
import { configFile, databaseOf, makeWorkplace, type ServiceName, type Workplace } from './workplace.ts'

const SESSIONS = 1_000_000
const MIN_RATIO = 0.97

export interface ScaleOptions {
  readonly rounds: number
  readonly flows: number
  readonly warmUp: number
}

export interface ScaleResult {
  /** The ratios of the flows a second, with a million sessions to without. */
  readonly ratio: Spread
  readonly processorRatio: Spread
  /** Bytes of the database for each session that was filled in, with indices. */
  readonly bytesPerSession: number
  readonly pairs: readonly Pair[]
}

/** The tables that have a row for each session, and whether the table has the time of creation. */
const FILLED_COLLECTIONS: Readonly<
  Record<ServiceName, readonly (readonly [name: string, hasCreationTime: boolean])[]>
> = {
  issuer: [
    ['issuance_session', true],
    ['issuance_dataset', false],
    ['issuance_progress', false],
    ['credential_status', false],
  ],
  verifier: [
    ['verification_session', true],
    ['verification_progress', false],
  ],
}

export async function measureScale(workplace: Workplace, options: ScaleOptions): Promise<Verdict> {
  const results: Record<string, ScaleResult> = {}
  for (const kind of [issuance, verification])
    results[`${kind.name}, ${databaseOf(workplace)}`] = await measureKind(workplace, kind, options)
  show(
    table(
      [`${SESSIONS} sessions beside none`, 'flows a second', 'processor time', 'bytes a session'],
      Object.entries(results).map(([name, { ratio, processorRatio, bytesPerSession }]) => [
        ...[name, spreadText(ratio), spreadText(processorRatio)],
        bytesPerSession.toFixed(0),
      ]),
    ),
  )
  const targets = Object.entries(results).map(([name, { ratio }]) =>
    atLeast(`${name}: with ${SESSIONS} sessions at least ${MIN_RATIO} times the flows a second`, MIN_RATIO, ratio),
  )
  return { section: 'scale', options: { ...options, sessions: SESSIONS }, results, targets }
}

async function measureKind(
  workplace: Workplace,
  kind: Kind,
  { rounds, flows, warmUp }: ScaleOptions,
): Promise<ScaleResult> {
  const other = await makeWorkplace(workplace.bundle, workplace.postgres)
  const sides: Side[] = []
  try {
    for (const each of [workplace, other]) sides.push(await startSide(each, kind, warmUp))
    const [empty, full] = sides as [Side, Side] & Side[]
    const bytesPerSession = await fill(other, kind.service)
    await runRound(full.service, full.make, { flows: warmUp, of: 'service' })
    const pairs = await runPairs([empty, full], { name: kind.name, rounds, flows })
    return {
      ratio: pairRatio(pairs, 'perSecond'),
      processorRatio: pairRatio(pairs, 'processorMs'),
      bytesPerSession,
      pairs,
    }
  } finally {
    await Promise.all(sides.map(({ service }) => service.stop()))
    other.remove()
  }
}

/** Fills the database of a service, copying the rows of one session; returns the bytes that each session takes. */
async function fill(workplace: Workplace, service: ServiceName): Promise<number> {
  note(`filling the database of the ${service} with ${SESSIONS} sessions`)
  return workplace.postgres === undefined ? fillSqlite(workplace, service) : fillPostgres(workplace, service)
}

async function fillSqlite({ directory }: Workplace, service: ServiceName): Promise<number> {
  const file = join(directory, `${service}.db`)
  const database = new (await loadDriver())(file)
  database.exec('pragma busy_timeout = 60000')
  database.exec('pragma synchronous = off')
  const size = (): number => {
    database.exec('pragma wal_checkpoint(truncate)')
    return statSync(file).size
  }
  const before = size()
  const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${SESSIONS})`
  for (const [name, hasCreationTime] of FILLED_COLLECTIONS[service]) {
    database.exec(`${numbers} ${insertText(name, hasCreationTime, "substr('0000000' || n.i, -8)")}, n`)
  }
  const bytes = size() - before
  database.close()
  return bytes / SESSIONS
}

function fillPostgres({ directory }: Workplace, service: ServiceName): Promise<number> {
  const { database } = JSON.parse(readFileSync(join(directory, configFile(service)), 'utf8')) as {
    database: { url: string }
  }
  return withConnection(postgresOf(database.url), async (run) => {
    const size = async (): Promise<number> => {
      const { rows } = await run({ text: 'select pg_database_size(current_database()) as bytes', values: [] })
      return Number(rows[0]?.bytes)
    }
    const before = await size()
    for (const [name, hasCreationTime] of FILLED_COLLECTIONS[service]) {
      const text = insertText(name, hasCreationTime, "right('0000000' || n.i, 8)")
      await run({ text: `${text}, generate_series(1, ${SESSIONS}) as n(i)`, values: [] })
      await run({ text: `analyze ${name}`, values: [] })
    }
    await run({ text: 'checkpoint', values: [] })
    return ((await size()) - before) / SESSIONS
  })
}

/** Returns the text of an insert that copies one row; ids are of earlier times than those of the service. */
function insertText(name: string, hasCreationTime: boolean, number: string): string {
  const [column, time] = hasCreationTime ? [', created_at', `, t.created_at - 1000 * (${SESSIONS} - n.i)`] : ['', '']
  const template = `(select * from ${name} limit 1) as t`
  const id = `'P0' || ${number} || '-a-session-of-others'`
  return `insert into ${name} (id, value, version, due_at${column}) select ${id}, t.value, t.version, 9000000000000 + n.i${time} from ${template}`
}
