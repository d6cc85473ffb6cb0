/**
 * The common settings of the services in `server.json`, and how a configuration is read. All mistakes are found before
 * the service starts, and reported together with their paths.
 */
import type { ErrorObject } from 'ajv'
import type { Static, TObject } from 'typebox'
import * as Type from 'typebox'
import { Check } from 'typebox/schema'
import { isObject, type JsonObject } from '../codec/json.ts'
import type { ServiceKeys } from '../keys/key-ring.ts'
import { SIGNING_KEY } from '../keys/secrets.ts'
import { compileSchema, describeMistakes, dropAbsentMembers } from '../protocol/json-schema.ts'
import { findAddressMistakes, findAddressWarnings, findSchemeWarnings } from './address.ts'
import { findApiKeyMistakes, findApiKeyWarnings } from './api-keys.ts'
import { findCertificateWarnings } from './certificate-warnings.ts'
import { Database, type DatabaseConfig, readDatabase } from './database.ts'
import { readDatabaseKeys } from './encryption-keys.ts'
import type { Files } from './files.ts'
import { findManagementMistakes, ManagementSetting, type MetricsAddress, resolveManagement } from './management.ts'
import { mistakesOf } from './mistakes.ts'
import { findProxyMistakes, RateLimitSettings } from './rate-limits.ts'
import { findRetentionMistakes, type Retention, RetentionSettings, resolveRetention } from './retention.ts'
import { createServerTls, type ServerTls } from './server-tls.ts'
import { CommonKeys, type KeySettings, type ReadServiceKeys, readServiceKeys } from './service-keys.ts'
import {
  findSessionCallbackMistakes,
  findSessionCallbackWarnings,
  resolveSessionCallback,
  type SessionCallback,
  SessionCallbackSetting,
} from './session-callback.ts'
import { KeyAndCertificates, type ReadKey, readKeyAndCertificates, SigningSettings } from './signing.ts'
import { resolveStopping, type Stopping, StoppingSetting } from './stopping.ts'
import { findTelemetryMistakes, resolveTelemetry, type TelemetryConfig, TelemetrySetting } from './telemetry.ts'

/** The default of `port` of an issuer and a verifier. */
export const DEFAULT_PORTS = { issuer: 8079, verifier: 8081 } as const
/** The default of `clockSkewSeconds`. */
const CLOCK_SKEW_SECONDS = 60

/** The settings of an issuer and a verifier; an engine has some. `baseUrl` has no path, query or trailing slash. */
export const commonSettings = {
  port: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 65_535,
      description: `Port to listen on; ${DEFAULT_PORTS.issuer} for the issuer and ${DEFAULT_PORTS.verifier} for the verifier when absent`,
    }),
  ),
  host: Type.Optional(
    Type.String({
      description: 'Address to listen on; all interfaces when absent; `localhost` is one address, IPv4 before IPv6',
    }),
  ),
  baseUrl: Type.String({
    description: 'Address that wallets are told: scheme, host and port, no path; it must be reachable from them',
  }),
  database: Type.Optional(Database),
  signing: SigningSettings,
  keys: Type.Optional(CommonKeys),
  tls: Type.Optional(KeyAndCertificates),
  integrations: Type.Object(
    { authentication: Type.Record(Type.String(), Type.String(), { description: 'API key to label' }) },
    { additionalProperties: false },
  ),
  rateLimits: Type.Optional(RateLimitSettings),
  retention: Type.Optional(RetentionSettings),
  clockSkewSeconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 600,
      description: `How far clocks may differ; ${CLOCK_SKEW_SECONDS} when absent`,
    }),
  ),
  sessionCallback: Type.Optional(SessionCallbackSetting),
  stopping: Type.Optional(StoppingSetting),
  workers: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 256,
      description: 'Processes that share the port, at most one for each core; one when absent',
    }),
  ),
  management: Type.Optional(ManagementSetting),
  telemetry: Type.Optional(TelemetrySetting),
}
type Common = Static<TObject<typeof commonSettings>>

export interface ServiceDefaults {
  readonly port: number
  /** The default file of the embedded database, relative to the working directory. */
  readonly databaseFile: string
  /** The purpose that the signing certificate must allow. */
  readonly signs: 'credential' | 'request'
  readonly retention: Retention
}

export interface CommonConfig {
  readonly port: number
  readonly host: string | undefined
  readonly baseUrl: string
  readonly database: DatabaseConfig
  /** The keys that encrypt personal data in the database, 32 bytes each; without any, it is not encrypted. */
  readonly encryptionKeys: readonly Uint8Array[]
  readonly keys: ServiceKeys
  readonly tls: ServerTls | undefined
  readonly apiKeys: Readonly<Record<string, string>>
  readonly clockSkewSeconds: number
  readonly rateLimits: RateLimitSettings
  readonly retention: Retention
  /** The receiver of callbacks; undefined if the application polls the status. */
  readonly sessionCallback: SessionCallback | undefined
  readonly stopping: Stopping
  /** The number of worker processes. */
  readonly workers: number
  /** The port for metrics; undefined without metrics. */
  readonly management: MetricsAddress | undefined
  /** The collector of traces and log lines; undefined without telemetry. */
  readonly telemetry: TelemetryConfig | undefined
}

/** A configuration, or all mistakes in it. Warnings are logged and do not prevent the start. */
export type ReadResult<Config> =
  | { readonly config: Config; readonly warnings: readonly string[] }
  | { readonly mistakes: readonly string[] }

/** The mistakes found by the schema, and the settings without them, whose files are read next. */
export interface CheckedSettings<Settings> {
  readonly mistakes: readonly string[]
  readonly settings: Partial<Settings>
}

/**
 * Validates `value` with `schema`, which refuses unknown members. Each mistake has its path. The schema is only
 * compiled if there is a mistake, since that is slow.
 */
export function checkSettings<Schema extends TObject>(schema: Schema, value: unknown): CheckedSettings<Static<Schema>> {
  if (!isObject(value)) return { mistakes: ['the configuration must be a JSON object'], settings: {} }
  if (Check(schema, value)) return { mistakes: [], settings: value }
  const validate = compileSchema(dropAbsentMembers(schema, value), { all: true })
  const errors = validate(value) ? [] : (validate.errors ?? [])
  const invalidMembers = new Set(errors.map(({ instancePath }) => instancePath.split('/')[1]))
  return {
    mistakes: describeMistakes(errors.map((error) => withoutKey(error, value))),
    settings: Object.fromEntries(Object.entries(value).filter(([name]) => !invalidMembers.has(name))) as Partial<
      Static<Schema>
    >,
  }
}

/** Replaces an API key in the path of a mistake by the number of its label. */
function withoutKey(error: ErrorObject, value: JsonObject): ErrorObject {
  const [, key] = /^\/integrations\/authentication\/(.*)$/.exec(error.instancePath) ?? []
  if (key === undefined) return error
  const keys = Object.keys((value as { integrations: { authentication: object } }).integrations.authentication)
  const index = keys.findIndex((each) => each.replaceAll('~', '~0').replaceAll('/', '~1') === key)
  return { ...error, instancePath: `/integrations/authentication/(label ${index + 1})` }
}

/** Reads the common settings. Returns all mistakes, if there are any. */
export function readCommon(
  { mistakes: shapeMistakes, settings }: CheckedSettings<Common>,
  files: Files,
  defaults: ServiceDefaults,
  now: Date,
): ReadResult<CommonConfig> {
  const keySettings = keySettingsOf(settings)
  const signing = keySettings && readServiceKeys(keySettings, { signs: defaults.signs, now }, files)
  const tls = settings.tls && readKeyAndCertificates({ settingPath: 'tls', purpose: 'tls', now }, settings.tls, files)
  const database = readDatabase(settings.database, defaults.databaseFile, files)
  const encryption = readDatabaseKeys(settings.database?.encryptionKeyFile, files)
  const mistakes = [
    ...shapeMistakes,
    ...(settings.baseUrl === undefined ? [] : findAddressMistakes(settings.baseUrl)),
    ...findProxyMistakes('rateLimits.trustedProxies', settings.rateLimits?.trustedProxies),
    ...mistakesOf(database),
    ...(settings.retention ? findRetentionMistakes(settings.retention, defaults.retention) : []),
    ...(settings.sessionCallback ? findSessionCallbackMistakes(settings.sessionCallback) : []),
    ...(settings.telemetry ? findTelemetryMistakes(settings.telemetry) : []),
    ...findManagementMistakes(settings.management, { port: defaults.port, host: undefined, ...settings }),
    ...(settings.integrations ? findApiKeyMistakes(settings.integrations.authentication) : []),
    ...mistakesOf(signing, tls, encryption),
  ]
  if (!signing || 'mistakes' in signing || (tls && 'mistakes' in tls)) return { mistakes }
  if ('mistakes' in database || 'mistakes' in encryption || mistakes.length > 0) return { mistakes }
  return addDefaults(settings as Common, defaults, { signing, tls, database, encryptionKeys: encryption.keys }, now)
}

/** Returns the common settings of keys; undefined without `signing`. */
function keySettingsOf({ signing, keys }: Partial<Pick<KeySettings, 'signing' | 'keys'>>): KeySettings | undefined {
  return signing && { signing, ...(keys && { keys }) }
}

/** The content of the files that settings name. */
interface Parts {
  readonly signing: Exclude<ReadServiceKeys, { readonly mistakes: unknown }>
  readonly tls: ReadKey | undefined
  readonly database: Exclude<ReturnType<typeof readDatabase>, { readonly mistakes: unknown }>
  readonly encryptionKeys: readonly Uint8Array[]
}

function addDefaults(
  settings: Common,
  defaults: ServiceDefaults,
  { signing, tls, database: { database, warnings }, encryptionKeys }: Parts,
  now: Date,
): { readonly config: CommonConfig; readonly warnings: readonly string[] } {
  const sessionCallback = settings.sessionCallback && resolveSessionCallback(settings.sessionCallback)
  return {
    config: {
      port: settings.port ?? defaults.port,
      host: settings.host,
      baseUrl: settings.baseUrl,
      database,
      encryptionKeys,
      keys: { ...signing.keys, secrets: [SIGNING_KEY] },
      tls: tls && createServerTls(tls),
      apiKeys: settings.integrations.authentication,
      clockSkewSeconds: settings.clockSkewSeconds ?? CLOCK_SKEW_SECONDS,
      rateLimits: settings.rateLimits ?? {},
      retention: resolveRetention(settings.retention, defaults.retention),
      sessionCallback,
      stopping: resolveStopping(settings.stopping),
      workers: settings.workers ?? 1,
      management: settings.management && resolveManagement(settings.management),
      telemetry: settings.telemetry && resolveTelemetry(settings.telemetry),
    },
    warnings: [
      ...findAddressWarnings(settings.baseUrl),
      ...findSchemeWarnings(settings.baseUrl, tls !== undefined),
      ...warnings,
      ...findApiKeyWarnings(settings.integrations.authentication),
      ...signing.warnings,
      ...findCertificateWarnings('tls', tls?.chain ?? [], now),
      ...(sessionCallback ? findSessionCallbackWarnings(sessionCallback) : []),
    ],
  }
}
