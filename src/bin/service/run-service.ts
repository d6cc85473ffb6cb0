/** Runs a service of any kind: reads its configuration, starts its server, and stops it after a signal. */
import cluster from 'node:cluster'
import { Server as TlsServer } from 'node:tls'
import type { Logger } from 'pino'
import { endsWithin } from '../../async/timer.ts'
import { isObject } from '../../codec/json.ts'
import { nameVariables } from '../../config/environment.ts'
import type { App } from '../../http/app-type.ts'
import { acceptInOnePass } from '../../http/close-listener.ts'
import { createMetricsServer } from '../../http/metrics-server.ts'
import { files, now } from '../effects.ts'
import { createLog, flushLog } from '../log.ts'
import { chooseDefaultHost, findListenAddress } from '../network/network.ts'
import { addEnvironment, type ConfigFileResult, describeMissingFile, readConfigFile } from './config-file.ts'
import { kindLoaders } from './kind-loaders.ts'
import { createReloadSignal, type ReloadSignal, type Rereading, renew, rereadSettings } from './reload.ts'
import type {
  BuiltService,
  ListeningConfig,
  Observability,
  OpeningFailure,
  ServiceKind,
  ServiceName,
} from './service-kind.ts'
import {
  describeListenProblem,
  listLastingMistakes,
  PIN_REFUSED,
  PinRefusal,
  REFUSED,
  reportMistakes,
  reportTemporaryFailure,
  TemporaryFailure,
  TRY_LATER,
} from './start-refusal.ts'
import { endService, exitAfterLog, type ListeningService, type Signals, stopOnSignal } from './stopping.ts'
import { runTasks } from './tasks.ts'
import { openObservability } from './telemetry.ts'
import { findOtherServiceMistake } from './which-service.ts'
import { connectToPrimary, type PrimaryConnection } from './worker.ts'
import { createWorkers, findWorkersMistake } from './workers.ts'

/** The time limit for other work when the service stops. The next start continues it. */
const STOP_WAIT_MS = 6000
const GIVEN_UP = 'a worker ended again and again, and the service ends; the last lines of the worker say why'

/** A server that does not listen yet, with its tasks running, and the function that closes it. */
export interface Service<Config> extends ListeningService, Pick<BuiltService<Config>, 'facts' | 'metrics'> {
  /** The server of metrics, if it is configured and the service has metrics. */
  readonly management: App | undefined
  /** Uses the certificates and trust anchors of another configuration; its other settings are ignored. */
  renew(config: Config): void
}

/** The command line that starts a service. */
interface StartOptions {
  readonly configFile: string
  /** The number of processes, which overrides the setting. */
  readonly workers?: number | undefined
}

/** The process of a service before its configuration is read. */
interface StartingProcess extends StartOptions {
  readonly log: Logger
  readonly signals: Signals
  readonly reloadSignal: ReloadSignal
  /** The connection with the primary process; undefined if this process is not a worker. */
  readonly primary: PrimaryConnection | undefined
}

/**
 * Starts a service, which runs until a signal. If it cannot start, the exit status is 2, with all mistakes; it is 75 if
 * the port is in use, its address or a token is not there, or the database cannot be reached or written or is in use by
 * another engine.
 */
export async function runService(name: ServiceName, options: StartOptions): Promise<void> {
  // The files of a service are private: the database has claims, codes and keys.
  process.umask(0o077)
  const primary = cluster.isWorker ? await connectToPrimary() : undefined
  const log = createLog(name, { worker: primary?.orders.number })
  const signals = primary?.signals ?? process
  const reloadSignal = createReloadSignal(signals)
  try {
    const kind = await kindLoaders[name]()
    const mistakes = await startService(kind, { ...options, log, signals, reloadSignal, primary })
    if (mistakes.length > 0)
      reportMistakes(log, options.configFile, nameVariables(kind.settings, mistakes, process.env))
    // The connection with the primary process would keep this process alive.
    if (mistakes.length > 0 && primary !== undefined) exitAfterLog(log, REFUSED)
  } catch (err) {
    if (err instanceof TemporaryFailure) {
      reportTemporaryFailure(log, err)
      if (primary !== undefined) exitAfterLog(log, TRY_LATER)
      return
    }
    if (err instanceof PinRefusal) {
      reportMistakes(log, options.configFile, [err.message])
      if (primary !== undefined) exitAfterLog(log, PIN_REFUSED)
      return
    }
    log.fatal({ event: 'start_failed', err }, 'not started; err says why')
    if (primary !== undefined) exitAfterLog(log, REFUSED)
    throw err
  }
}

/** Builds the server of a service on its open parts. The parts are closed with it, or if building fails. */
export async function buildService<Config extends ListeningConfig, Parts>(
  kind: ServiceKind<Config, Parts>,
  config: Config,
  parts: Parts,
  observability: Observability,
): Promise<Service<Config>> {
  const builtService = await kind.buildServer(config, parts, observability).catch(async (error: unknown) => {
    await kind.closeParts(parts)
    throw error
  })
  const { app, metrics, facts } = builtService
  const management = config.management && metrics && (await createMetricsServer(metrics))
  const stopTasks = runTasks(builtService.tasks, observability.log)
  return {
    app,
    management,
    ...(facts && { facts }),
    ...(metrics && { metrics }),
    renew: (next) => {
      const { tls } = next
      if (tls !== undefined && app.server instanceof TlsServer) app.server.setSecureContext(tls)
      builtService.renew?.(next)
    },
    close: async () => {
      const workEnd = builtService.stop?.()
      await Promise.all([app.close(), management?.close()])
      if (workEnd !== undefined) await endsWithin(workEnd, STOP_WAIT_MS)
      await stopTasks()
      await kind.closeParts(parts)
    },
  }
}

/** A service with its configuration, which is about to start. */
interface PreparedService {
  readonly kind: ServiceKind
  readonly config: ListeningConfig
  /** The settings of the file, the environment and the command line. */
  readonly settings: unknown
  readonly rereading: Rereading<ListeningConfig>
  readonly observability: Observability
}

/** Starts a service, or returns all mistakes because of which it cannot start. */
async function startService(kind: ServiceKind, starting: StartingProcess): Promise<readonly string[]> {
  const { configFile, primary, log: ownLog } = starting
  const file = primary ? { value: primary.orders.settings } : readSettings(kind, starting)
  if ('mistakes' in file) return file.mistakes
  const readConfig = () => kind.readConfig(file.value, files, now())
  const result = readConfig()
  if ('mistakes' in result) {
    const otherMistake = await findOtherServiceMistake(file.value, { name: kind.name, configFile })
    return otherMistake === undefined ? result.mistakes : [otherMistake]
  }
  const { config, warnings } = result
  const workersMistake = findWorkersMistake(config)
  if (workersMistake !== undefined) return [workersMistake]
  const observability = await openObservability(kind.name, config.telemetry, { ownLog, worker: primary?.orders.number })
  if (primary === undefined) {
    const missingFile = describeMissingFile(configFile)
    if (missingFile !== undefined) observability.log.info({ event: 'no_configuration_file' }, missingFile)
    for (const warning of warnings) observability.log.warn({ event: 'configuration_warning', warning }, warning)
  }
  const rereading = {
    readSettings: readConfig,
    findRestartMistakes: (next: ListeningConfig) => kind.findRestartMistakes(config, next),
  }
  return runPrepared({ kind, config, settings: file.value, rereading, observability }, starting)
}

/** Runs a service. Where it does not start, sends the lines of its log, which {@link exitAfterLog} does otherwise. */
async function runPrepared(preparedService: PreparedService, starting: StartingProcess): Promise<readonly string[]> {
  const { config, observability } = preparedService
  const run = starting.primary === undefined && (config.workers ?? 1) > 1 ? runPrimary : runServer
  const mistakes = await run(preparedService, starting).catch(async (error: unknown) => {
    await flushLog(observability.log)
    throw error
  })
  if (mistakes.length > 0) await flushLog(observability.log)
  return mistakes
}

function readSettings(kind: ServiceKind, { configFile, workers }: StartOptions): ConfigFileResult {
  const file = addEnvironment(kind.settings, readConfigFile(configFile, kind.name))
  if (workers === undefined || !('value' in file) || !isObject(file.value)) return file
  return { value: { ...file.value, workers } }
}

/** Serves in this process, alone or as a worker. */
async function runServer(
  preparedService: PreparedService,
  { signals, reloadSignal, primary }: StartingProcess,
): Promise<readonly string[]> {
  const { kind, config, rereading, observability } = preparedService
  const { log } = observability
  const openedParts = await kind.openParts(config, log)
  if ('mistake' in openedParts) return listLastingMistakes(openedParts)
  const service = await buildService(kind, config, openedParts.parts, observability)
  const { app, facts, metrics } = service
  const management = primary === undefined ? service.management : undefined
  const problem = await listen(app, management, config)
  if (problem !== undefined) {
    await service.close()
    return listLastingMistakes(problem)
  }
  kind.onListening?.()
  const acceptArrived = primary?.acceptArrived ?? acceptInOnePass
  // Signals are handled before the next log line, since its reader may stop the service at once.
  stopOnSignal((signal) => endService(service, config.stopping, { signal, log, acceptArrived }), log, signals)
  const port = addressPort(app)
  if (primary !== undefined) primary.reportListening({ port, ...facts }, metrics)
  else logListening(log, { port, ...facts }, management)
  reloadSignal.setAction(() => renew(service, rereading, log))
  return []
}

/** Runs the primary process, which starts the workers and serves their metrics. */
async function runPrimary(
  preparedService: PreparedService,
  { signals, reloadSignal }: StartingProcess,
): Promise<readonly string[]> {
  const { config, settings, rereading } = preparedService
  const { log } = preparedService.observability
  const findMistakes = (): readonly string[] => {
    const result = rereadSettings(rereading)
    return 'mistakes' in result ? result.mistakes : []
  }
  const workers = createWorkers({ config, settings, findMistakes, log })
  const management = config.management && (await createMetricsServer(workers.metrics))
  const end = async (signal: string): Promise<void> => {
    try {
      await workers.end(signal)
    } finally {
      await management?.close()
    }
  }
  stopOnSignal(end, log, signals)
  const workersStart = await workers.start()
  if ('isStopping' in workersStart) return []
  // The worker has reported why it cannot start.
  if ('status' in workersStart) {
    exitAfterLog(log, workersStart.status)
    return []
  }
  const problem = management && (await listenAt(management, { ...config.management, within: 'management.' }))
  if (problem !== undefined) {
    await end('SIGINT')
    return listLastingMistakes(problem)
  }
  logListening(log, workersStart.facts, management)
  reloadSignal.setAction(() => workers.signal('SIGHUP'))
  void workersStart.givenUp.then(async (worker) => {
    log.fatal({ event: 'worker_given_up', worker }, GIVEN_UP)
    await end('SIGINT').catch(() => undefined)
    exitAfterLog(log, 1)
  })
  return []
}

/** Listens. Returns why this fails; undefined if it succeeds. */
async function listen(
  app: App,
  management: App | undefined,
  { port, host, management: place }: ListeningConfig,
): Promise<OpeningFailure | undefined> {
  const problem = await listenAt(app, { port, host: host ?? (await chooseDefaultHost()) })
  if (problem !== undefined || management === undefined || place === undefined) return problem
  return listenAt(management, { ...place, within: 'management.' })
}

/** Listens at one address. Returns why that is not possible; undefined if it is. */
async function listenAt(
  app: App,
  where: Parameters<typeof describeListenProblem>[1],
): Promise<OpeningFailure | undefined> {
  try {
    await app.listen({ port: where.port, host: await findListenAddress(where.host) })
    return undefined
  } catch (error) {
    return describeListenProblem(error as NodeJS.ErrnoException, where)
  }
}

function logListening(log: Logger, facts: object, management: App | undefined): void {
  const ports = { ...facts, managementPort: management && addressPort(management) }
  log.info({ event: 'listening', ...ports }, 'accepting connections')
}

function addressPort(app: App): number | undefined {
  const address = app.server.address()
  return typeof address === 'object' ? address?.port : undefined
}
