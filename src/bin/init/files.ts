/** Makes the files for a first start: a key, a self-signed certificate, and a configuration with a new API key. */
import { closeSync, lstatSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { dirname, join } from 'node:path'
import { CRL_LABEL, writePem } from '../../codec/pem.ts'
import { privateKeyPem } from '../../keys/file-signer.ts'
import { makeSelfSignedCertificate, type SubjectAltNames, toPem } from '../../keys/make-certificate.ts'
import { isLoopback, stripBrackets } from '../../protocol/private-host.ts'
import { CONFIG_FILE } from '../command-table/command.ts'
import { now, random } from '../effects.ts'
import { throwUnmade } from '../embedded-database/storage-advice.ts'
import { makeDirectory, PRIVATE } from '../files/directory.ts'
import type { CredentialServiceName } from '../service/credential-services.ts'
import { haipSettings, makeTestProvider } from './haip.ts'
import { isInImage } from './image-texts.ts'
import { type CertificateTimes, type CertifiedKey, certifyByTestCa, type KeyPair, makeKeyPair } from './test-ca.ts'

export interface NewService {
  readonly service: CredentialServiceName
  readonly baseUrl: string
  readonly port: number
  /** The display name of the issuer or the verifier. */
  readonly displayName: string
  /** With `haip`, there are also a test CA and, of an issuer, a test wallet provider. */
  readonly profile?: 'haip' | undefined
  /** The country of a test CA for mobile documents, by its two letters in ISO 3166-1. */
  readonly country?: string | undefined
}

/** The files by path, relative to the directory of the service. */
export interface NewFiles {
  readonly files: readonly { readonly path: string; readonly text: string; readonly mode: number }[]
  readonly directories: readonly string[]
  readonly apiKey: string
  readonly validUntil: Date
}

/** The codes of the errors with which writing fails outside of the mounts of a container. */
const UNMOUNTED_CODES: readonly string[] = ['EACCES', 'ENOENT', 'EROFS']

export const TRUST_ANCHORS = 'conf/trust-anchors'
export const caFile = (service: CredentialServiceName): string => `conf/${service}-ca.pem`
export const certificateFile = (service: CredentialServiceName): string => `conf/${service}.pem`
export const keyFile = (service: CredentialServiceName): string => `conf/${service}.key`
export const SECRETS_FILE = 'conf/issuer.secrets'
export const REVOCATION_LIST = 'conf/issuer-ca.crl'

const DAY_MS = 86_400_000
/** Twice the validity of a credential by default, which ends with the certificate that it carries. */
const VALID_DAYS = 730
/** The longest validity of a document signer, of which the day before the start is one. ISO/IEC 18013-5 table B.3. */
const MDOC_SIGNER_DAYS = 457 - 1

/** Makes the files in memory. */
export async function makeFiles(options: NewService): Promise<NewFiles> {
  const { service, profile } = options
  const pair = await makeKeyPair()
  const apiKey = Buffer.from(random(32)).toString('hex')
  const days = options.country === undefined ? VALID_DAYS : MDOC_SIGNER_DAYS
  const validUntil = new Date(now().getTime() + days * DAY_MS)
  // Begins a day earlier, for wallets whose clocks are slow.
  const validity = { notBefore: new Date(now().getTime() - DAY_MS), notAfter: validUntil }
  const { certificate, ca, revocationList } = await certify(pair, options, validity)
  return {
    files: [
      { path: CONFIG_FILE, text: `${JSON.stringify(settingsOf(options, apiKey), null, 2)}\n`, mode: PRIVATE },
      { path: keyFile(service), text: privateKeyPem(pair.privateKey), mode: PRIVATE },
      { path: certificateFile(service), text: toPem(certificate), mode: 0o644 },
      ...(service === 'issuer' ? [{ path: SECRETS_FILE, text: secretsText(), mode: PRIVATE }] : []),
      ...(ca ? [{ path: caFile(service), text: toPem(ca), mode: 0o644 }] : []),
      ...(revocationList ? [{ path: REVOCATION_LIST, text: writePem(CRL_LABEL, revocationList), mode: 0o644 }] : []),
      ...(profile === 'haip' && service === 'issuer' ? await makeTestProvider(validity) : []),
    ],
    directories: service === 'verifier' ? [TRUST_ANCHORS] : [],
    apiKey,
    validUntil,
  }
}

/** Certifies the key: self-signed, or by a test CA if the profile or mobile documents require a CA. */
async function certify(
  pair: KeyPair,
  { displayName: commonName, baseUrl, profile, country }: NewService,
  validity: CertificateTimes,
): Promise<Pick<CertifiedKey, 'certificate'> & Partial<CertifiedKey>> {
  const names = namesOf(baseUrl)
  const mdocAuthority = country === undefined ? undefined : { country, uri: baseUrl }
  if (profile === 'haip' || mdocAuthority) return certifyByTestCa(pair, { commonName, names, validity, mdocAuthority })
  return { certificate: makeSelfSignedCertificate({ ...pair, commonName, serial: random(16), ...validity, ...names }) }
}

/** Returns the files that exist already. */
export function existingFiles(directory: string, { files }: Pick<NewFiles, 'files'>): readonly string[] {
  try {
    return files.map(({ path }) => path).filter((path) => lstatSync(join(directory, path), { throwIfNoEntry: false }))
  } catch (error) {
    return throwUnwritten(directory, error)
  }
}

/** Returns the result as JSON, without the API key. */
export function writtenJson(
  { files, directories }: Pick<NewFiles, 'files' | 'directories'>,
  facts: Readonly<Record<string, unknown>>,
): string {
  const paths = [...files.map(({ path }) => path), ...directories]
  return `${JSON.stringify({ ...facts, config: CONFIG_FILE, files: paths })}\n`
}

/**
 * Writes the files into `directory`, which is created if it does not exist. Throws if a file exists, or one cannot be
 * written, and then leaves none of the others.
 */
export function writeFiles(directory: string, { files, directories }: Pick<NewFiles, 'files' | 'directories'>): void {
  const newFiles: string[] = []
  try {
    for (const path of directories) makeDirectory(join(directory, path))
    for (const { path, text, mode } of files) {
      const file = join(directory, path)
      makeDirectory(dirname(file))
      const descriptor = openSync(file, 'wx', mode)
      newFiles.push(file)
      try {
        writeFileSync(descriptor, text)
      } finally {
        closeSync(descriptor)
      }
    }
  } catch (error) {
    for (const file of newFiles) rmSync(file, { force: true })
    throwUnwritten(directory, error)
  }
}

/** Throws, for the operator, that the directory cannot be made; in an image a mounted one is needed. */
function throwUnwritten(directory: string, error: unknown): never {
  const { code = '' } = error as NodeJS.ErrnoException
  if (!isInImage() || !UNMOUNTED_CODES.includes(code)) throwUnmade(directory, error)
  const advice = 'mount a folder that this user may write, and name it with --dir'
  throw new Error(`${directory}: it cannot be made (${code}); ${advice}`, { cause: error })
}

/** Makes the settings, in the order in which they are explained. */
function settingsOf({ service, baseUrl, port, displayName, profile, country }: NewService, apiKey: string): object {
  return {
    port,
    ...loopbackHost(baseUrl),
    baseUrl,
    ...(service === 'issuer'
      ? { issuer: { id: baseUrl, display: { name: displayName } } }
      : { clientMetadata: { clientName: displayName }, issuerTrustAnchors: TRUST_ANCHORS }),
    signing: { keyFile: keyFile(service), certificateFiles: [certificateFile(service)] },
    ...(service === 'issuer' && { secretsFile: SECRETS_FILE }),
    ...(country !== undefined && { revocationListFile: REVOCATION_LIST }),
    ...(profile === 'haip' && haipSettings[service]),
    integrations: { authentication: { [apiKey]: 'first application' } },
  }
}

function secretsText(): string {
  return `# What codes, nonces and tokens are derived from. The first line makes them, each line is accepted.
${Buffer.from(random(32)).toString('base64')}
`
}

/** Returns the setting `host` for a `baseUrl` on loopback; the service then listens on loopback only. */
export function loopbackHost(baseUrl: string): { readonly host?: string } {
  const host = stripBrackets(new URL(baseUrl).hostname)
  if (!isLoopback(host)) return {}
  return { host: isIP(host) === 0 ? '127.0.0.1' : host }
}

/**
 * Returns the subject alternative names, which verifiers compare with `issuer.id`, and wallets with the host of a
 * verifier.
 */
function namesOf(baseUrl: string): SubjectAltNames {
  const host = stripBrackets(new URL(baseUrl).hostname)
  return { uris: [baseUrl], ...(isIP(host) === 0 ? { dnsNames: [host] } : { ipAddresses: [host] }) }
}
