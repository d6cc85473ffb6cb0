/** A good configuration of a service, for tests that spoil it and then ask `vouchsafe doctor`. */
import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { diagnose } from '../../src/bin/doctor/diagnosis.ts'
import type { Finding } from '../../src/bin/doctor/finding.ts'
import { files, openDatabase } from '../../src/bin/effects.ts'
import { certificateFile, keyFile, makeFiles, SECRETS_FILE, writeFiles } from '../../src/bin/init/files.ts'
import { readPrivateKey } from '../../src/keys/file-signer.ts'
import { makeSelfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'
import { temporaryDirectory } from './command.ts'
import { freePort } from './free-port.ts'

type Service = 'issuer' | 'verifier'
type Settings = Record<string, unknown> & { port: number; baseUrl: string }

const DAY_MS = 86_400_000

/** The trust anchor of a verifier, below its directory. */
export const ANCHOR = 'conf/trust-anchors/a.pem'

/** Returns the time so many days from now. */
export const inDays = (days: number): Date => new Date(Date.now() + days * DAY_MS)

/** A good configuration in a directory of its own, its paths absolute and its port free. */
export interface ServiceFiles {
  readonly service: Service
  readonly directory: string
  readonly settings: Settings
  readonly key: KeyObject
}

/** Makes the files of a service as `vouchsafe init` does. */
export async function makeServiceFiles(service: Service): Promise<ServiceFiles> {
  const directory = temporaryDirectory()
  const port = await freePort()
  writeFiles(directory, await makeFiles({ service, baseUrl: `http://127.0.0.1:${port}`, port, displayName: 'Example' }))
  const initial = JSON.parse(readFileSync(join(directory, 'conf/server.json'), 'utf8')) as Settings
  if (service === 'verifier') copyFileSync(join(directory, 'conf/verifier.pem'), join(directory, ANCHOR))
  const settings: Settings = {
    ...initial,
    ...(service === 'verifier'
      ? { issuerTrustAnchors: join(directory, 'conf/trust-anchors') }
      : { secretsFile: join(directory, SECRETS_FILE) }),
    signing: {
      keyFile: join(directory, keyFile(service)),
      certificateFiles: [join(directory, certificateFile(service))],
    },
    database: { url: `sqlite:${join(directory, `data/${service}.db`)}` },
  }
  return { service, directory, settings, key: readPrivateKey(readFileSync(join(directory, keyFile(service)), 'utf8')) }
}

/** Asks the doctor about the service. */
export function examine({ service, settings, directory }: ServiceFiles): Promise<Finding[]> {
  const configFile = join(directory, 'conf/server.json')
  return diagnose({ service, value: settings, configFile }, files, new Date())
}

/** Replaces the certificate of the key; `pem` may hold several. */
export function certify({ directory, service }: ServiceFiles, pem: string): void {
  writeFileSync(join(directory, certificateFile(service)), pem)
}

/** Makes a self-signed certificate for the URI, in PEM. */
export function makeSelfSigned(key: KeyObject, uri: string, until: Date): string {
  const names = { commonName: 'Example', uris: [uri], serial: randomBytes(16) }
  const times = { notBefore: inDays(-100), notAfter: until }
  return toPem(makeSelfSignedCertificate({ privateKey: key, publicKey: createPublicKey(key), ...names, ...times }))
}

/** Makes an empty database of the migrations. */
export async function makeDatabase(file: string, migrations: Parameters<typeof openDatabase>[1]): Promise<void> {
  await (await openDatabase({ kind: 'sqlite', file }, migrations)).close()
}

/** A spoilt configuration, and what the doctor says of it. */
type DoctorRow = readonly [
  what: string,
  service: Service,
  /** Spoils files, or returns the settings that are to be others. */
  spoil: (it: ServiceFiles) => unknown,
  subject: string,
  outcome: Finding['outcome'],
  text: RegExp,
]

/** Makes a test of each row. */
export function itFinds(rows: readonly DoctorRow[]): void {
  it.each(rows)('%s', async (_, service, spoil, subject, outcome, text) => {
    const it = await makeServiceFiles(service)
    Object.assign(it.settings, await spoil(it))
    expect(await examine(it)).toContainEqual({ subject, outcome, text: expect.stringMatching(text) as string })
  })
}
