/** `vouchsafe engine`: from a configuration file to an engine that listens, and back. */
import { availableParallelism } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { Server as TlsServer } from 'node:tls'
import type { Logger } from 'pino'
import type { Chain } from '../../chain/chain.ts'
import type { Runtime } from '../../component/runtime.ts'
import type { EngineStore } from '../../engine/collections.ts'
import { type EngineConfig, readEngineConfig } from '../../engine/config.ts'
import { createEngine } from '../../engine/engine.ts'
import { createManagement } from '../../engine/management.ts'
import type { App } from '../../http/app-type.ts'
import { checkBuilt, startRuntime } from '../../toolchain/places.ts'
import { readWords } from '../command-line.ts'
import { readConfigFile } from '../config-file.ts'
import { conflictTask } from '../conflicts.ts'
import { files, now, outbound, random, retryOnConflict } from '../effects.ts'
import { createLog } from '../log.ts'
import { defaultHost } from '../network.ts'
import { type Hangup, onHangup, renew } from '../renewal.ts'
import { addressPort, listenMistake, type Running, refuseToStart, stopOnSignal } from '../running.ts'
import { keepUp } from '../upkeep.ts'
import { chainComponents, onceEach, openChain } from './chain.ts'
import { componentFiles } from './component-files.ts'
import { openStore } from './store.ts'

const MOST_WORKERS = 8
const STOP_WAIT_MS = 6000

/** Runs until it is told to stop. Exits with 2 and every mistake when it cannot start. */
export async function runEngine(args: string[]): Promise<void> {
  const options = { config: { type: 'string', default: 'conf/server.json' } } as const
  const { config } = readWords('engine', { args, options }).values
  // What it makes is for this user alone.
  process.umask(0o077)
  const log = createLog('engine')
  const renewal = onHangup()
  try {
    checkBuilt()
    await serve(config, log, renewal)
  } catch (err) {
    log.fatal({ event: 'start_failed', err }, 'not started')
    throw err
  }
}

async function serve(configFile: string, log: Logger, renewal: Hangup): Promise<void> {
  const file = readConfigFile(configFile, 'engine')
  const read = () => ('mistakes' in file ? file : readEngineConfig(file.value, files, now()))
  const result = read()
  if ('mistakes' in result) {
    refuseToStart(log, configFile, result.mistakes)
    return
  }
  for (const warning of result.warnings) log.warn({ event: 'configuration_warning', warning }, warning)
  const { config } = result
  const parts = await openParts(config, log)
  if ('mistake' in parts) {
    refuseToStart(log, configFile, [parts.mistake])
    return
  }
  const engine = await buildEngine(config, parts, log)
  const mistake = await listen(engine, config)
  if (mistake !== undefined) {
    await engine.close()
    refuseToStart(log, configFile, [mistake])
    return
  }
  log.info({ event: 'listening', port: addressPort(engine.app), address: engine.address }, 'accepting connections')
  stopOnSignal(engine, config.stopping, log)
  // Who started it with a channel, as the demo does, wants it no longer than itself.
  if (process.connected) process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  renewal.act(() => renew(engine, { read, fixed: (again) => identityMistakes(config, again), log }))
}

/** Its address, and what decrypts its database. */
function identityMistakes({ identity: before }: EngineConfig, { identity: after }: EngineConfig): string[] {
  return Buffer.compare(before.privateKey, after.privateKey) === 0
    ? []
    : ['identity.keyFile: the key is another than at the start; an engine has one for good']
}

/** What an engine stands on. */
interface Parts {
  readonly chain: Chain
  readonly store: EngineStore
  readonly runtime: Runtime
}

interface Built extends Running {
  /** Goes on with the TLS certificate of another configuration; all else of it is not looked at. */
  renew(config: EngineConfig): void
  readonly address: string
  readonly management: App | undefined
}

async function openParts(config: EngineConfig, log: Logger): Promise<Parts | { readonly mistake: string }> {
  let chain: Chain
  try {
    const note = onceEach((problem) => log.warn({ event: 'contract_unreadable', problem }, problem))
    chain = await openChain(config, note)
  } catch (error) {
    return { mistake: (error as Error).message }
  }
  const store = await openStore(config, log)
  if ('mistake' in store) return store
  const workers = Math.max(2, Math.min(MOST_WORKERS, availableParallelism()))
  return { chain, store, runtime: await startRuntime(workers, config.limits) }
}

async function buildEngine(config: EngineConfig, { chain, store, runtime }: Parts, log: Logger): Promise<Built> {
  const directories = [config.componentDirectory, ...chainComponents(config)] as const
  const outside = { outbound, now, random, log, files: componentFiles(directories) }
  const effects = { chain, store, retryOnConflict, runtime, ...outside }
  const { app, metrics, tasks, stop } = await createEngine(config, effects)
  const management = config.management && (await createManagement(metrics))
  const stopUpkeep = keepUp([...tasks, conflictTask(log)], log)
  return {
    app,
    management,
    renew: ({ tls }) => {
      if (tls !== undefined && app.server instanceof TlsServer) app.server.setSecureContext(tls)
    },
    address: chain.account(config.identity.privateKey).address,
    close: async () => {
      const stopped = stop()
      await Promise.all([app.close(), management?.close()])
      // A hook that takes longer leaves nothing, and runs again at the next start.
      const late = new AbortController()
      await Promise.race([stopped, wait(STOP_WAIT_MS, undefined, { signal: late.signal })])
      late.abort()
      await stopUpkeep()
      await runtime.close()
      await store.close()
    },
  }
}

/** Why it could not, or undefined. */
async function listen({ app, management }: Built, config: EngineConfig): Promise<string | undefined> {
  const { port, host = await defaultHost() } = config
  try {
    await app.listen({ port, host })
  } catch (error) {
    return listenMistake(error as NodeJS.ErrnoException, { port, host })
  }
  const { management: where } = config
  if (management === undefined || where === undefined) return undefined
  try {
    await management.listen({ port: where.port, host: where.host })
    return undefined
  } catch (error) {
    return listenMistake(error as NodeJS.ErrnoException, { ...where, within: 'management.' })
  }
}
