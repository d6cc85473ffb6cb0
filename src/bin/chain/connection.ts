/** The chain and the account of a command: a directory with a local chain, or a node of a network. */
import { randomBytes } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Block,
  DEFAULT_MAX_GAS_PRICE,
  GAS_PRICE_GWEI,
  type SpendingLimits,
  WEI_PER_GWEI,
} from '../../chain/chain.ts'
import { type AbiItem, customError } from '../../chain/evm/abi.ts'
import { createEvmChain, type EvmChain, fetchChainId } from '../../chain/evm/evm.ts'
import { createEvmNode, type EvmNode } from '../../chain/evm/node.ts'
import { revertData } from '../../chain/evm/revert.ts'
import { type JsonRpc, JsonRpcError, REVERTED } from '../../chain/json-rpc.ts'
import { openLocalRpc } from '../../chain/local/methods.ts'
import { removeControlCharacters } from '../../codec/control-characters.ts'
import { now, outbound } from '../effects.ts'
import { PRIVATE } from '../files/directory.ts'
import { readKey } from '../secret/files.ts'
import { commandName, UsageError } from '../terminal/command-line.ts'
import { openBlockFiles } from './block-files.ts'
import { createHttpJsonRpc } from './json-rpc-http.ts'

export interface ChainLocation {
  readonly dir?: string | undefined
  readonly rpc?: string | undefined
  readonly key?: string | undefined
  /** The most that a unit of gas may cost, in gwei. */
  readonly 'max-gas-price'?: string | undefined
}

export interface Connection {
  readonly rpc: JsonRpc
  readonly node: EvmNode
  /** The chain. Its head is the latest block. */
  readonly chain: EvmChain
  readonly head: Block
  /** The directory of a local chain; undefined for a network. */
  readonly directory: string | undefined
  /** Whether this command has created the local chain. */
  readonly isNew: boolean
  /** Returns the private key of the account. Throws a {@link UsageError} if there is none. */
  readonly readAccountKey: () => Uint8Array
  /** The most that a command spends on a transaction. */
  readonly limits: SpendingLimits
}

const DEFAULT_DIRECTORY = join('data', 'chain')
const KEY_BYTES = 32
/** The option with the directory of a local chain, by the command that has it. */
const DIRECTORY_OPTION = { chain: '--dir', secret: '--chain' } as const

type ChainCommand = keyof typeof DIRECTORY_OPTION

export interface ConnectOptions {
  /** Whether to create a missing local chain. */
  readonly createsChain?: boolean
  /** The command that connects. */
  readonly command?: ChainCommand
  /** The ABI with the errors of the called contracts. */
  readonly abi?: readonly AbiItem[]
}

/**
 * Opens the chain. Throws a {@link UsageError} if the options are wrong, and a message for the user if the chain cannot
 * be reached, or does not exist and `createsChain` is not set.
 */
export async function connect(
  { dir, rpc: url, key, 'max-gas-price': maxGasPrice }: ChainLocation,
  { createsChain = false, command = 'chain', abi = [] }: ConnectOptions = {},
): Promise<Connection> {
  const option = DIRECTORY_OPTION[command]
  if (dir !== undefined && url !== undefined)
    throw new UsageError(command, `a chain is in a directory or at a URL: give ${option} or --rpc`)
  if (url !== undefined && !isHttp(url)) throw new UsageError(command, `--rpc ${url} is not a URL of http or https`)
  const limits = { mostGasPrice: parseGasPrice(command, maxGasPrice) }
  const directory = url === undefined ? (dir ?? DEFAULT_DIRECTORY) : undefined
  const isNew = directory !== undefined && !existsSync(directory)
  if (isNew && !createsChain) {
    throw new Error(
      `There is no chain in ${directory}: say where it is (${option} DIR, or --rpc URL), or create one with: ${commandName()} chain deploy`,
    )
  }
  const rpc = nameCustomErrors(
    directory === undefined
      ? createHttpJsonRpc(url ?? '', outbound)
      : await openLocalRpc(openBlockFiles(directory), now),
    abi,
  )
  const chain = createEvmChain(rpc, { id: await fetchChainId(rpc), confirmations: 0, reportProblem: warn })
  const head = await chain.fetchHead()
  const readAccountKey = (): Uint8Array => readOrMakeKey(command, key, directory)
  return { rpc, node: createEvmNode(rpc), chain, head, directory, isNew, readAccountKey, limits }
}

/** Tests whether `text` is a URL of http or https. */
export function isHttp(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text)
}

/** Returns the price of `text`, a whole number of gwei, in wei, or the default. Throws a {@link UsageError}. */
function parseGasPrice(command: ChainCommand, text: string | undefined): bigint {
  if (text === undefined) return DEFAULT_MAX_GAS_PRICE
  const { least, most } = GAS_PRICE_GWEI
  const gwei = /^\d{1,10}$/.test(text) ? BigInt(text) : 0n
  if (gwei < least || gwei > most)
    throw new UsageError(command, `--max-gas-price ${text} is not a whole number of gwei from ${least} to ${most}`)
  return gwei * WEI_PER_GWEI
}

function warn(problem: string): void {
  process.stderr.write(`${problem}\n`)
}

/**
 * Returns the key in the file. On a local chain, where all accounts may do anything, makes one by default. Throws a
 * {@link UsageError} if a network has no file.
 */
function readOrMakeKey(command: ChainCommand, file: string | undefined, directory: string | undefined): Uint8Array {
  if (file !== undefined) return readKey(file)
  if (directory === undefined) {
    const advice = `give --key FILE; one is made with: ${commandName()} secret key FILE`
    throw new UsageError(command, `on a network you act with a key of your own: ${advice}`)
  }
  const defaultKeyFile = join(directory, 'key')
  try {
    writeFileSync(defaultKeyFile, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { mode: PRIVATE, flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return readKey(defaultKeyFile)
}

/**
 * Wraps `rpc` so that the message of a revert has the name of the error in `abi`. A node returns the bytes of a custom
 * error, which the ABI decodes.
 */
function nameCustomErrors(rpc: JsonRpc, abi: readonly AbiItem[]): JsonRpc {
  return async (method, params) => {
    try {
      return await rpc(method, params)
    } catch (error) {
      const revertBytes = error instanceof JsonRpcError ? revertData(error.data) : undefined
      const description = revertBytes && customError(abi, revertBytes)
      if (description === undefined) throw error
      throw new JsonRpcError(REVERTED, removeControlCharacters(description), undefined, { cause: error })
    }
  }
}
