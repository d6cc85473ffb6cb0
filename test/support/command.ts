/** The command as a process, in a directory of its own: started, or until it ends by itself. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
/** The bundle, which is made before the first test of a run where it is older than its sources. */
export const COMMAND = join(ROOT, 'dist', 'vouchsafe.cjs')

/** Builds the command unless it is newer than every source, and than everything that builds it. */
export function buildCommand(): void {
  const sources = ['src', 'sdk', 'console', 'components', 'build'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /(?<!\.test)\.(ts|js|cjs|json|css|html)$/.test(name))
      .map((name) => join(ROOT, folder, name)),
  )
  const newest = Math.max(...sources.map((path) => statSync(path).mtimeMs))
  if (existsSync(COMMAND) && statSync(COMMAND).mtimeMs > newest) return
  execFileSync(process.execPath, [join(ROOT, 'build', 'bundle.js')], { stdio: 'inherit' })
}

export interface EndedCommand {
  readonly status: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

export interface StartedCommand {
  readonly child: ChildProcess
  readonly ended: Promise<EndedCommand>
}

export interface CommandOptions {
  readonly cwd?: string
  /** The environment beside that of this process. */
  readonly env?: NodeJS.ProcessEnv
  /** The text on stdin; nothing when absent. */
  readonly input?: string
}

/** Starts the command, and returns its output when it ends. */
export function startCommand(
  args: readonly string[],
  options: CommandOptions & { readonly timeout?: number } = {},
): StartedCommand {
  const { cwd = tmpdir(), env, input, timeout } = options
  const child = spawn(process.execPath, [COMMAND, ...args], {
    ...{ cwd, timeout, env: { ...process.env, ...env } },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  child.stdin?.end(input)
  return { child, ended: endOf(child) }
}

/** Collects the output of a process until it ends. */
export function endOf(child: ChildProcess): Promise<EndedCommand> {
  const text = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (chunk: string) => {
      text[name] += chunk
    })
  }
  return new Promise<EndedCommand>((resolve) => {
    child.on('close', (status, signal) => resolve({ status, signal, ...text }))
  })
}

/** Runs the command, as a person does, until it ends. */
export function vouchsafe(args: readonly string[], options: CommandOptions = {}): Promise<EndedCommand> {
  return startCommand(args, { ...options, timeout: 100_000 }).ended
}

/** Makes a directory for one test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-test-'))
  onTestFinished(() => {
    // A process that a test has just ended may still write a file.
    rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  })
  return directory
}

/** Lists every file below `directory`, by its path in it. */
export function filesBelow(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(directory.length + 1))
    .sort()
}
