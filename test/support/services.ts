/**
 * Both services in this process, without a socket: real stores on disk, real keys, a clock the test holds, and a
 * `fetch` that leads to whichever service the address belongs to.
 */
import { createPublicKey, generateKeyPair, type KeyObject, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { createStatusLists } from '../../src/check/status/status-list-loader.ts'
import type { Files } from '../../src/config/files.ts'
import type { App } from '../../src/http/app-type.ts'
import { type Outbound, OutboundError } from '../../src/http/outbound.ts'
import { type IssuerCollections, issuerMigrations } from '../../src/issuer/collections.ts'
import { readIssuerConfig } from '../../src/issuer/config.ts'
import { createIssuer } from '../../src/issuer/issuer.ts'
import { createIssuerTasks } from '../../src/issuer/tasks.ts'
import { makeSelfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'
import type { Pkcs11Tokens } from '../../src/keys/pkcs11/signer.ts'
import { type Algorithm, algorithms } from '../../src/keys/signature.ts'
import type { Store } from '../../src/store/store.ts'
import { type VerifierCollections, verifierMigrations } from '../../src/verifier/collections.ts'
import { readVerifierConfig } from '../../src/verifier/config.ts'
import { createVerifierTasks } from '../../src/verifier/tasks.ts'
import { createVerifier } from '../../src/verifier/verifier.ts'
import { wantDocumented } from './documented.ts'
import { openTestStore, retryOnConflict } from './store.ts'

export const API_KEY = 'k'.repeat(64)
export const ISSUER_URL = 'http://issuer.localhost'
export const VERIFIER_URL = 'http://verifier.localhost'

/** Makes a key as Node has it, without the synchronous generator, which can hang on Node 20. */
export async function makeKey(algorithm: Algorithm = 'ES256'): Promise<KeyObject> {
  const generate = promisify(generateKeyPair)
  const { namedCurve } = algorithms[algorithm]
  return (await (namedCurve === undefined ? generate('ed25519') : generate('ec', { namedCurve }))).privateKey
}

export interface Clock {
  now: Date
}

export interface Services {
  readonly clock: Clock
  readonly issuer: App
  readonly verifier: App
  readonly issuerStore: Store<IssuerCollections>
  readonly verifierStore: Store<VerifierCollections>
  readonly issuerKey: KeyObject
  /** The texts of the files that the services read, by name, in PEM. */
  readonly files: ReadonlyMap<string, string>
  readonly fetch: typeof globalThis.fetch
  readonly logLines: readonly string[]
  /** Runs one round of the background tasks of the services, and then rejects with what the first failure was. */
  runTasks(): Promise<void>
  close(): Promise<void>
}

export interface ServiceOptions {
  readonly issuer?: Record<string, unknown>
  readonly verifier?: Record<string, unknown>
  /** The anchors of the verifier; the issuer's certificate when absent, nothing when empty. */
  readonly anchors?: readonly string[]
  /** Replaces the issuer's certificate files, leaf first. */
  readonly issuerCertificates?: (key: KeyObject) => Promise<string>
  readonly verifierCertificates?: (key: KeyObject) => Promise<string>
  /** The algorithm of the signing key of either service. */
  readonly issuerAlgorithm?: Algorithm
  readonly verifierAlgorithm?: Algorithm
  /** The HTTP client of the services; they reach each other when it is absent. */
  readonly outbound?: Outbound
  /** The PKCS #11 tokens of services whose keys are in one. */
  readonly pkcs11Tokens?: Pkcs11Tokens
  /** More files that the services can read, by path. */
  readonly files?: Readonly<Record<string, string>>
  /** Stores that the test has opened; new ones when absent. */
  readonly issuerStore?: Store<IssuerCollections>
  readonly verifierStore?: Store<VerifierCollections>
}

export async function startServices(options: ServiceOptions = {}): Promise<Services> {
  const clock: Clock = { now: new Date() }
  const [issuerKey, verifierKey] = [await makeKey(options.issuerAlgorithm), await makeKey(options.verifierAlgorithm)]
  const files = new Map([
    ['issuer.key', pemOf(issuerKey)],
    [
      'issuer.pem',
      options.issuerCertificates ? await options.issuerCertificates(issuerKey) : certificate(issuerKey, ISSUER_URL),
    ],
    ['verifier.key', pemOf(verifierKey)],
    [
      'verifier.pem',
      options.verifierCertificates
        ? await options.verifierCertificates(verifierKey)
        : certificate(verifierKey, VERIFIER_URL),
    ],
    ...Object.entries(options.files ?? {}),
  ])
  const anchors = options.anchors ?? [files.get('issuer.pem') ?? '']
  for (const [index, pem] of anchors.entries()) files.set(`anchors/${index}.pem`, pem)
  const logLines: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void logLines.push(line) })
  const apps = new Map<string, App>()
  const fetch = fetchFrom(apps)
  const outbound = options.outbound ?? outboundBy(fetch)
  const tokens = options.pkcs11Tokens && { pkcs11Tokens: options.pkcs11Tokens }
  const effects = { retryOnConflict, outbound, now: () => clock.now, random: randomBytes, log, ...tokens }

  const issuerStore = options.issuerStore ?? (await openTestStore<IssuerCollections>(issuerMigrations))
  const issuerConfig = configOf(
    readIssuerConfig(settings('issuer', ISSUER_URL, options.issuer), filesOf(files), clock.now),
  )
  const issuerEffects = { ...effects, store: issuerStore }
  const issuer = await createIssuer(issuerConfig, issuerEffects)
  apps.set(ISSUER_URL, issuer)
  const verifierStore = options.verifierStore ?? (await openTestStore<VerifierCollections>(verifierMigrations))
  const verifierConfig = configOf(
    readVerifierConfig(settings('verifier', VERIFIER_URL, options.verifier), filesOf(files), clock.now),
  )
  const statusLists = createStatusLists(effects, verifierConfig.status.allowPrivateAddresses)
  const verifierEffects = { ...effects, store: verifierStore, statusLists }
  const verifier = await createVerifier(verifierConfig, verifierEffects)
  apps.set(VERIFIER_URL, verifier)
  const tasks = [
    ...createIssuerTasks(issuerConfig, issuerEffects),
    ...createVerifierTasks(verifierConfig, verifierEffects),
  ]
  return {
    clock,
    issuer,
    verifier,
    issuerStore,
    verifierStore,
    issuerKey,
    files,
    logLines,
    fetch,
    runTasks: async () => {
      const failures: unknown[] = []
      for (const task of tasks) await Promise.resolve(task.run()).catch((error: unknown) => failures.push(error))
      if (failures.length > 0) throw failures[0]
    },
    close: async () => {
      await Promise.all([issuer.close(), verifier.close()])
      await Promise.all([issuerStore.close(), verifierStore.close()])
    },
  }
}

/** Makes the settings of a service as a `server.json` would have them. */
export function settings(service: 'issuer' | 'verifier', baseUrl: string, more: Record<string, unknown> = {}): object {
  return {
    port: 0,
    baseUrl,
    signing: { keyFile: `${service}.key`, certificateFiles: [`${service}.pem`] },
    integrations: { authentication: { [API_KEY]: 'test' } },
    ...(service === 'issuer'
      ? { issuer: { id: baseUrl, display: { name: 'Example University' } } }
      : { clientMetadata: { clientName: 'Example Shop' }, issuerTrustAnchors: 'anchors' }),
    ...more,
  }
}

export function filesOf(texts: ReadonlyMap<string, string>): Files {
  return {
    read: (path) => texts.get(path) ?? missing(),
    list: (directory) =>
      [...texts.keys()]
        .filter((path) => path.startsWith(`${directory}/`))
        .map((path) => path.slice(directory.length + 1)),
    resolveLink: (path) => path,
  }
}

export function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string
}

/** Makes a `fetch` over Fastify's `inject`: the whole protocol without a socket. */
export function fetchFrom(apps: ReadonlyMap<string, App>): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const app =
      apps.get(url.origin) ??
      (() => {
        throw new TypeError(`fetch failed: nothing listens at ${url.origin}`)
      })()
    const request = new Request(url, init)
    const response = await app.inject({
      method: request.method as 'GET',
      url: url.pathname + url.search,
      headers: Object.fromEntries(request.headers),
      ...(init.body ? { payload: Buffer.from(await request.arrayBuffer()) } : {}),
    })
    expectPlainRefusal(response)
    const { statusCode: status, headers, body } = response
    await wantDocumented(app, { method: request.method, path: url.pathname, status, headers, body })
    return new Response([204, 304].includes(response.statusCode) ? null : new Uint8Array(response.rawPayload), {
      status: response.statusCode,
      headers: Object.entries(response.headers).map(([name, value]) => [name, String(value)] as [string, string]),
    })
  }
}

/** Expects the characters that RFC 6749 section 5.2 allows in each description, whatever it tells back and to whom. */
function expectPlainRefusal({ statusCode, payload }: { readonly statusCode: number; readonly payload: string }): void {
  if (statusCode < 400 || !payload.startsWith('{"error":')) return
  const { error_description: description } = JSON.parse(payload) as { readonly error_description?: unknown }
  if (typeof description === 'string' && /^[ !#-[\]-~]+$/.test(description)) return
  throw new Error(`a description has characters that RFC 6749 does not allow: ${payload}`)
}

/** Makes the HTTP client of a service of such a `fetch`. */
export function outboundBy(fetch: typeof globalThis.fetch): Outbound {
  return async ({ url, method = 'GET', headers = {}, body }) => {
    const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) }).catch(() => {
      throw new OutboundError(`${new URL(url).host} takes no connections`)
    })
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: new Uint8Array(await response.arrayBuffer()),
    }
  }
}

function certificate(key: KeyObject, uri: string): string {
  return toPem(selfSigned(key, uri))
}

function selfSigned(key: KeyObject, uri: string): Buffer {
  const year = 365 * 86_400_000
  return makeSelfSignedCertificate({
    privateKey: key,
    publicKey: createPublicKey(key),
    commonName: new URL(uri).hostname,
    uris: [uri],
    notBefore: new Date(Date.now() - year),
    notAfter: new Date(Date.now() + 2 * year),
    serial: randomBytes(16),
  })
}

function configOf<T>(result: { readonly config: T } | { readonly mistakes: readonly string[] }): T {
  if ('mistakes' in result) throw new Error(result.mistakes.join('\n'))
  return result.config
}

function missing(): never {
  throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
}
