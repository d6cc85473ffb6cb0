/**
 * `server.json`: the settings both services share, and the way a configuration is read. Every mistake is found before
 * anything starts, and all are told at once, each with its path.
 */
import type { KeyObject } from 'node:crypto'
import { Ajv } from 'ajv'
import Type, { type Static, type TObject } from 'typebox'
import { isObject } from '../codec/json.ts'
import type { Certificate } from '../keys/certificate.ts'
import { describeMistakes } from '../protocol/mistakes.ts'
import { addressMistakes, addressWarnings } from './address.ts'
import { apiKeyMistakes, apiKeyWarnings } from './api-keys.ts'
import { Database, databaseFile, databaseMistakes } from './database.ts'
import type { Files } from './files.ts'
import { KeyAndCertificates, readKeyAndCertificates } from './signing.ts'

/** Settings of every service. `baseUrl` has no path, query or trailing slash. */
export const commonSettings = {
  port: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 65_535,
      description: 'Port to listen on; 8079 for the issuer and 8081 for the verifier when absent',
    }),
  ),
  host: Type.Optional(Type.String({ description: 'Address to listen on; all interfaces when absent' })),
  baseUrl: Type.String({ description: 'Address that wallets are told; it must be reachable from them' }),
  database: Type.Optional(Database),
  signing: KeyAndCertificates,
  tls: Type.Optional(KeyAndCertificates),
  integrations: Type.Object(
    { authentication: Type.Record(Type.String(), Type.String(), { description: 'API key to label' }) },
    { additionalProperties: false },
  ),
  clockSkewSeconds: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 600, description: 'How far clocks may differ; 60 when absent' }),
  ),
}
type Common = Static<TObject<typeof commonSettings>>

/** Settings that the interface names and a later release brings, in either service. They are refused by name. */
const LATER = [
  'sessionCallback',
  'management',
  'retention',
  'rateLimits',
  'compatibility',
  'authorizationServer',
  'profile',
  'status',
]

export interface ServiceDefaults {
  readonly port: number
  /** The embedded database, relative to the working directory. */
  readonly databaseFile: string
}

export interface CommonConfig {
  readonly port: number
  readonly host: string | undefined
  readonly baseUrl: string
  readonly databaseFile: string
  readonly signingKey: KeyObject
  readonly chain: readonly Certificate[]
  readonly tls: { readonly key: string; readonly cert: string } | undefined
  readonly apiKeys: Readonly<Record<string, string>>
  readonly clockSkewSeconds: number
}

/** A configuration, or everything that is wrong with it. Warnings are for the log; they stop nothing. */
export type ReadResult<Config> =
  | { readonly config: Config; readonly warnings: readonly string[] }
  | { readonly mistakes: readonly string[] }

/** The members of `value` against `schema`, unknown ones and those of later releases included; paths are in the texts. */
export function schemaMistakes(schema: TObject, value: unknown): string[] {
  if (!isObject(value)) return ['the configuration must be a JSON object']
  const later = LATER.filter((name) => Object.hasOwn(value, name))
  const known = Object.fromEntries(Object.entries(value).filter(([name]) => !later.includes(name)))
  const validate = new Ajv({ allErrors: true, strict: false }).compile(schema)
  const mistakes = validate(known) ? [] : describeMistakes(validate.errors ?? [])
  return [...later.map((name) => `${name}: not yet supported; remove it`), ...mistakes]
}

/** Reads what both services share. Call it with a value that passed its schema. */
export function readCommon(
  value: unknown,
  files: Files,
  defaults: ServiceDefaults,
  now: Date,
): ReadResult<CommonConfig> {
  const settings = value as Common
  const signing = readKeyAndCertificates('signing', settings.signing, files, now)
  const tls = settings.tls && readKeyAndCertificates('tls', settings.tls, files, now)
  const mistakes = [
    ...addressMistakes(settings.baseUrl),
    ...databaseMistakes(settings.database),
    ...apiKeyMistakes(settings.integrations.authentication),
    ...('mistakes' in signing ? signing.mistakes : []),
    ...(tls && 'mistakes' in tls ? tls.mistakes : []),
  ]
  if (mistakes.length > 0 || 'mistakes' in signing || (tls && 'mistakes' in tls)) return { mistakes }
  return {
    config: {
      port: settings.port ?? defaults.port,
      host: settings.host,
      baseUrl: settings.baseUrl,
      databaseFile: databaseFile(settings.database) ?? defaults.databaseFile,
      signingKey: signing.key,
      chain: signing.chain,
      tls: tls && { key: tls.keyPem, cert: tls.certificatePem },
      apiKeys: settings.integrations.authentication,
      clockSkewSeconds: settings.clockSkewSeconds ?? 60,
    },
    warnings: [...addressWarnings(settings.baseUrl), ...apiKeyWarnings(settings.integrations.authentication)],
  }
}
