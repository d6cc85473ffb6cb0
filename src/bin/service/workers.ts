/**
 * The primary process of a service with several workers: starts the workers, which share the port, replaces those that
 * end, and stops them. docs/decisions/0021-workers.md.
 */
import type { Worker } from 'node:cluster'
import { availableParallelism } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import { backOffMs } from '../../async/back-off.ts'
import { serialQueue } from '../../async/concurrency.ts'
import type { MetricsSource } from '../../http/metrics-server.ts'
import { forkWorker, keepCommand } from './fork-worker.ts'
import type { ListeningConfig } from './service-kind.ts'
import { PIN_REFUSED, REFUSED, TemporaryFailure, TRY_LATER } from './start-refusal.ts'
import { MAX_END_MS } from './stopping.ts'
import type { ListeningFacts, MessageOfWorker, MessageToWorker } from './worker.ts'
import { addUpMetrics, type MeasuredWorker, sendToWorker } from './worker-metrics.ts'

/** The pauses before a worker is replaced. */
const PAUSES = { firstMs: 100, longestMs: 10_000 }
/** The time within which the ends of a worker are counted. */
const COUNTED_MS = 60_000
/** The number of unexpected ends of a worker within that time after which the service stops. */
const MAX_ENDS = 5
/** The time in which arrived connections are passed on to workers. */
const PASS_ON_MS = 10
/** The exit statuses of a worker that has reported why it cannot start. */
const REFUSALS: readonly (number | null)[] = [REFUSED, PIN_REFUSED, TRY_LATER]

/** Why no worker follows one whose token refused the PIN: each would send the PIN again, until the token locks it. */
const PIN_MISTAKE =
  'pinFile: the token refused the PIN, and no worker sends it again; correct it, and restart the service'
/** The ways in which files that keep a worker from following are mended. */
const WAYS_OUT =
  'a file that changed is as it was, or a certificate that ended is renewed; new keys, and a PIN that was refused, need a restart'

/** The options of a service with several workers. */
interface WorkerOptions {
  readonly config: Pick<ListeningConfig, 'stopping' | 'workers'>
  /** The settings at the start, from which each worker reads its configuration. */
  readonly settings: unknown
  /** Returns mistakes in files, and changes that require a restart. No worker is replaced while there are any. */
  readonly findMistakes: () => readonly string[]
  readonly log: Logger
}

/** The workers of a service. */
export interface Workers {
  /** Starts all workers, one after another. */
  start(): Promise<WorkersStart>
  readonly metrics: MetricsSource
  /** Sends a signal to all workers. */
  signal(signal: string): void
  /** Stops all workers. Rejects if one of them fails. */
  end(signal: string): Promise<void>
}

/** The result of the start: all workers listen, or one could not start, or the service is stopping. */
type WorkersStart =
  | {
      readonly facts: ListeningFacts
      /** Resolves with the number of a worker that has ended too often. */
      readonly givenUp: Promise<number>
    }
  | { readonly status: number }
  | { readonly isStopping: true }

interface End {
  readonly status: number | null
  readonly signal: string | null
}

interface StartedWorker extends MeasuredWorker {
  readonly ended: Promise<End>
}

interface Pool extends WorkerOptions {
  /** The running workers, including those that do not listen yet. */
  readonly running: Set<StartedWorker>
  /** Starts workers one at a time, since each writes the generation file of an embedded database. */
  readonly runInTurn: ReturnType<typeof serialQueue>
  isStopping: boolean
  /** Whether a token refused the PIN of a worker. */
  isPinRefused: boolean
}

/** Returns why a service cannot have the configured number of workers; undefined if it can. */
export function findWorkersMistake({
  workers = 1,
  database,
}: Pick<ListeningConfig, 'workers' | 'database'>): string | undefined {
  const most = Math.max(2, availableParallelism())
  if (workers > most) {
    return `workers: ${workers} is more than this machine runs at the same time; say a number from 1 to ${most}`
  }
  const isInMemory = database.kind === 'sqlite' && database.file === ':memory:'
  return workers > 1 && isInMemory
    ? 'workers: each process would have a database of its own; name a file or a server in database.url'
    : undefined
}

/** Creates the workers of a service. `start` starts them. */
export function createWorkers(options: WorkerOptions): Workers {
  const findProgramProblem = keepCommand()
  const findMistakes = (): readonly string[] =>
    [findProgramProblem() ?? [], pool.isPinRefused ? PIN_MISTAKE : [], options.findMistakes()].flat()
  const state = { running: new Set<StartedWorker>(), isStopping: false, isPinRefused: false }
  const pool: Pool = { ...options, ...state, findMistakes, runInTurn: serialQueue() }
  return {
    start: async () => {
      try {
        const result = await startWorkers(pool)
        if ('status' in result) await endWorkers(pool, 'SIGINT').catch(() => undefined)
        return result
      } catch (error) {
        await endWorkers(pool, 'SIGINT').catch(() => undefined)
        const { message } = error as Error
        throw new TemporaryFailure(`the system starts no process for a worker: ${message}`, { cause: error })
      }
    },
    metrics: addUpMetrics(pool.running, pool.log),
    signal: (signal) => sendToAll(pool, { signal }),
    end: (signal) => endWorkers(pool, signal),
  }
}

async function startWorkers(pool: Pool): Promise<WorkersStart> {
  const { workers = 1 } = pool.config
  const workersGivenUp: Promise<number>[] = []
  for (let number = 1; ; number++) {
    const startedWorker = await pool.runInTurn(() => startWorker(pool, number))
    if (pool.isStopping) return { isStopping: true }
    if (startedWorker.facts === undefined) {
      const { status } = await startedWorker.ended
      return { status: status === PIN_REFUSED ? REFUSED : (status ?? 1) }
    }
    workersGivenUp.push(keepWorker(pool, startedWorker))
    if (number === workers) return { facts: startedWorker.facts, givenUp: Promise.race(workersGivenUp) }
  }
}

/** Starts a worker. Resolves when it listens, or has ended before. Rejects if the system starts no process. */
async function startWorker(pool: Pool, number: number): Promise<StartedWorker> {
  const worker = await forkWorker()
  const ended = new Promise<End>((resolve) => {
    worker.once('exit', (status, signal) => resolve({ status, signal }))
    worker.on('error', () => {
      worker.process.kill('SIGKILL')
      resolve({ status: 1, signal: null })
    })
  })
  const startedWorker: StartedWorker = { number, worker, ended }
  pool.running.add(startedWorker)
  void ended.then(({ status }) => {
    pool.running.delete(startedWorker)
    if (status === PIN_REFUSED) pool.isPinRefused = true
  })
  const listening = new Promise<void>((resolve) => {
    worker.on('message', (message: MessageOfWorker) => {
      if ('passOn' in message) void passOnConnections(worker)
      if (!('listening' in message)) return
      startedWorker.facts = message.listening
      resolve()
    })
  })
  sendToWorker(worker, { orders: { settings: pool.settings, number } })
  await Promise.race([listening, ended])
  const { pid } = worker.process
  if (startedWorker.facts)
    pool.log.info({ event: 'worker_listening', worker: number, pid }, 'a worker accepts connections')
  return startedWorker
}

/** Tells a worker that the arrived connections were passed on, which `node:cluster` does itself. */
async function passOnConnections(worker: Worker): Promise<void> {
  await wait(PASS_ON_MS)
  sendToWorker(worker, { passedOn: true })
}

/** Replaces a worker each time it ends. Resolves with its number after too many ends. */
async function keepWorker(pool: Pool, first: StartedWorker): Promise<number> {
  const { number } = first
  let ends: { readonly at: number; readonly isRefused: boolean }[] = []
  for (let current = first; ; ) {
    const { status, signal } = await current.ended
    if (pool.isStopping) return waitForever()
    const { pid } = current.worker.process
    pool.log.error({ event: 'worker_ended', worker: number, pid, status, signal }, 'a worker ended; another follows')
    const at = performance.now()
    const isRefused = REFUSALS.includes(status)
    ends = [...ends, { at, isRefused }].filter((end) => at - end.at < COUNTED_MS)
    if (ends.filter(({ isRefused }) => !isRefused).length >= MAX_ENDS) return number
    const next = await replaceWorker(pool, number, ends.length)
    if (next === undefined) return waitForever()
    current = next
  }
}

/** Starts a worker after a pause, and tries that again; undefined if the service stops meanwhile. */
async function replaceWorker(pool: Pool, number: number, ends: number): Promise<StartedWorker | undefined> {
  for (let pauses = ends; ; pauses++) {
    await wait(backOffMs(PAUSES, pauses))
    try {
      const next = await pool.runInTurn(() => startUnlessMistaken(pool, number))
      if (next !== 'mistaken') return next
    } catch (err) {
      pool.log.error(
        { event: 'worker_not_started', worker: number, err },
        'the system starts no process for a worker; it is tried again',
      )
    }
  }
}

/** Starts a worker, if there are no mistakes; undefined if the service stops. */
async function startUnlessMistaken(pool: Pool, number: number): Promise<StartedWorker | 'mistaken' | undefined> {
  if (pool.isStopping) return undefined
  const mistakes = pool.findMistakes()
  if (mistakes.length === 0) return startWorker(pool, number)
  pool.log.error({ event: 'worker_not_started', worker: number, mistakes }, `no worker follows until ${WAYS_OUT}`)
  return 'mistaken'
}

async function endWorkers(pool: Pool, signal: string): Promise<void> {
  pool.isStopping = true
  const { graceSeconds } = pool.config.stopping
  const running = [...pool.running]
  const killAll = (): void => {
    for (const { worker } of running) worker.process.kill('SIGKILL')
  }
  const killTimer = setTimeout(killAll, graceSeconds * 1000 + MAX_END_MS)
  sendToAll(pool, { signal })
  const ends = await Promise.all(running.map(async ({ number, ended }) => ({ number, ...(await ended) })))
  clearTimeout(killTimer)
  const failedWorkers = ends.filter(({ status }) => status !== 0)
  if (failedWorkers.length === 0) return
  throw new Error(failedWorkers.map((end) => `worker ${end.number} ended with ${end.signal ?? end.status}`).join(', '))
}

function sendToAll({ running }: Pool, message: MessageToWorker): void {
  for (const { worker } of running) sendToWorker(worker, message)
}

/** Returns a promise that never resolves, for a worker that is not replaced. */
function waitForever(): Promise<never> {
  return new Promise(() => undefined)
}
