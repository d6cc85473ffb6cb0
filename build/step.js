// Runs one command of a longer task, shows it, and ends the task when it fails.
import './node-version.cjs'
import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'

const root = join(import.meta.dirname, '..')
const bin = join(root, 'node_modules', '.bin')

/** `command` is a program of node_modules/.bin or `node`, with its arguments. */
export function step(title, [command, ...args], { quiet = false } = {}) {
  if (!quiet) process.stderr.write(`\n> ${title}\n`)
  const program = command === 'node' ? process.execPath : command
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }
  const { status, signal, error } = spawnSync(program, args, {
    cwd: root,
    stdio: 'inherit',
    env,
    shell: process.platform === 'win32',
  })
  if (status === 0) return
  if (!quiet)
    process.stderr.write(`\n${title}: failed${signal ? ` (${signal})` : ''}${error ? `: ${error.message}` : ''}\n`)
  process.exit(status ?? 1)
}
