/** The files a first start needs: a key, its self-signed certificate, and a configuration with a fresh API key. */
import { generateKeyPair } from 'node:crypto'
import { lstatSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { privateKeyPem } from '../../keys/file-signer.ts'
import { type SubjectAltNames, selfSignedCertificate, toPem } from '../../keys/make-certificate.ts'
import { isLoopback, withoutBrackets } from '../../protocol/private-host.ts'
import { CONFIG_FILE } from '../command-table/command.ts'
import type { CredentialServiceName } from '../credential-services.ts'
import { makeDirectory } from '../directory.ts'
import { now, random } from '../effects.ts'

export interface NewService {
  readonly service: CredentialServiceName
  readonly baseUrl: string
  readonly port: number
  /** The name for people: that of the issuer or the verifier. */
  readonly displayName: string
}

/** The files by their paths relative to the directory of the service. */
export interface NewFiles {
  readonly files: readonly { readonly path: string; readonly text: string; readonly mode: number }[]
  readonly directories: readonly string[]
  readonly apiKey: string
  readonly validUntil: Date
}

export const TRUST_ANCHORS = 'conf/trust-anchors'
export const certificateFile = (service: CredentialServiceName): string => `conf/${service}.pem`
export const keyFile = (service: CredentialServiceName): string => `conf/${service}.key`
export const SECRETS_FILE = 'conf/issuer.secrets'

const DAY_MS = 86_400_000
const VALID_DAYS = 365
/** The mode of files with a secret: this user only. */
export const PRIVATE = 0o600

/** Makes the files in memory; writes nothing. */
export async function makeFiles(options: NewService): Promise<NewFiles> {
  const { service, baseUrl } = options
  // The asynchronous generator is used: on Node 20.20, exporting a key of the synchronous one can hang the process.
  const { privateKey, publicKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  const apiKey = Buffer.from(random(32)).toString('hex')
  const validUntil = new Date(now().getTime() + VALID_DAYS * DAY_MS)
  const certificate = selfSignedCertificate({
    privateKey,
    publicKey,
    commonName: options.displayName,
    serial: random(16),
    // The certificate begins a day earlier, for wallets whose clock is slow.
    notBefore: new Date(now().getTime() - DAY_MS),
    notAfter: validUntil,
    ...namesOf(baseUrl),
  })
  return {
    files: [
      { path: CONFIG_FILE, text: `${JSON.stringify(settingsOf(options, apiKey), null, 2)}\n`, mode: PRIVATE },
      { path: keyFile(service), text: privateKeyPem(privateKey), mode: PRIVATE },
      { path: certificateFile(service), text: toPem(certificate), mode: 0o644 },
      ...(service === 'issuer' ? [{ path: SECRETS_FILE, text: secretsText(), mode: PRIVATE }] : []),
    ],
    directories: service === 'verifier' ? [TRUST_ANCHORS] : [],
    apiKey,
    validUntil,
  }
}

/** Lists the files that exist already. */
export function existingFiles(directory: string, { files }: Pick<NewFiles, 'files'>): readonly string[] {
  return files.map(({ path }) => path).filter((path) => lstatSync(join(directory, path), { throwIfNoEntry: false }))
}

/** Describes what was written, for programs; the API key stays in the configuration. */
export function writtenJson(
  { files, directories }: Pick<NewFiles, 'files' | 'directories'>,
  facts: Readonly<Record<string, unknown>>,
): string {
  const paths = [...files.map(({ path }) => path), ...directories]
  return `${JSON.stringify({ ...facts, config: CONFIG_FILE, files: paths })}\n`
}

/** Writes the files into `directory`, which is made if need be. Throws rather than overwrite. */
export function writeFiles(directory: string, { files, directories }: Pick<NewFiles, 'files' | 'directories'>): void {
  for (const path of directories) makeDirectory(join(directory, path))
  for (const { path, text, mode } of files) {
    makeDirectory(dirname(join(directory, path)))
    writeFileSync(join(directory, path), text, { mode, flag: 'wx' })
  }
}

/** The names of the files in the order of their explanation. */
function settingsOf({ service, baseUrl, port, displayName }: NewService, apiKey: string): object {
  return {
    port,
    ...loopbackHost(baseUrl),
    baseUrl,
    ...(service === 'issuer'
      ? { issuer: { id: baseUrl, display: { name: displayName } } }
      : { clientMetadata: { clientName: displayName }, issuerTrustAnchors: TRUST_ANCHORS }),
    signing: { keyFile: keyFile(service), certificateFiles: [certificateFile(service)] },
    ...(service === 'issuer' && { secretsFile: SECRETS_FILE }),
    integrations: { authentication: { [apiKey]: 'first application' } },
  }
}

function secretsText(): string {
  return `# What codes, nonces and tokens are derived from. The first line makes them, each line is accepted.
${Buffer.from(random(32)).toString('base64')}
`
}

/** The setting `host` for an address of this machine: a service at a loopback address listens on loopback only. */
export function loopbackHost(baseUrl: string): { readonly host?: string } {
  const host = withoutBrackets(new URL(baseUrl).hostname)
  if (!isLoopback(host)) return {}
  return { host: isIP(host) === 0 ? '127.0.0.1' : host }
}

/**
 * Returns the names in the certificate, which verifiers compare with `issuer.id` and wallets with the host of a
 * verifier.
 */
function namesOf(baseUrl: string): SubjectAltNames {
  const host = withoutBrackets(new URL(baseUrl).hostname)
  return { uris: [baseUrl], ...(isIP(host) === 0 ? { dnsNames: [host] } : { ipAddresses: [host] }) }
}
