// Runs one command of a longer task, shows it, and ends the task when it fails.
import './node-version.cjs'
import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'

const root = join(import.meta.dirname, '..')
/** The folders of programs; those of build/lint are there for `npm run check` alone. */
const bins = ['.', 'build/lint'].map((folder) => join(root, folder, 'node_modules', '.bin'))

/** Runs `command`, a program of these folders or `node`, with its arguments. */
export function step(title, [command, ...args], { quiet = false } = {}) {
  if (!quiet) process.stderr.write(`\n> ${title}\n`)
  const { status, signal, error } = spawnSync(programOf(command), args, { ...options(), stdio: 'inherit' })
  if (status === 0) return
  if (!quiet)
    process.stderr.write(`\n${title}: failed${signal ? ` (${signal})` : ''}${error ? `: ${error.message}` : ''}\n`)
  process.exit(status ?? 1)
}

function programOf(command) {
  return command === 'node' ? process.execPath : command
}

function options() {
  const env = { ...process.env, PATH: [...bins, process.env.PATH].join(delimiter) }
  return { cwd: root, env, shell: process.platform === 'win32' }
}
