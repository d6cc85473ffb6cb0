/** docs/performance.md: the figures of `npm run bench -- performance`, and how large an installation has to be. */
import type { PublishedResults } from '../bench/report.ts'
import type { Minute } from '../bench/soak.ts'
import { ratioOf } from '../bench/speed.ts'
import { spreadOf, spreadText } from '../bench/spread.ts'
import { GENERATED, tableText } from './docs-text.ts'
import { aimsText } from './performance-aims.ts'
import { NOT_MEASURED, readPublished, resultsOf } from './performance-results.ts'
import { sizingText } from './performance-sizing.ts'

type Database = 'sqlite' | 'postgresql'

export function performancePage(file: string): string {
  const results = readPublished(file)
  return `${GENERATED}
# How fast, and how large an installation has to be

On this page you see what a credential costs in processor time, memory and disk, and work out the machines that you need. The figures
were measured by \`npm run bench -- performance\` ${circumstancesText(results)}, which the load
generator shared; run it on your own machine, since processors and disks differ by more than anything here.

A flow is a whole issuance (7 requests) or a whole verification (4), each with a fresh key of the holder, 16 at a time; every answer is
checked. The floor is a server on bare \`node:http\` that answers the same requests with recorded bodies and only makes and verifies
the same signatures: no database, no session, no check. What a service needs beside the floor is all that makes it a service. A figure
is the median of its rounds, in which what is compared takes turns; in parentheses are the least and the most of the rounds.

## How large an installation has to be

${sizingText(results)}
## On SQLite

${flowsTable(results, 'sqlite')}

Every commit is on disk before its answer. The times of the answers:

${latencyTable(results)}

## On PostgreSQL

The server ran on the same cores; its own processor time is in a column of its own.

${flowsTable(results, 'postgresql')}

The statements that it ran for each request; what runs beside requests falls into some of them:

${statementsTable(results)}

## Where the processor time goes

Microseconds of processor time of each request, on SQLite, beside the floor, which reads no session, checks nothing and writes
nothing. Many flows took each step together, so that the times are of one kind of request alone.

${requestsTable(results)}

Shares of the thread that serves, on SQLite. A thread of its own writes to the database.

${partsTable(results)}

## With several workers

Two processes of a service on one port beside one. Each process has a fixed share of a core, so that both and the load generator fit on
the machine; flows a second are therefore lower than above.

${workersTable(results)}

## With a million sessions

Whole flows in a database with a million sessions and in an empty one, by turns: ratios of the rounds beside each other.

${scaleTable(results)}

## Status lists

Processor time of an answer with a list that has changed since:

${statusTable(results)}

Ten million entries:

${listsTable(results)}

## A backlog of callbacks

${backlogText(results)}

## Half an hour of load

Both services at the same time, minute by minute.

${soakText(results)}

## Memory and start

${memoryTable(results)}

## Aims, and how a second run agrees

${aimsText(results)}
`
}

/** Says when the parts were measured, and on which machine and source. */
function circumstancesText(results: PublishedResults): string {
  const all = Object.values(results).map(({ now }) => now)
  const list = (of: (each: (typeof all)[number]) => string) =>
    new Intl.ListFormat('en-GB').format([...new Set(all.map(of))].sort())
  const days = list(({ at }) => at.slice(0, 10))
  const machines = list(
    ({ machine }) =>
      `${machine.cores} cores of ${machine.processor} with ${(machine.memoryMegabytes / 1000).toFixed(0)} GB`,
  )
  return `on ${days},\nwith Node ${list(({ node }) => node.slice(1))} on ${machines}`
}

function flowsTable(results: PublishedResults, database: Database): string {
  const flows = resultsOf(results, 'flows', database)
  if (flows === undefined) return NOT_MEASURED
  const hasServer = Object.values(flows).some(({ service }) => service.databaseMs !== undefined)
  return tableText(
    [
      ...['flow', 'ms of processor', ...(hasServer ? ['of PostgreSQL'] : []), 'floor', 'ratio'],
      ...['flows a second', 'floor', 'cores used'],
    ],
    Object.entries(flows).map(([name, { service, floor }]) => [
      ...[name, service.processorMs.toFixed(2), ...(hasServer ? [service.databaseMs?.toFixed(2) ?? ''] : [])],
      ...[floor.processorMs.toFixed(2), spreadText(ratioOf({ service, floor }))],
      ...[service.perSecond.toFixed(0), floor.perSecond.toFixed(0)],
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

function requestsTable(results: PublishedResults): string {
  const requests = resultsOf(results, 'requests')
  if (requests === undefined) return NOT_MEASURED
  return tableText(
    ['request', 'µs of processor', 'floor', 'more', 'ratio'],
    Object.entries(requests).flatMap(([kind, costs]) =>
      Object.entries(costs).map(([name, { service, floor }]) => [
        `${kind}: ${name}`,
        ...[service.median, floor.median, service.median - floor.median].map((each) => each.toFixed(0)),
        (service.median / floor.median).toFixed(1),
      ]),
    ),
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
  return `${tableText(
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
    ['service', 'MB at the start', 'MB after 50,000 flows', 'most MB', 'ms until it listens'],
    Object.entries(memory).map(([service, { samples, peak }]) => [
      service,
      samples[0]?.megabytes.toFixed(0) ?? '',
      samples.at(-1)?.megabytes.toFixed(0) ?? '',
      peak?.toFixed(0) ?? '',
      startup?.[service]?.median.toFixed(0) ?? '',
    ]),
  )
}
