/** `vouchsafe chain`: deploys contracts, calls them, and serves a local chain to other tools. */

import { ChainError } from '../../chain/chain.ts'
import { type AbiItem, decodeAnswer, encodeCall } from '../../chain/evm/abi.ts'
import { removeControlCharacters } from '../../codec/control-characters.ts'
import { type Json, parseJson } from '../../codec/json.ts'
import { readOrUndefined } from '../../codec/malformed.ts'
import { type Address, evmAddress, parseAddress } from '../../offchain/address.ts'
import { parsePort, readSubcommand, type Subcommand, UsageError } from '../terminal/command-line.ts'
import { type CommandResult, printResult } from '../terminal/command-result.ts'
import { timeText } from '../terminal/terminal.ts'
import { abiOf, findFunction } from './artifact.ts'
import { type Connection, connect } from './connection.ts'
import { deploy, readNewComponent } from './deploy.ts'
import { serveChain } from './serve.ts'
import { transact } from './transactions.ts'

/** Runs `vouchsafe chain` with the words after it. */
export async function runChain(args: string[]): Promise<void> {
  const { subcommand: word, rest: words, values } = readSubcommand('chain', separateNegatives(args))
  const [first, second, ...rest] = words
  const count = words.length
  if (word === 'serve' && count === 0) return serveChain((await connect(values)).rpc, parsePort(values.port))
  const runSubcommand = async (): Promise<CommandResult> => {
    if (word === 'deploy' && first !== undefined && count === 1)
      return deployContract(await connect(values, { createsChain: true, abi: abiOf(first) }), first, values)
    if (word === 'mine' && count === 0) return mineBlock(await connect(values))
    if (word === 'show' && count <= 1) return describeContract(await connect(values), first)
    if ((word === 'send' || word === 'call') && first !== undefined && second !== undefined) {
      const item = findFunction(second, values.artifact)
      const component = changesComponent(second, values)
        ? readNewComponent(values.component ?? '', values['component-uri'])
        : undefined
      const input = encodeCall(item, component?.values ?? valuesOf(item, rest))
      const [connection, to] = [await connect(values, { abi: abiOf(values.artifact) }), addressOf(first)]
      if (word === 'call') return readContract(connection, to, { item, input })
      await refuseMissingContract(connection, to)
      if (connection.directory !== undefined) await component?.store(connection.directory)
      return sendTransaction(connection, to, input)
    }
    throw new UsageError('chain', EXPECTED_WORDS[word])
  }
  printResult(await runSubcommand(), values.json)
}

/**
 * Tests whether to call `setComponent` with the file of `--component` instead of arguments. Throws if the option is
 * used for another function.
 */
function changesComponent(name: string, { component }: { readonly component?: string | undefined }): boolean {
  if (component !== undefined && name !== 'setComponent')
    throw new Error('--component is for deploy, and for send ADDRESS setComponent')
  return component !== undefined
}

const EXPECTED_WORDS: Readonly<Record<Subcommand<'chain'>, string>> = {
  deploy: 'deploy takes one contract: its name, or the file that its compiler wrote',
  send: 'send takes the address of a contract, a function of it, and its arguments',
  call: 'call takes the address of a contract, a function of it, and its arguments',
  show: 'show takes one address, or nothing',
  mine: 'mine takes nothing',
  serve: 'serve takes nothing but options',
}

/** Inserts `--` before the first negative number, so that it is not parsed as an option. */
function separateNegatives(args: string[]): string[] {
  const index = args.findIndex((arg) => /^-\d+$/.test(arg))
  return index === -1 || args.includes('--') ? args : [...args.slice(0, index), '--', ...args.slice(index)]
}

function addressOf(text: string): Address {
  return (
    readOrUndefined(() => parseAddress(text)) ??
    throwError(`${text} is not an address: it must have 40 hexadecimal characters`)
  )
}

function throwError(why: string): never {
  throw new Error(why)
}

/** Parses the arguments of a function. Arrays and objects are JSON; all else is text. */
function valuesOf({ inputs = [] }: AbiItem, words: readonly string[]): readonly Json[] {
  return words.map((word, index) => {
    if (!/\]$|^tuple/.test(inputs[index]?.type ?? '')) return word
    try {
      return parseJson(word)
    } catch (error) {
      throw new Error(`${word} is not JSON, which a list or an object must be`, { cause: error })
    }
  })
}

async function deployContract(
  connection: Connection,
  name: string,
  words: Parameters<typeof deploy>[2],
): Promise<CommandResult> {
  const { missing: missingSettings, ...result } = await deploy(connection, name, words)
  const isUriMissing =
    result.component !== undefined && connection.directory === undefined && words['component-uri'] === ''
  const lines = [
    `${removeControlCharacters(result.contract)} is at ${result.address} (block ${result.block}).`,
    `Engines know it as ${parseAddress(result.address)}.`,
    ...(connection.isNew
      ? [
          `This chain begins with it: it is in ${connection.directory}, which an engine watches when its chain.directory says so.`,
        ]
      : []),
    ...(isUriMissing ? ['Engines must be given its component by their operators: it has no --component-uri.'] : []),
    ...missingSettings,
  ]
  return { text: lines.join('\n'), facts: result }
}

async function mineBlock({ rpc, chain }: Connection): Promise<CommandResult> {
  try {
    await rpc('evm_mine', [])
  } catch (error) {
    throw new ChainError(`this chain makes its blocks itself: ${(error as Error).message}`, { cause: error })
  }
  const { number, time } = await chain.fetchHead()
  return { text: `Block ${number}, ${timeText(time)}.`, facts: { block: number, time: time.toISOString() } }
}

async function describeContract(
  { chain, head, directory }: Connection,
  word: string | undefined,
): Promise<CommandResult> {
  if (word === undefined) {
    const where = directory === undefined ? '' : ` in ${directory}`
    const facts = { chain_id: chain.id, block: head.number, hash: head.hash, time: head.time.toISOString() }
    return { text: `Chain ${chain.id}${where}, at block ${head.number} of ${timeText(head.time)}.`, facts }
  }
  const address = addressOf(word)
  const contract = await chain.fetchContract(address, head)
  if (contract === undefined) throwError(`At ${evmAddress(address)} there is no contract with an off-chain component.`)
  const { component, engines = [] } = contract
  const from = component === undefined || component.uri === '' ? '' : ` from ${removeControlCharacters(component.uri)}`
  const lines = [
    `${evmAddress(address)}, which engines know as ${address}`,
    component === undefined ? 'names no component' : `component ${component.sha256}${from}`,
    ...(engines.length === 0 ? ['no engines'] : []),
    ...engines.map((engine) => `engine ${evmAddress(engine.address)} ${removeControlCharacters(engine.endpoint)}`),
  ]
  return { text: lines.join('\n'), facts: { address, component: component ?? null, engines } }
}

/** Throws if there is no contract at the address, since a transaction to it would succeed without effect. */
async function refuseMissingContract({ node, head }: Connection, to: Address): Promise<void> {
  const { length } = await node.fetchCode(to, head.number)
  if (length === 0) throwError(`There is no contract at ${evmAddress(to)} on this chain. Nothing was sent.`)
}

async function sendTransaction(connection: Connection, to: Address, input: Uint8Array): Promise<CommandResult> {
  const { transaction, block } = await transact(connection, to, input)
  return { text: `Done, in block ${block}.`, facts: { transaction, block } }
}

interface FunctionCall {
  readonly item: AbiItem
  readonly input: Uint8Array
}

async function readContract(
  { chain, head }: Connection,
  to: Address,
  { item, input }: FunctionCall,
): Promise<CommandResult> {
  const answer = await chain.read(to, input, head)
  if (answer.length === 0)
    throwError(`${evmAddress(to)} answers nothing: there is no such contract, or no such function in it.`)
  const facts = decodeAnswer(item, answer)
  return { text: typeof facts === 'string' ? removeControlCharacters(facts) : JSON.stringify(facts, null, 2), facts }
}
