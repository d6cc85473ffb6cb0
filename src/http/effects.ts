/** The access of a service to everything outside of its process: store, clock, randomness, log and network. */
import type { Logger } from 'pino'
import type { InSpan } from '../async/in-span.ts'
import type { RetryOnConflict } from '../store/retry.ts'
import type { Store } from '../store/store.ts'
import type { Outbound } from './outbound.ts'
import type { RequestObserver } from './request-metrics.ts'
import type { RequestTracer } from './request-tracer.ts'

export interface Effects<C> {
  readonly store: Store<C>
  /** Repeats a read and its commit after a conflict with another request. */
  readonly retryOnConflict: RetryOnConflict
  readonly outbound: Outbound
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly log: Logger
  /** Observes requests for metrics; absent without metrics. */
  readonly observer?: RequestObserver | undefined
  /** Makes the spans of requests; absent without `telemetry`. */
  readonly tracer?: RequestTracer | undefined
  /** Runs a step of a request in a span; absent without metrics and traces of steps. */
  readonly inSpan?: InSpan | undefined
}
