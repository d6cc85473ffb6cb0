/**
 * Everything that can be said of a configuration before a service starts with it: its mistakes, all at once, and then
 * what stands behind each setting. A part that can be read is looked at even when another cannot.
 */
import { isObject } from '../../codec/json.ts'
import { type ReadResult, readShape } from '../../config/common.ts'
import { databaseFile, databaseMistakes } from '../../config/database.ts'
import type { Files } from '../../config/files.ts'
import { type ReadKey, readKeyAndCertificates } from '../../config/signing.ts'
import { issuerMigrations } from '../../issuer/collections.ts'
import { IssuerSettings, readIssuerConfig } from '../../issuer/config.ts'
import type { Migration } from '../../store/store.ts'
import { verifierMigrations } from '../../verifier/collections.ts'
import { readAnchorDirectory, readVerifierConfig, VerifierSettings } from '../../verifier/config.ts'
import type { ServiceName } from '../service.ts'
import { addressFindings } from './address.ts'
import { anchorFindings, identifierFinding, keyFileFindings, signingFindings, tlsFindings } from './certificates.ts'
import { databaseFindings } from './database.ts'
import type { Finding } from './finding.ts'

interface Kind {
  readonly settings: Parameters<typeof readShape>[0]
  readonly read: (value: unknown, files: Files, at: Date) => ReadResult<unknown>
  readonly migrations: readonly Migration[]
  readonly port: number
  /** Of its OpenAPI document. */
  readonly title: string
}

const kinds: Readonly<Record<ServiceName, Kind>> = {
  issuer: {
    settings: IssuerSettings,
    read: readIssuerConfig,
    migrations: issuerMigrations,
    port: 8079,
    title: 'Vouchsafe issuance service',
  },
  verifier: {
    settings: VerifierSettings,
    read: readVerifierConfig,
    migrations: verifierMigrations,
    port: 8081,
    title: 'Vouchsafe verification service',
  },
}

type KeyFiles = Parameters<typeof readKeyAndCertificates>[1]

/** The settings of either service, those left out that have not the shape they should. */
interface Settings {
  readonly port?: number
  readonly host?: string
  readonly baseUrl?: string
  readonly database?: Parameters<typeof databaseMistakes>[0]
  readonly signing?: KeyFiles
  readonly tls?: KeyFiles
  readonly issuer?: { readonly id: string }
  readonly issuerTrustAnchors?: string
}

/** A configuration, and what its files are read with. */
interface Patient {
  readonly settings: Settings
  readonly files: Files
  readonly at: Date
}

export async function diagnose(service: ServiceName, value: unknown, files: Files, at: Date): Promise<Finding[]> {
  const kind = kinds[service]
  const settings = readShape(kind.settings, value).settings as Settings
  const { baseUrl, host, database } = settings
  const port = isObject(value) && Object.hasOwn(value, 'port') ? settings.port : kind.port
  return [
    ...settingsFindings(kind.read(value, files, at)),
    ...certificateFindings({ settings, files, at }),
    ...(await addressFindings({ baseUrl, port, host, title: kind.title })),
    ...(databaseMistakes(database).length === 0
      ? await databaseFindings(databaseFile(database) ?? `data/${service}.db`, kind.migrations)
      : []),
  ]
}

function settingsFindings(result: ReadResult<unknown>): Finding[] {
  if ('mistakes' in result) return result.mistakes.map((mistake) => finding('problem', mistake))
  const fine: Finding = { subject: 'settings', outcome: 'ok', text: 'every one is known and complete' }
  return [fine, ...result.warnings.map((warning) => finding('warning', warning))]
}

function certificateFindings(patient: Patient): Finding[] {
  const { signing, tls, issuer, baseUrl, issuerTrustAnchors } = patient.settings
  const { at, files } = patient
  const signingKey = readKey('signing', signing, patient)
  const tlsKey = readKey('tls', tls, patient)
  const anchors = readAnchorDirectory(issuerTrustAnchors, files)
  return [
    ...(signingKey ? signingFindings(signingKey, at) : []),
    ...(signing ? keyFileFindings('signing', signing.keyFile) : []),
    ...(signingKey && issuer ? [identifierFinding(signingKey, issuer.id)] : []),
    ...(tlsKey ? tlsFindings(tlsKey, baseUrl, at) : []),
    ...(tls ? keyFileFindings('tls', tls.keyFile) : []),
    ...('certificates' in anchors ? anchorFindings(anchors.certificates, at) : []),
  ]
}

function readKey(where: 'signing' | 'tls', setting: KeyFiles | undefined, { files, at }: Patient): ReadKey | undefined {
  const read = setting && readKeyAndCertificates(where, setting, files, at)
  return read && 'key' in read ? read : undefined
}

/** A mistake begins with its path. */
function finding(outcome: 'warning' | 'problem', mistake: string): Finding {
  const [, subject = 'settings', text = mistake] = /^([^\s:]+): (.*)$/s.exec(mistake) ?? []
  return { subject, outcome, text }
}
