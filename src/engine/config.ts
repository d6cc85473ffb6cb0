/** The execution engine's `server.json`. */

import type { Static } from 'typebox'
import * as Type from 'typebox'
import { type Json, memberOf } from '../codec/json.ts'
import { MalformedError } from '../codec/malformed.ts'
import { findAddressMistakes, findSchemeWarnings } from '../config/address.ts'
import { findApiKeyMistakes, findApiKeyWarnings } from '../config/api-keys.ts'
import { findCertificateWarnings } from '../config/certificate-warnings.ts'
import { checkSettings, commonSettings, type ReadResult } from '../config/common.ts'
import { type DatabaseConfig, readDatabase } from '../config/database.ts'
import type { Files } from '../config/files.ts'
import {
  findManagementMistakes,
  ManagementSetting,
  type MetricsAddress,
  resolveManagement,
} from '../config/management.ts'
import { mistakesOf } from '../config/mistakes.ts'
import { pathForMessages } from '../config/path-for-messages.ts'
import { findProxyMistakes } from '../config/rate-limits.ts'
import { createServerTls, type ServerTls } from '../config/server-tls.ts'
import { readKeyAndCertificates } from '../config/signing.ts'
import { resolveStopping, type Stopping } from '../config/stopping.ts'
import { findTelemetryMistakes, resolveTelemetry, type TelemetryConfig } from '../config/telemetry.ts'
import { isSecureTransport } from '../protocol/private-host.ts'
import {
  ChainSetting,
  type ChainSettings,
  ComponentsSetting,
  FilterSetting,
  readChainSettings,
} from './chain-settings.ts'
import { type Identity, readIdentity } from './engine-key.ts'
import { LimitSettings, type Limits, limitsOf } from './limits.ts'
import { hostMistakes, normalizeHost } from './outbound-hosts.ts'

export const engineDefaults = {
  port: 8400,
  databaseFile: 'data/engine.db',
  componentDirectory: 'components',
  staleSeconds: 60,
  pollMilliseconds: { local: 250, other: 2000 },
} as const

const { host, database, tls, stopping, telemetry } = commonSettings
const portOf = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535, description }))

export const EngineSettings = Type.Object(
  {
    port: portOf(`Port to listen on; ${engineDefaults.port} when absent`),
    host,
    baseUrl: Type.Optional(Type.String({ description: 'Address that contracts list as the endpoint of this engine' })),
    database,
    tls,
    stopping,
    identity: Type.Object(
      {
        keyFile: Type.String({
          description: 'PEM file with the secp256k1 key that its address and transactions come from',
        }),
      },
      { additionalProperties: false },
    ),
    chain: ChainSetting,
    contractFilter: Type.Optional(FilterSetting),
    componentDirectory: Type.Optional(
      Type.String({
        description: `Where components are, each named by its SHA-256; \`${engineDefaults.componentDirectory}\` when absent`,
      }),
    ),
    components: Type.Optional(ComponentsSetting),
    configuration: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'What components may read by key; all see the same' }),
    ),
    integrations: Type.Optional(
      Type.Object(
        { authentication: Type.Record(Type.String(), Type.String(), { description: 'API key to label' }) },
        {
          additionalProperties: false,
          description: 'Who may ask for the calls and logs of contracts; nobody when absent',
        },
      ),
    ),
    limits: Type.Optional(LimitSettings),
    outbound: Type.Optional(
      Type.Object(
        {
          allow: Type.Array(Type.String({ description: 'A host, or host:port' }), {
            maxItems: 1000,
            description: 'Hosts that components may ask, and where their bytes are fetched from; none when absent',
          }),
          allowPrivateAddresses: Type.Optional(
            Type.Boolean({ description: 'Whether these may be of this machine or its network; false when absent' }),
          ),
        },
        { additionalProperties: false },
      ),
    ),
    staleSeconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 86_400,
        description: `How long the chain may be out of sight, or its newest block be old or the same, until requests are refused; ${engineDefaults.staleSeconds} when absent`,
      }),
    ),
    pollMilliseconds: Type.Optional(
      Type.Integer({
        minimum: 10,
        maximum: 600_000,
        description: `How often the chain is looked at; ${engineDefaults.pollMilliseconds.local} when absent for a local chain, else ${engineDefaults.pollMilliseconds.other}`,
      }),
    ),
    cors: Type.Optional(Type.Boolean({ description: 'Whether browsers may call from any origin; true when absent' })),
    trustedProxies: Type.Optional(
      Type.Array(Type.String({ description: 'An address, or a network (10.0.0.0/8)' }), {
        maxItems: 100,
        description: 'Who is believed about addresses, in X-Forwarded-For',
      }),
    ),
    management: Type.Optional(ManagementSetting),
    telemetry,
  },
  { additionalProperties: false },
)
type Settings = Static<typeof EngineSettings>

export interface EngineConfig extends ChainSettings {
  readonly port: number
  readonly host: string | undefined
  readonly baseUrl: string | undefined
  readonly database: DatabaseConfig
  readonly tls: ServerTls | undefined
  readonly identity: Identity
  readonly componentDirectory: string
  readonly configuration: ReadonlyMap<string, string>
  /** The label of each API key; empty when no key is configured. */
  readonly apiKeys: Readonly<Record<string, string>>
  readonly limits: Limits
  readonly outbound: { readonly allow: readonly string[]; readonly allowPrivateAddresses: boolean }
  readonly stopping: Stopping
  readonly staleSeconds: number
  readonly pollMilliseconds: number
  readonly cors: boolean
  readonly trustedProxies: readonly string[]
  /** The port for metrics; absent when there are no metrics. */
  readonly management: MetricsAddress | undefined
  /** The collector of traces; absent when there are no traces. */
  readonly telemetry: TelemetryConfig | undefined
}

/** Checks the settings. Returns the configuration with its warnings, or every mistake with its path. */
export function readEngineConfig(value: unknown, files: Files, now: Date): ReadResult<EngineConfig> {
  const { mistakes: shapeMistakes, settings } = checkSettings(EngineSettings, value)
  const databaseResult = readDatabase(settings.database, engineDefaults.databaseFile, files)
  const tlsResult =
    settings.tls && readKeyAndCertificates({ settingPath: 'tls', purpose: 'tls', now }, settings.tls, files)
  const identity = settings.identity && readIdentityFile(settings.identity.keyFile, files)
  const chainSettings = readChainSettings(settings, memberOf(memberOf(value as Json, 'chain'), 'type'))
  const mistakes = [
    ...shapeMistakes,
    ...(settings.baseUrl === undefined ? [] : findAddressMistakes(settings.baseUrl)),
    ...mistakesOf(databaseResult, tlsResult, identity, chainSettings),
    ...encryptionMistakes(settings),
    ...findPollMistakes(pollMillisecondsOf(settings), settings.staleSeconds),
    ...(settings.integrations ? findApiKeyMistakes(settings.integrations.authentication) : []),
    ...(settings.telemetry ? findTelemetryMistakes(settings.telemetry) : []),
    ...findManagementMistakes(settings.management, { port: engineDefaults.port, host: undefined, ...settings }),
    ...hostMistakes(settings.outbound?.allow ?? []),
    ...findProxyMistakes('trustedProxies', settings.trustedProxies),
  ]
  if ('mistakes' in databaseResult || (tlsResult && 'mistakes' in tlsResult) || 'mistakes' in chainSettings)
    return { mistakes }
  if (identity === undefined || 'mistakes' in identity || mistakes.length > 0) return { mistakes }
  return {
    config: {
      ...resolveSettings(settings as Settings),
      ...chainSettings,
      database: databaseResult.database,
      tls: tlsResult && createServerTls(tlsResult),
      identity,
    },
    warnings: [
      ...databaseResult.warnings,
      ...findSchemeWarnings(settings.baseUrl, tlsResult !== undefined),
      ...findCertificateWarnings('tls', tlsResult?.chain ?? [], now),
      ...exposureWarnings(settings),
      ...findApiKeyWarnings(settings.integrations?.authentication ?? {}),
    ],
  }
}

/** Refuses a time between polls after which the chain would count as out of sight before the next poll. */
function findPollMistakes(pollMilliseconds: number, seconds: number = engineDefaults.staleSeconds): readonly string[] {
  if (pollMilliseconds < seconds * 1000) return []
  const advice = 'make it shorter, a third or less, or staleSeconds longer'
  return [`pollMilliseconds: it must be less than staleSeconds (${seconds} seconds); ${advice}`]
}

function pollMillisecondsOf({ pollMilliseconds, chain }: Partial<Settings>): number {
  return pollMilliseconds ?? engineDefaults.pollMilliseconds[chain?.type === 'local' ? 'local' : 'other']
}

function resolveSettings(
  settings: Settings,
): Omit<EngineConfig, 'database' | 'tls' | 'identity' | 'chain' | 'contractFilter' | 'components'> {
  const { management, outbound } = settings
  return {
    port: settings.port ?? engineDefaults.port,
    host: settings.host,
    baseUrl: settings.baseUrl,
    componentDirectory: settings.componentDirectory ?? engineDefaults.componentDirectory,
    configuration: new Map(Object.entries(settings.configuration ?? {})),
    apiKeys: settings.integrations?.authentication ?? {},
    limits: limitsOf(settings.limits),
    outbound: {
      allow: (outbound?.allow ?? []).map(normalizeHost),
      allowPrivateAddresses: outbound?.allowPrivateAddresses ?? false,
    },
    stopping: resolveStopping(settings.stopping),
    staleSeconds: settings.staleSeconds ?? engineDefaults.staleSeconds,
    pollMilliseconds: pollMillisecondsOf(settings),
    cors: settings.cors ?? true,
    trustedProxies: settings.trustedProxies ?? [],
    management: management && resolveManagement(management),
    telemetry: settings.telemetry && resolveTelemetry(settings.telemetry),
  }
}

function readIdentityFile(path: string, files: Files): Identity | { readonly mistakes: readonly string[] } {
  const mistakeOf = (why: string) => ({ mistakes: [`identity.keyFile: ${why}`] })
  try {
    return readIdentity(files.read(path))
  } catch (error) {
    if (error instanceof MalformedError) return mistakeOf(`${error.message}: ${pathForMessages(path)}`)
    const { code } = error as NodeJS.ErrnoException
    return mistakeOf(
      code === 'ENOENT'
        ? `there is no such file: ${pathForMessages(path)}; ${NO_KEY}`
        : `the file cannot be read: ${pathForMessages(path)}`,
    )
  }
}

const NO_KEY =
  'bring it back from a backup, as an engine with another key is another engine; or make a new one with vouchsafe init engine'

function encryptionMistakes({ database: setting }: Partial<Settings>): string[] {
  if (setting?.encryptionKeyFile === undefined) return []
  return [
    'database.encryptionKeyFile: an engine encrypts with a key that it derives from identity.keyFile; leave it out',
  ]
}

function exposureWarnings({ baseUrl }: Partial<Settings>): string[] {
  if (baseUrl === undefined || isSecureTransport(new URL(baseUrl))) return []
  return ['baseUrl: http without TLS on a public host; what callers send can be read on the way']
}
