/** The component runtime: runs each call as a job of a pool of worker threads, with a program that was vetted once. */
import { callMessage, runOutcomeOf } from './messages.ts'
import { CLOSED_TEXT, createWorkerPool, type WorkerPool } from './pool.ts'
import { compileQuickJs, createProgramCache, type PreparedProgram, type ProgramCache } from './programs.ts'
import {
  type ComponentCall,
  type ComponentCode,
  type ComponentDescription,
  ComponentError,
  type Hook,
  type Host,
  type RunOutcome,
  type Runtime,
  type RuntimeLimits,
} from './runtime.ts'

export interface RuntimeSettings {
  readonly workers: number
  readonly limits: RuntimeLimits
  /** The program of `worker.ts`, bundled as CommonJS. */
  readonly workerProgram: string
  /** The bytes of `quickjs.wasm` of quickjs-wasi. */
  readonly quickjs: Uint8Array
}

/** The time limit for finding the hooks of a script. */
const DESCRIBE_MS = 10_000

/** Creates a runtime, and starts its workers. Calls that come before the workers are ready wait. */
export async function createRuntime({ workers, limits, workerProgram, quickjs }: RuntimeSettings): Promise<Runtime> {
  const data = { limits, quickjs: await compileQuickJs(quickjs, limits) }
  const programs = createProgramCache(limits, (sha256) => pool.forget(sha256))
  const pool = createWorkerPool({ workers, workerProgram, data, onAssign: programs.keep })
  return {
    describe: async (component) => describeComponent(pool, component, await programs.prepare(component)),
    run: (call, host) => runCall(pool, programs, call, host),
    getLoad: () => pool.getLoad(),
    close: () => pool.close(),
  }
}

async function runCall(pool: WorkerPool, programs: ProgramCache, call: ComponentCall, host: Host): Promise<RunOutcome> {
  const { sha256 } = call.component
  let prepared: PreparedProgram
  try {
    prepared = await programs.prepare(call.component)
  } catch (error) {
    return { kind: 'trap', message: (error as Error).message, log: [] }
  }
  const message = callMessage(call)
  if (prepared.hooks !== undefined && !prepared.hooks.includes(message.hook)) {
    return { kind: 'trap', message: `the component has no ${message.hook}`, log: [] }
  }
  const { contract: owner, deadlineMs, queueMs } = call
  const job = { owner, sha256, prepared, call: message, host, deadlineMs, queueMs }
  return runOutcomeOf(await pool.enqueue({ ...job, isBackground: isBackgroundHook(call.hook) }))
}

/**
 * Tests whether no client waits for a call of the hook. Clients wait for `engines`: until its component has listed the
 * engines, a contract serves nobody.
 */
function isBackgroundHook({ kind }: Hook): boolean {
  return kind === 'state-change' || kind === 'timer'
}

async function describeComponent(
  pool: WorkerPool,
  { sha256 }: ComponentCode,
  prepared: PreparedProgram,
): Promise<ComponentDescription> {
  if (prepared.hooks !== undefined) return { kind: 'wasm', hooks: prepared.hooks }
  const job = { owner: sha256, isBackground: true, sha256, prepared, call: undefined, host: undefined }
  const outcome = await pool.enqueue({ ...job, deadlineMs: DESCRIBE_MS, queueMs: undefined })
  if (outcome.report === 'stopped') throw new Error(CLOSED_TEXT)
  if (outcome.report !== 'hooks') {
    throw new ComponentError(
      `The script cannot be loaded: ${'message' in outcome ? outcome.message : 'it does not come to an end'}`,
    )
  }
  const names = [...outcome.hooks].sort()
  if (names.length === 0) throw new ComponentError('The script has no hooks: it must call component({ … }).')
  return { kind: 'javascript', hooks: names }
}
