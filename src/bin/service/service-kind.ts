/** The interface of service kinds, which the issuer, the verifier and the engine implement. */
import type { Logger } from 'pino'
import type { Task } from '../../async/task.ts'
import type { checkSettings, ReadResult } from '../../config/common.ts'
import type { DatabaseConfig } from '../../config/database.ts'
import type { Files } from '../../config/files.ts'
import type { MetricsAddress } from '../../config/management.ts'
import type { ServerTls } from '../../config/server-tls.ts'
import type { Stopping } from '../../config/stopping.ts'
import type { TelemetryConfig } from '../../config/telemetry.ts'
import type { App } from '../../http/app-type.ts'
import type { ProcessMetrics } from '../../http/metrics-server.ts'
import type { OriginWatch } from '../../store/postgres-origin.ts'
import type { Migration } from '../../store/store.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'

export type ServiceName = 'issuer' | 'verifier' | 'engine'

/** The settings for starting and stopping any service. */
export interface ListeningConfig {
  readonly port: number
  readonly host: string | undefined
  readonly tls: ServerTls | undefined
  readonly stopping: Stopping
  /** The number of worker processes; one when absent. */
  readonly workers?: number
  /** The port for metrics; undefined without metrics. */
  readonly management: MetricsAddress | undefined
  /** The collector of traces and log lines; undefined without telemetry. */
  readonly telemetry: TelemetryConfig | undefined
  readonly database: DatabaseConfig
}

/** The options for opening the database of a service that is about to run. */
export interface OpeningOptions {
  readonly log: Logger
  /** Whether the database is certainly restored from a backup. */
  readonly isRestored?: boolean | undefined
  /** The consequence of a restored database, for the log; that for an issuer or a verifier when absent. */
  readonly consequence?: string
  /**
   * Makes a copy of the database fit for use that takes its place while the service runs, as after a standby of its
   * server took over. The copy is used at once when this is absent. See {@link OriginWatch.onReplaced}.
   */
  readonly onReplaced?: OriginWatch['onReplaced']
}

/** Why a service cannot be opened or cannot listen; begins with the setting. */
export interface OpeningFailure {
  readonly mistake: string
  /** Whether the settings may be right, and a later start may succeed. */
  readonly isTemporary?: boolean
  /** Whether a token refused the PIN, so that another start with the same PIN may lock the token. */
  readonly isPinRefused?: boolean
}

/** The open database of a service. */
export interface OpenedStore {
  readonly store: { close(): Promise<void> }
  /** The number of sessions that were ended; undefined if the database was not restored. */
  readonly voidedSessions: number | undefined
}

/** The log and the telemetry of a service. */
export interface Observability {
  readonly log: Logger
  /** The telemetry; undefined without the setting `telemetry`. */
  readonly telemetry?: Telemetry | undefined
}

/** A service kind. `Parts` are its open resources, such as its database. */
export interface ServiceKind<Config extends ListeningConfig = ListeningConfig, Parts = unknown> {
  readonly name: ServiceName
  /** The schema of its `server.json`. */
  readonly settings: Parameters<typeof checkSettings>[0]
  readConfig(value: unknown, files: Files, at: Date): ReadResult<Config>
  /** The migrations of its database. */
  readonly migrations: readonly Migration[]
  /** Opens the database only. Returns a mistake, which begins with the setting, if it cannot be opened. */
  openStore(config: Config, options: OpeningOptions): Promise<OpenedStore | OpeningFailure>
  /** Opens the parts. Returns a mistake, which begins with the setting, if they cannot be opened. */
  openParts(config: Config, log: Logger): Promise<{ readonly parts: Parts } | OpeningFailure>
  /** Builds the server, which does not listen yet. */
  buildServer(config: Config, parts: Parts, observability: Observability): Promise<BuiltService<Config>>
  /** Closes the parts, after the server was closed or could not be built. */
  closeParts(parts: Parts): Promise<void>
  /** Returns the changes from `before` to `after` that require a restart, as mistakes. */
  findRestartMistakes(before: Config, after: Config): readonly string[]
  /** Called once when the service listens. */
  onListening?(): void
}

/** A server that does not listen yet, and its background work. */
export interface BuiltService<Config> {
  readonly app: App
  /** The background tasks. */
  readonly tasks: readonly Task[]
  readonly metrics?: ProcessMetrics
  /** Members of the log line for the start. */
  readonly facts?: object
  /** Starts no more work, and resolves when the running work has ended. */
  stop?(): Promise<void>
  /** Uses the parts of a new configuration that can be renewed, except the TLS certificate. */
  renew?(config: Config): void
}
