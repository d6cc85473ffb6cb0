/** docs/metrics.md: the metrics of each service, read from the registries that serve them. */
import type { Registry } from 'prom-client'
import { registerProcessMetrics } from '../src/bin/engine/process-metrics.ts'
import { createServiceMetrics } from '../src/bin/metrics/service-metrics.ts'
import { createMetrics, registerGauges } from '../src/engine/metrics.ts'
import { GENERATED, tableText } from './docs-text.ts'

/** The members of a metric that prom-client has and does not declare. */
interface DescribedMetric {
  readonly name: string
  readonly help: string
  readonly labelNames?: readonly string[]
  readonly constructor: { readonly name: string }
}

export function metricsPage(): string {
  return `${GENERATED}
# Metrics

On this page you find every metric that a service has, with its labels, to watch it and to be woken by it
([which are worth an alarm](how-to/production.md#watching)).

\`"management": {"port": 9464}\` serves \`GET /metrics\` for Prometheus, on this machine alone unless \`management.host\` is set. No
label has a value that a caller chose; \`route\` is \`none\` for addresses without a route. Beside these there are \`process_…\` and
\`nodejs_…\` of each service: memory, processor time, open files, the delay of the event loop, garbage collection.

Sessions by state are those of the newest 100 sessions, read by one statement every ten seconds at most. How many of all sessions are
in a state is not counted: the state of a session is in its value, which may be encrypted, so that a count would read a million
rows to say one number. How many began and how they ended is in \`…_events_total\` exactly, of any time: sessions that began in
the last hour and succeeded are \`increase(vouchsafe_issuer_events_total{type="issuance.succeeded"}[1h])\`.

## Metrics of an issuer

${metricsTable(serviceRegistry('issuer'))}

## Metrics of a verifier

${metricsTable(serviceRegistry('verifier'))}

## Metrics of an execution engine

${metricsTable(engineRegistry())}
`
}

function failIfRead(): never {
  throw new Error('the names of metrics are read, and not their values')
}

/** Makes a registry whose values stay unread, since they would need a service that runs. */
function serviceRegistry(name: 'issuer' | 'verifier'): Registry {
  const conflicts = { retried: 0, givenUp: 0 }
  const store = {} as Parameters<typeof createServiceMetrics>[1]['store']
  const reads = { checkReady: failIfRead, listNewestStates: failIfRead, readTrustListEnds: failIfRead }
  const state = { getConfig: failIfRead, store, ...reads }
  return createServiceMetrics(name, { ...state, conflicts, now: failIfRead, getPkcs11KeyStates: failIfRead }).registry
}

function engineRegistry(): Registry {
  const metrics = createMetrics({} as Parameters<typeof createMetrics>[0])
  registerGauges(metrics, failIfRead)
  registerProcessMetrics(metrics.registry, { config: { tls: undefined }, checkReady: failIfRead, now: failIfRead })
  return metrics.registry
}

function metricsTable(registry: Registry): string {
  const ours = (registry.getMetricsAsArray() as unknown as DescribedMetric[]).filter(({ name }) =>
    name.startsWith('vouchsafe_'),
  )
  const rows = ours.map(({ name, help, labelNames = [], constructor: kind }) => [
    `\`${name}\``,
    kind.name.toLowerCase(),
    labelNames.map((label) => `\`${label}\``).join(', '),
    help,
  ])
  return tableText(
    ['metric', 'type', 'labels', 'says'],
    rows.sort(([a = ''], [b = '']) => a.localeCompare(b)),
  )
}
