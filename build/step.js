// Runs one command of a longer task, shows it, and ends the task when it fails.
import './node-version.cjs'
import { spawn, spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'

const root = join(import.meta.dirname, '..')
const bin = join(root, 'node_modules', '.bin')

/** Runs `command`, a program of node_modules/.bin or `node`, with its arguments. */
export function step(title, [command, ...args], { quiet = false } = {}) {
  if (!quiet) process.stderr.write(`\n> ${title}\n`)
  const { status, signal, error } = spawnSync(programOf(command), args, { ...options(), stdio: 'inherit' })
  if (status === 0) return
  if (!quiet)
    process.stderr.write(`\n${title}: failed${signal ? ` (${signal})` : ''}${error ? `: ${error.message}` : ''}\n`)
  process.exit(status ?? 1)
}

/**
 * Starts one command beside the steps that follow, and returns a function that waits for the end and shows the output.
 */
export function startStep(title, [command, ...args]) {
  const child = spawn(programOf(command), args, { ...options(), stdio: ['ignore', 'pipe', 'pipe'] })
  const output = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
  const ended = new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (status, signal) => resolve(status ?? signal))
  })
  process.once('exit', () => child.kill())
  return async () => {
    const end = await ended
    process.stderr.write(`\n> ${title}\n${Buffer.concat(output)}`)
    if (end === 0) return
    process.stderr.write(`\n${title}: failed (${end})\n`)
    process.exit(1)
  }
}

function programOf(command) {
  return command === 'node' ? process.execPath : command
}

function options() {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }
  return { cwd: root, env, shell: process.platform === 'win32' }
}
