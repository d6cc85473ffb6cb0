/**
 * The runtime on worker threads: a job goes to a worker that is idle, and one that is not done by its deadline goes
 * with its worker, in whose place comes another. Jobs that wait belong to no worker, so that none is lost with one. A
 * contract that keeps all workers busy has no more of them: for others there are spare ones, which start when they are
 * needed. A worker that sleeps until the engine answers it computes nothing, so that another may start in its place.
 */
import { Worker } from 'node:worker_threads'
import { createLru } from '../async/lru.ts'
import { callMessage } from './call-message.ts'
import { answerOf } from './host-answer.ts'
import type { AnswerMessage, Job, QuestionMessage, WorkerData, WorkerReport } from './messages.ts'
import { type JobOutcome, runOutcomeOf } from './outcome.ts'
import { compileQuickJs, type Prepared, preparedPrograms } from './programs.ts'
import {
  type ComponentCode,
  type ComponentDescription,
  ComponentError,
  type Runtime,
  type RuntimeLimits,
} from './runtime.ts'
import { createScheduler, mostWorkers, type WorkerScheduler } from './scheduler.ts'
import { computedMs, heldWorkers, idleFor, isAsleep, type Slot, type WorkerTask } from './slot.ts'
import { isHook } from './vet.ts'

export interface PoolSettings {
  readonly workers: number
  readonly limits: RuntimeLimits
  /** `worker.ts`, bundled. */
  readonly workerFile: string
  /** `quickjs.wasm` of quickjs-wasi. */
  readonly quickjs: Uint8Array
}

const KEPT_PROGRAMS = 64
const KEPT_BY_WORKER = 16
/** The time limit for finding the hooks of a script. */
const DESCRIBE_MS = 10_000
/** The time for which a job waits for others before a spare worker is started for it. */
const PATIENCE_MS = 100
/** The most workers that compute, with the spare ones, as a multiple of `workers`. */
const WITH_SPARE = 2

interface Pool {
  readonly settings: PoolSettings
  readonly data: Omit<WorkerData, 'signal'>
  readonly slots: Set<Slot>
  readonly waiting: WorkerTask[]
  readonly turns: WorkerScheduler
  closed: boolean
  /** The timer until a spare worker is started. */
  patience: NodeJS.Timeout | undefined
}

/** Creates a pool whose workers start at once; calls may come before the workers are ready. */
export async function createPool(settings: PoolSettings): Promise<Runtime> {
  const { limits } = settings
  const data = { limits, quickjs: await compileQuickJs(settings.quickjs, limits) }
  const turns = createScheduler(settings.workers, () => performance.now())
  const pool: Pool = { settings, data, slots: new Set(), waiting: [], turns, closed: false, patience: undefined }
  const programs = preparedPrograms(limits, KEPT_PROGRAMS)
  fill(pool)
  return {
    describe: async (component) => describe(pool, component, await programs(component)),
    run: async (call, host) => {
      const { sha256 } = call.component
      let prepared: Prepared
      try {
        prepared = await programs(call.component)
      } catch (error) {
        return { kind: 'trap', message: (error as Error).message, log: [] }
      }
      const message = callMessage(call)
      if (prepared.hooks !== undefined && !prepared.hooks.includes(message.hook)) {
        return { kind: 'trap', message: `the component has no ${message.hook}`, log: [] }
      }
      const { contract: owner, deadlineMs, queueMs } = call
      const task = { owner, component: sha256, program: prepared.program, call: message, host, deadlineMs, queueMs }
      return runOutcomeOf(await enqueue(pool, task))
    },
    load: () => {
      const running = [...pool.slots].filter(({ state }) => state === 'busy').length
      return { running, waiting: pool.waiting.length, workers: pool.slots.size }
    },
    close: () => close(pool),
  }
}

async function describe(pool: Pool, component: ComponentCode, prepared: Prepared): Promise<ComponentDescription> {
  const { program, hooks } = prepared
  if (hooks !== undefined) return { kind: 'wasm', hooks }
  const { sha256 } = component
  const task = { owner: sha256, component: sha256, program, call: undefined, host: undefined }
  const ended = await enqueue(pool, { ...task, deadlineMs: DESCRIBE_MS, queueMs: undefined })
  if (ended.report !== 'hooks') {
    throw new ComponentError(
      `The script cannot be loaded: ${'message' in ended ? ended.message : 'it does not come to an end'}`,
    )
  }
  const names = ended.hooks.filter(isHook).sort()
  if (names.length === 0) throw new ComponentError('The script has no hooks: it must call component({ … }).')
  return { kind: 'javascript', hooks: names }
}

function enqueue(pool: Pool, task: Omit<WorkerTask, 'owner' | 'queueTimer' | 'end' | 'fail'>): Promise<JobOutcome> {
  return new Promise((end, fail) => {
    if (pool.closed) throw new Error('The component runtime is closed.')
    const owner = task.call?.contract ?? task.component
    const waiting: WorkerTask = { ...task, owner, queueTimer: undefined, end, fail }
    pool.waiting.push(waiting)
    fill(pool)
    dispatch(pool)
    const isWaiting = pool.waiting.includes(waiting)
    if (isWaiting && task.queueMs !== undefined) {
      waiting.queueTimer = setTimeout(() => giveUp(pool, waiting), task.queueMs).unref()
    }
  })
}

/** Ends a task that no worker has taken in the time that it may wait. */
function giveUp(pool: Pool, task: WorkerTask): void {
  removeWaiting(pool, pool.waiting.indexOf(task))
  task.end({ report: 'overloaded' })
}

/** Takes the task at `index` out of those that wait, and stops its timer. */
function removeWaiting({ waiting }: Pool, index: number): WorkerTask | undefined {
  const [task] = waiting.splice(index, 1)
  clearTimeout(task?.queueTimer)
  return task
}

function removeAllWaiting(pool: Pool): WorkerTask[] {
  for (const { queueTimer } of pool.waiting) clearTimeout(queueTimer)
  return pool.waiting.splice(0)
}

/** Starts workers until there are as many as there should be. */
function fill(pool: Pool): void {
  while (!pool.closed && pool.slots.size < pool.settings.workers) pool.slots.add(start(pool))
}

function start(pool: Pool): Slot {
  const signal = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(pool.settings.workerFile, {
    workerData: { ...pool.data, signal } satisfies WorkerData,
    // Nothing of the process is for components, also where one breaks out of its sandbox.
    env: {},
    argv: [],
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 256, stackSizeMb: 4 },
  })
  const slot: Slot = {
    worker,
    signal,
    components: createLru(KEPT_BY_WORKER),
    state: 'starting',
    task: undefined,
    jobs: 0,
    since: 0,
    askedAt: undefined,
    sleptMs: 0,
    timer: undefined,
  }
  worker.on('message', (message: WorkerReport | QuestionMessage) => handleMessage(pool, slot, message))
  worker.on('error', (error: Error) => removeLost(pool, slot, error.message))
  worker.on('exit', () => removeLost(pool, slot, 'it ended by itself'))
  return slot
}

function handleMessage(pool: Pool, slot: Slot, message: WorkerReport | QuestionMessage): void {
  if (slot.state === 'gone') return
  if ('question' in message) {
    void answer(slot, message)
    return
  }
  const { task } = slot
  clearTimeout(slot.timer)
  noteTime(pool, slot)
  slot.task = undefined
  slot.state = 'idle'
  // An idle worker keeps no process alive.
  slot.worker.unref()
  dispatch(pool)
  if (message.report !== 'ready') task?.end(message)
}

async function answer(slot: Slot, { job, question }: QuestionMessage): Promise<void> {
  const { task, jobs } = slot
  if (task?.host === undefined || job !== jobs) return
  slot.askedAt = performance.now()
  const hostAnswer = await answerOf(task.host, question).catch((error: unknown) => ({
    failed: (error as Error).message,
  }))
  // The task that asked may have ended.
  if (slot.task !== task || slot.jobs !== job) return
  slot.sleptMs += performance.now() - slot.askedAt
  slot.askedAt = undefined
  slot.worker.postMessage({ job, answer: hostAnswer } satisfies AnswerMessage)
  Atomics.add(slot.signal, 0, 1)
  Atomics.notify(slot.signal, 0)
}

function dispatch(pool: Pool): void {
  const { waiting } = pool
  if (waiting.length === 0) return
  for (let at = nextTask(pool); at !== -1; at = nextTask(pool)) {
    const slot = idleFor(pool.slots, waiting[at]?.component ?? '')
    if (slot === undefined) break
    const task = removeWaiting(pool, at)
    if (task !== undefined) give(pool, slot, task)
  }
  // Time alone changes who is asleep, so those that wait are looked at again.
  if (waiting.length > 0) pool.patience ??= setTimeout(() => lookAgain(pool), PATIENCE_MS).unref()
}

function nextTask({ turns, waiting, slots }: Pool): number {
  return turns.next(waiting, heldWorkers(slots))
}

function noteTime({ turns }: Pool, slot: Slot): void {
  if (slot.task !== undefined) turns.took(slot.task.owner, computedMs(slot))
}

/** Starts a worker for tasks that wait though all workers are busy, unless their own contract keeps those so. */
function lookAgain(pool: Pool): void {
  pool.patience = undefined
  const { slots, closed, settings } = pool
  if (closed) return
  const isStuck = [...slots].every(({ state }) => state === 'busy') && nextTask(pool) !== -1
  const awake = [...slots].filter((slot) => !isAsleep(slot)).length
  const hasRoom = awake < settings.workers * WITH_SPARE && slots.size < mostWorkers(settings.workers)
  if (isStuck && hasRoom) slots.add(start(pool))
  dispatch(pool)
}

function give(pool: Pool, slot: Slot, task: WorkerTask): void {
  const { component, program, call, deadlineMs } = task
  const has = slot.components.get(component) !== undefined
  const [forget] = has ? [] : slot.components.set(component, true)
  slot.state = 'busy'
  slot.since = performance.now()
  slot.askedAt = undefined
  slot.sleptMs = 0
  slot.task = task
  slot.jobs += 1
  slot.worker.ref()
  slot.timer = setTimeout(() => remove(pool, slot, { report: 'deadline' }), deadlineMs)
  const job: Job = { number: slot.jobs, component, program: has ? undefined : program, forget, call }
  slot.worker.postMessage(job)
}

/**
 * Removes the slot of a worker that has ended by itself, which no component should bring about. A worker that could not
 * even start fails all waiting calls when there is no other worker.
 */
function removeLost(pool: Pool, slot: Slot, why: string): void {
  if (slot.state !== 'starting') {
    remove(pool, slot, { report: 'trap', message: `the worker was lost: ${why}`, log: [] })
    return
  }
  slot.state = 'gone'
  pool.slots.delete(slot)
  // Another may start all the same, when the next call comes.
  if (pool.slots.size > 0) return
  const error = new Error(`No component worker can be started from ${pool.settings.workerFile}: ${why}`)
  for (const task of removeAllWaiting(pool)) task.fail(error)
}

/** Ends a worker and its task. */
function remove(pool: Pool, slot: Slot, ended: JobOutcome): void {
  if (slot.state === 'gone') return
  slot.state = 'gone'
  clearTimeout(slot.timer)
  noteTime(pool, slot)
  pool.slots.delete(slot)
  void slot.worker.terminate()
  slot.task?.end(ended)
  slot.task = undefined
  fill(pool)
  dispatch(pool)
}

async function close(pool: Pool): Promise<void> {
  pool.closed = true
  clearTimeout(pool.patience)
  const ended = { report: 'trap', message: 'the engine is stopping', log: [] } as const
  for (const task of removeAllWaiting(pool)) task.end(ended)
  const slots = [...pool.slots]
  for (const slot of slots) remove(pool, slot, ended)
  await Promise.all(slots.map(({ worker }) => worker.terminate()))
}
