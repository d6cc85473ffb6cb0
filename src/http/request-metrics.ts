/**
 * Metrics of requests to an issuer or a verifier, in the Prometheus text format. Labels do not depend on input of
 * callers.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** Observes the requests to a server. */
export interface RequestObserver {
  recordAnswer(request: FastifyRequest, reply: FastifyReply): void
  /** Counts a refusal; `error` is the error code of the response. */
  recordRefusal(request: FastifyRequest, error: string): void
  /** Sets the number of open event streams of this process. */
  setOpenStreams(open: number): void
}

/** The label of requests without a route, so that unknown paths do not add labels. */
const UNROUTED = 'none'

/** Creates the observer, and registers its metrics in `registry`. Their names begin with `prefix`. */
export function createRequestObserver(prefix: string, registry: Registry): RequestObserver {
  const registers = [registry]
  const requests = new Counter({
    name: `${prefix}http_requests_total`,
    help: 'Answers to requests, by route and status',
    labelNames: ['method', 'route', 'status'],
    registers,
  })
  const refusals = new Counter({
    name: `${prefix}http_refusals_total`,
    help: 'Requests that were refused, by route and error',
    labelNames: ['route', 'error'],
    registers,
  })
  const seconds = new Histogram({
    name: `${prefix}http_request_seconds`,
    help: 'Time from the headers of a request to the end of its answer',
    labelNames: ['route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
    registers,
  })
  const streams = new Gauge({ name: `${prefix}event_streams`, help: 'Open streams of events of sessions', registers })
  return {
    recordAnswer: ({ routeOptions, method, is404 }, { statusCode, elapsedTime }) => {
      const route = is404 ? UNROUTED : (routeOptions.url ?? UNROUTED)
      requests.inc({ method: is404 ? UNROUTED : method, route, status: String(statusCode) })
      if (routeOptions.config.isStream !== true) seconds.observe({ route }, elapsedTime / 1000)
    },
    setOpenStreams: (open) => streams.set(open),
    recordRefusal: ({ routeOptions, is404 }, error) => {
      refusals.inc({ route: is404 ? UNROUTED : (routeOptions.url ?? UNROUTED), error })
    },
  }
}
