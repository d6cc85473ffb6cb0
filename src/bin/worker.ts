/** A worker's side of the messages between the primary process and the processes that share the port. */
import { EventEmitter, once } from 'node:events'
import type { TakeIn } from '../http/close-listener.ts'
import type { MeasuredMetric, ProcessMetrics } from '../http/metrics-server.ts'
import type { Signals } from './stopping.ts'

/** The first message to a worker. */
export interface WorkerOrders {
  /** The settings of the start: the file may have changed since. */
  readonly settings: unknown
  /** The number of the worker from 1 on, which the one that takes its place has too. */
  readonly number: number
}

/** The members of the log line that says that the service listens. */
export interface ListeningFacts {
  readonly port: number | undefined
  readonly [more: string]: unknown
}

export type MessageToWorker =
  | { readonly orders: WorkerOrders }
  | { readonly signal: string }
  /** A question for the metrics, with a number for its answer. */
  | { readonly measure: number }
  /** The answer to `passOn`: every connection that had arrived is passed on. */
  | { readonly passedOn: true }

export type MessageOfWorker =
  | { readonly listening: ListeningFacts }
  | { readonly measured: number; readonly metrics: readonly MeasuredMetric[] }
  | { readonly passOn: true }

/** The connection of a worker with the primary process. */
export interface PrimaryConnection {
  readonly orders: WorkerOrders
  readonly signals: Signals
  /** Has the primary process pass on the connections that have arrived there. */
  readonly takeIn: TakeIn
  /** Reports that the worker listens, and answers questions for its metrics from now on. */
  reportListening(facts: ListeningFacts, metrics: ProcessMetrics | undefined): void
}

/**
 * Connects a worker with the primary process, and resolves with its orders. A worker whose primary process has ended
 * ends too, as `node:cluster` has it.
 */
export function connectToPrimary(): Promise<PrimaryConnection> {
  // A terminal or an init system sends a signal to all processes, and the primary process says what follows.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
  const signals = new EventEmitter()
  const passedOn = new EventEmitter()
  const takeIn: TakeIn = async () => {
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
      if ('orders' in message) resolve({ orders: message.orders, signals, takeIn, reportListening })
      else if ('measure' in message) sendMetrics(message.measure, source)
      else if ('passedOn' in message) passedOn.emit('all')
      // A worker that does not listen yet has nothing to finish.
      else if (!signals.emit(message.signal, message.signal)) process.exit(0)
    })
  })
}

function sendMetrics(measured: number, source: ProcessMetrics | undefined): void {
  const answer = async (): Promise<void> =>
    sendToPrimary({ measured, metrics: (await source?.getMetricsAsJSON()) ?? [] })
  // Without an answer, the primary process stops waiting after a while.
  answer().catch(() => undefined)
}

function sendToPrimary(message: MessageOfWorker): void {
  // The message to a primary process that has ended is lost; this process ends with it.
  process.send?.(message, undefined, undefined, () => undefined)
}
