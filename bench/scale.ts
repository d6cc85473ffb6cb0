/** Do flows cost more in a database with a million sessions than in an empty one? Whole flows, measured by turns. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { withConnection } from '../src/store/postgres-connections.ts'
import { loadDriver } from '../src/store/sqlite.ts'
import { postgresOf } from '../test/support/store.ts'
import { issuance, type Kind, type MakeFlows, verification } from './kinds.ts'
import type { Running } from './processes.ts'
import { note, percentile, show, table, type Verdict } from './report.ts'
import { type Round, runRound } from './speed.ts'
import { configFile, makeWorkplace, type ServiceName, startService, type Workplace } from './workplace.ts'

const SESSIONS = 1_000_000
const MIN_RATIO = 0.97

export interface ScaleOptions {
  readonly rounds: number
  readonly flows: number
  readonly warmUp: number
}

interface Side {
  readonly workplace: Workplace
  readonly service: Running
  readonly make: MakeFlows
}

export interface ScaleResult {
  readonly empty: number
  readonly full: number
  /** The median of the ratios of the rounds, each of which is next to the other in time. */
  readonly ratio: number
  readonly processorRatio: number
  /** Bytes of the database for each session that was filled in, with indices. */
  readonly bytesPerSession: number
}

/** The tables that have a row for each session, and whether the table has the time of creation. */
const FILLED: Readonly<Record<ServiceName, readonly (readonly [name: string, hasCreationTime: boolean])[]>> = {
  issuer: [
    ['issuance_session', true],
    ['issuance_dataset', false],
    ['issuance_progress', false],
    ['credential_status', false],
  ],
  verifier: [['verification_session', true]],
}

export async function measureScale(workplace: Workplace, options: ScaleOptions): Promise<Verdict> {
  const database = workplace.postgres === undefined ? 'sqlite' : 'postgresql'
  const results: Record<string, ScaleResult> = {}
  for (const kind of [issuance, verification]) {
    results[`${kind.name}, ${database}`] = await measureKind(workplace, kind, options)
  }
  show(
    table(
      ['flows a second', 'empty', `${SESSIONS} sessions`, 'ratio', 'processor time', 'bytes a session'],
      Object.entries(results).map(([name, { empty, full, ratio, processorRatio, bytesPerSession }]) => [
        name,
        ...[empty, full].map((each) => each.toFixed(0)),
        ...[ratio, processorRatio].map((each) => each.toFixed(2)),
        bytesPerSession.toFixed(0),
      ]),
    ),
  )
  const targets = Object.entries(results).map(([name, { ratio }]) => ({
    target: `${name}: with ${SESSIONS} sessions at least ${MIN_RATIO} times the flows a second`,
    reached: ratio >= MIN_RATIO,
    figure: `${ratio.toFixed(2)} times`,
  }))
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
    const [empty, full] = sides as [Side, Side]
    const bytesPerSession = await fill(full.workplace, kind.service)
    await runRound(full.service, full.make, { flows: warmUp, of: 'service' })
    const pairs: (readonly [Round, Round])[] = []
    for (let round = 1; round <= rounds; round += 1) {
      const first = await runRound(empty.service, empty.make, { flows, of: 'service' })
      const second = await runRound(full.service, full.make, { flows, of: 'service' })
      pairs.push([first, second])
      note(`${kind.name}, round ${round}: ${first.perSecond.toFixed(0)} and ${second.perSecond.toFixed(0)} flows/s`)
    }
    const median = (of: (pair: readonly [Round, Round]) => number) => percentile(pairs.map(of), 50)
    return {
      empty: median(([first]) => first.perSecond),
      full: median(([, second]) => second.perSecond),
      ratio: median(([first, second]) => second.perSecond / first.perSecond),
      processorRatio: median(([first, second]) => second.processorMs / first.processorMs),
      bytesPerSession,
    }
  } finally {
    await Promise.all(sides.map(({ service }) => service.stop()))
    other.remove()
  }
}

async function startSide(workplace: Workplace, kind: Kind, warmUp: number): Promise<Side> {
  const service = await startService(workplace, kind)
  const make = await kind.prepare(workplace, service.port)
  await runRound(service, make, { flows: warmUp, of: 'service' })
  return { workplace, service, make }
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
  for (const [name, hasCreationTime] of FILLED[service]) {
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
    for (const [name, hasCreationTime] of FILLED[service]) {
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
