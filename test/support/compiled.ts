/**
 * The compiled code of the command's bundles, which the processes of a run take from files: each would compile the same
 * text again, hundreds of times. It is made anew after each build, by services that start and stop.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COMMAND } from './command.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const PLACE = join(ROOT, 'node_modules', `.compiled-${process.version}`)
const HOOK = `--require=${JSON.stringify(join(import.meta.dirname, 'compiled.cjs'))}`

/** Has the processes that this process starts take compiled code, which it makes where the bundles are newer. */
export async function takeCompiledCode(): Promise<void> {
  if (process.env.NODE_OPTIONS?.includes(HOOK)) return
  process.env.NODE_OPTIONS = [process.env.NODE_OPTIONS, HOOK].filter(Boolean).join(' ')
  if (existsSync(PLACE) && statSync(PLACE).mtimeMs > statSync(COMMAND).mtimeMs) return
  rmSync(PLACE, { recursive: true, force: true })
  for (const service of ['issuer', 'engine'] as const) await startAndStop(service)
}

async function startAndStop(service: 'issuer' | 'engine'): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-compiled-'))
  execFileSync(process.execPath, [COMMAND, 'init', service, '--dir', directory], { stdio: 'ignore' })
  const env = { ...process.env, VOUCHSAFE_PORT: '0', VOUCHSAFE_HOST: '127.0.0.1', VOUCHSAFE_TEST_COMPILE: 'yes' }
  const child = spawn(process.execPath, [COMMAND, service], {
    cwd: directory,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child.stdout.on('data', (text: Buffer) => {
    if (text.includes('"listening"')) child.kill()
  })
  const [status] = (await once(child, 'close')) as [number | null]
  if (status !== 0) throw new Error(`${service}, started for its compiled code, ended with ${status}`)
  rmSync(directory, { recursive: true })
}
