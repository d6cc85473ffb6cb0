/** A worker of the pool with its current job. */
import type { Worker } from 'node:worker_threads'
import {
  type CallMessage,
  callHost,
  type ForgetMessage,
  type HostRequestMessage,
  type HostResponseMessage,
  type JobOutcome,
  type WorkerReport,
} from './messages.ts'
import type { PreparedProgram } from './programs.ts'
import { type Host, SilenceError } from './runtime.ts'
import type { HeldWorker } from './scheduler.ts'
import { Trap } from './trap.ts'

export interface QueuedJob {
  /** The contract of the call; the hash of the component for a job that lists its hooks. */
  readonly owner: string
  readonly isBackground: boolean
  /** The SHA-256 of the component. */
  readonly sha256: string
  readonly prepared: PreparedProgram
  readonly call: CallMessage | undefined
  readonly host: Host | undefined
  readonly deadlineMs: number
  /** The milliseconds that the job may wait for a worker; undefined for no limit. */
  readonly queueMs: number | undefined
  /** The timer that ends the job as `overloaded`; set while the job waits. */
  queueTimer: NodeJS.Timeout | undefined
  readonly end: (report: JobOutcome) => void
  readonly fail: (error: Error) => void
}

export interface Slot {
  readonly worker: Worker
  readonly signal: Int32Array
  /** The hashes of the components whose programs the worker has. The cache of programs has all of them too. */
  readonly components: Set<string>
  state: 'starting' | 'idle' | 'busy' | 'gone'
  job: QueuedJob | undefined
  /** The number of the current job: how many jobs the worker has been given. */
  jobNumber: number
  /** The time at which the worker was given its job. */
  since: number
  /** The time of the job's unanswered host request; undefined when there is none. */
  askedAt: number | undefined
  /** The operation of the job's latest host request; undefined before the first. */
  asksFor: keyof Host | undefined
  /** The time for which the job has waited for answers, without short waits for the engine itself. */
  sleptMs: number
  /** The error for which the engine could not answer a host request of the job; undefined when there was none. */
  outage: { readonly error: unknown } | undefined
  timer: NodeJS.Timeout | undefined
}

/** The time after which a component that waits for an answer counts as asleep; shorter waits count as computing. */
const ASLEEP_AFTER_MS = 100
/** The time without response after which, at the deadline, the engine or its node counts as silent. */
const SILENT_AFTER_MS = 500
/** The operations that wait for the network. Time in others counts as computing while it is short. */
const NETWORK_OPERATIONS: ReadonlySet<keyof Host> = new Set(['readContract', 'send'])

/** Yields the workers that have a job, for the scheduler. */
export function* listHeldWorkers(slots: Iterable<Slot>): Generator<HeldWorker> {
  for (const slot of slots) {
    if (slot.job === undefined) continue
    const { owner, isBackground } = slot.job
    yield { owner, isBackground, computes: !isAsleep(slot) }
  }
}

/** Tests whether the job of `slot` waits for an answer of the engine, and thus uses no CPU. */
export function isAsleep({ askedAt }: Slot): boolean {
  return askedAt !== undefined && performance.now() - askedAt >= ASLEEP_AFTER_MS
}

/**
 * Returns the milliseconds for which the job of `slot` has computed, and the engine for it, without the time in which
 * both waited for others.
 */
export function computedMs({ since, sleptMs, askedAt }: Slot): number {
  return (askedAt ?? performance.now()) - since - sleptMs
}

/** Returns an idle worker, preferably one that has the component; undefined when none is idle. */
export function findIdle(slots: Iterable<Slot>, sha256: string): Slot | undefined {
  const idle = [...slots].filter(({ state }) => state === 'idle')
  return idle.find(({ components }) => components.has(sha256)) ?? idle[0]
}

/** Records that the worker of `slot` runs `job` from now on. */
export function beginJob(slot: Slot, job: QueuedJob): void {
  slot.state = 'busy'
  slot.since = performance.now()
  slot.askedAt = undefined
  slot.sleptMs = 0
  slot.outage = undefined
  slot.job = job
  slot.jobNumber += 1
  slot.worker.ref()
}

/** Tells the workers of `slots` to drop a component. A worker that runs it drops it afterwards. */
export function forgetComponent(slots: Iterable<Slot>, sha256: string): void {
  for (const { components, worker } of slots) {
    if (components.delete(sha256)) worker.postMessage({ forget: sha256 } satisfies ForgetMessage)
  }
}

/** Runs a host request of the job of `slot`, sends the response to the worker, and wakes it. */
export async function answerHostRequest(slot: Slot, { job: number, hostRequest }: HostRequestMessage): Promise<void> {
  const { job, jobNumber } = slot
  if (job?.host === undefined || number !== jobNumber) return
  slot.askedAt = performance.now()
  slot.asksFor = hostRequest.ask
  let outage: Slot['outage']
  const hostResponse = await callHost(job.host, hostRequest).catch((error: unknown) => {
    if (!(error instanceof Trap)) outage = { error }
    return { failed: (error as Error).message }
  })
  // The job may have ended meanwhile.
  if (slot.job !== job || slot.jobNumber !== number) return
  slot.outage ??= outage
  if (isAsleep(slot) || NETWORK_OPERATIONS.has(hostRequest.ask)) slot.sleptMs += performance.now() - slot.askedAt
  slot.askedAt = undefined
  slot.worker.postMessage({ job: number, hostResponse } satisfies HostResponseMessage)
  Atomics.add(slot.signal, 0, 1)
  Atomics.notify(slot.signal, 0)
}

/** Returns the outcome of the job of `slot` from the report of its worker. An outage takes the place of a trap. */
export function jobOutcomeOf({ outage }: Slot, report: Exclude<WorkerReport, { report: 'ready' }>): JobOutcome {
  return outage !== undefined && report.report === 'trap'
    ? { report: 'outage', error: outage.error, log: report.log }
    : report
}

/**
 * Returns the outcome of the job of `slot` at its deadline. It is an outage when the engine has left a host request
 * without response for long; a host to which the component sends an HTTP request is not the engine's.
 */
export function deadlineOutcomeOf({ askedAt, asksFor }: Slot): JobOutcome {
  const isSilent = askedAt !== undefined && performance.now() - askedAt >= SILENT_AFTER_MS
  if (!isSilent || asksFor === undefined || asksFor === 'send') return { report: 'deadline' }
  return { report: 'outage', error: new SilenceError(asksFor), log: [] }
}
