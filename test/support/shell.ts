/** The commands of a document, as a person runs them who has the command `vouchsafe`. */
import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { COMMAND } from './command.ts'

const SHELL_MS = 100_000

/** Makes a folder for the path of a shell, in which `vouchsafe` is the command that was built. */
export function commandFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'vouchsafe-command-'))
  const file = join(folder, 'vouchsafe')
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${COMMAND}' "$@"\n`)
  chmodSync(file, 0o755)
  return folder
}

/** Runs the commands in `cwd`, and returns their output. Rejects when one of them fails. */
export async function runShell(script: string, cwd: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const path = `${commandFolder()}:${process.env.PATH ?? ''}`
  const options = { cwd, timeout: SHELL_MS, env: { ...process.env, PATH: path, ...env } }
  return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], options)).stdout
}
