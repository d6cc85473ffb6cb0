/**
 * `vouchsafe init`: writes the files for a first start, and prints an explanation of each setting, since JSON has no
 * comments.
 */
import { resolve } from 'node:path'
import { findAddressMistakes } from '../../config/address.ts'
import { isLoopback } from '../../protocol/private-host.ts'
import { CONFIG_FILE } from '../command-table/command.ts'
import { findLanAddress, HOST_OF_CONTAINER, isInContainer } from '../network/network.ts'
import {
  type CredentialServiceName,
  credentialServices,
  isCredentialServiceName,
} from '../service/credential-services.ts'
import { commandName, readWords, serviceProblem, shellWord } from '../terminal/command-line.ts'
import {
  caFile,
  certificateFile,
  existingFiles,
  keyFile,
  loopbackHost,
  makeFiles,
  type NewFiles,
  REVOCATION_LIST,
  SECRETS_FILE,
  TRUST_ANCHORS,
  writeFiles,
  writtenJson,
} from './files.ts'
import { haipNext, haipSettingsText, providerFilesText } from './haip.ts'
import { isInImage, startStep, thisPlace, writtenPlace } from './image-texts.ts'
import { otherSettings } from './other-settings.ts'

const HINTS: Readonly<Record<string, string>> = {
  host: 'every interface',
  tls: 'or leave it to a proxy',
  clockSkewSeconds: '60',
  sessionCallback: 'to be told how sessions end',
}
const VERIFIER_HINTS: Readonly<Record<string, string>> = {
  profile: 'haip encrypts every response',
  requestLifetimeSeconds: '600',
}
const OWN_FILES: Readonly<Record<CredentialServiceName, string>> = {
  issuer: `  ${SECRETS_FILE.padEnd(20)}  what codes and nonces are derived from: keep it private
`,
  verifier: `  ${`${TRUST_ANCHORS}/`.padEnd(20)}  empty: the certificates of the issuers you trust go here
`,
}

const revocationSettingText = `  revocationListFile    the revocation list (CRL) of the CA; it is served at
                        /issuer-ca.crl, which the certificates name
`

const WHO_TRUSTS: Readonly<Record<CredentialServiceName, string>> = { issuer: 'verifiers', verifier: 'wallets' }

interface WrittenFiles extends NewFiles {
  readonly profile: 'haip' | undefined
  readonly country: string | undefined
  readonly service: CredentialServiceName
  readonly directory: string
  readonly baseUrl: string
  readonly port: number
}

/** Runs `vouchsafe init` with the words after it. */
export async function runInit(args: string[]): Promise<void> {
  process.stdout.write(await writeFirstFiles(args))
}

/** Writes the files, and returns the text for stdout. */
export async function writeFirstFiles(args: string[]): Promise<string> {
  const { values, positionals } = readWords('init', args)
  if (positionals.join() === 'engine') return (await import('../engine/commands.ts')).writeEngineFiles(values)
  const service = serviceOf(positionals)
  const baseUrl = values['base-url'] ?? `http://localhost:${credentialServices[service].defaults.port}`
  const mistakes = findAddressMistakes(baseUrl)
  if (mistakes.length > 0) throw new Error(mistakes.join('\n').replaceAll('baseUrl:', '--base-url:'))
  const directory = resolve(values.dir)
  const port = listenPort(service, baseUrl)
  const { profile, country } = values
  requireCountry(country)
  const { exampleName: displayName } = credentialServices[service]
  const files = await makeFiles({ service, baseUrl, port, displayName, profile, country })
  const existing = existingFiles(directory, files)
  if (existing.length > 0) refuseToOverwrite(service, directory, existing)
  writeFiles(directory, files)
  const facts = { service, directory, base_url: baseUrl, port, certificate_valid_until: files.validUntil.toISOString() }
  return values.json
    ? writtenJson(files, facts)
    : explainFiles({ ...files, service, directory, baseUrl, port, profile, country })
}

/** Throws unless `country` is absent or has the form of ISO 3166-1 alpha-2, which certificates require. */
function requireCountry(country: string | undefined): void {
  if (country !== undefined && !/^[A-Z]{2}$/.test(country)) {
    throw new Error(`--country ${country}: say a country by its two capital letters, such as DE`)
  }
}

function serviceOf(positionals: readonly string[]): CredentialServiceName {
  const [word, ...more] = positionals
  if (word !== undefined && more.length === 0 && isCredentialServiceName(word)) return word
  throw new Error(serviceProblem('init', positionals))
}

/**
 * Returns the port to listen on: the default port for an https URL, which is that of a proxy, and the port of an http
 * URL.
 */
function listenPort(service: CredentialServiceName, baseUrl: string): number {
  const { protocol, port } = new URL(baseUrl)
  return protocol === 'http:' && port !== '' ? Number(port) : credentialServices[service].defaults.port
}

function refuseToOverwrite(service: CredentialServiceName, directory: string, existing: readonly string[]): never {
  throw new Error(
    `There is already ${existing.join(', ')} in ${directory}.\n` +
      'Nothing was written, because init never overwrites. Each service wants a directory of its own:\n' +
      `  ${commandName()} init ${service} --dir ${service}`,
  )
}

function explainFiles(writtenFiles: WrittenFiles): string {
  return [filesText(writtenFiles), settingsText(writtenFiles), addressText(writtenFiles), nextText(writtenFiles)]
    .filter((text) => text !== '')
    .join('\n')
}

function nextText(writtenFiles: WrittenFiles): string {
  if (writtenFiles.service === 'verifier') return verifierNext(writtenFiles)
  return writtenFiles.profile === 'haip' ? haipNext(writtenFiles) : issuerNext(writtenFiles)
}

function filesText(writtenFiles: WrittenFiles): string {
  const { service, directory, validUntil, profile, country } = writtenFiles
  const isByCa = hasCa(writtenFiles)
  const ca = `  ${caFile(service).padEnd(20)}  the CA of that certificate, for ${WHO_TRUSTS[service]} to trust;
  ${''.padEnd(20)}  its key is gone
${country === undefined ? '' : `  ${REVOCATION_LIST.padEnd(20)}  the revocation list (CRL) of that CA; it stays empty\n`}`
  return `Written into ${writtenPlace(directory)}:

  ${CONFIG_FILE.padEnd(20)}  the configuration, with an API key: keep it private
  ${keyFile(service).padEnd(20)}  the signing key (EC P-256); it never leaves this machine
  ${certificateFile(service).padEnd(20)}  its certificate: ${isByCa ? 'of a test CA' : 'self-signed'}, valid until ${dayText(validUntil)}
${OWN_FILES[service]}${isByCa ? ca : ''}${profile === 'haip' && service === 'issuer' ? providerFilesText : ''}`
}

function hasCa({ files, service }: WrittenFiles): boolean {
  return files.some(({ path }) => path === caFile(service))
}

function settingsText(writtenFiles: WrittenFiles): string {
  const { service, baseUrl, port, profile, country } = writtenFiles
  const { settings, defaults } = credentialServices[service]
  const database = `embedded, in ${defaults.databaseFile}`
  const hints = { ...HINTS, database, ...(service === 'verifier' ? VERIFIER_HINTS : {}) }
  const { host } = loopbackHost(baseUrl)
  const serviceSettings =
    service === 'issuer'
      ? `  issuer.id             who issues: iss and issuer of every credential; it is
                        also a name in the certificate, so change both or none
  issuer.display.name   the name that wallets show
`
      : `  clientMetadata        clientName: the name that wallets show; logoUri: a logo
  issuerTrustAnchors    directory with the certificates (.pem) of trusted issuers
`
  return `The settings; paths are relative to the directory that the service starts in:

  port                  where the service listens: ${port}
${host === undefined ? '' : `  host                  ${host}: ${thisPlace()} alone; without it, all may ask\n`}  baseUrl               where wallets reach it: ${baseUrl}
${serviceSettings}  signing               the key file, and the files of its certificate chain
${service === 'issuer' ? '  secretsFile           what codes, nonces and tokens are derived from\n' : ''}${country === undefined ? '' : revocationSettingText}${profile === 'haip' ? haipSettingsText[service] : ''}  integrations          authentication: who may call the service. Each key is a
                        secret of one application, its value a label in logs

${otherSettings(settings, writtenFiles, hints)}
`
}

function addressText({ service, baseUrl, port, profile, country }: WrittenFiles): string {
  if (!isLoopback(new URL(baseUrl).hostname)) return ''
  const isContained = isInContainer()
  const options = [...(profile ? ['--profile', profile] : []), ...(country ? ['--country', country] : [])]
  const address = (isContained ? undefined : findLanAddress()) ?? 'ADDRESS'
  const reachable = isContained ? HOST_OF_CONTAINER : "this machine's address"
  // The certificates of mobile documents name baseUrl as the place of their revocation list.
  const ways =
    country === undefined
      ? ` put\n${reachable} into baseUrl\nand take out host, or make files that have it:`
      : `\nmake files that have ${reachable},\nsince the certificates name it:`
  return `A phone cannot reach ${baseUrl}. For one on the same network,${ways}

  ${[commandName(), 'init', service, ...options].join(' ')} --dir DIR --base-url http://${address}:${port}
`
}

function issuerNext(writtenFiles: WrittenFiles): string {
  const { directory, port, apiKey } = writtenFiles
  const anchor = hasCa(writtenFiles) ? caFile('issuer') : certificateFile('issuer')
  const sample =
    writtenFiles.country === undefined
      ? '{"format": "dc+sd-jwt", "vct": "urn:example.edu:student-card"}'
      : '{"format": "mso_mdoc", "doctype": "org.iso.18013.5.1.mDL"}'
  return `Next:

  1. ${startStep('issuer', directory)}
  2. Declare what it issues; the answer is the id of the configuration:

       curl http://localhost:${port}/credential-configuration/create \\
         -H 'Authorization: Bearer ${apiKey}' \\
         -H 'Content-Type: application/json' \\
         -d '${sample}'

  3. Give the certificate, never the key, to the verifier that is to trust it:

       ${isInImage() ? copyOnHost(anchor) : `cp ${anchor} VERIFIER-DIR/${TRUST_ANCHORS}/`}
`
}

function verifierNext({ directory, port, apiKey }: WrittenFiles): string {
  return `Next:

  1. Trust an issuer: the service does not start while the directory is empty.
     Without the setting issuerTrustAnchors it starts, and anybody can issue what
     it accepts: a verification shows only that a credential is well-formed:

       ${isInImage() ? copyOnHost(certificateFile('issuer')) : `cd ${shellWord(directory)}\n       cp ISSUER-DIR/${certificateFile('issuer')} ${TRUST_ANCHORS}/`}

  2. ${startStep('verifier')}
  3. Say what it asks for; the answer is the id of the query:

       curl http://localhost:${port}/verification-query/create \\
         -H 'Authorization: Bearer ${apiKey}' \\
         -H 'Content-Type: application/json' \\
         -d '{"dcql_query": {"credentials": [{"id": "card", "format": "dc+sd-jwt",
               "meta": {"vct_values": ["urn:example.edu:student-card"]},
               "claims": [{"path": ["given_name"]}]}]}}'
`
}

/** Returns the command that copies an anchor where the directories have other names than in this container. */
function copyOnHost(anchor: string): string {
  return `cp ISSUER-DIR/${anchor} VERIFIER-DIR/${TRUST_ANCHORS}/`
}

function dayText(date: Date): string {
  return date.toISOString().slice(0, 10)
}
