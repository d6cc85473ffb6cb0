/** A component run as an engine runs it: its bytes, in the sandbox. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPool } from '../../src/component/pool.ts'
import { signSecp256k1 } from '../../src/offchain/authentication/secp256k1.ts'
import { WORKER_DIRECTORY } from '../../test/support/component-directory.ts'
import type { Run, Signing } from './device.ts'

const LIMITS = {
  memoryBytes: 64 * 1024 * 1024,
  moduleBytes: 8 * 1024 * 1024,
  logBytes: 64 * 1024,
  responseBytes: 1024 * 1024,
  storageKeyBytes: 1024,
  storageValueBytes: 1024 * 1024,
  storageChanges: 1000,
  transactions: 16,
  transactionBytes: 128 * 1024,
  timers: 32,
  timerBytes: 64 * 1024,
  randomBytes: 64 * 1024,
  outboundRequests: 5,
}

/** Two workers, and how requests to it are signed. */
export async function inRuntime(bytes: Uint8Array) {
  const runtime = await createPool({
    workers: 2,
    limits: LIMITS,
    workerFile: join(WORKER_DIRECTORY, 'component-worker.cjs'),
    quickjs: readFileSync(join(WORKER_DIRECTORY, 'quickjs.wasm')),
  })
  const component = { sha256: createHash('sha256').update(bytes).digest('hex'), bytes }
  const run: Run = (call, host) => runtime.run({ ...call, component }, host)
  return { run, authorize, stop: () => runtime.close() }
}

function authorize({ method, uri, body, from, engine, contract, now }: Signing): { name: string; values: string[] }[] {
  const recipient = { engine: `00${engine.slice(2)}`, contract: `00${contract.slice(2).toLowerCase()}` }
  const value = signSecp256k1({ method, uri, body }, recipient, { key: from.key, now })
  return [{ name: 'authorization', values: [value] }]
}
