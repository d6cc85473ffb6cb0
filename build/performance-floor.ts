/** The part of docs/performance.md that compares the services with a server that does the least that can be done. */
import type { PublishedResults } from '../bench/report.ts'
import { ratioOf } from '../bench/speed.ts'
import { spreadText } from '../bench/spread.ts'
import { tableText } from './docs-text.ts'
import { NOT_MEASURED, resultsOf } from './performance-results.ts'

export function floorText(results: PublishedResults): string {
  return `The floor is a server on bare \`node:http\` that answers the same requests with recorded bodies and only makes and verifies
the same signatures: no database, no session, no check. What a service costs beyond the floor pays for these. Both run alternately on
one machine, so that the ratios depend less on the machine than the times do.

${flowsTable(results)}

The same for each request, on SQLite, in microseconds of processor time. Many flows take each step together, so that the times are of
one kind of request alone.

${requestsTable(results)}`
}

function flowsTable(results: PublishedResults): string {
  const rows = (['sqlite', 'postgresql'] as const).flatMap((database) =>
    Object.entries(resultsOf(results, 'flows', database) ?? {}).map(([name, { service, floor }]) => [
      ...[`${name}, ${database}`, service.processorMs.toFixed(2), floor.processorMs.toFixed(2)],
      ...[spreadText(ratioOf({ service, floor })), service.perSecond.toFixed(0), floor.perSecond.toFixed(0)],
    ]),
  )
  if (rows.length === 0) return NOT_MEASURED
  return tableText(['flow', 'ms of processor', 'floor', 'ratio', 'flows a second', 'floor'], rows)
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
