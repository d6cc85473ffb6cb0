/** `vouchsafe issuer` and `vouchsafe verifier`: from a configuration file to a server that listens, and back. */
import { Server as TlsServer } from 'node:tls'
import type { Logger } from 'pino'
import { describeDatabase } from '../config/database.ts'
import type { App } from '../http/app-type.ts'
import { readConfigFile } from './config-file.ts'
import { conflictTask } from './conflicts.ts'
import { encryptDatabase, files, now, outbound, random, retryOnConflict } from './effects.ts'
import { createLog } from './log.ts'
import { defaultHost } from './network.ts'
import { type Hangup, onHangup, renew, signingKeyMistakes } from './renewal.ts'
import { addressPort, keepYoungGenerationSmall, listenMistake, refuseToStart, stopOnSignal } from './running.ts'
import { openServiceDatabase } from './service-database.ts'
import { type ConfigOf, type ServiceName, type StoreOf, services } from './services.ts'
import { keepUp } from './upkeep.ts'
import { otherServiceMistake } from './which-service.ts'

/** A server that does not listen yet, and what to do after it has closed. */
export interface Service<Name extends ServiceName = ServiceName> {
  readonly app: App
  /** Goes on with the certificates and trust anchors of another configuration; all else of it is not looked at. */
  renew(config: ConfigOf<Name>): void
  close(): Promise<void>
}

/** Runs a service until it is told to stop. Exits with 2 and every mistake when it cannot start. */
export async function runService(name: ServiceName, configFile: string): Promise<void> {
  // What it makes is for this user alone: the database holds claims and codes.
  process.umask(0o077)
  const log = createLog(name)
  const renewal = onHangup()
  try {
    await serve(name, configFile, { log, renewal })
  } catch (err) {
    log.fatal({ event: 'start_failed', err }, 'not started')
    throw err
  }
}

/** The open database, with what is personal in it encrypted when there is a key; or why there is none. */
async function openStore<Name extends ServiceName>(
  name: Name,
  config: ConfigOf<Name>,
  log: Logger,
): Promise<StoreOf<Name> | { readonly mistake: string }> {
  const { migrations, secrets } = services[name]
  const { database } = config
  let store: StoreOf<Name>
  try {
    store = await openServiceDatabase(database, migrations, { log })
  } catch (error) {
    return { mistake: `database.url: ${describeDatabase(database)}: ${(error as Error).message}` }
  }
  try {
    return await encryptDatabase(store as never, secrets as never, config)
  } catch (error) {
    await store.close()
    return { mistake: `database.encryptionKeyFile: ${(error as Error).message}` }
  }
}

/** The server of a service on its open database, which is closed with it, or when the server cannot be built. */
export async function buildService<Name extends ServiceName>(
  name: Name,
  config: ConfigOf<Name>,
  store: StoreOf<Name>,
  log: Logger,
): Promise<Service<Name>> {
  const { create, upkeep } = services[name]
  let current = config
  const effects = { store, retryOnConflict, outbound, now, random, log }
  let app: App
  try {
    app = await create(config, { ...effects, current: () => current })
  } catch (error) {
    await store.close()
    throw error
  }
  const stopUpkeep = keepUp([...upkeep(config, effects), conflictTask(log)], log)
  return {
    app,
    renew: (next) => {
      const { tls } = next
      if (tls !== undefined && app.server instanceof TlsServer) app.server.setSecureContext(tls)
      current = next
    },
    close: async () => {
      await app.close()
      await stopUpkeep()
      await store.close()
    },
  }
}

async function serve(
  name: ServiceName,
  configFile: string,
  { log, renewal }: { readonly log: Logger; readonly renewal: Hangup },
): Promise<void> {
  const file = readConfigFile(configFile, name)
  const other = 'value' in file ? otherServiceMistake(name, file.value) : undefined
  if (other !== undefined) {
    refuseToStart(log, configFile, [other])
    return
  }
  const read = () => ('mistakes' in file ? file : services[name].read(file.value, files, now()))
  const result = read()
  if ('mistakes' in result) {
    refuseToStart(log, configFile, result.mistakes)
    return
  }
  for (const warning of result.warnings) log.warn({ event: 'configuration_warning', warning }, warning)
  const { port, host = await defaultHost() } = result.config
  const store = await openStore(name, result.config, log)
  if ('mistake' in store) {
    refuseToStart(log, configFile, [store.mistake])
    return
  }
  const service = await buildService(name, result.config, store, log)
  try {
    await service.app.listen({ port, host })
  } catch (error) {
    await service.close()
    refuseToStart(log, configFile, [await listenMistake(error as NodeJS.ErrnoException, { port, host })])
    return
  }
  keepYoungGenerationSmall()
  log.info({ event: 'listening', port: addressPort(service.app) }, 'accepting connections')
  stopOnSignal(service, result.config.stopping, log)
  const fixed = (config: ConfigOf<ServiceName>) => signingKeyMistakes(result.config, config)
  renewal.act(() => renew(service, { read, fixed, log }))
}
