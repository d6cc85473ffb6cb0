/**
 * Components in the real sandbox: modules from WAT, scripts, and calls with what a test does not care about filled in.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRuntime } from '../../src/component/component-runtime.ts'
import type { ComponentCall, ComponentCode, Hook, Host, Runtime, RuntimeLimits } from '../../src/component/runtime.ts'
import { Trap } from '../../src/component/trap.ts'
import { WORKER_DIRECTORY } from './component-directory.ts'
import { binaryOf, moduleText } from './wat.ts'

export const LIMITS: RuntimeLimits = {
  memoryBytes: 8 * 1024 * 1024,
  moduleBytes: 1024 * 1024,
  logBytes: 1024,
  responseBytes: 64 * 1024,
  storageKeyBytes: 64,
  storageValueBytes: 4096,
  storageChanges: 100,
  transactions: 4,
  transactionBytes: 1024,
  timers: 4,
  timerBytes: 1024,
  randomBytes: 1024,
  outboundRequests: 2,
  outboundBytes: 64 * 1024,
  httpReads: 4,
  stateChangeReads: 8,
}

const CONTRACT = `00${'11'.repeat(20)}`
const ENGINE = `00${'22'.repeat(20)}`

export function pool(limits: Partial<RuntimeLimits> = {}, workers = 1): Promise<Runtime> {
  return createRuntime({
    workers,
    limits: { ...LIMITS, ...limits },
    workerProgram: readFileSync(join(WORKER_DIRECTORY, 'component-worker.cjs'), 'utf8'),
    quickjs: readFileSync(join(WORKER_DIRECTORY, 'quickjs.wasm')),
  })
}

export function component(bytes: Uint8Array): ComponentCode {
  return { sha256: createHash('sha256').update(bytes).digest('hex'), bytes }
}

/** Makes a script without the SDK: `hooks` are the members of the object that the engine looks for. */
export function script(hooks: string, before = ''): ComponentCode {
  return component(Buffer.from(`${before}\nglobalThis.offChain = { ${hooks} }`))
}

/** Makes a component of {@link moduleText}. */
export async function module(body: string, more: Parameters<typeof moduleText>[1] = {}): Promise<ComponentCode> {
  return component(await binaryOf(moduleText(body, more)))
}

export const noHost: Host = {
  load: () => Promise.resolve(undefined),
  readContract: () => Promise.reject(new Trap('no contract')),
  send: () => Promise.resolve({ status: 600, headers: [], body: Buffer.from('not allowed') }),
  getConfiguration: () => undefined,
  getGeneration: () => Promise.resolve('first'),
  listTimers: () => Promise.resolve([]),
  isSpent: () => Promise.resolve(false),
}

export const get: Hook = { kind: 'http', request: { method: 'GET', uri: '/', headers: [], body: new Uint8Array(0) } }

export function call(component: ComponentCode, over: Partial<ComponentCall> = {}): ComponentCall {
  return {
    component,
    hook: get,
    contract: CONTRACT,
    engine: ENGINE,
    chain: { id: '31337', addresses: 'evm' },
    block: { number: 7, time: new Date(1_700_000_000_000) },
    state: new Uint8Array(0),
    now: new Date(1_700_000_001_000),
    // A busy machine takes seconds for what takes milliseconds; who waits for a deadline sets one.
    deadlineMs: 120_000,
    ...over,
  }
}
