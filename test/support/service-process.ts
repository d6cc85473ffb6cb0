/** A service as a process of its own: the command, configured in a fresh directory, and ended by its pid alone. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createPublicKey, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { makeSelfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'
import { COMMAND, type EndedCommand, endOf, startCommand } from './command.ts'
import { makeKey, pemOf, settings } from './services.ts'

/**
 * Makes a working directory with a key, a certificate and `conf/server.json`, which is `changes` over right settings.
 */
export async function serviceDirectory(
  service: 'issuer' | 'verifier',
  changes: Record<string, unknown> = {},
  validDays = 1,
): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-process-'))
  const key = await makeKey()
  const certificate = makeSelfSignedCertificate({
    privateKey: key,
    publicKey: createPublicKey(key),
    commonName: service,
    uris: ['http://127.0.0.1'],
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + validDays * 86_400_000),
    serial: randomBytes(16),
  })
  mkdirSync(join(directory, 'conf'))
  mkdirSync(join(directory, 'anchors'))
  writeFileSync(join(directory, `${service}.key`), pemOf(key))
  writeFileSync(join(directory, `${service}.pem`), toPem(certificate))
  // A verifier does not start with a directory of anchors that is empty.
  writeFileSync(join(directory, 'anchors', 'own.pem'), toPem(certificate))
  const value = settings(service, 'http://127.0.0.1', { host: '127.0.0.1', ...changes })
  writeFileSync(join(directory, 'conf', 'server.json'), JSON.stringify(value))
  return directory
}

/** Deletes the configuration file of a directory, and returns the variables that have its settings. */
export function moveSettingsToEnvironment(directory: string): NodeJS.ProcessEnv {
  const file = join(directory, 'conf', 'server.json')
  const variables = Object.entries(JSON.parse(readFileSync(file, 'utf8')) as object).map(([name, value]) => [
    `VOUCHSAFE_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  rmSync(file)
  return Object.fromEntries(variables) as NodeJS.ProcessEnv
}

export interface Running {
  readonly child: ChildProcess
  readonly port: number
  readonly url: string
  /** The line of the log by which the service says that it listens. */
  readonly listening: Readonly<Record<string, unknown>>
  readonly ended: Promise<EndedCommand>
}

/** Starts a service and waits until it listens. */
export async function start(
  service: 'issuer' | 'verifier',
  cwd: string,
  args: readonly string[] = [],
): Promise<Running> {
  const { child, ended } = startCommand([service, ...args], { cwd })
  return listening(child, ended)
}

/** Starts a service for one test, and kills it when the test has ended. */
export async function startForTest(service: 'issuer' | 'verifier', cwd: string): Promise<Running> {
  const running = await start(service, cwd)
  onTestFinished(async () => {
    await endService(running, 'SIGKILL')
  })
  return running
}

/** Sends the signal, and waits until the service has ended. */
export function endService({ child, ended }: Running, signal: NodeJS.Signals): Promise<EndedCommand> {
  child.kill(signal)
  return ended
}

/**
 * Starts a service as {@link start} does with a limit on the size of each file that it writes, as a full disk is one;
 * in blocks of `ulimit -f`.
 */
export function startOnFullDisk(service: 'issuer' | 'verifier', cwd: string, blocks: number): Promise<Running> {
  const limited = ['-c', `ulimit -f ${blocks} && exec "$0" "$@"`, process.execPath, COMMAND, service]
  const child = spawn('sh', limited, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  return listening(child, endOf(child))
}

/** Waits until the service listens that the process is. */
export async function listening(child: ChildProcess, ended: Promise<EndedCommand>): Promise<Running> {
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
