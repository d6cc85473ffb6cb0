/**
 * Metrics for operators: counters and gauges in the Prometheus text format. No label has a value that a caller chooses.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { registerTelemetryMetrics, type TelemetryCounts } from '../http/telemetry-metrics.ts'
import type { ContractState } from './contract-entry.ts'
import { type Limits, ROW_BYTES } from './limits.ts'

const PREFIX = 'vouchsafe_engine_'

/** The values of the gauges, which are read when the metrics are fetched. */
export interface GaugeValues {
  readonly running: number
  readonly waiting: number
  readonly workers: number
  readonly queued: number
  readonly outbox: { readonly count: number; readonly oldestSeconds: number }
  readonly chain: {
    readonly block: number
    readonly unseenSeconds: number
    readonly headAgeSeconds: number
    readonly unread: number
  }
  readonly contracts: Readonly<Record<ContractState, number>>
  readonly deadHooks: number
  readonly timers: number
  readonly storage: readonly { readonly contract: string; readonly bytes: number }[]
  readonly bufferedBytes: number
}

export type Metrics = ReturnType<typeof createMetrics>

/** Makes the registry of an engine, its counters, and a gauge with the value of each limit. */
export function createMetrics(limits: Limits, telemetry?: TelemetryCounts) {
  const registry = new Registry()
  registerTelemetryMetrics(PREFIX, registry, telemetry)
  const registers = [registry]
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter({ name: `${PREFIX}${name}_total`, help, labelNames, registers })
  const limit = new Gauge({ name: `${PREFIX}limit`, help: 'Limits as configured', labelNames: ['limit'], registers })
  for (const [name, value] of Object.entries(limits)) limit.set({ limit: name }, value)
  return {
    calls: counter('calls', 'Calls of components, by how they ended', ['hook', 'outcome']),
    seconds: new Histogram({
      name: `${PREFIX}call_seconds`,
      help: 'How long calls took, without their wait',
      labelNames: ['hook'],
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30],
      registers,
    }),
    answers: counter('http_answers', 'Answers to requests, by status and by error of the engine', ['status', 'error']),
    refused: counter('refused', 'What a limit, or a lack of free workers (workers), kept from happening', ['limit']),
    conflicts: counter('conflicts', 'Calls that were run again, since another call was first'),
    replays: counter('replays', 'Signed requests that had been accepted before'),
    signed: counter('signed_requests', 'Signed requests that were accepted'),
    transactions: counter('transactions', 'Transactions, by what became of them', ['outcome']),
    outbound: counter('outbound_requests', 'Requests of components to other hosts', ['outcome']),
    polls: counter('chain_looks', 'Polls of the chain', ['outcome']),
    reorganisations: counter('reorganisations', 'Times that the chain took back a block that had been acted upon'),
    registry,
  }
}

/** The gauges without labels: the name, the help text, and the value. */
const GAUGES: readonly (readonly [name: string, help: string, pickValue: (values: GaugeValues) => number])[] = [
  ['running', 'Calls that run', ({ running }) => running],
  ['waiting', 'Calls that wait for a worker', ({ waiting }) => waiting],
  ['workers', 'Workers', ({ workers }) => workers],
  ['queued', 'Calls that wait for their contract', ({ queued }) => queued],
  ['outbox', 'Transactions that wait to be included', ({ outbox }) => outbox.count],
  [
    'outbox_oldest_seconds',
    'Age of the oldest transaction that waits to be included',
    ({ outbox }) => outbox.oldestSeconds,
  ],
  ['chain_block', 'The block that requests are answered at', ({ chain }) => chain.block],
  ['chain_unseen_seconds', 'Seconds since the last successful poll of the chain', ({ chain }) => chain.unseenSeconds],
  ['chain_head_age_seconds', 'Seconds since the newest block of the chain', ({ chain }) => chain.headAgeSeconds],
  ['contracts_unread', 'Contracts that the last poll could not read, or did not reach', ({ chain }) => chain.unread],
  ['dead_hooks', 'Contracts whose state change hook was given up', ({ deadHooks }) => deadHooks],
  ['timers', 'Timers that are scheduled', ({ timers }) => timers],
  ['buffered_bytes', 'Bodies of requests in memory', ({ bufferedBytes }) => bufferedBytes],
]

/** Registers gauges whose values `readValues` returns, once for each time that the metrics are fetched. */
export function registerGauges({ registry }: Metrics, readValues: () => GaugeValues): void {
  const registers = [registry]
  let setAll: (values: GaugeValues) => void = () => undefined
  const gauges = GAUGES.map(([name, help, pickValue], index) => {
    // The registry collects the gauges in the order of their registration, so the first one sets them all.
    const collect = index === 0 ? (): void => setAll(readValues()) : undefined
    const gauge = new Gauge({ name: PREFIX + name, help, registers, ...(collect && { collect }) })
    return { gauge, pickValue }
  })
  const setStates = registerStateMetrics(registry)
  setAll = (values) => {
    for (const { gauge, pickValue } of gauges) gauge.set(pickValue(values))
    setStates(values)
  }
}

/** Registers the gauges with labels, and returns the function that sets them. */
function registerStateMetrics(registry: Registry): (values: GaugeValues) => void {
  const registers = [registry]
  const contractCounts = new Gauge({
    name: `${PREFIX}contracts`,
    help: 'Contracts, by how they stand',
    labelNames: ['state'],
    registers,
  })
  const storedBytes = new Gauge({
    name: `${PREFIX}storage_bytes`,
    help: `Stored values of a contract, with their keys and ${ROW_BYTES} bytes for each`,
    labelNames: ['contract'],
    registers,
  })
  return ({ contracts, storage }) => {
    contractCounts.reset()
    for (const [state, count] of Object.entries(contracts)) contractCounts.set({ state }, count)
    storedBytes.reset()
    for (const { contract, bytes } of storage) storedBytes.set({ contract }, bytes)
  }
}
