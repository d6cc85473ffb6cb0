/** The engine as a service kind: a server with a chain, a database, and threads for components. */
import { availableParallelism } from 'node:os'
import type { Logger } from 'pino'
import { type Chain, isOutage } from '../../chain/chain.ts'
import type { Runtime } from '../../component/runtime.ts'
import { type EngineStore, engineMigrations } from '../../engine/collections.ts'
import { type EngineConfig, EngineSettings, readEngineConfig } from '../../engine/config.ts'
import { createEngine } from '../../engine/engine.ts'
import { readGeneration } from '../../store/generation.ts'
import { type ProcessLock, partOf } from '../../store/store.ts'
import { checkBuiltFiles, startRuntime } from '../../toolchain/places.ts'
import { now, outbound, random, retryOnConflict } from '../effects.ts'
import { createConflictTask } from '../service/conflict-log.ts'
import type { BuiltService, Observability, OpeningFailure, ServiceKind } from '../service/service-kind.ts'
import { TRY_LATER } from '../service/start-refusal.ts'
import { exitAfterLog } from '../service/stopping.ts'
import { createTracedEffects } from '../service/telemetry.ts'
import { chainComponents, createOncePerText, openChain } from './chain.ts'
import { createComponentFiles } from './component-files.ts'
import { findChainMistake } from './database-chain.ts'
import { lockDatabase } from './database-lock.ts'
import { openStore } from './store.ts'

const MAX_WORKERS = 8
/** The interval of checking the database lock, which a restarted database server has lost. */
const KEEP_LOCK_MS = 1000
const REPLACED =
  'another database is in the place of that of this engine, as after a standby of its server took over, and may lack the newest changes; the engine ends, and its next start gives up the transactions that wait'
const TAKEN =
  'another process of an engine uses the database, or has used it since this one lost its lock on it; the engine ends'

/** The open resources of an engine. */
interface EngineParts {
  readonly chain: Chain
  readonly lock: ProcessLock
  readonly store: EngineStore
  /** The witness of the generation, which each start of a process on the database replaces. */
  readonly witness: string | undefined
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
    // The engine ends with a parent process that has an IPC channel to it, such as the demo.
    if (process.connected) process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  },
}

/**
 * Returns a mistake if the key of the engine was changed. The engine's address and the encryption of its database
 * depend on it.
 */
function findIdentityMistakes({ identity: before }: EngineConfig, { identity: after }: EngineConfig): string[] {
  return Buffer.compare(before.privateKey, after.privateKey) === 0
    ? []
    : ['identity.keyFile: the key has changed since the start; put back the first, which an engine has for good']
}

async function openParts(config: EngineConfig, log: Logger): Promise<{ readonly parts: EngineParts } | OpeningFailure> {
  checkBuiltFiles()
  let chain: Chain
  try {
    const note = createOncePerText((problem) => log.warn({ event: 'contract_unreadable', problem }, problem))
    chain = await openChain(config, note)
  } catch (error) {
    const { message, cause } = error as Error
    return { mistake: message, isTemporary: isOutage(cause) }
  }
  // The lock is taken first, so that a newer version does not migrate the schema of a running engine.
  const lock = await lockDatabase(config.database)
  if ('mistake' in lock) return lock
  const result = await openOnLock(config, log, { chain, lock }).catch(async (error: unknown) => {
    await lock.release()
    throw error
  })
  if ('mistake' in result) await lock.release()
  return result
}

/** Opens the database, and starts the threads for components. Where that fails, the caller releases the lock. */
async function openOnLock(
  config: EngineConfig,
  log: Logger,
  { chain, lock }: Pick<EngineParts, 'chain' | 'lock'>,
): Promise<{ readonly parts: EngineParts } | OpeningFailure> {
  const store = await openStore(config, { log, onReplaced: createReplacedEnd(log) })
  if ('mistake' in store) return store
  try {
    const chainMistake = await findChainMistake(config, chain.id, store)
    if (chainMistake !== undefined) {
      await store.close()
      return { mistake: chainMistake }
    }
    const witness = await readWitness(store)
    const workers = Math.max(2, Math.min(MAX_WORKERS, availableParallelism()))
    return { parts: { chain, lock, store, witness, runtime: await startRuntime(workers, config.limits) } }
  } catch (error) {
    await store.close()
    throw error
  }
}

async function readWitness(store: EngineStore): Promise<string | undefined> {
  return (await readGeneration(partOf(store)))?.witness
}

/**
 * Makes the function that ends the process once, and refuses the database each time. An engine that went on would sign
 * again the transactions whose signatures the database lacks, and keeps values of the former database in memory.
 */
function createReplacedEnd(log: Logger): () => never {
  let isEnding = false
  return () => {
    if (!isEnding) {
      isEnding = true
      log.fatal({ event: 'database_replaced' }, REPLACED)
      exitAfterLog(log, TRY_LATER)
    }
    throw new Error(REPLACED)
  }
}

/**
 * Keeps the lock, and ends the process when another one has the lock, or had it and started on the database. The memory
 * of this process lacks what that one stored, and both would send transactions with the same nonces.
 */
async function keepDatabase({ lock, store, witness }: EngineParts, log: Logger): Promise<void> {
  if ((await readWitness(store)) === witness && (await lock.keep())) return
  log.fatal({ event: 'database_taken' }, TAKEN)
  exitAfterLog(log, TRY_LATER)
}

async function buildServer(
  config: EngineConfig,
  parts: EngineParts,
  { log, telemetry }: Observability,
): Promise<BuiltService<EngineConfig>> {
  const directories = [config.componentDirectory, ...chainComponents(config)] as const
  const monotonicMs = (): number => performance.now()
  const outside = { outbound, now, monotonicMs, random, log, files: createComponentFiles(directories) }
  const { app, address, metrics, checkReady, tasks, stop } = await createEngine(config, {
    ...parts,
    retryOnConflict,
    ...outside,
    ...(telemetry && createTracedEffects(telemetry, parts.store, config.database)),
    telemetryCounts: telemetry?.counts,
  })
  if (config.management !== undefined) {
    const { registerProcessMetrics } = await import('./process-metrics.ts')
    registerProcessMetrics(metrics.registry, { config, checkReady, now })
  }
  return {
    app,
    tasks: [
      ...tasks,
      createConflictTask(log),
      { name: 'database lock', everyMs: KEEP_LOCK_MS, run: () => keepDatabase(parts, log) },
    ],
    metrics: metrics.registry,
    facts: { address },
    // A hook that exceeds the stopping time has no effect, and runs again at the next start.
    stop,
  }
}
