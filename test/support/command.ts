/** The command as a person calls it: the bundle, which `npm test` has built, in a process and a directory of its own. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export const BUNDLE = join(import.meta.dirname, '..', '..', 'dist', 'vouchsafe.cjs')

export interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export function vouchsafe(
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [BUNDLE, ...args],
      { cwd: options.cwd ?? tmpdir(), env: { ...process.env, ...options.env }, timeout: 30_000 },
      (_error, stdout, stderr) => {
        resolve({ status: child.exitCode, stdout, stderr })
      },
    )
  })
}

/** A directory for one test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-test-'))
  onTestFinished(() => {
    rmSync(directory, { recursive: true, force: true })
  })
  return directory
}

/** Every file below `directory`, by its path in it. */
export function filesBelow(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(directory.length + 1))
    .sort()
}
