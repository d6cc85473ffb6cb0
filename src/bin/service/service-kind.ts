/** The kind of a service, as the command needs it: an object for each of issuer, verifier and engine. */
import type { Logger } from 'pino'
import type { Task } from '../../async/task.ts'
import type { checkSettings, ReadResult } from '../../config/common.ts'
import type { DatabaseConfig } from '../../config/database.ts'
import type { Files } from '../../config/files.ts'
import type { Management } from '../../config/management.ts'
import type { ServerTls } from '../../config/server-tls.ts'
import type { Stopping } from '../../config/stopping.ts'
import type { TelemetryConfig } from '../../config/telemetry.ts'
import type { App } from '../../http/app-type.ts'
import type { ProcessMetrics } from '../../http/metrics-server.ts'
import type { Migration } from '../../store/store.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'

export type KindName = 'issuer' | 'verifier' | 'engine'

/** The settings that the start and the stop of every service need. */
export interface ListeningConfig {
  readonly port: number
  readonly host: string | undefined
  readonly tls: ServerTls | undefined
  readonly stopping: Stopping
  /** The number of processes that share the port; one when absent. */
  readonly workers?: number
  /** Where the metrics of the service are to be read; nowhere when absent. */
  readonly management: Management | undefined
  /** Where the traces and the log lines of the service go; nowhere when absent. */
  readonly telemetry: TelemetryConfig | undefined
  readonly database: DatabaseConfig
}

/** The options with which a database is opened for a service that is about to run on it. */
export interface OpeningOptions {
  readonly log: Logger
  /** Whether it is certain that the database is a backup that was put back. */
  readonly isRestored?: boolean | undefined
}

/** The reason for which a service cannot be opened or cannot listen, in words that begin with the setting. */
export interface OpeningMistake {
  readonly mistake: string
  /** Whether the settings may be right, and a later start may succeed. */
  readonly isTemporary?: boolean
}

/** The open database of a service. */
export interface OpenedStore {
  readonly store: { close(): Promise<void> }
  /** How many sessions were made void; undefined where the database is not a copy. */
  readonly voidedSessions: number | undefined
}

/** The log and the telemetry of a service. */
export interface Outputs {
  readonly log: Logger
  /** Absent without the setting `telemetry`. */
  readonly telemetry?: Telemetry | undefined
}

/** A kind of service. `Parts` are its open resources, such as its database. */
export interface ServiceKind<Config extends ListeningConfig = ListeningConfig, Parts = unknown> {
  readonly name: KindName
  /** The schema of its `server.json`. */
  readonly settings: Parameters<typeof checkSettings>[0]
  readConfig(value: unknown, files: Files, at: Date): ReadResult<Config>
  /** The schema of its database. */
  readonly migrations: readonly Migration[]
  /** Opens the database alone, or says why it cannot be opened, in words that begin with the setting. */
  openStore(config: Config, options: OpeningOptions): Promise<OpenedStore | OpeningMistake>
  /** Opens the parts, or says why they cannot be opened, in words that begin with the setting. */
  openParts(config: Config, log: Logger): Promise<{ readonly parts: Parts } | OpeningMistake>
  /** Makes a server that does not listen yet. */
  buildServer(config: Config, parts: Parts, outputs: Outputs): Promise<BuiltService<Config>>
  /** Closes the parts, after the server has closed or could not be built. */
  closeParts(parts: Parts): Promise<void>
  /** Returns the changes from `before` to `after` that need a restart, as mistakes. */
  findRestartMistakes(before: Config, after: Config): readonly string[]
  /** Is called once when the service listens. */
  onListening?(): void
}

/** A server that does not listen yet, and what runs beside it. */
export interface BuiltService<Config> {
  readonly app: App
  /** The work of the service beside its requests, while it runs. */
  readonly tasks: readonly Task[]
  readonly metrics?: ProcessMetrics
  /** Members of the log line that says that the service listens. */
  readonly facts?: object
  /** Begins no more work, and resolves when the work that runs has ended. */
  stop?(): Promise<void>
  /** Applies the parts of a configuration that a renewal may change, beside the TLS certificate. */
  renew?(config: Config): void
}
