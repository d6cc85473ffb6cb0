/** The processes that are measured: starting and stopping them, and what they have used so far. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Running {
  readonly pid: number
  readonly port: number
  /** The first process of the database server, where there is one. */
  readonly databasePid?: number
  stop(): Promise<void>
}

export interface Command {
  readonly args: readonly string[]
  readonly directory: string
  /** The file for the output of the process, because a pipe to this process would make it wait for this process. */
  readonly logFile: string
}

/** The processes that still run; they are ended with this process, however that ends. */
const children = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

/** An engine reads all blocks of a local chain first, which takes a slow machine longer than any other start. */
const START_TIMEOUT_MS = 60_000

/** Starts a Node process that logs `{"event":"listening","port":…}`, and waits until it has. */
export async function start({ args, directory, logFile }: Command): Promise<Running> {
  const log = openSync(logFile, 'w')
  const child = spawn(process.execPath, args, { cwd: directory, stdio: ['ignore', log, log] })
  closeSync(log)
  children.add(child)
  child.once('exit', () => children.delete(child))
  const { pid } = child
  if (pid === undefined) throw new Error(`cannot start node ${args.join(' ')}`)
  const deadline = Date.now() + START_TIMEOUT_MS
  for (;;) {
    const port = listeningPort(readFileSync(logFile, 'utf8'))
    if (port !== undefined) return { pid, port, stop: () => stop(child) }
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill()
      throw new Error(`node ${args.join(' ')} did not start:\n${readFileSync(logFile, 'utf8')}`)
    }
    await sleep(10)
  }
}

export function listeningPort(log: string): number | undefined {
  const [line] = /^.*"event":"listening".*$/m.exec(log) ?? []
  return line === undefined ? undefined : (JSON.parse(line) as { port: number }).port
}

/** Sends SIGTERM, and waits for the end of the process. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await exit
}

const TICKS_PER_SECOND =
  process.platform === 'linux' ? Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })) : 100

/** Returns the processor time of a process and, where Linux tells which these are, its workers, in milliseconds. */
export function processorTimeMs(pid: number): number {
  return [pid, ...childrenOf(pid)].reduce((sum, each) => sum + ownTimeMs(each), 0)
}

/** Lists the processes that a process has started; none where the system is not Linux. */
export function childrenOf(pid: number): readonly number[] {
  if (process.platform !== 'linux') return []
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
}

/**
 * Returns the processor time of a database server, with that of the processes it has started, also those that have
 * ended; undefined where the system is not Linux.
 */
export function serverTimeMs(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined
  return childrenOf(pid).reduce((sum, each) => sum + ownTimeMs(each), ownTimeMs(pid) + endedTimeMs(pid))
}

/** Returns the processor time of the processes that a process had started, and that have ended. */
function endedTimeMs(pid: number): number {
  // The fields cutime and cstime, which follow those of the process itself.
  const fields = statOf(pid)
  return ((Number(fields[13]) + Number(fields[14])) * 1000) / TICKS_PER_SECOND
}

/** Reads the times of a process from the third field on: the second is the name, and may hold anything. */
function statOf(pid: number): readonly string[] {
  return readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
}

/**
 * Returns the processor time of all threads of a process, user and system, in milliseconds. Linux says it in ticks of
 * 10 ms in /proc; elsewhere `ps` says it as [[dd-]hh:]mm:ss[.cc].
 */
function ownTimeMs(pid: number): number {
  if (process.platform === 'linux') {
    // The fields utime and stime are the 14th and 15th of all.
    const fields = statOf(pid)
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND
  }
  const text = execFileSync('ps', ['-o', 'time=', '-p', String(pid)], { encoding: 'utf8' }).trim()
  const [seconds = 0, minutes = 0, hours = 0, days = 0] = text.split(/[-:]/).map(Number).reverse()
  return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000
}

/** Returns the processor time of the processes that this one has started and that have ended, in milliseconds. */
export function childrenTimeMs(): number {
  return process.platform === 'linux' ? endedTimeMs(process.pid) : Number.NaN
}

/** Returns the resident memory in megabytes (10^6 bytes), and the most it has ever been where the system says so. */
export function residentMemory(pid: number): { readonly now: number; readonly peak: number | undefined } {
  if (process.platform === 'linux') {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const megabytes = (name: string) => (Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1024) / 1e6
    return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') }
  }
  const kilobytes = Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }))
  return { now: (kilobytes * 1024) / 1e6, peak: undefined }
}
