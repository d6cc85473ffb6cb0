/** `GET /metrics` on a port of its own, which is the operator's alone. */
import Fastify from 'fastify'
import type { Registry } from 'prom-client'
import type { App } from './app-type.ts'
import { makeSchemaController } from './server.ts'

/** The metrics of a service, in a text format that monitoring reads. */
export interface MetricsSource {
  readonly contentType: string
  metrics(): Promise<string>
}

/** The metrics of one process, also as data, to which those of other processes are added. */
export interface ProcessMetrics extends MetricsSource {
  getMetricsAsJSON(): Promise<readonly MeasuredMetric[]>
}

/** A metric and its values, as a process sends it to another. */
export type MeasuredMetric = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number]

/** Makes a server of metrics that does not listen yet. */
export async function createMetricsServer(source: MetricsSource): Promise<App> {
  const options = { schemaController: makeSchemaController(), logger: false, forceCloseConnections: true }
  const app = Fastify(options as unknown as Parameters<typeof Fastify>[0]) as unknown as App
  app.get('/metrics', async (_request, reply) => {
    reply.header('content-type', source.contentType)
    return reply.send(await source.metrics())
  })
  await app.ready()
  return app
}
