/** The real command as a process of its own: built, configured in a fresh directory, and ended by its pid alone. */
import { type ChildProcess, type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process'
import { createPublicKey, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { selfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'
import { makeKey, pemOf, settings } from './services.ts'

const ROOT = join(import.meta.dirname, '..', '..')
export const COMMAND = join(ROOT, 'dist', 'vouchsafe.cjs')

/** Builds the command unless it is newer than every source. */
export function buildCommand(): void {
  const sources = ['src', 'sdk', 'components'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|json)$/.test(name))
      .map((name) => join(ROOT, folder, name)),
  )
  const newest = Math.max(...sources.map((path) => statSync(path).mtimeMs))
  if (existsSync(COMMAND) && statSync(COMMAND).mtimeMs > newest) return
  execFileSync(process.execPath, [join(ROOT, 'build', 'bundle.js')], { stdio: 'inherit' })
}

/** A working directory with a key, a certificate and `conf/server.json`, which is `changes` over right settings. */
export async function makeDirectory(
  service: 'issuer' | 'verifier',
  changes: Record<string, unknown> = {},
): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-process-'))
  const key = await makeKey()
  const certificate = selfSignedCertificate({
    privateKey: key,
    publicKey: createPublicKey(key),
    commonName: service,
    uris: ['http://127.0.0.1'],
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 86_400_000),
    serial: randomBytes(16),
  })
  mkdirSync(join(directory, 'conf'))
  mkdirSync(join(directory, 'anchors'))
  writeFileSync(join(directory, `${service}.key`), pemOf(key))
  writeFileSync(join(directory, `${service}.pem`), toPem(certificate))
  const value = settings(service, 'http://127.0.0.1', { host: '127.0.0.1', ...changes })
  writeFileSync(join(directory, 'conf', 'server.json'), JSON.stringify(value))
  return directory
}

export interface Ended {
  readonly status: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  readonly port: number
  readonly url: string
  /** The line that says that it listens. */
  readonly listening: Readonly<Record<string, unknown>>
  readonly ended: Promise<Ended>
}

/** Starts the command and gives what it says when it ends. */
export function run(
  args: readonly string[],
  cwd: string,
): { readonly child: ChildProcess; readonly ended: Promise<Ended> } {
  const child = spawn(process.execPath, [COMMAND, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  return { child, ended: endOf(child) }
}

function endOf(child: ChildProcessByStdio<null, Readable, Readable>): Promise<Ended> {
  const text = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      text[name] += chunk
    })
  }
  return new Promise<Ended>((resolve) => {
    child.on('close', (status, signal) => resolve({ status, signal, ...text }))
  })
}

/** Starts a service and waits until it listens. */
export async function start(
  service: 'issuer' | 'verifier',
  cwd: string,
  args: readonly string[] = [],
): Promise<Running> {
  const { child, ended } = run([service, ...args], cwd)
  return listening(child, ended)
}

/** The same with a limit on the size of each file that it writes, as a full disk is one; in blocks of `ulimit -f`. */
export function startOnFullDisk(service: 'issuer' | 'verifier', cwd: string, blocks: number): Promise<Running> {
  const limited = ['-c', `ulimit -f ${blocks} && exec "$0" "$@"`, process.execPath, COMMAND, service]
  const child = spawn('sh', limited, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  return listening(child, endOf(child))
}

async function listening(child: ChildProcess, ended: Promise<Ended>): Promise<Running> {
  const event = await new Promise<Record<string, unknown>>((resolve, reject) => {
    let text = ''
    child.stdout?.on('data', (chunk: string) => {
      text += chunk
      for (const line of text.split('\n').slice(0, -1)) {
        const logged = JSON.parse(line) as Record<string, unknown>
        if (logged.event === 'listening') resolve(logged)
      }
    })
    void ended.then(({ status, stderr }) => reject(new Error(`it ended with ${status}: ${stderr}`)))
  })
  const port = Number(event.port)
  return { child, port, url: `http://127.0.0.1:${port}`, listening: event, ended }
}
