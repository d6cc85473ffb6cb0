/**
 * Engines as processes of their own: the built command, each with a key, a database and a port. They are ended by their
 * pids alone.
 */
import type { ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeEngineFiles } from '../../src/bin/engine/init.ts'
import { writeFiles } from '../../src/bin/init/files.ts'
import { readIdentity } from '../../src/engine/engine-key.ts'
import { type Address, parseAddress } from '../../src/offchain/address.ts'
import { type EndedCommand, startCommand } from './command.ts'

export interface EngineProcess {
  readonly directory: string
  readonly address: Address
  readonly key: Uint8Array
  /** The address of the last start; the port stays the same. */
  readonly url: string
  readonly child: ChildProcess
  readonly ended: Promise<EndedCommand>
  /** Returns the lines that the engine logged since it was started last. */
  log(): readonly Readonly<Record<string, unknown>>[]
  /** Resolves when the engine listens. */
  start(): Promise<void>
  kill(signal?: NodeJS.Signals): Promise<EndedCommand>
  /** Ends the engine, and takes its files away. */
  remove(): Promise<void>
}

/**
 * Makes an engine in a directory of its own, without starting it; `settings` are over those of `vouchsafe init engine`.
 */
export async function makeEngine(settings: Record<string, unknown>): Promise<EngineProcess> {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-engine-'))
  const { newFiles, address } = await makeEngineFiles('http://127.0.0.1:8400', 'data/chain')
  writeFiles(directory, newFiles)
  const file = join(directory, 'conf', 'server.json')
  const limits = { requestsPerSecond: 100_000, requestBurst: 100_000, ...(settings.limits as object | undefined) }
  const merged = {
    ...(JSON.parse(readFileSync(file, 'utf8')) as object),
    host: '127.0.0.1',
    port: 0,
    ...settings,
    limits,
  }
  const write = (port: number): void =>
    writeFileSync(file, JSON.stringify({ ...merged, port, baseUrl: undefined }, undefined, 2))
  write(0)
  const { privateKey } = readIdentity(readFileSync(join(directory, 'conf', 'engine.key'), 'utf8'))
  let running: StartedEngine | undefined
  const now = (): StartedEngine => {
    if (running === undefined) throw new Error('the engine was not started')
    return running
  }
  const kill = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<EndedCommand> => {
    now().child.kill(signal)
    return now().ended
  }
  return {
    ...{ directory, address, key: privateKey, kill },
    get url() {
      return `${'tls' in settings ? 'https' : 'http'}://127.0.0.1:${now().port}`
    },
    get child() {
      return now().child
    },
    get ended() {
      return now().ended
    },
    log: () => now().lines,
    start: async () => {
      running = await waitForStart(directory)
      write(running.port)
    },
    remove: async () => {
      if (running !== undefined) await kill()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

interface StartedEngine {
  readonly child: ChildProcess
  readonly ended: Promise<EndedCommand>
  readonly port: number
  readonly lines: Readonly<Record<string, unknown>>[]
}

function waitForStart(directory: string): Promise<StartedEngine> {
  const { child, ended } = startCommand(['engine'], { cwd: directory })
  const lines: Readonly<Record<string, unknown>>[] = []
  let rest = ''
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (chunk: string) => {
      const parts = (rest + chunk).split('\n')
      rest = parts.pop() ?? ''
      for (const part of parts) {
        const line = JSON.parse(part) as Readonly<Record<string, unknown>>
        lines.push(line)
        if (line.event === 'listening') resolve({ child, ended, lines, port: Number(line.port) })
      }
    })
    void ended.then(({ status, stderr }) => reject(new Error(`the engine ended with ${status}: ${stderr}`)))
  })
}

/** Returns the state of a contract in `GET /engine`; undefined when it is not there. */
export async function contractOf(
  engine: { readonly url: string },
  contract: Address,
): Promise<ContractStatus | undefined> {
  const response = await fetch(`${engine.url}/engine`)
  const { contracts } = (await response.json()) as { readonly contracts: readonly ContractStatus[] }
  return contracts.find(({ address }) => parseAddress(address) === contract)
}

export interface ContractStatus {
  readonly address: string
  readonly state: string
  readonly component: string | null
  readonly why?: string
  readonly state_change: string
}

/** Asks after each pause of so many milliseconds until `ask` gives a value. Rejects after `ms` milliseconds. */
export async function eventually<T>(
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  ms = 300_000,
  pause = 25,
): Promise<T> {
  const end = Date.now() + ms
  for (;;) {
    const value = await ask()
    if (value !== undefined && value !== false) return value
    if (Date.now() > end) throw new Error('it did not come about in time')
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}

export async function waitUntilServed(engines: readonly { readonly url: string }[], contract: Address): Promise<void> {
  for (const engine of engines) {
    await eventually(async () => (await contractOf(engine, contract))?.state === 'served')
  }
}

/** Makes a directory below the system's, which the caller removes by {@link rmSync}. */
export function makeDirectory(name: string): string {
  const directory = join(mkdtempSync(join(tmpdir(), 'vouchsafe-engine-')), name)
  mkdirSync(directory)
  return directory
}
