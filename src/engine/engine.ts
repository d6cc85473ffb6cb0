/** Makes an execution engine from its effects: its server, and the tasks that run beside the server. */

import type { Task } from '../async/task.ts'
import { WEI_PER_GWEI } from '../chain/chain.ts'
import { ROUND_MS } from '../component/runtime.ts'
import type { App } from '../http/app-type.ts'
import type { Address } from '../offchain/address.ts'
import { purgeSpent } from '../store/sweep.ts'
import { createEngineApp, createEngineReadinessCheck } from './app.ts'
import { createBackground } from './background.ts'
import { giveUpBackupTransactions } from './backup-transactions.ts'
import { createBodyBuffer } from './body.ts'
import { createCallHistory } from './call-history.ts'
import { cacheReads } from './chain-read-cache.ts'
import { createComponentFinder } from './component-source.ts'
import type { EngineConfig } from './config.ts'
import type { EngineContext, EngineEffects } from './context.ts'
import { CONTRACT_STATES, type ContractState, contractStateOf } from './contract-entry.ts'
import { cacheContractRows } from './contract-rows.ts'
import { storageIdsOf } from './engine-key.ts'
import { createMetrics, type GaugeValues, type Metrics, registerGauges } from './metrics.ts'
import { createOutbox } from './outbox.ts'
import { createResponseSigner } from './response-signer.ts'
import { createTimerBook } from './timer-book.ts'
import { createWatcher } from './watcher.ts'

export interface EngineService {
  /** The server, which does not listen yet. */
  readonly app: App
  /** The address of the engine on its chain. */
  readonly address: Address
  /** The background tasks of the engine. */
  readonly tasks: readonly Task[]
  readonly metrics: Metrics
  /** Rejects while the engine cannot answer requests. */
  readonly checkReady: () => Promise<void>
  /** Stops the hooks and timers: no more start. Resolves when none is running. */
  readonly stop: () => Promise<void>
  /** Resolves when no background task is running; more may start later. */
  waitUntilIdle(): Promise<void>
}

/**
 * The time between two rounds over the transactions of a local chain, which is cheap to poll, and slow when many
 * transactions come at once.
 */
const LOCAL_OUTBOX_MS = 25

/**
 * Makes an engine, and loads its timers and its outbox. The caller makes the server listen, and runs the tasks. The
 * store in `effects` must be encrypted already, with {@link storageEncryptionKey}.
 */
export async function createEngine(config: EngineConfig, effects: EngineEffects): Promise<EngineService> {
  const context = await createContext(config, effects)
  const { store, watcher, outbox, timers, metrics, now } = context
  const everyMs = Math.min(config.pollMilliseconds, ROUND_MS)
  const background = createBackground(context, everyMs)
  const outboxMs = config.chain.type === 'local' ? Math.min(everyMs, LOCAL_OUTBOX_MS) : everyMs
  registerGauges(metrics, () => readGauges(context))
  await giveUpBackupTransactions(context)
  await Promise.all([timers.load(), outbox.load()])
  const checkReady = createEngineReadinessCheck(context)
  const app = await createEngineApp(context, checkReady)
  return {
    app,
    address: context.engine,
    metrics,
    checkReady,
    tasks: [
      { name: 'chain', everyMs: config.pollMilliseconds, run: watcher.pollChain },
      { name: 'background', everyMs, run: background.runRound },
      { name: 'outbox', everyMs: outboxMs, run: () => outbox.runRound(watcher.getHead()?.hash) },
      {
        name: 'purge',
        everyMs: 60_000,
        needsTrustedClock: true,
        run: async () => {
          await timers.purge(now())
          await purgeSpent(store, 'spent_request', now())
          await store.purge('failed_transaction', now())
          await store.tidy?.()
        },
      },
    ],
    waitUntilIdle: background.waitUntilIdle,
    stop: () => {
      background.stop()
      return background.waitUntilIdle()
    },
  }
}

async function createContext(config: EngineConfig, effects: EngineEffects): Promise<EngineContext> {
  const { store, chain, now } = effects
  const { identity, limits } = config
  const spendingLimits = {
    mostGas: BigInt(limits.transactionGas),
    mostGasPrice: BigInt(limits.gasPriceGwei) * WEI_PER_GWEI,
  }
  const account = chain.createAccount(identity.privateKey, spendingLimits, () => watcher.getHead()?.number)
  const engine = account.address
  const metrics = createMetrics(limits, effects.telemetryCounts)
  const watcher = createWatcher({ ...effects, engine, config, metrics })
  return {
    ...effects,
    config,
    account,
    engine,
    metrics,
    storageIdOf: storageIdsOf(identity),
    contractRows: cacheContractRows(store),
    timers: createTimerBook(store, effects.monotonicMs),
    outbox: createOutbox({ ...effects, account, metrics }),
    findComponent: createComponentFinder({ ...effects, config, watcher }),
    readContract: cacheReads(effects.chain),
    watcher,
    bodyBuffer: createBodyBuffer(limits, now),
    calls: createCallHistory(),
    signer: await createResponseSigner(identity.privateKey, chain.id, engine, now),
  }
}

function readGauges({ runtime, watcher, outbox, timers, contractRows, bodyBuffer, now }: EngineContext): GaugeValues {
  const entries = [...watcher.entries()]
  const states = entries.map(contractStateOf)
  const count = (state: ContractState): number => states.filter((each) => each === state).length
  return {
    ...runtime.getLoad(),
    queued: entries.reduce((sum, { queue }) => sum + queue.countWaiting(), 0),
    outbox: outbox.getState(now()),
    chain: {
      block: watcher.getHead()?.number ?? 0,
      unseenSeconds: watcher.unseenSeconds(),
      headAgeSeconds: watcher.headAgeSeconds(),
      unread: watcher.countUnread(),
    },
    contracts: Object.fromEntries(CONTRACT_STATES.map((state) => [state, count(state)])) as GaugeValues['contracts'],
    deadHooks: entries.filter(({ stateChange }) => stateChange.dead).length,
    timers: timers.countScheduled(),
    storage: contractRows.listAll().map(([contract, { storageBytes }]) => ({ contract, bytes: storageBytes })),
    bufferedBytes: bodyBuffer.countHeldBytes(),
  }
}
