/** Metrics of the requests to an issuer or a verifier, in the Prometheus text format. No caller chooses a label. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** An observer of the requests to a server. */
export interface RequestObserver {
  recordAnswer(request: FastifyRequest, reply: FastifyReply): void
  /** Counts a refusal; `error` is the code that the caller was told. */
  recordRefusal(request: FastifyRequest, error: string): void
  /** Sets how many event streams of this process are `open`. */
  setOpenStreams(open: number): void
}

/** The route of requests to addresses that no route serves, which would else be as many labels as a caller likes. */
const UNROUTED = 'none'

/** Makes the observer that counts and times requests in `registry`. `prefix` begins the name of each metric. */
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
