/** The access of a service to the world outside of its process. */
import type { Logger } from 'pino'
import type { InSpan } from '../async/in-span.ts'
import type { RetryOnConflict } from '../store/retry.ts'
import type { Store } from '../store/store.ts'
import type { Outbound } from './outbound.ts'
import type { RequestObserver } from './request-metrics.ts'
import type { RequestTracer } from './request-tracer.ts'

export interface Effects<C> {
  readonly store: Store<C>
  /** Repeats a read and commit when another request was first. */
  readonly retryOnConflict: RetryOnConflict
  readonly outbound: Outbound
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly log: Logger
  /** Observes each request; absent where nobody reads metrics. */
  readonly observer?: RequestObserver | undefined
  /** Makes the spans of requests; absent without the setting `telemetry`. */
  readonly tracer?: RequestTracer | undefined
  /** Runs a step of a request within a span; absent where nobody measures steps. */
  readonly inSpan?: InSpan | undefined
}
