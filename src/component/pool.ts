/**
 * Worker threads that run jobs of components. A job goes to an idle worker. When a job misses its deadline, its worker
 * is terminated and replaced. Waiting jobs are not assigned to workers, so that none is lost with a worker. When one
 * contract keeps all workers busy, spare workers start for other contracts. A worker that waits for an answer of the
 * engine uses no CPU, so another worker may start meanwhile.
 */
import { Worker } from 'node:worker_threads'
import type { HostRequestMessage, JobMessage, JobOutcome, WorkerData, WorkerReport } from './messages.ts'
import type { PreparedProgram } from './programs.ts'
import { createScheduler, maxWorkers, type WorkerScheduler } from './scheduler.ts'
import {
  answerHostRequest,
  beginJob,
  computedMs,
  deadlineOutcomeOf,
  findIdle,
  forgetComponent,
  isAsleep,
  jobOutcomeOf,
  listHeldWorkers,
  type QueuedJob,
  type Slot,
} from './slot.ts'

export interface PoolSettings {
  readonly workers: number
  /** The program of `worker.ts`, bundled as CommonJS. */
  readonly workerProgram: string
  readonly data: Omit<WorkerData, 'signal'>
  /** Is called with a program that a worker is about to get. */
  readonly onAssign: (sha256: string, prepared: PreparedProgram) => void
}

/** A job without what the pool adds to it. */
export type Job = Omit<QueuedJob, 'queueTimer' | 'end' | 'fail'>

export interface WorkerPool {
  /** Resolves with the outcome of the job when a worker has run it, or none took it within `queueMs`. */
  enqueue(job: Job): Promise<JobOutcome>
  /** Has all workers forget the program of a component. */
  forget(sha256: string): void
  getLoad(): { readonly running: number; readonly waiting: number; readonly workers: number }
  /** Ends all jobs and workers. */
  close(): Promise<void>
}

/** The message of the error for a job of a pool that is closed. */
export const CLOSED_TEXT = 'The component runtime is closed.'
/** The time that a job waits before a spare worker is started for it. */
const SPARE_WORKER_DELAY_MS = 100
/** The most computing workers, including spare ones, as a multiple of `workers`. */
const SPARE_FACTOR = 2
/** The heap of a worker, beside the memory of components; `MAX_HELD_OBJECTS` bounds what a call holds in it. */
const WORKER_HEAP_MB = 256
/** The stack of a worker: the default of Node. A component recurses on it, and traps where it ends. */
const WORKER_STACK_MB = 4

interface Pool {
  readonly settings: PoolSettings
  readonly slots: Set<Slot>
  readonly waiting: QueuedJob[]
  readonly scheduler: WorkerScheduler
  isClosed: boolean
  /** The timer that starts a spare worker. */
  spareTimer: NodeJS.Timeout | undefined
}

/** Creates a pool, and starts its workers. Jobs that come before the workers are ready wait. */
export function createWorkerPool(settings: PoolSettings): WorkerPool {
  const pool: Pool = {
    settings,
    slots: new Set(),
    waiting: [],
    scheduler: createScheduler(settings.workers, () => performance.now()),
    isClosed: false,
    spareTimer: undefined,
  }
  startMissingWorkers(pool)
  return {
    enqueue: (job) => enqueue(pool, job),
    forget: (sha256) => forgetComponent(pool.slots, sha256),
    getLoad: () => {
      const running = [...pool.slots].filter(({ state }) => state === 'busy').length
      return { running, waiting: pool.waiting.length, workers: pool.slots.size }
    },
    close: () => closePool(pool),
  }
}

function enqueue(pool: Pool, job: Job): Promise<JobOutcome> {
  return new Promise((end, fail) => {
    if (pool.isClosed) throw new Error(CLOSED_TEXT)
    const queuedJob: QueuedJob = { ...job, queueTimer: undefined, end, fail }
    pool.waiting.push(queuedJob)
    startMissingWorkers(pool)
    dispatch(pool)
    if (pool.waiting.includes(queuedJob) && job.queueMs !== undefined) {
      queuedJob.queueTimer = setTimeout(() => giveUp(pool, queuedJob), job.queueMs).unref()
    }
  })
}

/** Ends a waiting job as `overloaded`; called when no worker took it within `queueMs`. */
function giveUp(pool: Pool, job: QueuedJob): void {
  removeWaiting(pool, pool.waiting.indexOf(job))
  job.end({ report: 'overloaded' })
}

/** Removes the job at `index` from the waiting jobs, and stops its timer. */
function removeWaiting({ waiting }: Pool, index: number): QueuedJob | undefined {
  const [job] = waiting.splice(index, 1)
  clearTimeout(job?.queueTimer)
  return job
}

function removeAllWaiting(pool: Pool): QueuedJob[] {
  for (const { queueTimer } of pool.waiting) clearTimeout(queueTimer)
  return pool.waiting.splice(0)
}

/** Starts workers until the pool has the configured number. */
function startMissingWorkers(pool: Pool): void {
  while (!pool.isClosed && pool.slots.size < pool.settings.workers) pool.slots.add(startWorker(pool))
}

function startWorker(pool: Pool): Slot {
  const signal = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(pool.settings.workerProgram, {
    eval: true,
    workerData: { ...pool.settings.data, signal } satisfies WorkerData,
    // A component that breaks out of its sandbox must find nothing of the process, such as its environment.
    env: {},
    argv: [],
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB, stackSizeMb: WORKER_STACK_MB },
  })
  const slot: Slot = {
    worker,
    signal,
    components: new Set(),
    state: 'starting',
    job: undefined,
    jobNumber: 0,
    since: 0,
    askedAt: undefined,
    asksFor: undefined,
    sleptMs: 0,
    outage: undefined,
    timer: undefined,
  }
  worker.on('message', (message: WorkerReport | HostRequestMessage) => handleMessage(pool, slot, message))
  worker.on('error', (error: Error) => removeLostSlot(pool, slot, error.message))
  worker.on('exit', () => removeLostSlot(pool, slot, 'it ended by itself'))
  return slot
}

function handleMessage(pool: Pool, slot: Slot, message: WorkerReport | HostRequestMessage): void {
  if (slot.state === 'gone') return
  if ('hostRequest' in message) {
    void answerHostRequest(slot, message)
    return
  }
  const { job } = slot
  const outcome = message.report === 'ready' ? undefined : jobOutcomeOf(slot, message)
  clearTimeout(slot.timer)
  noteComputingTime(pool, slot)
  slot.job = undefined
  slot.state = 'idle'
  // An idle worker must not keep the process alive.
  slot.worker.unref()
  dispatch(pool)
  if (outcome !== undefined) job?.end(outcome)
}

/** Gives waiting jobs to idle workers, in the order of the scheduler. */
function dispatch(pool: Pool): void {
  const { waiting } = pool
  if (waiting.length === 0) return
  for (let index = findNextJob(pool); index !== -1; index = findNextJob(pool)) {
    const slot = findIdle(pool.slots, waiting[index]?.sha256 ?? '')
    if (slot === undefined) break
    const job = removeWaiting(pool, index)
    if (job !== undefined) assignJob(pool, slot, job)
  }
  // A worker counts as asleep only after some time, so the waiting jobs are checked again later.
  if (waiting.length > 0) pool.spareTimer ??= setTimeout(() => startSpareWorker(pool), SPARE_WORKER_DELAY_MS).unref()
}

function findNextJob({ scheduler, waiting, slots }: Pool): number {
  return scheduler.findNext(waiting, listHeldWorkers(slots))
}

function noteComputingTime({ scheduler }: Pool, slot: Slot): void {
  if (slot.job !== undefined) scheduler.noteTime(slot.job.owner, computedMs(slot))
}

/** Starts a spare worker when all workers are busy and the scheduler would let a waiting job run. */
function startSpareWorker(pool: Pool): void {
  pool.spareTimer = undefined
  const { slots, isClosed, settings } = pool
  if (isClosed) return
  const isStuck = [...slots].every(({ state }) => state === 'busy') && findNextJob(pool) !== -1
  const awake = [...slots].filter((slot) => !isAsleep(slot)).length
  const hasRoom = awake < settings.workers * SPARE_FACTOR && slots.size < maxWorkers(settings.workers)
  if (isStuck && hasRoom) slots.add(startWorker(pool))
  dispatch(pool)
}

function assignJob(pool: Pool, slot: Slot, job: QueuedJob): void {
  const { sha256, prepared, call, deadlineMs } = job
  const hasComponent = slot.components.has(sha256)
  if (!hasComponent) {
    pool.settings.onAssign(sha256, prepared)
    slot.components.add(sha256)
  }
  beginJob(slot, job)
  slot.timer = setTimeout(() => removeSlot(pool, slot, deadlineOutcomeOf(slot)), deadlineMs)
  const program = hasComponent ? undefined : prepared.program
  slot.worker.postMessage({ number: slot.jobNumber, sha256, program, call } satisfies JobMessage)
}

/**
 * Removes the slot of a worker that ended by itself, which no component should be able to cause. When the worker failed
 * to start and there is no other one, all waiting jobs are rejected.
 */
function removeLostSlot(pool: Pool, slot: Slot, why: string): void {
  if (slot.state !== 'starting') {
    removeSlot(pool, slot, { report: 'trap', message: `the worker was lost: ${why}`, log: [] })
    return
  }
  slot.state = 'gone'
  pool.slots.delete(slot)
  // The next call starts workers again.
  if (pool.slots.size > 0) return
  const error = new Error(`No component worker can be started: ${why}`)
  for (const job of removeAllWaiting(pool)) job.fail(error)
}

/** Terminates a worker, and ends its job with the outcome. */
function removeSlot(pool: Pool, slot: Slot, outcome: JobOutcome): void {
  if (slot.state === 'gone') return
  slot.state = 'gone'
  clearTimeout(slot.timer)
  noteComputingTime(pool, slot)
  pool.slots.delete(slot)
  void slot.worker.terminate()
  slot.job?.end(outcome)
  slot.job = undefined
  startMissingWorkers(pool)
  dispatch(pool)
}

async function closePool(pool: Pool): Promise<void> {
  pool.isClosed = true
  clearTimeout(pool.spareTimer)
  const outcome = { report: 'stopped' } as const
  for (const job of removeAllWaiting(pool)) job.end(outcome)
  const slots = [...pool.slots]
  for (const slot of slots) removeSlot(pool, slot, outcome)
  await Promise.all(slots.map(({ worker }) => worker.terminate()))
}
