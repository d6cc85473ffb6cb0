/** A worker of the pool with the task that it is at, and what can be told from that. */
import type { Worker } from 'node:worker_threads'
import type { Lru } from '../async/lru.ts'
import type { CallMessage } from './messages.ts'
import type { JobOutcome } from './outcome.ts'
import type { Prepared } from './programs.ts'
import type { Host } from './runtime.ts'
import type { HeldWorker } from './scheduler.ts'

export interface WorkerTask {
  /** The contract; of hooks that are looked for, the component itself. */
  readonly owner: string
  readonly component: string
  readonly program: Prepared['program']
  readonly call: CallMessage | undefined
  readonly host: Host | undefined
  readonly deadlineMs: number
  /** Milliseconds that the task may wait for a worker. */
  readonly queueMs: number | undefined
  /** The timer that ends the task when it has waited for too long; set while the task waits. */
  queueTimer: NodeJS.Timeout | undefined
  readonly end: (report: JobOutcome) => void
  readonly fail: (error: Error) => void
}

export interface Slot {
  readonly worker: Worker
  readonly signal: Int32Array
  /** The components that the worker has already. */
  readonly components: Lru<string, true>
  state: 'starting' | 'idle' | 'busy' | 'gone'
  task: WorkerTask | undefined
  /** The number of tasks that the worker was given, which is also the number of the last. */
  jobs: number
  /** The time at which the worker was given its task. */
  since: number
  /** When its component asked the engine what is not answered yet; and how long the task slept for earlier answers. */
  askedAt: number | undefined
  sleptMs: number
  timer: NodeJS.Timeout | undefined
}

/**
 * The time after which a component that waits for an answer counts as asleep; shorter questions are part of computing.
 */
const ASLEEP_AFTER_MS = 100

export function* heldWorkers(slots: Iterable<Slot>): Generator<HeldWorker> {
  for (const slot of slots) if (slot.task !== undefined) yield { owner: slot.task.owner, computes: !isAsleep(slot) }
}

/** Tests whether the component of `slot` waits for an answer of the engine and computes nothing meanwhile. */
export function isAsleep({ askedAt }: Slot): boolean {
  return askedAt !== undefined && performance.now() - askedAt >= ASLEEP_AFTER_MS
}

/**
 * Returns for how many milliseconds the task of `slot` has computed, without the time in which it waited for answers.
 */
export function computedMs({ since, sleptMs, askedAt }: Slot): number {
  return (askedAt ?? performance.now()) - since - sleptMs
}

/** Returns an idle worker, where there is one: rather one that has the component already. */
export function idleFor(slots: Iterable<Slot>, component: string): Slot | undefined {
  const idle = [...slots].filter(({ state }) => state === 'idle')
  return idle.find(({ components }) => components.get(component) !== undefined) ?? idle[0]
}
