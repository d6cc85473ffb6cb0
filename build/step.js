// Runs one command of a longer task, shows it and how long it took, and ends the task when it fails.
import './node-version.cjs'
import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'

const root = join(import.meta.dirname, '..')
/** The folders of programs; those of build/lint are there for `npm run check` alone. */
const bins = ['.', 'build/lint'].map((folder) => join(root, folder, 'node_modules', '.bin'))

/** Runs `command`, a program of these folders or `node`, with its arguments. */
export function step(title, [command, ...args], { quiet = false } = {}) {
  if (!quiet) process.stderr.write(`\n> ${title}\n`)
  const started = Date.now()
  const { status, signal, error } = spawnSync(programOf(command), args, { ...options(), stdio: 'inherit' })
  const end = status === 0 ? 'done' : `failed${signal ? ` (${signal})` : ''}${error ? `: ${error.message}` : ''}`
  const seconds = ((Date.now() - started) / 1000).toFixed(1)
  if (!quiet) process.stderr.write(`${title}: ${end}, after ${seconds} s\n`)
  if (status !== 0) process.exit(status ?? 1)
}

function programOf(command) {
  return command === 'node' ? process.execPath : command
}

function options() {
  const env = { ...process.env, PATH: [...bins, process.env.PATH].join(delimiter) }
  return { cwd: root, env, shell: process.platform === 'win32' }
}
