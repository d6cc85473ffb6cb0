/** SoftHSM, a token in files, with keys that never leave it; and pkcs11js, compiled into a directory of its own. */
import { spawnSync } from 'node:child_process'
import { createPublicKey, type KeyObject } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { PKCS11 } from 'pkcs11js'
import type { Pkcs11Package } from '../../src/keys/pkcs11/module.ts'

const MODULES = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so',
  '/usr/lib/aarch64-linux-gnu/softhsm/libsofthsm2.so',
  '/usr/lib64/pkcs11/libsofthsm2.so',
  '/usr/local/lib/softhsm/libsofthsm2.so',
  '/opt/homebrew/lib/softhsm/libsofthsm2.so',
]
const PACKAGE = join(import.meta.dirname, '../interop/node_modules/pkcs11js')

/** A directory that goes with the temporary directory of the run. */
const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'vouchsafe-softhsm-'))

/** Returns the path of the module, or why there is none. On Debian, root has it installed. */
export function findSoftHsm(): { readonly module: string } | { readonly missing: string } {
  const there = (): string | undefined => MODULES.find((path) => existsSync(path))
  if (there() === undefined && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    spawnSync('apt-get', ['update'], { stdio: 'ignore' })
    spawnSync('apt-get', ['install', '-y', '--no-install-recommends', 'softhsm2'], { stdio: 'ignore' })
  }
  const module = there()
  return module === undefined ? { missing: 'SoftHSM 2 is missing (apt-get install softhsm2)' } : { module }
}

/** Returns the directory of pkcs11js with its addon, compiled there; or why it could not be. */
export function compilePkcs11js(): { readonly directory: string } | { readonly missing: string } {
  const directory = join(newDirectory(), 'node_modules', 'pkcs11js')
  mkdirSync(dirname(directory), { recursive: true })
  cpSync(PACKAGE, directory, { recursive: true, filter: (path) => !path.startsWith(join(PACKAGE, 'build')) })
  // The addon is of Node-API: headers of any Node will do, and npm brings node-gyp.
  const { status, stdout, stderr } = spawnSync('npm', ['rebuild', '--foreground-scripts'], {
    cwd: directory,
    encoding: 'utf8',
    env: { ...process.env, ...nodeHeaders(), npm_config_ignore_scripts: 'false' },
  })
  const isBuilt = status === 0 && existsSync(join(directory, 'build/Release/pkcs11.node'))
  return isBuilt ? { directory } : { missing: `pkcs11js could not be compiled:\n${stdout}${stderr}` }
}

/** Tells node-gyp where the headers of Node are on this machine, so that it downloads none. */
function nodeHeaders(): Readonly<Record<string, string>> {
  const places = [join(dirname(process.execPath), '..'), '/usr', '/usr/local']
  const place = places.find((each) => existsSync(join(each, 'include/node/node_api.h')))
  return place === undefined ? {} : { npm_config_nodedir: place }
}

export function loadCompiled(directory: string): Pkcs11Package {
  return createRequire(import.meta.url)(directory) as Pkcs11Package
}

export interface SoftHsm {
  readonly module: string
  readonly label: string
  readonly pin: string
  /** The environment in which a process finds the token. */
  readonly env: Readonly<Record<string, string>>
}

/** Makes a new token, which this process has from now on, too. */
export function makeToken(module: string): SoftHsm {
  const directory = newDirectory()
  const configuration = join(directory, 'softhsm2.conf')
  mkdirSync(join(directory, 'tokens'))
  writeFileSync(configuration, `directories.tokendir = ${join(directory, 'tokens')}\nobjectstore.backend = file\n`)
  const env = { SOFTHSM2_CONF: configuration }
  Object.assign(process.env, env)
  const [label, pin] = ['issuer', '482915']
  const args = ['--init-token', '--free', '--label', label, '--pin', pin, '--so-pin', '90210044', '--module', module]
  const { status, stderr, error } = spawnSync('softhsm2-util', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`no token was made: ${stderr}${error?.message ?? ''}`)
  return { module, label, pin, env }
}

/** The part of the package for making a key, which the product does not use. */
interface KeyMaker extends PKCS11 {
  C_GenerateKeyPair(
    session: Buffer,
    mechanism: object,
    publicTemplate: readonly object[],
    privateTemplate: readonly object[],
  ): { readonly publicKey: Buffer }
  C_SetPIN(session: Buffer, oldPin: string, newPin: string): void
  C_GetAttributeValue(session: Buffer, object: Buffer, template: readonly object[]): { readonly value: Buffer }[]
}

const OIDS = {
  'P-256': '06082a8648ce3d030107',
  'P-384': '06052b81040022',
  'P-521': '06052b81040023',
} as const
const SPKI = {
  'P-256': '3059301306072a8648ce3d020106082a8648ce3d030107034200',
  'P-384': '3076301006072a8648ce3d020106052b81040022036200',
  'P-521': '30819b301006072a8648ce3d020106052b8104002303818600',
} as const
export type Curve = keyof typeof OIDS

/** Makes a key in the token, which cannot be exported; gives its public part. */
export function makePkcs11Key(
  library: Pkcs11Package,
  hsm: SoftHsm,
  { label, curve }: { readonly label: string; readonly curve: Curve },
): KeyObject {
  const { module, session } = logIn(library, hsm)
  const common = [
    { type: 1, value: true },
    { type: 3, value: label },
  ]
  const { publicKey } = module.C_GenerateKeyPair(
    session,
    { mechanism: 0x1040, parameter: null },
    [...common, { type: 0x10a, value: true }, { type: 0x180, value: Buffer.from(OIDS[curve], 'hex') }],
    [...common, { type: 0x103, value: true }, { type: 0x162, value: false }, { type: 0x108, value: true }],
  )
  const [point] = module.C_GetAttributeValue(session, publicKey, [{ type: 0x181 }])
  const size = { 'P-256': 65, 'P-384': 97, 'P-521': 133 }[curve]
  const key = Buffer.concat([Buffer.from(SPKI[curve], 'hex'), (point?.value ?? Buffer.alloc(0)).subarray(-size)])
  return createPublicKey({ key, format: 'der', type: 'spki' })
}

/** Gives the token another PIN; sessions that are logged in already stay so. */
export function changePkcs11Pin(library: Pkcs11Package, hsm: SoftHsm, pin: string): void {
  const { module, session } = logIn(library, hsm)
  module.C_SetPIN(session, hsm.pin, pin)
}

/** Opens a session in the token, and logs in. */
function logIn({ PKCS11: Module }: Pkcs11Package, { module: path, label, pin }: SoftHsm) {
  const module = new Module() as KeyMaker
  module.load(path)
  try {
    module.C_Initialize({ flags: 2 })
  } catch (error) {
    if (!(error as Error).message.includes('ALREADY_INITIALIZED')) throw error
  }
  const slot = module.C_GetSlotList(true).find((each) => module.C_GetTokenInfo(each).label.trim() === label)
  if (slot === undefined) throw new Error('the token is not there')
  const session = module.C_OpenSession(slot, 4 | 2)
  try {
    module.C_Login(session, 1, pin)
  } catch (error) {
    if (!(error as Error).message.includes('ALREADY_LOGGED_IN')) throw error
  }
  return { module, session }
}
