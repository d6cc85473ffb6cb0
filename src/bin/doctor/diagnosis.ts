/**
 * The diagnosis of a configuration before a service starts with it: all mistakes at once, and the files and addresses
 * behind each setting. A part that can be read is checked even when another cannot.
 */
import { isObject } from '../../codec/json.ts'
import { type AnchorSetting, readAnchorDirectory } from '../../config/anchor-directory.ts'
import { checkSettings, type ReadResult, type ServiceDefaults } from '../../config/common.ts'
import { readDatabase } from '../../config/database.ts'
import type { Files } from '../../config/files.ts'
import { type KeySettings, type NamedKey, namedKeys } from '../../config/service-keys.ts'
import { type KeyAndCertificates, type ReadKey, readKeyAndCertificates } from '../../config/signing.ts'
import { type ServiceName, services } from '../services.ts'
import { addressFindings } from './address.ts'
import { anchorFindings, identifierFinding, signingFindings, tlsFindings } from './certificates.ts'
import { databaseFindings } from './database.ts'
import { encryptionFindings } from './encryption.ts'
import type { Finding } from './finding.ts'
import { privateFileFindings } from './private-file.ts'
import { secretsFindings } from './secrets.ts'

const ANCHOR_SETTINGS: readonly AnchorSetting[] = ['issuerTrustAnchors', 'keyAttestationTrustAnchors']

/** The settings of any service without those whose form is wrong. */
interface Settings {
  readonly port?: number
  readonly host?: string
  readonly baseUrl?: string
  readonly database?: Parameters<typeof readDatabase>[0]
  readonly signing?: KeySettings['signing']
  readonly keys?: KeySettings['keys']
  readonly tls?: KeyAndCertificates
  readonly issuer?: { readonly id: string }
  readonly secretsFile?: string
  readonly issuerTrustAnchors?: string
  readonly keyAttestationTrustAnchors?: string
  readonly retention?: Parameters<typeof encryptionFindings>[0]['retention']
}

/** A configuration, and the access to its files. */
interface Patient {
  readonly settings: Settings
  readonly files: Files
  readonly at: Date
  readonly signs: ServiceDefaults['signs']
}

export async function diagnose(service: ServiceName, value: unknown, files: Files, at: Date): Promise<Finding[]> {
  const { defaults, migrations, read, settings: schema, title } = services[service]
  const settings = checkSettings(schema, value).settings as Settings
  const { baseUrl, host } = settings
  const database = namedDatabase(value, settings, defaults.databaseFile, files)
  const port = isObject(value) && Object.hasOwn(value, 'port') ? settings.port : defaults.port
  return withoutRepetitions([
    ...settingsFindings(read(value, files, at)),
    ...certificateFindings({ settings, files, at, signs: defaults.signs }),
    ...(service === 'issuer' ? secretsFindings(settings.secretsFile, files) : []),
    ...(await addressFindings({ baseUrl, port, host, title })),
    ...('mistakes' in database ? [] : await databaseFindings(database.database, migrations)),
    ...('mistakes' in database ? [] : await encryptionFindings(settings, database.database, { files, at, defaults })),
  ])
}

/** Returns the configured database; undefined when the setting is malformed. */
function namedDatabase(value: unknown, settings: Settings, embedded: string, files: Files) {
  const isMisshapen = isObject(value) && Object.hasOwn(value, 'database') && settings.database === undefined
  return isMisshapen ? { mistakes: [] } : readDatabase(settings.database, embedded, files)
}

/** The findings on certificates repeat the certificate warnings of start-up, and come whatever else is wrong. */
function withoutRepetitions(findings: readonly Finding[]): Finding[] {
  const texts = findings.map(({ subject, text }) => `${subject}: ${text}`)
  return findings.filter((_, index) => texts.lastIndexOf(texts[index] ?? '') === index)
}

function settingsFindings(result: ReadResult<unknown>): Finding[] {
  if ('mistakes' in result) return result.mistakes.map((mistake) => finding('problem', mistake))
  const fine: Finding = { subject: 'settings', outcome: 'ok', text: 'every one is known and complete' }
  return [fine, ...result.warnings.map((warning) => finding('warning', warning))]
}

function certificateFindings(patient: Patient): Finding[] {
  const { tls, issuer, baseUrl } = patient.settings
  const { at } = patient
  const { findings, signingKey } = namedKeyFindings(patient)
  const tlsKey = tls && readKey({ where: 'tls', purpose: 'tls', isPrevious: false, setting: tls }, patient)
  return [
    ...findings,
    ...(signingKey && issuer ? [identifierFinding(signingKey, issuer.id)] : []),
    ...(tlsKey ? tlsFindings(tlsKey, baseUrl, at) : []),
    ...(tls ? privateFileFindings('tls', tls.keyFile) : []),
    ...ANCHOR_SETTINGS.flatMap((setting) => anchorsOf(setting, patient)),
  ]
}

function anchorsOf(setting: AnchorSetting, { settings, files, at }: Patient): Finding[] {
  const anchors = readAnchorDirectory(setting, settings[setting], files, at)
  return 'certificates' in anchors ? anchorFindings(setting, anchors.certificates, at) : []
}

/** Findings on each key of `signing` and `keys`, and the key of `signing` itself. */
function namedKeyFindings(patient: Patient) {
  const { settings, at, signs } = patient
  const { signing, keys } = settings
  const read = (signing === undefined ? [] : namedKeys({ signing, ...(keys && { keys }) }, signs)).map((use) => ({
    ...use,
    key: readKey(use, patient),
  }))
  return {
    findings: read.flatMap(({ where, isPrevious, setting, key }) => [
      ...(key === undefined || isPrevious ? [] : signingFindings(where, key, at)),
      ...privateFileFindings(where, setting.keyFile),
    ]),
    signingKey: read[0]?.key,
  }
}

function readKey({ setting, ...use }: NamedKey, { files, at }: Patient): ReadKey | undefined {
  const read = readKeyAndCertificates({ ...use, now: at }, setting, files)
  return 'key' in read ? read : undefined
}

/** Converts a mistake, which begins with its path, to a finding. */
function finding(outcome: 'warning' | 'problem', mistake: string): Finding {
  const [, subject = 'settings', text = mistake] = /^([^\s:]+): (.*)$/s.exec(mistake) ?? []
  return { subject, outcome, text }
}
