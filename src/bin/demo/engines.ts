/** The engines of the demo: each a process of its own, with a key, a database and a port, all on one local chain. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { join } from 'node:path'
import type { Address } from '../../offchain/address.ts'
import { makeDirectory } from '../directory.ts'
import { makeEngineFiles } from '../engine/init.ts'
import { writeFiles } from '../init/files.ts'
import { findFreePort } from '../network.ts'

export interface DemoEngine {
  readonly name: string
  readonly directory: string
  readonly url: string
  readonly address: Address
  readonly apiKey: string
  /** Starts the engine. Rejects when it accepts no requests within a minute. */
  start(): Promise<void>
  /** Ends the engine without warning, as a crash would. */
  kill(): Promise<void>
}

export const STARTS_WITHIN_MS = 60_000

/** Makes the files of an engine, which `start` starts. `chain` is the directory of the local chain. */
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
    const log = openSync(join(directory, 'engine.log'), 'a', 0o600)
    engineProcess = spawn(process.execPath, [process.argv[1] ?? '', 'engine'], {
      cwd: directory,
      env: removeSettings(process.env),
      // The channel only reports its end: an engine of the demo ends with the demo, however that ends.
      stdio: ['ignore', 'pipe', log, 'ipc'],
    })
    await waitUntilListening(engineProcess, `engine ${name}`)
  }
  // The engines end with the demo, however it ends, and before its directory is removed: a live engine writes into it.
  process.prependOnceListener('exit', () => engineProcess?.kill('SIGKILL'))
  return { name, directory, url, address, apiKey, start, kill }
}

/** Leaves out the settings of the caller's own services, which an engine would take for its own. */
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
