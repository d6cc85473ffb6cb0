/** `vouchsafe init engine`: creates a key and a configuration, by default for a local chain. */
import { generateKeyPair, type KeyObject } from 'node:crypto'
import { isAbsolute, resolve } from 'node:path'
import { promisify } from 'node:util'
import { findAddressMistakes } from '../../config/address.ts'
import { EngineSettings, engineDefaults } from '../../engine/config.ts'
import { privateKeyPem } from '../../keys/file-signer.ts'
import { type Address, evmAddress } from '../../offchain/address.ts'
import { accountOf } from '../../offchain/authentication/recover.ts'
import { CONFIG_FILE } from '../command-table/command.ts'
import { random } from '../effects.ts'
import { PRIVATE } from '../files/directory.ts'
import { existingFiles, loopbackHost, type NewFiles, writeFiles, writtenJson } from '../init/files.ts'
import { startStep, thisPlace, writtenPlace } from '../init/image-texts.ts'
import { otherSettings } from '../init/other-settings.ts'
import { commandName } from '../terminal/command-line.ts'

const KEY_FILE = 'conf/engine.key'
const CHAIN_DIRECTORY = 'data/chain'
const HINTS: Readonly<Record<string, string>> = {
  host: 'every interface',
  outbound: 'hosts that components may ask; none',
  staleSeconds: '60',
  cors: 'true',
  management: 'metrics',
}

/** The options of `vouchsafe init`. */
export interface InitWords {
  readonly dir: string
  readonly 'base-url'?: string | undefined
  readonly json: boolean
}

/** Writes the files of a new engine, and returns the text for stdout. */
export async function initEngine({ dir, 'base-url': url, json }: InitWords): Promise<string> {
  const baseUrl = url ?? `http://localhost:${engineDefaults.port}`
  const mistakes = findAddressMistakes(baseUrl)
  if (mistakes.length > 0) throw new Error(mistakes.join('\n').replaceAll('baseUrl:', '--base-url:'))
  const directory = resolve(dir)
  const { newFiles, publicKey, address } = await makeEngineFiles(baseUrl, CHAIN_DIRECTORY)
  const existing = existingFiles(directory, newFiles)
  if (existing.length > 0) {
    throw new Error(
      `There is already ${existing.join(', ')} in ${directory}.\n` +
        'Nothing was written, because init never overwrites. Each engine wants a directory of its own:\n' +
        `  ${commandName()} init engine --dir engine`,
    )
  }
  writeFiles(directory, newFiles)
  const facts = { service: 'engine', directory, base_url: baseUrl, address: evmAddress(address) }
  return json ? writtenJson(newFiles, facts) : explainEngineFiles(newFiles, { directory, baseUrl, publicKey, address })
}

/** Makes the files of a new engine, with a new key and an API key. */
export async function makeEngineFiles(
  baseUrl: string,
  chainDirectory: string,
): Promise<{
  readonly newFiles: Pick<NewFiles, 'files' | 'directories'>
  readonly apiKey: string
  readonly publicKey: KeyObject
  readonly address: Address
}> {
  const { privateKey, publicKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'secp256k1' })
  const apiKey = Buffer.from(random(32)).toString('hex')
  const settings = settingsOf(baseUrl, chainDirectory, apiKey)
  const { VOUCHSAFE_COMPONENT_DIRECTORY: directoryHere, VOUCHSAFE_COMPONENT_DIRECTORY_FILE: file } = process.env
  const componentDirectory = directoryHere || engineDefaults.componentDirectory
  const newFiles = {
    files: [
      { path: CONFIG_FILE, text: `${JSON.stringify(settings, null, 2)}\n`, mode: PRIVATE },
      { path: KEY_FILE, text: privateKeyPem(privateKey), mode: PRIVATE },
    ],
    // An absolute directory is not below that of these files, and one that a file names is read by the engine alone.
    directories: file || isAbsolute(componentDirectory) ? [] : [componentDirectory],
  }
  return { newFiles, apiKey, publicKey, address: accountOf(uncompressedPointOf(publicKey), 'evm') }
}

/**
 * Makes the settings of an engine. An https URL is that of a proxy, which forwards to the default port; an http URL is
 * that of the engine itself.
 */
function settingsOf(baseUrl: string, chainDirectory: string, apiKey: string): object {
  const { protocol, port } = new URL(baseUrl)
  return {
    port: protocol === 'http:' && port !== '' ? Number(port) : engineDefaults.port,
    ...loopbackHost(baseUrl),
    baseUrl,
    identity: { keyFile: KEY_FILE },
    chain: { type: 'local', directory: chainDirectory },
    contractFilter: 'all',
    integrations: { authentication: { [apiKey]: 'operator' } },
  }
}

/** Returns the uncompressed point at the end of a SubjectPublicKeyInfo. RFC 5480. */
function uncompressedPointOf(publicKey: KeyObject): Uint8Array {
  return new Uint8Array(publicKey.export({ type: 'spki', format: 'der' }).subarray(-65))
}

interface NewEngine {
  readonly directory: string
  readonly baseUrl: string
  readonly publicKey: KeyObject
  /** The address on EVM chains. */
  readonly address: Address
}

function explainEngineFiles(
  newFiles: Pick<NewFiles, 'files' | 'directories'>,
  { directory, baseUrl, publicKey, address }: NewEngine,
): string {
  const { host } = loopbackHost(baseUrl)
  const partisia = accountOf(uncompressedPointOf(publicKey), 'partisia')
  return `Written into ${writtenPlace(directory)}:

  ${CONFIG_FILE.padEnd(20)}  the configuration, with an API key: keep it private
  ${KEY_FILE.padEnd(20)}  the key (secp256k1): of the engine's address and its
                        transactions, and of what its database encrypts; it
                        never leaves this machine
${newFiles.directories.map((path) => `  ${`${path}/`.padEnd(20)}  empty: components go here, each named by its SHA-256\n`).join('')}
The address of this engine, which contracts list with ${baseUrl}:

  ${evmAddress(address)}   on EVM chains
  ${partisia}   on Partisia

The settings; paths are relative to the directory that the engine starts in:

  port, baseUrl         where it listens, and where it is reached
${host === undefined ? '' : `  host                  ${host}: ${thisPlace()} alone; without it, all may ask\n`}  identity              keyFile: its key
  chain                 {"type": "local", "directory": DIR}: a chain in a
                        directory, for trying out;
                        {"type": "evm", "rpcUrl": URL, "confirmations": 12}:
                        a chain that others share
  contractFilter        "all" contracts of a local chain; of another, a list of
                        addresses, or the address of a contract that lists them
  integrations          authentication: the API key of the console, with a name
                        for it

${otherSettings(EngineSettings, newFiles, HINTS)}

Next:

  ${startStep('engine', directory)}`
}
