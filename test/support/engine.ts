/**
 * An execution engine in this process, without a socket: a real store on disk with real encryption, a clock the test
 * holds, a chain in memory and a runtime whose components are functions of the test. Both stand at the ports, in the
 * place of other processes.
 */

import { createHash, randomBytes } from 'node:crypto'
import { pino } from 'pino'
import type { OffChainContract } from '../../src/chain/chain.ts'
import {
  type CallEffects,
  type ComponentCall,
  ComponentError,
  type Host,
  type RunOutcome,
  type Runtime,
} from '../../src/component/runtime.ts'
import { Trap } from '../../src/component/trap.ts'
import type { Files } from '../../src/config/files.ts'
import { type EngineCollections, engineEncryptedCollections, engineMigrations } from '../../src/engine/collections.ts'
import { type EngineConfig, readEngineConfig } from '../../src/engine/config.ts'
import { createEngine, type EngineService } from '../../src/engine/engine.ts'
import { storageEncryptionKey } from '../../src/engine/engine-key.ts'
import type { Outbound } from '../../src/http/outbound.ts'
import type { HttpResponseData } from '../../src/offchain/http-data.ts'
import { encryptStore, makeDatabaseKey } from '../../src/store/encrypted.ts'
import type { Store } from '../../src/store/store.ts'
import { type TestChain, testChain } from './engine-chain.ts'
import { openTestStore, retryOnConflict } from './store.ts'

/** The private key 1 of secp256k1, SEC 1 in PKCS #8, for tests alone. */
export const IDENTITY_PEM = `-----BEGIN PRIVATE KEY-----
${Buffer.from(`303e020100301006072a8648ce3d020106052b8104000a042730250201010420${'01'.padStart(64, '0')}`, 'hex').toString('base64')}
-----END PRIVATE KEY-----
`
/** The account of the engine on an EVM chain. */
export const ENGINE = '007e5f4552091a69125d5dfcb7b8c2659029395bdf'
export const CONTRACT = `00${'c1'.repeat(20)}`

// A runtime ------------------------------------------------------------------

/** The actions of a test's component in a call, which does not see storage that it set itself. */
export interface Hands {
  readonly call: ComponentCall
  readonly host: Host
  get(key: string): Promise<string | undefined>
  set(key: string, value: string | undefined): void
  transact(payload: string, gas?: bigint): void
  timer(id: number, delayMs: number, payload?: string): void
  cancel(id: number): void
  log(line: string): void
  /** Tests, like operation 0x80, whether the request with that id is accepted. */
  authenticate(id: string, unlessRefused?: boolean): Promise<boolean>
}

export interface Script {
  readonly http?: (hands: Hands) => Promise<Partial<HttpResponseData> | RunOutcome['kind']>
  readonly stateChange?: (hands: Hands) => Promise<unknown>
  readonly timer?: (hands: Hands, id: number, payload: string) => Promise<unknown>
  /** Returns the list of engines, as the bytes of the RPC format. */
  readonly engines?: (hands: Hands) => Promise<Uint8Array | 'overloaded'>
}

export interface TestRuntime extends Runtime {
  /** Adds a component, and returns its SHA-256; `name` is its bytes. */
  add(name: string, script: Script): { readonly sha256: string; readonly bytes: Uint8Array }
  runs: number
}

export const text = (value: string): Partial<HttpResponseData> => ({ body: Buffer.from(value) })

function testRuntime(clock: { readonly now: Date }): TestRuntime {
  const scripts = new Map<string, Script>()
  const runtime: TestRuntime = {
    runs: 0,
    add: (name, script) => {
      const bytes = Buffer.from(name)
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      scripts.set(sha256, script)
      return { sha256, bytes }
    },
    describe: ({ sha256 }) => {
      const script = scripts.get(sha256)
      if (script === undefined) return Promise.reject(new ComponentError('it is not a component'))
      const names = {
        http: 'off_chain_on_http_request',
        stateChange: 'off_chain_on_state_change',
        timer: 'off_chain_thread_1',
        engines: 'off_chain_engines',
      }
      const hooks = Object.keys(script).map((name) => names[name as keyof Script])
      return Promise.resolve({ kind: 'wasm', hooks })
    },
    run: async (call, host) => {
      runtime.runs++
      const script = scripts.get(call.component.sha256) as Script
      const effects = {
        storage: [],
        transactions: [],
        timers: [],
        spentRequests: [],
        signers: [],
        log: [],
        reads: 0,
      } as Mutable<CallEffects>
      const outages = new Set<unknown>()
      const hands = handsOf(call, noteOutages(host, outages), effects, clock)
      try {
        const { hook } = call
        const answer = hook.kind === 'http' ? await script.http?.(hands) : undefined
        if (hook.kind === 'state-change') await script.stateChange?.(hands)
        if (hook.kind === 'timer') await script.timer?.(hands, hook.id, Buffer.from(hook.payload).toString())
        if (answer === 'deadline' || answer === 'overloaded') return { kind: answer }
        if (answer === 'bad-response') return { kind: 'bad-response', message: 'bad', log: [] }
        const response =
          hook.kind === 'http' ? { status: 200, headers: [], body: new Uint8Array(), ...(answer as object) } : undefined
        const result = hook.kind === 'engines' ? await script.engines?.(hands) : undefined
        if (result === 'overloaded') return { kind: result }
        return { kind: 'done', response, result: result ?? new Uint8Array(), effects }
      } catch (error) {
        if (outages.has(error)) return { kind: 'outage', error, log: [] }
        return { kind: 'trap', message: (error as Error).message, log: [] }
      }
    },
    getLoad: () => ({ running: 0, waiting: 0, workers: 0 }),
    close: () => Promise.resolve(),
  }
  return runtime
}

/** Adds the errors with which operations of the host reject to `outages`, but for traps. */
function noteOutages(host: Host, outages: Set<unknown>): Host {
  const note = (error: unknown): never => {
    if (!(error instanceof Trap)) outages.add(error)
    throw error
  }
  return {
    ...host,
    load: (bucket, key) => host.load(bucket, key).catch(note),
    readContract: (input) => host.readContract(input).catch(note),
    getGeneration: () => host.getGeneration().catch(note),
    isSpent: (id) => host.isSpent(id).catch(note),
  }
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] extends readonly (infer Item)[] ? Item[] : T[Name] }

const BUCKET = Buffer.from('B')

function handsOf(call: ComponentCall, host: Host, effects: Mutable<CallEffects>, clock: { readonly now: Date }): Hands {
  return {
    call,
    host,
    get: async (key) => {
      effects.reads++
      const value = await host.load(BUCKET, Buffer.from(key))
      return value && Buffer.from(value).toString()
    },
    set: (key, value) => {
      const change = {
        bucket: BUCKET,
        key: Buffer.from(key),
        value: value === undefined ? undefined : Buffer.from(value),
      }
      effects.storage.push(change)
    },
    transact: (payload, gas = 0n) => effects.transactions.push({ payload: Buffer.from(payload), gas }),
    timer: (id, delayMs, payload = '') => effects.timers.push({ id, delayMs, payload: Buffer.from(payload) }),
    log: (line) => effects.log.push(line),
    cancel: (id) => effects.timers.push({ id, cancel: true }),
    authenticate: async (id, unlessRefused = false) => {
      if (await host.isSpent(id)) return false
      effects.spentRequests.push({ id, until: new Date(clock.now.getTime() + 60_000), unlessRefused })
      return true
    },
  }
}

// An engine ------------------------------------------------------------------

export interface TestEngine {
  readonly engine: EngineService
  readonly chain: TestChain
  readonly runtime: TestRuntime
  readonly store: Store<EngineCollections>
  /** The time that passes, and how far the system clock is ahead of it. */
  readonly clock: { now: Date; aheadMs?: number }
  readonly logLines: readonly string[]
  readonly files: Map<string, Uint8Array>
  readonly url: string
  /** Runs rounds of everything that the engine does by itself, until nothing is left to be done. */
  rounds(count?: number): Promise<void>
  task(name: string): Promise<void>
  /**
   * Starts another process on the same database, or on `store`, with the same chain and components; this engine is as
   * if it had been killed.
   */
  restart(store?: Store<EngineCollections>): Promise<TestEngine>
}

export interface TestEngineOptions {
  readonly settings?: Record<string, unknown>
  /** More files that its settings name, by path. */
  readonly texts?: ReadonlyMap<string, string>
  readonly outbound?: Outbound
  readonly store?: Store<EngineCollections>
  /** The parts that the engine shares with another one. */
  readonly from?: Partial<Pick<TestEngine, 'clock' | 'chain' | 'runtime' | 'files' | 'store'>>
}

/** Makes the settings of an engine; `texts` are more files that it can read, by path. */
export function engineConfig(
  settings: Record<string, unknown> = {},
  texts: ReadonlyMap<string, string> = new Map(),
): EngineConfig {
  const value = {
    identity: { keyFile: 'engine.key' },
    chain: { type: 'local', directory: 'chain' },
    limits: { requestsPerSecond: 1_000_000, requestBurst: 1_000_000 },
    ...settings,
  }
  const files: Files = { read: (path) => texts.get(path) ?? IDENTITY_PEM, list: () => [], resolveLink: (path) => path }
  const read = readEngineConfig(value, files, new Date())
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  return read.config
}

export async function startEngine(options: TestEngineOptions = {}): Promise<TestEngine> {
  const { from, settings } = options
  const clock: TestEngine['clock'] = from?.clock ?? { now: new Date('2026-01-01T00:00:00Z') }
  const [chain, runtime] = [from?.chain ?? testChain(clock, ENGINE), from?.runtime ?? testRuntime(clock)]
  const config = engineConfig(settings, options.texts)
  const plain = options.store ?? from?.store ?? (await openTestStore<EngineCollections>(engineMigrations))
  const keys = [makeDatabaseKey(storageEncryptionKey(config.identity))]
  const store = await encryptStore(plain, {
    refusesPlaintext: true,
    keys,
    collections: engineEncryptedCollections,
    random: randomBytes,
    now: clock.now,
    retentionMs: 0,
  })
  const files = from?.files ?? new Map<string, Uint8Array>()
  const logLines: string[] = []
  const engine = await createEngine(config, {
    store,
    retryOnConflict,
    chain,
    runtime,
    outbound: options.outbound ?? (() => Promise.reject(new Error('nobody is to be asked'))),
    now: () => new Date(clock.now.getTime() + (clock.aheadMs ?? 0)),
    monotonicMs: () => clock.now.getTime(),
    random: randomBytes,
    log: pino({ level: 'debug' }, { write: (line: string) => void logLines.push(line) }),
    files: {
      read: (sha256) => Promise.resolve(files.get(sha256)),
      keep: (sha256, bytes, isNamed) => {
        for (const each of files.keys()) if (!isNamed(each)) files.delete(each)
        return Promise.resolve(void files.set(sha256, bytes))
      },
    },
  })
  const task = async (name: string): Promise<void> => engine.tasks.find((each) => each.name === name)?.run()
  const started: TestEngine = {
    ...{ engine, chain, runtime, store: plain, clock, logLines, files, task },
    url: `/offchain/${CONTRACT}`,
    rounds: async (count = 3) => {
      for (let round = 0; round < count; round++) {
        for (const name of ['chain', 'background']) await task(name)
        await engine.waitUntilIdle()
        await task('outbox')
      }
    },
    restart: (other = plain) => startEngine({ ...options, store: other, from: started }),
  }
  return started
}

/** Starts an engine that serves one contract with this component. */
export async function serving(
  script: Script,
  { contract, ...options }: TestEngineOptions & { readonly contract?: Partial<OffChainContract> } = {},
): Promise<TestEngine> {
  const started = await startEngine(options)
  const { sha256, bytes } = started.runtime.add('first', script)
  started.files.set(sha256, bytes)
  started.chain.set({ address: CONTRACT, component: { sha256, uri: '' }, ...contract })
  await started.rounds()
  return started
}
