/** A component run as an engine runs it: its bytes, in the sandbox. */
import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DEFAULT_LIMITS } from '../../src/component/runtime.ts'
import { requestFields, signRequest } from '../../src/offchain/authentication/offchain-v2.ts'
import { signSecp256k1 } from '../../src/offchain/authentication/secp256k1.ts'
import { readComponent } from '../../src/toolchain/bundle.ts'
import { startRuntime } from '../../src/toolchain/places.ts'
import { WORKER_DIRECTORY } from '../../test/support/component-directory.ts'
import type { Run, Signing } from './device.ts'

/** Makes the script of a component that comes with Vouchsafe. */
export async function scriptOf(name: string): Promise<Uint8Array> {
  const { bytes } = await readComponent(join(import.meta.dirname, '..', name, 'component.ts'), WORKER_DIRECTORY)
  return bytes
}

/** Starts two workers, and returns how requests to the component are signed. */
export async function inRuntime(bytes: Uint8Array) {
  const runtime = await startRuntime(2, DEFAULT_LIMITS, WORKER_DIRECTORY)
  const component = { sha256: createHash('sha256').update(bytes).digest('hex'), bytes }
  const run: Run = (call, host) => runtime.run({ ...call, component }, host)
  return { run, authorize, stop: () => runtime.close() }
}

function authorize({ method, uri, body, from, engine, contract, now }: Signing): { name: string; values: string[] }[] {
  const recipient = { engine: `00${engine.slice(2)}`, contract: `00${contract.slice(2).toLowerCase()}` }
  const value = signSecp256k1({ method, uri, body }, recipient, { key: from.key, now })
  return [{ name: 'authorization', values: [value] }]
}

/** Signs by `offchain-v2` instead, on the chain of that id. */
export function authorizeOnce(chainId: string): typeof authorize {
  return ({ method, uri, body, from, engine, contract, now }) => {
    const chain = { id: chainId, addresses: 'evm' } as const
    const recipient = { engine: `00${engine.slice(2)}`, contract: `00${contract.slice(2).toLowerCase()}`, chain }
    const issuedAt = now.getTime()
    const life = { issuedAt, expiresAt: issuedAt + 60_000, nonce: new Uint8Array(randomBytes(16)) }
    const fields = requestFields({ method, uri, headers: [], body }, recipient, life)
    if (fields === undefined) throw new Error('it has several content types')
    return [{ name: 'authorization', values: [signRequest(fields, 'sha256', from.key)] }]
  }
}
