/** The frame of all services: from a configuration file to a server that listens, and back. */
import { setTimeout as wait } from 'node:timers/promises'
import { Server as TlsServer } from 'node:tls'
import type { Logger } from 'pino'
import type { App } from '../http/app-type.ts'
import { createMetricsServer } from '../http/metrics-server.ts'
import { addEnvironment, readConfigFile } from './config-file.ts'
import { files, now } from './effects.ts'
import { createLog } from './log.ts'
import { defaultHost } from './network.ts'
import { type Hangup, onHangup, renew } from './renewal.ts'
import type { BuiltService, KindName, ListeningConfig, Outputs, ServiceKind } from './service-kind.ts'
import { serviceKinds } from './service-kinds.ts'
import { listenMistake, refuseToStart } from './start-refusal.ts'
import { type ListeningService, stopOnSignal } from './stopping.ts'
import { runTasks } from './tasks.ts'
import { openOutputs } from './telemetry.ts'
import { otherServiceMistake } from './which-service.ts'

/** The time for which work beside the server may keep a service from stopping. The next start finds what was left. */
const STOP_WAIT_MS = 6000

/** A server that does not listen yet, with its tasks running, and what to do after it has closed. */
export interface Service<Config> extends ListeningService, Pick<BuiltService<Config>, 'facts'> {
  /** The server of metrics, where the configuration wants one and the service has metrics. */
  readonly management: App | undefined
  /** Goes on with the certificates and trust anchors of another configuration; all else of it is not looked at. */
  renew(config: Config): void
}

/** Starts a service, which runs until a signal stops it. Exits with 2 and every mistake when it cannot start. */
export async function runService(name: KindName, configFile: string): Promise<void> {
  // Files of a service are for this user alone: the database holds claims, codes and keys.
  process.umask(0o077)
  const log = createLog(name)
  const hangup = onHangup()
  try {
    const mistakes = await start(await serviceKinds[name](), configFile, { log, hangup })
    if (mistakes.length > 0) refuseToStart(log, configFile, mistakes)
  } catch (err) {
    log.fatal({ event: 'start_failed', err }, 'not started')
    throw err
  }
}

/** Returns the server of a service on its open parts, which are closed with it, or when the server cannot be built. */
export async function buildService<Config extends ListeningConfig, Parts>(
  kind: ServiceKind<Config, Parts>,
  config: Config,
  parts: Parts,
  outputs: Outputs,
): Promise<Service<Config>> {
  const built = await kind.build(config, parts, outputs).catch(async (error: unknown) => {
    await kind.close(parts)
    throw error
  })
  const { app, metrics, facts } = built
  const management = config.management && metrics && (await createMetricsServer(metrics))
  const stopTasks = runTasks(built.tasks, outputs.log)
  return {
    app,
    management,
    ...(facts && { facts }),
    renew: (next) => {
      const { tls } = next
      if (tls !== undefined && app.server instanceof TlsServer) app.server.setSecureContext(tls)
      built.renew?.(next)
    },
    close: async () => {
      const stopped = built.stop?.()
      await Promise.all([app.close(), management?.close()])
      if (stopped !== undefined) await endOrLate(stopped)
      await stopTasks()
      await kind.close(parts)
      await outputs.telemetry?.close()
    },
  }
}

/** Resolves when `work` has ended, or takes too long. */
async function endOrLate(work: Promise<void>): Promise<void> {
  const late = new AbortController()
  await Promise.race([work, wait(STOP_WAIT_MS, undefined, { signal: late.signal })])
  late.abort()
}

/** Starts a service, or gives every mistake for which it cannot start. */
async function start(
  kind: ServiceKind,
  configFile: string,
  { log: ownLog, hangup }: { readonly log: Logger; readonly hangup: Hangup },
): Promise<readonly string[]> {
  const file = addEnvironment(kind.settings, readConfigFile(configFile, kind.name))
  if ('mistakes' in file) return file.mistakes
  const read = () => kind.read(file.value, files, now())
  const result = read()
  if ('mistakes' in result) {
    const other = await otherServiceMistake(file.value, { name: kind.name, configFile })
    return other === undefined ? result.mistakes : [other]
  }
  const { config } = result
  const outputs = await openOutputs(kind.name, config.telemetry, ownLog)
  const { log } = outputs
  for (const warning of result.warnings) log.warn({ event: 'configuration_warning', warning }, warning)
  const opened = await kind.open(config, log)
  if ('mistake' in opened) return [opened.mistake]
  const service = await buildService(kind, config, opened.parts, outputs)
  const mistake = await listen(service, config)
  if (mistake !== undefined) {
    await service.close()
    return [mistake]
  }
  kind.onListening?.()
  const { app, management, facts } = service
  const ports = { port: addressPort(app), managementPort: management && addressPort(management) }
  // A reader of the next line may stop the service at once.
  stopOnSignal(service, config.stopping, log)
  log.info({ event: 'listening', ...ports, ...facts }, 'accepting connections')
  const fixed = (again: ListeningConfig) => kind.fixedMistakes(config, again)
  hangup.act(() => renew(service, { read, fixed, log }))
  return []
}

/** Listens; returns why the service cannot, or undefined when it does. */
async function listen(
  { app, management }: Service<ListeningConfig>,
  { port, host, management: place }: ListeningConfig,
): Promise<string | undefined> {
  const servers = [
    { app, port, host: host ?? (await defaultHost()) },
    ...(management && place ? [{ ...place, app: management, within: 'management.' }] : []),
  ]
  for (const { app: server, ...where } of servers) {
    try {
      await server.listen({ port: where.port, host: where.host })
    } catch (error) {
      return listenMistake(error as NodeJS.ErrnoException, where)
    }
  }
  return undefined
}

function addressPort(app: App): number | undefined {
  const address = app.server.address()
  return typeof address === 'object' ? address?.port : undefined
}
