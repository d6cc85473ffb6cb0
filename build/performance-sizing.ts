/** How large an installation has to be for a million credentials a day, worked out from the figures. */
import type { PublishedResults } from '../bench/report.ts'
import { tableText } from './docs-text.ts'
import { resultsOf } from './performance-results.ts'

const DAY_SECONDS = 86_400
const CREDENTIALS_A_DAY = 1_000_000
/** How much more than on average an hour of many visits brings. */
const PEAK = 10
/** The part of a core that one process is to use at most, so that its answers stay quick. */
const USED_SHARE = 0.5
const MACHINES = 2
const SERVICES = 2
const POOL = 10
/** Connections of PostgreSQL for backups, migrations and people. */
const SPARE = 20
const LEAST_ENTRIES = 2 ** 17
const RETENTION_DAYS = 30

const average = CREDENTIALS_A_DAY / DAY_SECONDS

export function sizingText(results: PublishedResults): string {
  return `A million credentials a day, of which each is shown once, are ${average.toFixed(0)} issuances and verifications a second on average, and
${(average * PEAK).toFixed(0)} a second in an hour with ${PEAK} times as many visits.

${coresTable(results)}

${settingsText(results)}

- **One machine or several.** Have two for every service, behind a proxy and on PostgreSQL, so that nobody notices a restart
  ([production](how-to/production.md)); meanwhile the other carries the whole load.
- **Disk.** The last column, times the days that sessions are kept, is the size of the database without the audit log. Datasets are
  erased when a session ends (\`retention.personalDataSeconds\`). The speed on SQLite depends on how long the disk takes for an
  fsync; commits that wait at the same time share one.
- **Status lists.** Serve them from a cache or as static files ([how](how-to/status-lists-by-cdn.md)).
- **Memory.** Plan twice the highest figure of the [memory table](#memory-and-start) for each process. It does not grow with the
  number of sessions.`
}

function coresTable(results: PublishedResults): string {
  const rows = [
    ['issuance dc+sd-jwt', 'issuance jwt_vc_json-ld'],
    ['verification dc+sd-jwt', 'verification jwt_vc_json-ld'],
  ].map(([name = '', scaledBy = '']) => {
    const [sqliteService, postgresService] = [
      serviceOf(results, name, 'sqlite'),
      serviceOf(results, name, 'postgresql'),
    ]
    const bytes = resultsOf(results, 'scale', 'postgresql')?.[`${scaledBy}, postgresql`]?.bytesPerSession
    return [
      name,
      perCore(sqliteService?.processorMs),
      perCore(postgresService?.processorMs),
      coresAtPeak(postgresService?.processorMs)?.toFixed(2) ?? '–',
      coresAtPeak(postgresService?.databaseMs)?.toFixed(2) ?? '–',
      bytes === undefined ? '–' : `${((bytes * CREDENTIALS_A_DAY) / 1e9).toFixed(1)} GB`,
    ]
  })
  return tableText(
    [
      ...['flow', 'flows a second on one core, SQLite', 'the same, PostgreSQL'],
      ...[`cores for ${(average * PEAK).toFixed(0)} a second, PostgreSQL`, 'cores of its server', 'sessions of a day'],
    ],
    rows,
  )
}

function settingsText(results: PublishedResults): string {
  const names = ['issuance dc+sd-jwt', 'verification dc+sd-jwt']
  const cores = names.map((name) => coresAtPeak(serviceOf(results, name, 'postgresql')?.processorMs) ?? 0)
  const workers = Math.max(1, ...cores.map((each) => Math.ceil(each / USED_SHARE)))
  // A list that lasts a day needs one entry for each credential.
  const entries = Math.max(LEAST_ENTRIES, 2 ** Math.ceil(Math.log2(CREDENTIALS_A_DAY)))
  const settings = {
    workers,
    database: { url: 'postgresql://issuer@db.example/issuer', pool: { maxConnections: POOL } },
    statusList: { entries },
    retention: { personalDataSeconds: 0, sessionSeconds: RETENTION_DAYS * DAY_SECONDS },
  }
  const connections = MACHINES * SERVICES * workers * POOL
  return `On each of ${MACHINES} machines, in the settings of the issuer; the verifier has the same without \`statusList\`:

\`\`\`json
${JSON.stringify(settings, undefined, 2)}
\`\`\`

${tableText(
  ['setting', 'value', 'because'],
  [
    [
      '`workers`',
      String(workers),
      `no process uses more than ${USED_SHARE} of a core at the peak, also when one machine is away`,
    ],
    [
      '`statusList.entries`',
      String(entries),
      `a million credentials a day begin one list a day, and eight of ${LEAST_ENTRIES}`,
    ],
    [
      '`max_connections` of PostgreSQL',
      String(connections + SPARE),
      `${MACHINES} machines × ${SERVICES} services × ${workers} workers × ${POOL} connections are ${connections}; ${SPARE} more for backups, migrations and you`,
    ],
    [
      '`LimitNOFILE` of the unit',
      '65536',
      `a wallet has a connection while it works: ${(average * PEAK).toFixed(0)} a second that each last a minute are ${(average * PEAK * 60).toFixed(0)}`,
    ],
    [
      '`retention.sessionSeconds`',
      String(RETENTION_DAYS * DAY_SECONDS),
      `sessions of ${RETENTION_DAYS} days are in the database: ${RETENTION_DAYS} times the last column above`,
    ],
  ],
)}`
}

function serviceOf(results: PublishedResults, name: string, database: 'sqlite' | 'postgresql') {
  return resultsOf(results, 'flows', database)?.[name]?.service
}

function perCore(processorMs: number | undefined): string {
  return processorMs === undefined ? '–' : (1000 / processorMs).toFixed(0)
}

function coresAtPeak(processorMs: number | undefined): number | undefined {
  return processorMs === undefined ? undefined : (average * PEAK * processorMs) / 1000
}
