/**
 * A directory on disk with the keys, certificates and configurations of both services, and the services started in it.
 */
import { createPublicKey, generateKeyPair, type KeyObject, randomBytes } from 'node:crypto'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { readPemCertificates } from '../src/keys/certificate.ts'
import { writeName } from '../src/keys/certificate-name.ts'
import { createSigner } from '../src/keys/file-signer.ts'
import { makeCertificate, toPem, usualExtensions } from '../src/keys/make-certificate.ts'
import type { Signer } from '../src/keys/signer.ts'
import type { PostgresServer } from '../test/support/postgres-server.ts'
import { type Running, start } from './processes.ts'

export type ServiceName = 'issuer' | 'verifier'
/** A setting of the verifier. */
export type Profile = 'haip'

export const API_KEY = randomBytes(32).toString('hex')
/**
 * The addresses that the services tell wallets. The load generator connects to the port that each really has instead.
 */
export const BASE_URL = { issuer: 'http://issuer.localhost', verifier: 'http://verifier.localhost' } as const

export interface Workplace {
  readonly directory: string
  /** A copy of the built command that is measured, so that a build in the meantime changes nothing. */
  readonly bundle: string
  /** The server that keeps the data of the services, if they are not in files. */
  readonly postgres: Postgres | undefined
  /** The keys the services sign with, and their certificates. */
  readonly signers: Readonly<Record<ServiceName, Signer>>
  readonly privateKeys: Readonly<Record<ServiceName, KeyObject>>
  readonly publicKeys: Readonly<Record<ServiceName, KeyObject>>
  remove(): void
}

export type DatabaseName = 'sqlite' | 'postgresql'

/** Returns the name of the database that the services of a workplace use. */
export function databaseOf({ postgres }: Workplace): DatabaseName {
  return postgres === undefined ? 'sqlite' : 'postgresql'
}

export const keyFile = (service: ServiceName): string => `${service}.key`
export const configFile = (service: ServiceName, profile?: Profile): string =>
  `${profile ? `${service}-${profile}` : service}.json`

/** The address of a server, and its first process, whose processor time is measured with that of its others. */
export type Postgres = Pick<PostgresServer, 'url' | 'pid'>

/** Makes the workplace; without a server, the services have files of their own. */
export async function makeWorkplace(bundle: string, postgres?: Postgres): Promise<Workplace> {
  refuseUnlessDurable(bundle)
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-bench-'))
  refuseMemoryDisk(directory)
  const [issuerKey, verifierKey] = [await makeKey(), await makeKey()]
  const issuerPem = certificate(issuerKey, BASE_URL.issuer)
  mkdirSync(join(directory, 'anchors'))
  const write = (name: string, text: string) => writeFileSync(join(directory, name), text, { mode: 0o600 })
  write(keyFile('issuer'), pemOf(issuerKey))
  write(keyFile('verifier'), pemOf(verifierKey))
  write('issuer.pem', issuerPem)
  write('anchors/issuer.pem', issuerPem)
  // The profile HAIP refuses a self-signed certificate.
  write('verifier.pem', certificate(verifierKey, BASE_URL.verifier, await makeKey()))
  write(configFile('issuer'), settings('issuer', { issuer: { id: BASE_URL.issuer, display: { name: 'University' } } }))
  write(configFile('verifier'), settings('verifier', { issuerTrustAnchors: 'anchors' }))
  write(configFile('verifier', 'haip'), settings('verifier', { issuerTrustAnchors: 'anchors', profile: 'haip' }))
  return {
    directory,
    bundle: copyBundle(bundle, directory),
    postgres,
    signers: {
      issuer: createSigner(issuerKey, readPemCertificates(issuerPem)),
      verifier: createSigner(verifierKey, []),
    },
    privateKeys: { issuer: issuerKey, verifier: verifierKey },
    publicKeys: { issuer: createPublicKey(issuerKey), verifier: createPublicKey(verifierKey) },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
}

export interface StartOptions {
  readonly service: ServiceName
  readonly profile?: Profile
  /** The number of processes that share the port; what the environment says when absent. */
  readonly workers?: number
}

/** Starts the built service on a database of its own. `nodeOptions` come before the name of the bundle. */
export async function startService(
  { directory, bundle, postgres }: Workplace,
  { service, profile, workers }: StartOptions,
  nodeOptions: readonly string[] = [],
): Promise<Running> {
  for (const suffix of ['', '-wal', '-shm', '-generation'])
    rmSync(join(directory, `${service}.db${suffix}`), { force: true })
  const config = join(directory, configFile(service, profile))
  if (postgres !== undefined) {
    const url = `${postgres.url}?currentSchema=bench_${randomBytes(8).toString('hex')}`
    writeFileSync(
      config,
      JSON.stringify({ ...(JSON.parse(readFileSync(config, 'utf8')) as object), database: { url } }),
    )
  }
  const running = await start({
    args: [
      ...[...nodeOptions, bundle, service, '--config', configFile(service, profile)],
      ...(workers === undefined ? [] : ['--workers', String(workers)]),
    ],
    directory,
    logFile: join(directory, `${service}.log`),
  })
  if (postgres !== undefined) return { ...running, databasePid: postgres.pid }
  // Bytes 18 and 19 of a database file are 2 when it is in WAL mode.
  const [write, read] = readFileSync(join(directory, `${service}.db`)).subarray(18, 20)
  if (write !== 2 || read !== 2) throw new Error(`${service}.db is not in WAL mode`)
  return running
}

/** Returns the last lines of the logs that tell of an error. */
export function errorLines({ directory }: Workplace): readonly string[] {
  const logs = readdirSync(directory).filter((name) => name.endsWith('.log'))
  const lines = logs.flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n'))
  return lines.filter((line) => line.includes('"level":50')).slice(-3)
}

function settings(service: ServiceName, more: object): string {
  return JSON.stringify({
    port: 0,
    host: '127.0.0.1',
    baseUrl: BASE_URL[service],
    database: { url: `sqlite:${service}.db` },
    signing: { keyFile: keyFile(service), certificateFiles: [`${service}.pem`] },
    integrations: { authentication: { [API_KEY]: 'bench' } },
    ...more,
  })
}

function copyBundle(bundle: string, directory: string): string {
  const copy = join(directory, 'vouchsafe.cjs')
  copyFileSync(bundle, copy)
  const parts = join(dirname(bundle), 'parts')
  if (existsSync(parts)) cpSync(parts, join(directory, 'parts'), { recursive: true })
  // The programs of threads.
  for (const name of readdirSync(dirname(bundle)).filter((each) => /-(?:thread|worker)\.cjs$/.test(each)))
    copyFileSync(join(dirname(bundle), name), join(directory, name))
  // Where Node has no SQLite of its own, the bundle looks for a package.
  const packages = ['.', '..', '../..'].map((above) => resolve(dirname(bundle), above, 'node_modules'))
  symlinkSync(packages.find(existsSync) ?? '', join(directory, 'node_modules'), 'junction')
  return copy
}

/**
 * Refuses a bundle whose text has no `synchronous` setting, which belongs to a connection and cannot be asked for from
 * outside.
 */
function refuseUnlessDurable(bundle: string): void {
  const parts = join(dirname(bundle), 'parts')
  const files = [bundle, ...(existsSync(parts) ? readdirSync(parts).map((name) => join(parts, name)) : [])]
  if (files.some((file) => /pragma synchronous\s*=\s*full/i.test(readFileSync(file, 'utf8')))) return
  throw new Error(`${bundle} does not set synchronous=FULL: what is measured must be durable`)
}

function refuseMemoryDisk(directory: string): void {
  const TMPFS = 0x01021994
  if (statfsSync(directory).type !== TMPFS) return
  throw new Error(`${directory} is in memory; set TMPDIR to a directory on disk, so that an fsync costs what it costs`)
}

async function makeKey(): Promise<KeyObject> {
  return (await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })).privateKey
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string
}

/** Makes a certificate of the key, in PEM: self-signed, or signed with the key of an authority. */
function certificate(privateKey: KeyObject, uri: string, authorityKey = privateKey): string {
  const day = 86_400_000
  const [publicKey, issuerPublicKey] = [createPublicKey(privateKey), createPublicKey(authorityKey)]
  const subject = writeName([['CN', new URL(uri).hostname]])
  const authority = writeName([['CN', 'Authority']])
  return toPem(
    makeCertificate({
      subject,
      publicKey,
      issuer: { name: authorityKey === privateKey ? subject : authority, privateKey: authorityKey },
      serial: randomBytes(16),
      notBefore: new Date(Date.now() - day),
      notAfter: new Date(Date.now() + 365 * day),
      extensions: usualExtensions({ publicKey, issuerPublicKey, isCa: false, names: { uris: [uri] } }),
    }),
  )
}
