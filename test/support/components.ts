/** Components in the real sandbox: modules from WAT, scripts, and calls with what a test does not care about filled in. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createPool } from '../../src/component/pool.ts'
import type { Call, Component, Hook, Host, Runtime, RuntimeLimits } from '../../src/component/runtime.ts'
import { WORKER_DIRECTORY } from './component-directory.ts'

export const LIMITS: RuntimeLimits = {
  memoryBytes: 8 * 1024 * 1024,
  moduleBytes: 1024 * 1024,
  logBytes: 1024,
  responseBytes: 64 * 1024,
  storageKeyBytes: 64,
  storageValueBytes: 4096,
  transactions: 4,
  timers: 4,
  randomBytes: 1024,
  outboundRequests: 2,
}

export const CONTRACT = `00${'11'.repeat(20)}`
export const ENGINE = `00${'22'.repeat(20)}`

export function pool(limits: Partial<RuntimeLimits> = {}, workers = 1): Promise<Runtime> {
  return createPool({
    workers,
    limits: { ...LIMITS, ...limits },
    workerFile: join(WORKER_DIRECTORY, 'component-worker.cjs'),
    quickjs: readFileSync(join(WORKER_DIRECTORY, 'quickjs.wasm')),
  })
}

export function component(bytes: Uint8Array): Component {
  return { sha256: createHash('sha256').update(bytes).digest('hex'), bytes }
}

/** A script without the SDK: `hooks` are the members of the object that the engine looks for. */
export function script(hooks: string, before = ''): Component {
  return component(Buffer.from(`${before}\nglobalThis.offChain = { ${hooks} }`))
}

interface Binaryen {
  parseText(text: string): { setFeatures(features: number): void; emitBinary(): Uint8Array; dispose(): void }
  readonly Features: { readonly All: number }
}

const require = createRequire(join(import.meta.dirname, '..', 'contracts', 'package.json'))
let binaryen: Promise<{ default: Binaryen }> | undefined

export async function wat(text: string): Promise<Uint8Array> {
  binaryen ??= import(require.resolve('binaryen')) as Promise<{ default: Binaryen }>
  const module = (await binaryen).default.parseText(text)
  const bytes = module.emitBinary()
  module.dispose()
  return bytes
}

/** A module with one hook. `body` has `$ptr` and `$len`, and leaves an i64. */
export async function module(
  body: string,
  { more = '', hook = 'off_chain_on_http_request', memory = '1' } = {},
): Promise<Component> {
  return component(
    await wat(`(module
      (import "offchain" "call" (func $call (param i32 i32 i32) (result i64)))
      (import "offchain" "result" (func $result (param i32 i32)))
      (import "offchain" "exit" (func $exit (param i32 i32)))
      (memory (export "memory") ${memory})
      ${more}
      (func (export "${hook}") (param $ptr i32) (param $len i32) (result i64) ${body}))`),
  )
}

export const noHost: Host = {
  load: () => Promise.resolve(undefined),
  readContract: () => Promise.reject(new Error('no contract')),
  send: () => Promise.resolve({ status: 600, headers: [], body: Buffer.from('not allowed') }),
  configuration: () => undefined,
  timers: () => Promise.resolve([]),
  spent: () => Promise.resolve(false),
}

export const get: Hook = { kind: 'http', request: { method: 'GET', uri: '/', headers: [], body: new Uint8Array(0) } }

export function call(component: Component, over: Partial<Call> = {}): Call {
  return {
    component,
    hook: get,
    contract: CONTRACT,
    engine: ENGINE,
    chain: { id: '31337', addresses: 'evm' },
    block: { number: 7, time: new Date(1_700_000_000_000) },
    state: new Uint8Array(0),
    now: new Date(1_700_000_001_000),
    deadlineMs: 5_000,
    ...over,
  }
}
