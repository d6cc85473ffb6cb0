/** `vouchsafe issuer` and `vouchsafe verifier`: from a configuration file to a server that listens, and back. */
import { networkInterfaces } from 'node:os'
import type { Logger } from 'pino'
import type { CommonConfig, ReadResult } from '../config/common.ts'
import type { App } from '../http/app-type.ts'
import { type IssuerCollections, issuerMigrations } from '../issuer/collections.ts'
import { type IssuerConfig, readIssuerConfig } from '../issuer/config.ts'
import { createIssuer } from '../issuer/issuer.ts'
import { type VerifierCollections, verifierMigrations } from '../verifier/collections.ts'
import { readVerifierConfig, type VerifierConfig } from '../verifier/config.ts'
import { createVerifier } from '../verifier/verifier.ts'
import { createLog, files, now, openDatabase, random } from './effects.ts'
import { watchConnections } from './quiet-connections.ts'

export type ServiceName = 'issuer' | 'verifier'

/** A server that does not listen yet, and what to do after it has closed. */
export interface Service {
  readonly app: App
  close(): Promise<void>
}

const PURGE_INTERVAL_MS = 60_000

export async function openIssuer(config: IssuerConfig, log: Logger): Promise<Service> {
  const store = await openDatabase<IssuerCollections>(config.databaseFile, issuerMigrations)
  const app = await createIssuer(config, { store, now, random, log })
  const purge = setInterval(() => {
    store.purge('spent_nonce', now()).catch((err: unknown) => log.error({ event: 'purge_failed', err }, 'next time'))
  }, PURGE_INTERVAL_MS).unref()
  return {
    app,
    close: async () => {
      clearInterval(purge)
      await app.close()
      await store.close()
    },
  }
}

export async function openVerifier(config: VerifierConfig, log: Logger): Promise<Service> {
  const store = await openDatabase<VerifierCollections>(config.databaseFile, verifierMigrations)
  const app = await createVerifier(config, { store, now, random, log })
  return {
    app,
    close: async () => {
      await app.close()
      await store.close()
    },
  }
}

/** Runs a service until it is told to stop. Exits with 2 and every mistake when it cannot start. */
export async function runService(name: ServiceName, configFile: string): Promise<void> {
  const log = createLog(name)
  if (name === 'issuer') {
    await serve(log, configFile, readIssuerConfig, openIssuer)
  } else {
    await serve(log, configFile, readVerifierConfig, openVerifier)
  }
}

/** The value of a configuration file, or the one mistake that it cannot be read. */
export function readConfigFile(
  configFile: string,
): { readonly value: unknown } | { readonly mistakes: readonly string[] } {
  let text: string
  try {
    text = files.read(configFile)
  } catch {
    return { mistakes: [`${configFile}: the file cannot be read; make one with: vouchsafe init issuer (or verifier)`] }
  }
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (error) {
    return { mistakes: [`${configFile}: it is not JSON: ${(error as Error).message}`] }
  }
}

async function serve<Config extends CommonConfig>(
  log: Logger,
  configFile: string,
  readConfig: (value: unknown, from: typeof files, at: Date) => ReadResult<Config>,
  open: (config: Config, log: Logger) => Promise<Service>,
): Promise<void> {
  const file = readConfigFile(configFile)
  const result = 'mistakes' in file ? file : readConfig(file.value, files, now())
  if ('mistakes' in result) {
    refuseToStart(log, configFile, result.mistakes)
    return
  }
  for (const warning of result.warnings) log.warn({ event: 'configuration_warning', warning }, warning)
  const { port, host = everyInterface(), databaseFile } = result.config
  let service: Service
  try {
    service = await open(result.config, log)
  } catch (error) {
    refuseToStart(log, configFile, [`database.url: ${databaseFile}: ${(error as Error).message}`])
    return
  }
  const closeQuiet = watchConnections(service.app)
  try {
    await service.app.listen({ port, host })
  } catch (error) {
    await service.close()
    refuseToStart(log, configFile, [listenMistake(error as NodeJS.ErrnoException, port, host)])
    return
  }
  log.info({ event: 'listening', port: addressPort(service.app) }, 'accepting connections')
  stopOnSignal(service, closeQuiet, log)
}

/** IPv6 and IPv4, or IPv4 alone on a machine without the other. */
function everyInterface(): string {
  const addresses = Object.values(networkInterfaces()).flat()
  return addresses.some((address) => address?.family === 'IPv6') ? '::' : '0.0.0.0'
}

function listenMistake({ code, message }: NodeJS.ErrnoException, port: number, host: string): string {
  if (code === 'EADDRINUSE') return `port: ${port} is in use by another program`
  if (code === 'EACCES') return `port: ${port} may not be used by this user`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `host: ${host} is no address of this machine`
  return `port: ${message}`
}

function stopOnSignal(service: Service, closeQuiet: () => void, log: Logger): void {
  let stopping = false
  const stop = (signal: string): void => {
    if (stopping) return
    stopping = true
    log.info({ event: 'stopping', signal }, 'finishing what runs')
    closeQuiet()
    service.close().then(
      () => {
        log.info({ event: 'stopped' }, 'stopped')
        process.exit(0)
      },
      (err: unknown) => {
        log.fatal({ event: 'stop_failed', err }, 'not stopped cleanly')
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}

function addressPort(app: App): number | undefined {
  const address = app.server.address()
  return typeof address === 'object' ? address?.port : undefined
}

function refuseToStart(log: Logger, configFile: string, mistakes: readonly string[]): void {
  log.fatal({ event: 'refused_to_start', mistakes }, `${configFile}: ${mistakes.length} mistake(s), not started`)
  process.stderr.write(`${configFile} cannot be used:\n${mistakes.map((mistake) => `  - ${mistake}\n`).join('')}`)
  process.exitCode = 2
}
