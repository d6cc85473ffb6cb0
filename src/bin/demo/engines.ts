/** The engines of the demo. Each is a process with its own key, database and port, and all use one local chain. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { join } from 'node:path'
import type { Address } from '../../offchain/address.ts'
import { makeEngineFiles } from '../engine/init.ts'
import { makeDirectory, PRIVATE } from '../files/directory.ts'
import { writeFiles } from '../init/files.ts'
import { findFreePort } from '../network/network.ts'

export interface DemoEngine {
  readonly name: string
  readonly directory: string
  readonly url: string
  readonly address: Address
  readonly apiKey: string
  /** Starts the engine. Rejects if it does not accept requests within a minute. */
  start(): Promise<void>
  /** Kills the engine, as a crash would. */
  kill(): Promise<void>
}

export const STARTS_WITHIN_MS = 60_000

/** Makes the files of an engine. `chain` is the directory of the local chain. */
export async function makeEngine(
  name: string,
  home: string,
  chain: string,
  preferredPort: number,
): Promise<DemoEngine> {
  const directory = join(home, `engine-${name.toLowerCase()}`)
  const url = `http://127.0.0.1:${await findFreePort(preferredPort)}`
  makeDirectory(directory, 0o700)
  const { newFiles, address, apiKey } = await makeEngineFiles(url, chain)
  writeFiles(directory, newFiles)
  let engineProcess: ChildProcess | undefined
  const kill = async (): Promise<void> => {
    const child = engineProcess
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }
  const start = async (): Promise<void> => {
    const log = openSync(join(directory, 'engine.log'), 'a', PRIVATE)
    engineProcess = spawn(process.execPath, [process.argv[1] ?? '', 'engine'], {
      cwd: directory,
      env: removeSettings(process.env),
      // The IPC channel only detects the end of the demo, which also ends the engine.
      stdio: ['ignore', 'pipe', log, 'ipc'],
    })
    await waitUntilListening(engineProcess, `engine ${name}`)
  }
  // Engines must end before the demo's directory is removed, since they write to it.
  process.prependOnceListener('exit', () => engineProcess?.kill('SIGKILL'))
  return { name, directory, url, address, apiKey, start, kill }
}

/** Removes the settings of the user's own services, which the engine would use. */
function removeSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('VOUCHSAFE_')))
}

function waitUntilListening(child: ChildProcess, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`${name} did not start within a minute`)), STARTS_WITHIN_MS)
    let output = ''
    child.once('exit', () => {
      clearTimeout(late)
      reject(new Error(`${name} ended before it listened: ${output.slice(-500)}`))
    })
    child.stdout?.on('data', (chunk: Buffer) => {
      if (output.includes('"event":"listening"')) return
      output += chunk.toString()
      if (!output.includes('"event":"listening"')) return
      clearTimeout(late)
      resolve()
    })
  })
}
