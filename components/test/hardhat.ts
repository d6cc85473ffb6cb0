/** A `hardhat node` for tests, which is gone after them. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { JsonRpc } from './evm.ts'

const CONTRACTS = join(import.meta.dirname, '..', '..', 'test', 'contracts')
const CONFIG = join(import.meta.dirname, 'hardhat.config.cjs')

export interface HardhatNode {
  readonly url: string
  readonly rpc: JsonRpc
  readonly stop: () => Promise<void>
}

/** Rejects with what it said when it does not come up. */
export async function startHardhat(): Promise<HardhatNode> {
  const bootstrap = join(CONTRACTS, 'node_modules', 'hardhat', 'internal', 'cli', 'bootstrap.js')
  const port = String(20_000 + Math.floor(Math.random() * 20_000))
  const child = spawn(
    process.execPath,
    [bootstrap, '--config', CONFIG, 'node', '--hostname', '127.0.0.1', '--port', port],
    { cwd: CONTRACTS, env: { ...process.env, HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true' }, stdio: 'pipe' },
  )
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let said = ''
  await new Promise<void>((resolve, reject) => {
    const hear = (chunk: Buffer): void => {
      said += chunk.toString()
      if (said.includes('Started HTTP')) resolve()
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    void gone.then(() => reject(new Error(`hardhat node ended: ${said}`)))
  })
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    rpc: overHttp(url),
    stop: () => {
      child.kill()
      return gone
    },
  }
}

function overHttp(url: string): JsonRpc {
  return async (method, params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const answer = (await response.json()) as { result?: unknown; error?: { message: string; data?: unknown } }
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`)
    return answer.result
  }
}
