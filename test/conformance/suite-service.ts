/** Services for the conformance suite: processes of the built command, in a fresh directory, with https. */
import { execFileSync, spawn } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeSelfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'

const COMMAND = join(process.cwd(), 'dist', 'vouchsafe.cjs')

export interface SuiteService {
  readonly url: string
  readonly apiKey: string
  /** The directory of the service, which has the files that `init` makes. */
  readonly directory: string
  close(): Promise<void>
}

/** The settings that `init` writes, as far as a change of them needs to know. */
interface Settings {
  readonly integrations: { readonly authentication: Readonly<Record<string, string>> }
  readonly issuer?: object
}

/** Starts a service on the port by the settings that `init` writes, and what `change` puts in their place. */
export async function startService(
  [service, ...words]: readonly [service: 'issuer' | 'verifier', ...words: readonly string[]],
  port: number,
  change: (settings: Settings) => object,
): Promise<SuiteService> {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-suite-'))
  const url = `https://localhost:${port}`
  const init = ['init', service, ...words, '--dir', directory, '--base-url', url]
  execFileSync(process.execPath, [COMMAND, ...init])
  writeTlsFiles(directory)
  const file = join(directory, 'conf', 'server.json')
  const settings = JSON.parse(readFileSync(file, 'utf8')) as Settings
  const tls = { keyFile: 'conf/tls.key', certificateFiles: ['conf/tls.pem'] }
  writeFileSync(file, JSON.stringify({ ...settings, port, tls, ...change(settings) }, null, 2))
  const log = join(directory, 'service.log')
  process.stdout.write(`the log of the ${service} is ${log}\n`)
  const child = spawn(process.execPath, [COMMAND, service], { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'] })
  process.on('exit', () => child.kill())
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (data: Buffer) => {
      writeFileSync(log, data, { flag: 'a' })
      if (data.includes('"event":"listening"')) resolve()
    })
    child.once('exit', () => reject(new Error(`the ${service} ended; see its log`)))
  })
  const close = async (): Promise<void> => {
    child.kill()
    await once(child, 'exit')
  }
  return { url, apiKey: Object.keys(settings.integrations.authentication)[0] ?? '', directory, close }
}

function writeTlsFiles(directory: string): void {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const certificate = makeSelfSignedCertificate({
    privateKey,
    publicKey,
    commonName: 'localhost',
    dnsNames: ['localhost'],
    serial: randomBytes(16),
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 86_400_000),
  })
  writeFileSync(join(directory, 'conf', 'tls.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(join(directory, 'conf', 'tls.pem'), toPem(certificate))
}
