/** docs/performance.md: the figures of `npm run bench -- performance`, and how large an installation has to be. */
import type { PublishedResults } from '../bench/report.ts'
import type { Minute } from '../bench/soak.ts'
import { spreadOf, spreadText } from '../bench/spread.ts'
import { GENERATED, tableText } from './docs-text.ts'
import { aimsText } from './performance-aims.ts'
import { circumstancesText, type ShownParts } from './performance-circumstances.ts'
import { floorText } from './performance-floor.ts'
import { NOT_MEASURED, resultsOf } from './performance-results.ts'
import { sizingText } from './performance-sizing.ts'

type Database = 'sqlite' | 'postgresql'

interface Section {
  readonly heading: string
  readonly parts: ShownParts
  readonly writeText: (results: PublishedResults) => string
}

/** The sections of the page: what an installation needs first, and last what only whoever changes the code needs. */
const sections: readonly Section[] = [
  {
    heading: 'How large an installation has to be',
    parts: {
      'flows, sqlite': 'flows on SQLite',
      'flows, postgresql': 'flows on PostgreSQL',
      'scale, postgresql': 'sizes of sessions',
    },
    writeText: sizingText,
  },
  {
    heading: 'Memory and start',
    parts: { 'memory, sqlite': 'memory', 'startup, sqlite': 'start' },
    writeText: memoryTable,
  },
  { heading: 'On SQLite', parts: { 'flows, sqlite': 'flows' }, writeText: sqliteText },
  {
    heading: 'On PostgreSQL',
    parts: { 'flows, postgresql': 'flows', 'statements, postgresql': 'statements' },
    writeText: postgresText,
  },
  {
    heading: 'With several workers',
    parts: { 'workers, sqlite': 'SQLite', 'workers, postgresql': 'PostgreSQL' },
    writeText: workersText,
  },
  {
    heading: 'With a million sessions',
    parts: { 'scale, sqlite': 'SQLite', 'scale, postgresql': 'PostgreSQL' },
    writeText: scaleText,
  },
  { heading: 'Half an hour of load', parts: { 'soak, sqlite': 'load' }, writeText: soakText },
  { heading: 'A backlog of callbacks', parts: { 'callbacks, sqlite': 'callbacks' }, writeText: backlogText },
  {
    heading: 'Status lists',
    parts: { 'status, sqlite': 'one list', 'status-lists, sqlite': 'ten million entries' },
    writeText: listsText,
  },
  { heading: 'Where the processor time goes', parts: { 'parts, sqlite': 'shares' }, writeText: partsText },
  {
    heading: 'Beside a floor server',
    parts: {
      'flows, sqlite': 'flows on SQLite',
      'flows, postgresql': 'flows on PostgreSQL',
      'requests, sqlite': 'requests',
    },
    writeText: floorText,
  },
  { heading: 'Aims, and how a second run agrees', parts: {}, writeText: aimsText },
]

export function performancePage(results: PublishedResults): string {
  return `${GENERATED}
# How fast, and how large an installation has to be

On this page you see what a credential costs in processor time, memory and disk, and work out the machines that you need.
\`npm run bench -- performance\` measured the figures, with the load generator on the same machine. A line below each heading names
the processor, Node, the date and the commit of its measurement: figures of different machines cannot be compared. Measure on your
own machine, since processors and disks differ by more than anything here.

A flow is a whole issuance (7 requests) or a whole verification (4), with a new key of the holder; 16 run at a time, and every answer
is checked. Each figure is the median of several rounds; parentheses have the lowest and the highest round. What is compared runs
alternately.

${sections.map((section) => sectionText(section, results)).join('\n\n')}
`
}

function sectionText({ heading, parts, writeText }: Section, results: PublishedResults): string {
  const circumstances = circumstancesText(results, parts)
  return [`## ${heading}`, ...(circumstances === '' ? [] : [circumstances]), writeText(results)].join('\n\n')
}

function sqliteText(results: PublishedResults): string {
  return `${flowsTable(results, 'sqlite')}

Every commit is on disk before its answer. The times of the answers:

${latencyTable(results)}`
}

function postgresText(results: PublishedResults): string {
  return `The server ran on the same cores; its own processor time is in a column of its own.

${flowsTable(results, 'postgresql')}

The statements that it ran for each request; statements that run beside requests are counted with them:

${statementsTable(results)}`
}

function workersText(results: PublishedResults): string {
  return `Two processes of a service on one port, compared with one. Each process has a fixed share of a core, so that both and the load
generator fit on the machine; flows a second are therefore fewer than above.

${workersTable(results)}`
}

function scaleText(results: PublishedResults): string {
  return `Whole flows in a database with a million sessions, compared with an empty one.

${scaleTable(results)}`
}

function listsText(results: PublishedResults): string {
  return `Processor time of an answer with a list that has changed since the last one:

${statusTable(results)}

Ten million entries:

${listsTable(results)}`
}

function partsText(results: PublishedResults): string {
  return `Shares of the thread that serves, on SQLite. Another thread writes to the database.

${partsTable(results)}`
}

function flowsTable(results: PublishedResults, database: Database): string {
  const flows = resultsOf(results, 'flows', database)
  if (flows === undefined) return NOT_MEASURED
  const hasServer = Object.values(flows).some(({ service }) => service.databaseMs !== undefined)
  return tableText(
    ['flow', 'flows a second', 'ms of processor', ...(hasServer ? ['of PostgreSQL'] : []), 'cores used'],
    Object.entries(flows).map(([name, { service }]) => [
      ...[name, service.perSecond.toFixed(0), service.processorMs.toFixed(2)],
      ...(hasServer ? [service.databaseMs?.toFixed(2) ?? ''] : []),
      spreadText(spreadOf(service.rounds.map((round) => (round.perSecond * round.processorMs) / 1000))),
    ]),
  )
}

function latencyTable(results: PublishedResults): string {
  const flows = resultsOf(results, 'flows')
  if (flows === undefined) return NOT_MEASURED
  return tableText(
    ['request', 'half within, ms', '99 of 100 within, ms'],
    ['issuance dc+sd-jwt', 'verification dc+sd-jwt'].flatMap((name) =>
      Object.entries(flows[name]?.latencyMs ?? {}).map(([step, { p50, p99 }]) => [
        `${name}: ${step}`,
        p50.toFixed(1),
        p99.toFixed(1),
      ]),
    ),
  )
}

function statementsTable(results: PublishedResults): string {
  const statements = resultsOf(results, 'statements', 'postgresql')
  if (statements === undefined) return NOT_MEASURED
  return tableText(
    ['request', 'statements'],
    Object.entries(statements).map(([name, spread]) => [name, spreadText(spread)]),
  )
}

function partsTable(results: PublishedResults): string {
  const parts = resultsOf(results, 'parts')
  if (parts === undefined) return NOT_MEASURED
  const names = [...new Set(Object.values(parts).flatMap((shares) => Object.keys(shares)))]
  return tableText(
    ['flow', ...names],
    Object.entries(parts).map(([kind, shares]) => [
      kind,
      ...names.map((name) => `${((shares[name] ?? 0) * 100).toFixed(0)} %`),
    ]),
  )
}

function workersTable(results: PublishedResults): string {
  const all = { ...resultsOf(results, 'workers', 'sqlite'), ...resultsOf(results, 'workers', 'postgresql') }
  if (Object.keys(all).length === 0) return NOT_MEASURED
  return tableText(
    ['flow', 'workers', 'share of a core', 'flows a second, one worker', 'several', 'ratio', 'ratio of processor time'],
    Object.entries(all).map(([name, { workers, share, one, several, ratio, processorRatio }]) => [
      ...[name, String(workers), String(share), one.toFixed(0), several.toFixed(0)],
      ...[spreadText(ratio), spreadText(processorRatio)],
    ]),
  )
}

function scaleTable(results: PublishedResults): string {
  const all = { ...resultsOf(results, 'scale', 'sqlite'), ...resultsOf(results, 'scale', 'postgresql') }
  if (Object.keys(all).length === 0) return NOT_MEASURED
  return tableText(
    ['flow', 'rounds', 'ratio of flows a second', 'ratio of processor time', 'bytes a session'],
    Object.entries(all).map(([name, { pairs, ratio, processorRatio, bytesPerSession }]) => [
      ...[name, String(pairs.length), spreadText(ratio), spreadText(processorRatio), bytesPerSession.toFixed(0)],
    ]),
  )
}

function statusTable(results: PublishedResults): string {
  const rows = resultsOf(results, 'status')?.rows
  return rows === undefined ? NOT_MEASURED : tableText(['list', 'as', 'ms of processor', 'bytes'], rows)
}

function listsTable(results: PublishedResults): string {
  const lists = resultsOf(results, 'status-lists')
  if (lists === undefined) return NOT_MEASURED
  return tableText(
    ['lists', 'what is done', 'ms of processor', 'ms by the clock'],
    Object.entries(lists).flatMap(([name, { costs, exports }]) =>
      [
        ...Object.entries(costs),
        ...Object.entries(exports).map(([what, cost]) => [`export, ${what}`, cost] as const),
      ].map(([what, { processorMs, wallMs }]) => [name, what, processorMs.toFixed(2), wallMs.toFixed(2)]),
    ),
  )
}

function backlogText(results: PublishedResults): string {
  const callbacks = resultsOf(results, 'callbacks')
  if (callbacks === undefined) return NOT_MEASURED
  const cost = spreadOf(callbacks.cost.shares.map((share) => 1 + share))
  return `While 10,000 callbacks wait for a receiver that is down, an issuance costs ${spreadText(cost)} times the processor time of one
without callbacks. With a receiver, the last callback comes ${callbacks.lag.seconds.toFixed(2)} seconds after the last issuance.`
}

function soakText(results: PublishedResults): string {
  const soak = resultsOf(results, 'soak')
  if (soak === undefined) return NOT_MEASURED
  return `Both services at the same time, minute by minute.

${tableText(
  ['service', 'minute', 'flows', 'MB', 'open files', 'half within, ms', '99 of 100 within, ms'],
  Object.entries(soak).flatMap(([service, { minutes }]) => chosenMinutes(minutes).map((row) => [service, ...row])),
)}

${tableText(
  ['growth an hour, after the first third', 'MB', 'open files', 'half within, ms'],
  Object.entries(soak).map(
    ([
      service,
      {
        hourly: { megabytes, openFiles, p50 },
      },
    ]) => [...[service, megabytes.toFixed(1), openFiles.toFixed(1), p50.toFixed(2)]],
  ),
)}`
}

/** Returns rows of the first minute, the last, and five between. */
function chosenMinutes(minutes: readonly Minute[]): readonly (readonly string[])[] {
  const numbers = new Set([0, 1, 2, 3, 4, 5, 6].map((part) => Math.round((part * (minutes.length - 1)) / 6)))
  return [...numbers].flatMap((number) => {
    const minute = minutes[number]
    if (minute === undefined) return []
    const { flows, megabytes, openFiles, p50, p99 } = minute
    return [[number + 1, flows, megabytes, openFiles, p50.toFixed(1), p99.toFixed(1)].map(String)]
  })
}

function memoryTable(results: PublishedResults): string {
  const memory = resultsOf(results, 'memory')
  if (memory === undefined) return NOT_MEASURED
  const startup = resultsOf(results, 'startup')
  return tableText(
    ['service', 'MB at the start', 'MB after 50,000 flows', 'highest MB', 'ms until it listens'],
    Object.entries(memory).map(([service, { samples, peak }]) => [
      service,
      samples[0]?.megabytes.toFixed(0) ?? '',
      samples.at(-1)?.megabytes.toFixed(0) ?? '',
      peak?.toFixed(0) ?? '',
      startup?.[service]?.median.toFixed(0) ?? '',
    ]),
  )
}
