/** `vouchsafe issuer` and `vouchsafe verifier`: from a configuration file to a server that listens, and back. */
import type { Logger } from 'pino'
import type { CommonConfig, ReadResult } from '../config/common.ts'
import type { App } from '../http/app.ts'
import { type IssuerCollections, issuerMigrations } from '../issuer/collections.ts'
import { type IssuerConfig, readIssuerConfig } from '../issuer/config.ts'
import { createIssuer } from '../issuer/issuer.ts'
import { type VerifierCollections, verifierMigrations } from '../verifier/collections.ts'
import { readVerifierConfig, type VerifierConfig } from '../verifier/config.ts'
import { createVerifier } from '../verifier/verifier.ts'
import { createLog, files, now, openDatabase, random } from './effects.ts'

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
  const purge = setInterval(() => void store.purge('spent_nonce', now()), PURGE_INTERVAL_MS).unref()
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
  const { port, host = '::' } = result.config
  try {
    const service = await open(result.config, log)
    await service.app.listen({ port, host })
    log.info({ event: 'listening', port: addressPort(service.app) }, 'accepting connections')
    stopOnSignal(service, log)
  } catch (error) {
    refuseToStart(log, configFile, [(error as Error).message])
  }
}

function stopOnSignal(service: Service, log: Logger): void {
  let stopping = false
  const stop = (signal: string): void => {
    if (stopping) return
    stopping = true
    log.info({ event: 'stopping', signal }, 'finishing what runs')
    void service.close().then(() => {
      log.info({ event: 'stopped' }, 'stopped')
      process.exit(0)
    })
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
