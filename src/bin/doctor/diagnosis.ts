/**
 * Diagnoses a configuration before a service starts with it: all mistakes, and the files and addresses in the settings.
 * A readable part is checked even if another one is invalid.
 */
import { isObject } from '../../codec/json.ts'
import {
  ANCHOR_SETTINGS,
  type AnchorSetting,
  readAnchorDirectory,
  readCertificateDirectory,
} from '../../config/anchor-directory.ts'
import { type CommonConfig, checkSettings, type ReadResult } from '../../config/common.ts'
import { readDatabase } from '../../config/database.ts'
import type { Files } from '../../config/files.ts'
import { type ReadKey, readKeyAndCertificates } from '../../config/signing.ts'
import type { IssuerConfig } from '../../issuer/config.ts'
import type { VerifierConfig } from '../../verifier/config.ts'
import { type CredentialServiceName, credentialServices } from '../service/credential-services.ts'
import { findWorkersMistake } from '../service/workers.ts'
import { findAddressFindings } from './address.ts'
import { expiryFinding, findAnchorFindings, findValidityFindings, identifierFinding } from './certificates.ts'
import { findConfigurationFindings } from './configurations.ts'
import { embeddedFileOf, findDatabaseFindings } from './database.ts'
import { findDisplayNameFindings } from './display-name.ts'
import type { DoctorInput, Settings } from './doctor-input.ts'
import { findEncryptionFindings } from './encryption.ts'
import { type Finding, findingOfMistake, makeFinding, removeRepetitions } from './finding.ts'
import { findStorageFindings } from './machine.ts'
import { findPartyFindings } from './other-parties.ts'
import { findPrivateFileFindings } from './private-file.ts'
import { findSecretsFindings } from './secrets.ts'
import { findSigningKeyFindings } from './signing-keys.ts'
import { findTrustListFindings } from './trust-list.ts'

/** A configuration of a service, with the file that it is of. */
interface ExaminedConfiguration {
  readonly service: CredentialServiceName
  readonly value: unknown
  readonly configFile: string
}

/** Returns all findings about the configuration of a service at the time `at`, without repetitions. */
export async function diagnose(
  { service, value, configFile }: ExaminedConfiguration,
  files: Files,
  at: Date,
): Promise<Finding[]> {
  const { defaults, migrations, readConfig, settings: schema, title } = credentialServices[service]
  const settings = checkSettings(schema, value).settings as Settings
  const { baseUrl, host, management } = settings
  const database = readNamedDatabase(value, settings, defaults.databaseFile, files)
  const port = isObject(value) && Object.hasOwn(value, 'port') ? settings.port : defaults.port
  const result = readConfig(value, files, at)
  // A party that does not answer costs seconds, so all are asked at the same time.
  const [addressFindings, partyFindings] = await Promise.all([
    findAddressFindings({
      ...{ baseUrl, port, host, title, management, started: { service, configFile } },
      databaseFile: embeddedFileOf(database),
    }),
    'config' in result ? findPartyFindings(result.config) : [],
  ])
  return removeRepetitions([
    ...findSettingsFindings(result),
    ...(settings.profile === 'haip' ? [profileFinding(service, result)] : []),
    ...(await findCertificateFindings({ settings, files, at, signs: defaults.signs })),
    ...(service === 'issuer' ? findSecretsFindings(settings, files) : []),
    ...findDisplayNameFindings(service, settings),
    ...addressFindings,
    ...partyFindings,
    ...('mistakes' in database ? [] : await findDatabaseFindings(database.database, migrations)),
    ...('mistakes' in database ? [] : await findStorageFindings(database.database)),
    ...('mistakes' in database || service !== 'issuer' || 'mistakes' in result
      ? []
      : await findConfigurationFindings(database.database, result.config as IssuerConfig, at)),
    ...(service !== 'verifier' || 'mistakes' in result
      ? []
      : await findTrustListFindings(result.config as VerifierConfig)),
    ...('mistakes' in database
      ? []
      : await findEncryptionFindings(settings, database.database, { files, at, defaults })),
  ])
}

/** Returns the configured database; no mistakes if the setting has the wrong form, which is reported elsewhere. */
function readNamedDatabase(value: unknown, settings: Settings, defaultFile: string, files: Files) {
  const isMisshapen = isObject(value) && Object.hasOwn(value, 'database') && settings.database === undefined
  return isMisshapen ? { mistakes: [] } : readDatabase(settings.database, defaultFile, files)
}

function findSettingsFindings(result: ReadResult<CommonConfig>): Finding[] {
  if ('mistakes' in result) return result.mistakes.map((mistake) => findingOfMistake('problem', mistake))
  const workersMistake = findWorkersMistake(result.config)
  if (workersMistake !== undefined) return [findingOfMistake('problem', workersMistake)]
  const summary = makeFinding('settings', 'ok', 'every one is known and complete')
  return [summary, ...result.warnings.map((warning) => findingOfMistake('warning', warning))]
}

/** Returns whether the settings conform to the profile; other findings have the problems. */
function profileFinding(service: CredentialServiceName, result: ReadResult<unknown>): Finding {
  const fits = 'config' in result
  const fitsText =
    service === 'issuer'
      ? 'pushed requests, DPoP and wallet attestations are on; the pre-authorized code and other formats are off'
      : 'every response is encrypted, and the certificate is of a CA'
  const text = fits
    ? `haip: ${fitsText}`
    : 'haip: something that the profile needs is missing, or something is on that it does not have; see the problems'
  return makeFinding('profile', fits ? 'ok' : 'note', text)
}

async function findCertificateFindings(input: DoctorInput): Promise<Finding[]> {
  const { tls, issuer } = input.settings
  const { at } = input
  const { findings, signingKey } = await findSigningKeyFindings(input)
  const tlsKey = readTlsKey(input)
  return [
    ...findings,
    ...(signingKey && issuer ? [identifierFinding(signingKey.chain, issuer.id)] : []),
    ...(tlsKey ? findValidityFindings('tls', tlsKey.chain, at) : []),
    ...(tls ? findPrivateFileFindings('tls', tls.keyFile) : []),
    ...ANCHOR_SETTINGS.flatMap((setting) => anchorsOf(setting, input)),
    ...findListSignerFindings(input),
  ]
}

function anchorsOf(setting: AnchorSetting, { settings, files, at }: DoctorInput): Finding[] {
  const anchors = readAnchorDirectory(setting, settings[setting], files, at)
  return 'certificates' in anchors ? findAnchorFindings(setting, anchors.certificates, at) : []
}

function findListSignerFindings({ settings: { trustLists = [] }, files, at }: DoctorInput): Finding[] {
  return trustLists.flatMap(({ signerTrustAnchors }, index) => {
    const settingPath = `trustLists[${index}].signerTrustAnchors`
    const signers = readCertificateDirectory({ settingPath }, signerTrustAnchors, files, at)
    return 'certificates' in signers ? signers.certificates.map((each) => expiryFinding(settingPath, each, at)) : []
  })
}

function readTlsKey({ settings: { tls }, files, at }: DoctorInput): ReadKey | undefined {
  const keyResult = tls && readKeyAndCertificates({ settingPath: 'tls', purpose: 'tls', now: at }, tls, files)
  return keyResult && 'key' in keyResult ? keyResult : undefined
}
