/** docs/performance.md: the figures of `npm run bench -- performance`, and how large an installation has to be. */
import { readFileSync } from 'node:fs'
import type { ScaleResult } from '../bench/scale.ts'
import type { KindResult } from '../bench/speed.ts'
import { GENERATED, tableText } from './docs-text.ts'

interface MemoryResult {
  readonly peak?: number
  readonly samples: readonly { readonly flows: number; readonly megabytes: number }[]
}

interface StartResult {
  readonly median: number
}

/** The results of the sections that the page shows. */
interface Sections {
  readonly flows: Readonly<Record<string, KindResult>>
  readonly scale: Readonly<Record<string, ScaleResult>>
  readonly parts: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly memory: Readonly<Record<string, MemoryResult>>
  readonly startup: Readonly<Record<string, StartResult>>
}

interface Published {
  readonly at: string
  readonly node: string
  readonly machine: { readonly processor: string; readonly cores: number; readonly memoryMegabytes: number }
  readonly verdicts: Readonly<
    Record<
      'sqlite' | 'postgresql',
      readonly { readonly section: string; readonly options: object; readonly results: object }[]
    >
  >
}

const DAY_SECONDS = 86_400
const CREDENTIALS_A_DAY = 1_000_000
/** How much more than on average an hour of many visits brings. */
const PEAK = 10

export function performancePage(file: string): string {
  const run = JSON.parse(readFileSync(file, 'utf8')) as Published
  const { processor, cores, memoryMegabytes } = run.machine
  const [sqlite, postgresql] = [sectionsOf(run, 'sqlite'), sectionsOf(run, 'postgresql')]
  return `${GENERATED}
# How fast, and how large an installation has to be

On this page you see what a credential costs in processor time, memory and disk, and work out the machines that you need. Every
figure was measured by \`npm run bench -- performance\` in one run on ${run.at.slice(0, 10)}, with Node ${run.node.slice(1)} on ${cores} cores of ${processor} with
${(memoryMegabytes / 1000).toFixed(0)} GB, which the load generator shared; run it on your own machine, since processors and disks differ by more than anything here.

A flow is a whole issuance (7 requests) or a whole verification (4), each with a fresh key of the holder, 16 at a time; every answer is
checked. The floor is a server on bare \`node:http\` that answers the same requests with recorded bodies and only makes and verifies
the same signatures: no database, no session, no check. What a service needs beside the floor is all that makes it a service. Figures
are medians of the rounds, in which the service and the floor took turns; a second run agrees within the ratios of the rounds.

## On SQLite

${flowsTable(sqlite.flows)}

Every commit is on disk before its answer. The times of the answers:

${latencyTable(sqlite.flows)}

## On PostgreSQL

The server ran on the same cores; its processor time is not counted.

${flowsTable(postgresql.flows)}

## Where the processor time goes

Shares of the thread that serves, on SQLite. A thread of its own writes to the database.

${partsTable(sqlite.parts)}

## With a million sessions

Whole flows in an empty database and in one with a million sessions, by turns: the ratio is the median of the rounds.

${scaleTable({ ...sqlite.scale, ...postgresql.scale })}

## Memory and start

${memoryTable(sqlite)}

## How large an installation has to be

${sizing(sqlite, postgresql)}
`
}

function sectionsOf({ verdicts }: Published, database: 'sqlite' | 'postgresql'): Sections {
  return Object.fromEntries(verdicts[database].map(({ section, results }) => [section, results])) as unknown as Sections
}

function flowsTable(flows: Sections['flows']): string {
  return tableText(
    ['flow', 'ms of processor', 'floor', 'ratio', 'ratio of each round', 'flows a second', 'floor'],
    Object.entries(flows).map(([name, { service, floor, ratio }]) => [
      name,
      service.processorMs.toFixed(2),
      floor.processorMs.toFixed(2),
      ratio.toFixed(1),
      spreadOf(service, floor),
      service.perSecond.toFixed(0),
      floor.perSecond.toFixed(0),
    ]),
  )
}

/** Writes the least and the most of the ratios of the rounds. */
function spreadOf(service: KindResult['service'], floor: KindResult['floor']): string {
  const ratios = service.rounds.map(({ processorMs }, round) => processorMs / (floor.rounds[round]?.processorMs ?? 0))
  return `${Math.min(...ratios).toFixed(1)} to ${Math.max(...ratios).toFixed(1)}`
}

function latencyTable(flows: Sections['flows']): string {
  const chosen = ['issuance dc+sd-jwt', 'verification dc+sd-jwt']
  return tableText(
    ['request', 'half within, ms', '99 of 100 within, ms'],
    chosen.flatMap((name) =>
      Object.entries(flows[name]?.latencyMs ?? {}).map(([step, { p50, p99 }]) => [
        `${name}: ${step}`,
        p50.toFixed(1),
        p99.toFixed(1),
      ]),
    ),
  )
}

function partsTable(parts: Sections['parts']): string {
  const kinds = Object.keys(parts)
  const names = Object.keys(parts[kinds[0] ?? ''] ?? {})
  return tableText(
    ['part', ...kinds],
    names.map((name) => [name, ...kinds.map((kind) => `${((parts[kind]?.[name] ?? 0) * 100).toFixed(0)} %`)]),
  )
}

function scaleTable(scale: Sections['scale']): string {
  return tableText(
    ['flow', 'flows a second, empty', 'with a million', 'ratio', 'ratio of processor time', 'bytes a session'],
    Object.entries(scale).map(([name, { empty, full, ratio, processorRatio, bytesPerSession }]) => [
      name,
      empty.toFixed(0),
      full.toFixed(0),
      ratio.toFixed(2),
      processorRatio.toFixed(2),
      bytesPerSession.toFixed(0),
    ]),
  )
}

function memoryTable({ memory, startup }: Sections): string {
  return tableText(
    ['service', 'MB at the start', 'MB after 50,000 flows', 'most MB', 'ms until it listens'],
    Object.entries(memory).map(([service, { samples, peak }]) => [
      service,
      samples[0]?.megabytes.toFixed(0) ?? '',
      samples.at(-1)?.megabytes.toFixed(0) ?? '',
      peak?.toFixed(0) ?? '',
      startup[service]?.median.toFixed(0) ?? '',
    ]),
  )
}

/** Writes what follows from the figures for a million credentials a day, of which each is shown once. */
function sizing(sqlite: Sections, postgresql: Sections): string {
  const average = CREDENTIALS_A_DAY / DAY_SECONDS
  const rows = [
    ['issuance dc+sd-jwt', 'issuance jwt_vc_json-ld'],
    ['verification dc+sd-jwt', 'verification jwt_vc_json-ld'],
  ].map(([name = '', scaled = '']) => {
    const [embedded, served] = [sqlite.flows[name], postgresql.flows[name]].map(
      (each) => each?.service.processorMs ?? 0,
    )
    const bytes = postgresql.scale[`${scaled}, postgresql`]?.bytesPerSession ?? 0
    return [
      name,
      (1000 / (embedded ?? 0)).toFixed(0),
      (1000 / (served ?? 0)).toFixed(0),
      ((average * PEAK * (served ?? 0)) / 1000).toFixed(2),
      `${((bytes * CREDENTIALS_A_DAY) / 1e9).toFixed(1)} GB`,
    ]
  })
  return `A million credentials a day are ${average.toFixed(0)} a second on average, and ${(average * PEAK).toFixed(0)} in an hour with ${PEAK} times as many visits.

${tableText(
  [
    'flow',
    'flows a second a core, SQLite',
    'the same, PostgreSQL',
    `cores at ${(average * PEAK).toFixed(0)} a second`,
    'sessions of a million a day, for each day kept',
  ],
  rows,
)}

- **One machine or several.** One process does a million credentials a day on one core, with room. Have two for every service all the
  same, behind a proxy and on PostgreSQL, so that a restart is not noticed ([production](how-to/production.md)).
- **PostgreSQL.** Give it cores of its own: its processor time is not in the table. A process has ten connections (\`database.pool.maxConnections\`),
  which this load does not use up; give the server as many as all processes have together, and some for yourself.
- **Disk.** Sessions go 30 days after their end (\`retention.sessionSeconds\`): times the last column, that is the size of the
  database without the audit log. Datasets are erased when a session ends (\`retention.personalDataSeconds\`). What decides the speed on
  SQLite is how long the disk takes for an fsync: commits that wait for the same one share it.
- **Status lists.** A list has 131,072 entries unless the configuration says otherwise, so that a million credentials begin eight lists a
  day. Serve them from a cache or as static files ([how](how-to/status-lists-by-cdn.md)).
- **Far more.** [A country on paper](explanation/a-country.md) works out 450 million people.
- **Memory.** Twice the most of the table above for each process; it does not grow with the number of sessions.
`
}
