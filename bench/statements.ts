/**
 * How many statements does PostgreSQL run for each request? Its own statistics count them. One flow runs at a time;
 * what runs beside requests, such as passing events on, falls into some of them, and the median leaves it out.
 */
import { withConnection } from '../src/store/postgres-connections.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { postgresOf } from '../test/support/store.ts'
import { openConnection } from './connection.ts'
import { type Step, stepOn } from './flow.ts'
import { issuance, type Kind, verification } from './kinds.ts'
import { note, show, table, type Verdict } from './report.ts'
import { atMost, type Spread, spreadOf } from './spread.ts'
import { makeWorkplace, startService, type Workplace } from './workplace.ts'

const FLOWS = 50
const MAX_STATEMENTS = 5
const STATISTICS = 'pg_stat_statements'
const COUNT = {
  text: `select coalesce(sum(calls), 0)::int as calls from ${STATISTICS} where query not like '%${STATISTICS}%'`,
  values: [],
}

/** The statements of each request, by the service and the request. */
export type StatementsResult = Readonly<Record<string, Spread>>

export async function measureStatements(bundle: string): Promise<Verdict> {
  const server = await startPostgres([`shared_preload_libraries=${STATISTICS}`])
  const workplace = await makeWorkplace(bundle, server)
  try {
    const results = await withConnection(postgresOf(server.url), async (run) => {
      await run({ text: `create extension ${STATISTICS}`, values: [] })
      const count = async (): Promise<number> => Number((await run(COUNT)).rows[0]?.calls)
      const both: Record<string, Spread> = {}
      for (const kind of [issuance, verification]) Object.assign(both, await countOf(workplace, kind, count))
      return both
    })
    showStatements(results)
    const medians = spreadOf(Object.values(results).map(({ median }) => median))
    const most = { ...medians, median: medians.most }
    const target = `postgresql: at most ${MAX_STATEMENTS} statements a request, by medians`
    const targets = [atMost(target, MAX_STATEMENTS, most, 'statements')]
    return { section: 'statements', options: { flows: FLOWS }, results, targets }
  } finally {
    workplace.remove()
    await server.stop()
  }
}

function showStatements(results: StatementsResult): void {
  const rows = Object.entries(results).map(([name, { median, least, most }]) => [
    ...[name, `${median}`, `${least} to ${most}`],
  ])
  show(table(['statements of a request', 'median', 'of all'], rows))
}

async function countOf(workplace: Workplace, kind: Kind, count: () => Promise<number>): Promise<StatementsResult> {
  const service = await startService(workplace, kind)
  const connection = await openConnection(service.port)
  const counts = new Map<string, number[]>()
  try {
    const make = await kind.prepare(workplace, service.port)
    const step = stepOn(connection, () => undefined)
    const counting: Step = async (name, request) => {
      const before = await count()
      const answer = await step(name, request)
      const statements = (await count()) - before
      const label = `${kind.service}: ${name}`
      counts.set(label, [...(counts.get(label) ?? []), statements])
      return answer
    }
    for (const flow of await make(FLOWS, 'service')) await flow(counting)
    note(`${kind.name}: statements counted`)
    return Object.fromEntries([...counts].map(([name, numbers]) => [name, spreadOf(numbers)]))
  } finally {
    connection.close()
    await service.stop()
  }
}
