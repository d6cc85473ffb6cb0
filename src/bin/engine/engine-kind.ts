/** The engine as a service that the command runs: a server on a chain, a database and threads for components. */
import { availableParallelism } from 'node:os'
import type { Logger } from 'pino'
import type { Chain } from '../../chain/chain.ts'
import type { Runtime } from '../../component/runtime.ts'
import { type EngineStore, engineMigrations } from '../../engine/collections.ts'
import { type EngineConfig, EngineSettings, readEngineConfig } from '../../engine/config.ts'
import { createEngine } from '../../engine/engine.ts'
import type { ProcessLock } from '../../store/process-lock.ts'
import { checkBuiltFiles, startRuntime } from '../../toolchain/places.ts'
import { createConflictTask } from '../conflict-log.ts'
import { now, outbound, random, retryOnConflict } from '../effects.ts'
import type { BuiltService, OpeningMistake, Outputs, ServiceKind } from '../service/service-kind.ts'
import { createTracedEffects } from '../telemetry.ts'
import { chainComponents, createOncePerText, openChain } from './chain.ts'
import { createComponentFiles } from './component-files.ts'
import { lockDatabase } from './database-lock.ts'
import { openStore } from './store.ts'

const MAX_WORKERS = 8
/** The pause between two looks at the lock on the database, which a server that restarts has forgotten. */
const KEEP_LOCK_MS = 1000

/** The open parts of an engine. */
interface EngineParts {
  readonly chain: Chain
  readonly lock: ProcessLock
  readonly store: EngineStore
  readonly runtime: Runtime
}

export const engineKind: ServiceKind<EngineConfig, EngineParts> = {
  name: 'engine',
  settings: EngineSettings,
  readConfig: readEngineConfig,
  migrations: engineMigrations,
  openStore: async (config, options) => {
    const store = await openStore(config, options)
    return 'mistake' in store ? store : { store, voidedSessions: undefined }
  },
  openParts,
  buildServer,
  closeParts: async ({ runtime, store, lock }) => {
    await runtime.close()
    await store.close()
    await lock.release()
  },
  findRestartMistakes: findIdentityMistakes,
  onListening: () => {
    // A process that started the engine with a channel, as the demo does, wants it no longer than itself.
    if (process.connected) process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  },
}

/** Returns a mistake when the key of the engine was changed: the key is its address, and decrypts its database. */
function findIdentityMistakes({ identity: before }: EngineConfig, { identity: after }: EngineConfig): string[] {
  return Buffer.compare(before.privateKey, after.privateKey) === 0
    ? []
    : ['identity.keyFile: the key is another than at the start; an engine has one for good']
}

async function openParts(config: EngineConfig, log: Logger): Promise<{ readonly parts: EngineParts } | OpeningMistake> {
  checkBuiltFiles()
  let chain: Chain
  try {
    const note = createOncePerText((problem) => log.warn({ event: 'contract_unreadable', problem }, problem))
    chain = await openChain(config, note)
  } catch (error) {
    return { mistake: (error as Error).message }
  }
  // First of all, so that no newer version changes the schema below an engine that runs.
  const lock = await lockDatabase(config.database)
  if ('mistake' in lock) return lock
  const store = await openStore(config, { log })
  if ('mistake' in store) {
    await lock.release()
    return store
  }
  const workers = Math.max(2, Math.min(MAX_WORKERS, availableParallelism()))
  return { parts: { chain, lock, store, runtime: await startRuntime(workers, config.limits) } }
}

async function buildServer(
  config: EngineConfig,
  parts: EngineParts,
  { log, telemetry }: Outputs,
): Promise<BuiltService<EngineConfig>> {
  const directories = [config.componentDirectory, ...chainComponents(config)] as const
  const outside = { outbound, now, random, log, files: createComponentFiles(directories) }
  const { app, address, metrics, checkReady, tasks, stop } = await createEngine(config, {
    ...{ ...parts, retryOnConflict, ...outside },
    ...(telemetry && createTracedEffects(telemetry, parts.store, config.database)),
    telemetryCounts: telemetry?.counts,
  })
  if (config.management !== undefined) {
    const { registerProcessMetrics } = await import('./process-metrics.ts')
    registerProcessMetrics(metrics.registry, { config, checkReady, now })
  }
  return {
    app,
    tasks: [...tasks, createConflictTask(log), { name: 'database lock', everyMs: KEEP_LOCK_MS, run: parts.lock.keep }],
    metrics: metrics.registry,
    facts: { address },
    // A hook that takes longer than a service waits for leaves nothing, and runs again at the next start.
    stop,
  }
}
