/** The worker's side of the messages between the primary process and its workers. */
import { EventEmitter, once } from 'node:events'
import type { AcceptArrived } from '../../http/close-listener.ts'
import type { MeasuredMetric, ProcessMetrics } from '../../http/metrics-server.ts'
import type { Signals } from './stopping.ts'

/** The first message to a worker. */
export interface WorkerOrders {
  /** The settings at the start, since the file may have changed. */
  readonly settings: unknown
  /** The number of the worker, from 1; its replacement has the same. */
  readonly number: number
}

/** The members of the log line for the start. */
export interface ListeningFacts {
  readonly port: number | undefined
  readonly [more: string]: unknown
}

export type MessageToWorker =
  | { readonly orders: WorkerOrders }
  | { readonly signal: string }
  /** A request for metrics, with a number for its response. */
  | { readonly measure: number }
  /** The response to `passOn`: all arrived connections were passed on. */
  | { readonly passedOn: true }

export type MessageOfWorker =
  | { readonly listening: ListeningFacts }
  | { readonly measured: number; readonly metrics: readonly MeasuredMetric[] }
  | { readonly passOn: true }

/** The connection of a worker with the primary process. */
export interface PrimaryConnection {
  readonly orders: WorkerOrders
  readonly signals: Signals
  /** Makes the primary process pass on the connections that have arrived there. */
  readonly acceptArrived: AcceptArrived
  /** Reports that the worker listens, and answers requests for metrics from now on. */
  reportListening(facts: ListeningFacts, metrics: ProcessMetrics | undefined): void
}

/**
 * Connects a worker with the primary process, and resolves with its orders. `node:cluster` ends a worker whose primary
 * process has ended.
 */
export function connectToPrimary(): Promise<PrimaryConnection> {
  // Terminals and init systems send a signal to all processes; the workers only follow the primary process.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
  const signals = new EventEmitter()
  const passedOn = new EventEmitter()
  const acceptArrived: AcceptArrived = async () => {
    sendToPrimary({ passOn: true })
    await once(passedOn, 'all')
    return { mayHaveMore: false }
  }
  let source: ProcessMetrics | undefined
  return new Promise((resolve) => {
    const reportListening: PrimaryConnection['reportListening'] = (listening, metrics) => {
      source = metrics
      sendToPrimary({ listening })
    }
    process.on('message', (message: MessageToWorker) => {
      if ('orders' in message) resolve({ orders: message.orders, signals, acceptArrived, reportListening })
      else if ('measure' in message) sendMetrics(message.measure, source)
      else if ('passedOn' in message) passedOn.emit('all')
      // A worker that does not listen yet has nothing to finish, and reads new certificates at its start.
      else if (!signals.emit(message.signal, message.signal) && message.signal !== 'SIGHUP') process.exit(0)
    })
  })
}

function sendMetrics(measured: number, source: ProcessMetrics | undefined): void {
  const answer = async (): Promise<void> =>
    sendToPrimary({ measured, metrics: (await source?.getMetricsAsJSON()) ?? [] })
  // If there is no response, the primary process stops waiting.
  answer().catch(() => undefined)
}

function sendToPrimary(message: MessageOfWorker): void {
  // A message to an ended primary process is lost; this process ends too.
  process.send?.(message, undefined, undefined, () => undefined)
}
