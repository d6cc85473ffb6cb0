/** The execution engine, ready to listen: everything it needs comes in; a server comes out, and what runs beside it. */

import type { Task } from '../async/task.ts'
import type { App } from '../http/app-type.ts'
import { purgeSpent } from '../store/spent.ts'
import { createEngineApp, engineReadiness } from './app.ts'
import { createBackground } from './background.ts'
import { createBodyBuffer } from './body.ts'
import { createCallHistory } from './call-history.ts'
import type { EngineConfig } from './config.ts'
import type { EngineContext, EngineEffects } from './context.ts'
import { CONTRACT_STATES, contractStateOf } from './contract-entry.ts'
import { cacheReads } from './contract-reads.ts'
import { cacheContractRows } from './contract-rows.ts'
import { storageIdsOf } from './identity.ts'
import { createMetrics, type Metrics, type Observed, observe } from './metrics.ts'
import { createOutbox } from './outbox.ts'
import { createResponseSigner } from './response-signer.ts'
import { createTimerBook, forgetTimers } from './timer-book.ts'
import { createWatcher } from './watcher.ts'

export interface EngineService {
  /** The server, which does not listen yet. */
  readonly app: App
  /** The tasks of the engine, to be run round after round. */
  readonly tasks: readonly Task[]
  readonly metrics: Metrics
  /** Rejects while the engine cannot do its work. */
  readonly checkReady: () => Promise<void>
  /** Stops the start of hooks and timers, and resolves when none runs any more. */
  readonly stop: () => Promise<void>
  /** Resolves when what runs in the background has ended; more may be started. */
  settled(): Promise<void>
}

/** The longest time between two rounds over hooks, timers and transactions. */
const ROUND_MS = 250
/** A local chain is in this process: asking it costs little, and many transactions at once would delay its answers. */
const LOCAL_OUTBOX_MS = 25

/** Makes an engine. The store in `effects` is encrypted already, with {@link storageEncryptionKey}. */
export async function createEngine(config: EngineConfig, effects: EngineEffects): Promise<EngineService> {
  const context = await contextOf(config, effects)
  const { store, watcher, outbox, timers, metrics, now } = context
  const everyMs = Math.min(config.pollMilliseconds, ROUND_MS)
  const background = createBackground(context, everyMs)
  const outboxMs = config.chain.type === 'local' ? Math.min(everyMs, LOCAL_OUTBOX_MS) : everyMs
  observe(metrics, () => readGauges(context))
  await Promise.all([timers.load(), outbox.load()])
  const checkReady = engineReadiness(context)
  const app = await createEngineApp(context, checkReady)
  return {
    app,
    metrics,
    checkReady,
    tasks: [
      { name: 'chain', everyMs: config.pollMilliseconds, run: watcher.look },
      { name: 'background', everyMs, run: background.round },
      { name: 'outbox', everyMs: outboxMs, run: () => outbox.round(watcher.block()?.hash) },
      {
        name: 'purge',
        everyMs: 60_000,
        run: async () => {
          await forgetTimers(store, timers, now())
          await purgeSpent(store, 'spent_request', now())
          await store.purge('failed_transaction', now())
          await store.tidy?.()
        },
      },
    ],
    settled: background.settled,
    stop: () => {
      background.stop()
      return background.settled()
    },
  }
}

async function contextOf(config: EngineConfig, effects: EngineEffects): Promise<EngineContext> {
  const { store, chain, now } = effects
  const { identity, limits } = config
  const account = chain.account(identity.privateKey, BigInt(limits.transactionGas))
  const engine = account.address
  const metrics = createMetrics(limits, effects.telemetryCounts)
  return {
    ...effects,
    config,
    limits,
    account,
    engine,
    metrics,
    storageIdOf: storageIdsOf(identity),
    contractRows: cacheContractRows(store),
    timers: createTimerBook(store),
    outbox: createOutbox({ ...effects, account, metrics }),
    readContract: cacheReads(effects.chain),
    watcher: createWatcher({ ...effects, engine, config, metrics }),
    bodyBuffer: createBodyBuffer(limits, now),
    calls: createCallHistory(),
    signer: await createResponseSigner(identity.privateKey, chain.id, engine, now),
  }
}

function readGauges({
  runtime,
  watcher,
  outbox,
  timers,
  contractRows,
  bodyBuffer: held,
  now,
}: EngineContext): Observed {
  const entries = [...watcher.entries()]
  const kinds = entries.map(contractStateOf)
  const count = (kind: string): number => kinds.filter((each) => each === kind).length
  return {
    ...runtime.load(),
    queued: entries.reduce((sum, { queue }) => sum + queue.queued(), 0),
    outbox: outbox.state(now()),
    chain: {
      block: watcher.block()?.number ?? 0,
      unseenSeconds: watcher.unseenSeconds(),
      headAgeSeconds: watcher.headAgeSeconds(),
      unread: watcher.unread(),
    },
    contracts: Object.fromEntries(CONTRACT_STATES.map((kind) => [kind, count(kind)])),
    deadHooks: entries.filter(({ hook }) => hook.dead).length,
    timers: timers.scheduled(),
    storage: contractRows.all().map(([contract, { storageBytes }]) => ({ contract, bytes: storageBytes })),
    bufferedBytes: held.held(),
  }
}
