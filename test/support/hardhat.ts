/** A real `hardhat node`, as a process of its own on a free port of loopback. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { freePort } from './free-port.ts'

const DIRECTORY = join(import.meta.dirname, '..', 'contracts')
const CONFIG = join(DIRECTORY, 'hardhat.config.cjs')

/**
 * The address of Hardhat's first account, whose private key is in its documentation; it has money on every such chain.
 */
export const HARDHAT_KEY = Buffer.from('ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80', 'hex')

export interface Hardhat {
  readonly url: string
  readonly port: number
  stop(): Promise<void>
}

export async function startHardhat(port?: number, config = CONFIG): Promise<Hardhat> {
  const chosen = port ?? (await freePort())
  const cli = join(DIRECTORY, 'node_modules', 'hardhat', 'internal', 'cli', 'cli.js')
  const words = ['--config', config, 'node', '--hostname', '127.0.0.1', '--port', chosen.toString()]
  const child = spawn(process.execPath, [cli, ...words], {
    cwd: DIRECTORY,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, CI: 'true', HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true', NODE_NO_WARNINGS: '1' },
  })
  await waitForStart(child)
  return {
    url: `http://127.0.0.1:${chosen}`,
    port: chosen,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Resolves when the node says that it listens; rejects with its output otherwise. */
function waitForStart(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = ''
    const hear = (part: Buffer): void => {
      output = (output + part.toString()).slice(-4000)
      if (output.includes('Started HTTP')) resolve()
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
    child.on('exit', (code) => reject(new Error(`hardhat node ended with ${code}: ${output}`)))
  })
}
