/** `vouchsafe chain deploy`: deploys a contract with its component and its engines. Also prepares a new component. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AbiItem, encodeConstructor } from '../../chain/evm/abi.ts'
import { sha256Hex } from '../../codec/digest.ts'
import { isObject, type Json, memberOf, parseJson, stringMemberOf } from '../../codec/json.ts'
import { readOrProblem, readOrUndefined } from '../../codec/malformed.ts'
import { removeTrailingSlashes } from '../../codec/url.ts'
import { OutboundError } from '../../http/outbound.ts'
import { evmAddress, parseAddress } from '../../offchain/address.ts'
import { outbound } from '../effects.ts'
import { commandName, shellWord } from '../terminal/command-line.ts'
import { readArtifact } from './artifact.ts'
import { storeComponent } from './block-files.ts'
import { type ChainLocation, type Connection, isHttp } from './connection.ts'
import { createJsonHttp } from './json-http.ts'
import { transact } from './transactions.ts'

/** The pauses between attempts to reach an engine that was just started. */
const PAUSES_MS = [250, 500, 1000, 2000]

export interface DeployWords extends ChainLocation {
  readonly engine: readonly string[]
  readonly component?: string | undefined
  readonly 'component-uri': string
  readonly args: string
}

export interface Deployment {
  readonly contract: string
  readonly address: string
  readonly transaction: string
  readonly block: number
  readonly component?: string
  /** The settings that are still missing before engines can work, in words. */
  readonly missing: readonly string[]
}

/** Deploys a contract. Throws a message for the user if a part of it is invalid. */
export async function deploy(connection: Connection, name: string, words: DeployWords): Promise<Deployment> {
  const { abi, bytecode, name: contract } = readArtifact(name)
  const engines = await Promise.all(words.engine.map((word) => resolveEngine(word, connection.chain.id)))
  const bytes = words.component === undefined ? undefined : readModule(words.component)
  const digest = bytes === undefined ? '00'.repeat(32) : sha256Hex(bytes)
  const values = parseArguments(words.args)
  const vouchsafeArguments = [engines, `0x${digest}`, words['component-uri']]
  const offChain = hasVouchsafeConstructor(abi)
  if (!offChain && (engines.length > 0 || bytes !== undefined)) {
    throw new Error(
      `The constructor of ${contract} does not begin with engines, digest and URI of the component: pass them by --args.`,
    )
  }
  const code = encodeConstructor(abi, bytecode, offChain ? [...vouchsafeArguments, ...values] : values)
  // The component is stored first, so that engines find it with the contract, and a full disk costs no transaction.
  if (bytes !== undefined && connection.directory !== undefined) await storeComponent(connection.directory, bytes)
  const { transaction, block, created } = await transact(connection, undefined, code)
  if (created === undefined) throw new Error('The node does not say where the contract is.')
  const component = bytes === undefined ? {} : { component: digest }
  const address = evmAddress(created)
  const missing = offChain ? listMissingSettings(address, abi, words) : []
  return { contract, address, transaction, block, ...component, missing }
}

/** Lists the missing settings of engines, each with the command that sets it if the contract has a function for it. */
function listMissingSettings(address: string, abi: readonly AbiItem[], options: DeployWords): readonly string[] {
  const { component, engine } = options
  const commandText = (name: string, words: string): string =>
    abi.some((item) => item.type === 'function' && item.name === name)
      ? `${commandName()} chain send ${address} ${name} ${words}${chainOptionsText(options)}`
      : 'deploy it again'
  const engines = `'[{"engine": "0x12…ef", "endpoint": "https://engine.example"}]'`
  return [
    ...(component === undefined
      ? [
          `It names no component (--component MODULE), so there is nothing to run: ${commandText('setComponent', '--component MODULE')}`,
        ]
      : []),
    ...(engine.length > 0
      ? []
      : [`It lists no engine (--engine URL), so none runs it: ${commandText('setEngines', engines)}`]),
  ]
}

/** Repeats the options of chain and account. Leaves out the path of a URL, which may be a secret. */
function chainOptionsText({ dir, rpc, key, 'max-gas-price': maxGasPrice }: ChainLocation): string {
  const isPlain = rpc === undefined || new URL(rpc).href === `${new URL(rpc).origin}/`
  return Object.entries({ dir, rpc: isPlain ? rpc : 'URL', key, 'max-gas-price': maxGasPrice })
    .map(([name, value]) => (value === undefined ? '' : ` --${name} ${shellWord(value)}`))
    .join('')
}

/** Makes the arguments of `setComponent`, and on a local chain stores the component for the engines. */
export function readNewComponent(
  file: string,
  uri: string,
): { readonly values: readonly Json[]; store(directory: string): Promise<unknown> } {
  const bytes = readModule(file)
  return { values: [`0x${sha256Hex(bytes)}`, uri], store: (directory) => storeComponent(directory, bytes) }
}

function readModule(file: string): Uint8Array {
  if (/\.[cm]?tsx?$/.test(file)) {
    const builtFile = file.replace(/\.[cm]?tsx?$/, '.js')
    throw new Error(
      `--component ${file} is source, and engines run what is built of it: ${commandName()} component build ${file} --out ${builtFile}`,
    )
  }
  try {
    return readFileSync(file)
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw new Error(`--component ${file} cannot be read (${code})`, { cause: error })
  }
}

/**
 * Tests whether the constructor begins with engines, digest and address of the component, like those of Vouchsafe's
 * contracts.
 */
function hasVouchsafeConstructor(abi: readonly AbiItem[]): boolean {
  const inputs = abi.find(({ type }) => type === 'constructor')?.inputs ?? []
  const [engines, digest, uri] = inputs.map(({ type }) => type)
  return engines === 'tuple[]' && digest === 'bytes32' && uri === 'string'
}

/** Returns the address and the URL of an engine. If only the URL is given, fetches the address from the engine. */
async function resolveEngine(word: string, chainId: string): Promise<Json> {
  if (isHttp(word)) return { engine: await fetchAddress(word, chainId), endpoint: removeTrailingSlashes(word) }
  const [address = '', ...rest] = word.split('=')
  const parsedAddress = readOrUndefined(() => parseAddress(address))
  const endpoint = removeTrailingSlashes(rest.join('='))
  if (parsedAddress === undefined || (endpoint !== '' && !isHttp(endpoint))) {
    throw new Error(`--engine ${word}: it must be a URL, or an address and a URL, as in 0x12…ef=https://engine.example`)
  }
  return { engine: evmAddress(parsedAddress), endpoint }
}

async function fetchAddress(url: string, chainId: string): Promise<string> {
  const { address, chain } = await fetchEngine(url, PAUSES_MS).catch((error: unknown) => {
    const why = error instanceof OutboundError ? `: ${error.message}` : ''
    throw new Error(
      `--engine ${url}: no engine answers there${why}. Start it, give it a few seconds where it was just started, or give its address too: 0x12…ef=${url}`,
      { cause: error },
    )
  })
  if (chain !== undefined && chain !== chainId) {
    throw new Error(
      `--engine ${url} watches chain ${chain}, and this is chain ${chainId}: give its own by --dir or --rpc`,
    )
  }
  return address
}

/** Fetches the identity of an engine. Repeats this after each pause if the engine does not listen. */
async function fetchEngine(
  url: string,
  [pause, ...more]: readonly number[],
): Promise<{ readonly address: string; readonly chain: string | undefined }> {
  try {
    const { body } = await createJsonHttp(url, outbound)('GET', '/engine')
    const engine = isObject(body) ? body : {}
    const chain = memberOf(engine, 'chain')
    return {
      address: evmAddress(parseAddress(stringMemberOf(engine, 'address') ?? '')),
      chain: stringMemberOf(chain, 'id'),
    }
  } catch (error) {
    if (pause === undefined || !(error instanceof OutboundError) || error.limit !== undefined) throw error
    await sleep(pause)
    return fetchEngine(url, more)
  }
}

function parseArguments(text: string): readonly Json[] {
  const result = readOrProblem(() => ({ list: parseJson(text) }))
  if ('list' in result && Array.isArray(result.list)) return result.list
  const options = 'problem' in result ? { cause: result.cause } : {}
  throw new Error(`--args must be a list in JSON, as in '["0x12…ef", 3]'`, options)
}
