/** Serves `GET /metrics` on its own port, for operators only. */
import Fastify from 'fastify'
import type { Registry } from 'prom-client'
import { singleFlight } from '../async/single-flight.ts'
import type { App } from './app-type.ts'
import { makeSchemaController, SILENCE_MS } from './server.ts'

/** The metrics of a service in the Prometheus text format. */
export interface MetricsSource {
  readonly contentType: string
  metrics(): Promise<string>
}

/** The metrics of one process, also as data, to which those of other processes can be added. */
export interface ProcessMetrics extends MetricsSource {
  getMetricsAsJSON(): Promise<readonly MeasuredMetric[]>
}

/** A metric with its values, as processes send it to each other. */
export type MeasuredMetric = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number]

/** The time limit for receiving a request, which has no body. */
const REQUEST_MS = 10_000

/**
 * Creates the server of metrics. The caller makes it listen. Connections of clients that stall are closed, since they
 * take files of the process from the service. Requests at once share one reading, since each takes processor time of
 * the service, with several workers of all of them.
 */
export async function createMetricsServer(source: MetricsSource): Promise<App> {
  const app: App = Fastify({
    requestTimeout: REQUEST_MS,
    connectionTimeout: SILENCE_MS,
    schemaController: makeSchemaController(),
    logger: false,
    forceCloseConnections: true,
  })
  const readMetrics = singleFlight(() => source.metrics())
  app.get('/metrics', async (_request, reply) => {
    reply.header('content-type', source.contentType)
    return reply.send(await readMetrics())
  })
  await app.ready()
  return app
}
