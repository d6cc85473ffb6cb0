/**
 * The blocks of a local chain, and its state. Each block is a numbered file that is created only once, so that several
 * processes can append blocks in one order, without a server. Each process keeps the state in memory, and reads new
 * files before it answers a request.
 */
import { serialQueue } from '../../async/concurrency.ts'
import { epochSeconds } from '../../codec/time.ts'
import { loadRecovery } from '../../offchain/authentication/key-recovery.ts'
import type { Recover } from '../../offchain/authentication/recover.ts'
import { type HashedBlock, hashBlock, type StoredBlock, writeBlock } from './block.ts'
import { type BlockEnvironment, createMachine, intrinsicGas, type Log, type Machine, type Result } from './execute.ts'
import type { BlockFiles } from './files.ts'
import { createLogCache, type LogCache } from './log-cache.ts'
import { type Changes, createState, type State } from './state.ts'
import { createFirstBlock, readFirstBlock, readStoredBlock } from './stored-blocks.ts'
import { type ParsedTransaction, readTransaction, refuseTransaction } from './transaction.ts'

export interface LedgerEntry {
  readonly block: HashedBlock
  readonly includedTransaction?: IncludedTransaction
}

/** The result of a block's transaction. The transaction itself is parsed again when it is needed, to save memory. */
export interface IncludedTransaction extends Pick<ParsedTransaction, 'hash' | 'type'> {
  readonly from: string
  readonly to: string | undefined
  readonly result: Pick<Result, 'gasUsed' | 'failure' | 'created'>
  readonly logCount: number
}

export interface Ledger {
  /** The blocks that this process has read ({@link Ledger.catchUp}); the first block is always there. */
  readonly entries: readonly LedgerEntry[]
  readonly chainId: bigint
  /** Finds a block by the hash of its transaction. */
  find(hash: string): LedgerEntry | undefined
  /**
   * Reads the blocks that other processes have added. Rejects with a message for the operator when one of them does not
   * belong to this chain.
   */
  catchUp(): Promise<void>
  /**
   * Appends a block with the transaction, or an empty block. Rejects with a JsonRpcError when the transaction cannot be
   * in a block.
   */
  append(transaction?: ParsedTransaction): Promise<LedgerEntry>
  readonly logs: LogCache<LedgerEntry>
  readonly state: State
  readonly machine: Machine
  /** Returns the environment of a block that would follow this block now. */
  makeNextEnvironment(block: HashedBlock): BlockEnvironment
  /** Returns the environment of the block itself. */
  environmentOf(block: HashedBlock): BlockEnvironment
}

/**
 * Opens a chain, and creates its first block when there is none. Rejects with a message for the operator when the files
 * are not a chain.
 */
export async function openLedger(files: BlockFiles, now: () => Date): Promise<Ledger> {
  const numbers = new Set(files.numbers())
  if (numbers.size === 0) await files.create(0, writeBlock(createFirstBlock(epochSeconds(now()))))
  for (let number = 0; number < numbers.size; number++) {
    if (!numbers.has(number)) throw new Error(`${files.name}: block ${number} is missing, and there are later ones`)
  }
  const first = readFirstBlock(files)
  const state = createState()
  const machine = await createMachine(BigInt(first.chainId), state)
  const ledger = makeLedger({ files, now, state, machine, recover: await loadRecovery() }, first)
  await ledger.catchUp()
  return ledger
}

interface LedgerMemory {
  readonly chainId: bigint
  readonly machine: Machine
  readonly entries: LedgerEntry[]
  readonly entriesByHash: Map<string, LedgerEntry>
  readonly logs: LogCache<LedgerEntry>
  readonly state: State
  readonly makeEnvironment: (number: number, time: number, parent: string) => BlockEnvironment
}

interface LedgerEffects {
  readonly files: BlockFiles
  readonly now: () => Date
  readonly state: State
  readonly machine: Machine
  readonly recover: Recover
}

function makeLedger(
  { files, now, state, machine, recover }: LedgerEffects,
  first: HashedBlock & { readonly chainId: string },
): Ledger {
  const chainId = BigInt(first.chainId)
  const entries: LedgerEntry[] = [{ block: first }]
  const hashOf = (number: number): string | undefined => entries[number]?.block.hash
  const makeEnvironment = (number: number, time: number, parent: string): BlockEnvironment => ({
    number,
    time,
    parent,
    hashOf,
  })
  const logs = createLogCache((entry: LedgerEntry) => runForLogs({ machine, makeEnvironment }, entry))
  const memory: LedgerMemory = { entries, entriesByHash: new Map(), logs, state, machine, chainId, makeEnvironment }
  const runInTurn = serialQueue()
  const makeNextEnvironment = ({ number, time, hash }: HashedBlock): BlockEnvironment =>
    memory.makeEnvironment(number + 1, Math.max(time, epochSeconds(now())), hash)
  return {
    entries,
    chainId,
    find: (hash) => memory.entriesByHash.get(hash),
    catchUp: () => runInTurn(() => catchUp(files, memory)),
    append: (transaction) => runInTurn(() => append({ files, memory, makeNextEnvironment, recover }, transaction)),
    state,
    logs,
    machine,
    makeNextEnvironment,
    environmentOf: ({ number, time, parent }) => memory.makeEnvironment(number, time, parent),
  }
}

function newestBlock({ entries }: LedgerMemory): HashedBlock {
  return (entries.at(-1) as LedgerEntry).block
}

async function catchUp(files: BlockFiles, memory: LedgerMemory): Promise<void> {
  for (;;) {
    const parent = newestBlock(memory)
    const number = parent.number + 1
    const text = files.read(number)
    if (text === undefined) return
    const block = readStoredBlock(files, number, text)
    if (block.number !== number || block.parent !== parent.hash || block.time < parent.time) {
      throw new Error(
        `${files.name}: block ${number} does not follow on block ${parent.number}: it is of another chain`,
      )
    }
    const { transaction } = block
    const addBlock = await runBlock(memory, block, transaction && readSenderTransaction(transaction))
    addBlock(block)
  }
}

/** Adds a block to the ledger in memory, and applies the changes of its transaction to the state. */
type AddBlock = (block: HashedBlock) => LedgerEntry

/** A transaction and its signer. */
interface SenderTransaction {
  readonly transaction: ParsedTransaction
  readonly from: string
}

function readSenderTransaction({ raw, from }: StoredBlock['transaction'] & object): SenderTransaction {
  return { transaction: readTransaction(raw), from }
}

/**
 * Runs the transaction, if any, of a block that follows the newest block. Changes nothing; the function that it returns
 * adds the block.
 */
async function runBlock(
  memory: LedgerMemory,
  { number, time, parent }: Pick<StoredBlock, 'number' | 'time' | 'parent'>,
  senderTransaction: SenderTransaction | undefined,
): Promise<AddBlock> {
  const { entries, entriesByHash, makeEnvironment } = memory
  const adderOf =
    (changes?: Changes, includedTransaction?: IncludedTransaction, logs: readonly Log[] = []): AddBlock =>
    (block) => {
      const entry = includedTransaction === undefined ? { block } : { block, includedTransaction }
      changes?.apply(number)
      entries.push(entry)
      if (includedTransaction !== undefined) entriesByHash.set(includedTransaction.hash, entry)
      memory.logs.add(entry, logs)
      return entry
    }
  if (senderTransaction === undefined) return adderOf()
  const { from, transaction } = senderTransaction
  const { hash, type, message } = transaction
  const result = await memory.machine.execute(number - 1, { ...message, from }, makeEnvironment(number, time, parent))
  const { gasUsed, failure, created, logs } = result
  const includedTransaction = {
    hash,
    type,
    from,
    to: message.to,
    result: { gasUsed, failure, created },
    logCount: logs.length,
  }
  return adderOf(result, includedTransaction, logs)
}

/** Runs the transaction of a block again on the state before it, and returns its logs. Changes nothing. */
async function runForLogs(
  { machine, makeEnvironment }: Pick<LedgerMemory, 'machine' | 'makeEnvironment'>,
  { block: { number, time, parent, transaction } }: LedgerEntry,
): Promise<readonly Log[]> {
  if (transaction === undefined) return []
  const { message } = readTransaction(transaction.raw)
  const sentMessage = { ...message, from: transaction.from }
  return (await machine.execute(number - 1, sentMessage, makeEnvironment(number, time, parent))).logs
}

/** The most attempts to append a block. An attempt fails when another process has added a block first. */
const MAX_ATTEMPTS = 1000

interface AppendContext {
  readonly files: BlockFiles
  readonly memory: LedgerMemory
  readonly makeNextEnvironment: (block: HashedBlock) => BlockEnvironment
  readonly recover: Recover
}

async function append(
  { files, memory, makeNextEnvironment, recover }: AppendContext,
  transaction?: ParsedTransaction,
): Promise<LedgerEntry> {
  const senderTransaction = transaction && { transaction, from: transaction.sender(recover) }
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts += 1) {
    await catchUp(files, memory)
    const { number, time, parent } = makeNextEnvironment(newestBlock(memory))
    if (senderTransaction !== undefined) refuseUnfit(memory, senderTransaction)
    const content = {
      number,
      time,
      parent,
      ...(senderTransaction === undefined
        ? {}
        : { transaction: { raw: senderTransaction.transaction.raw, from: senderTransaction.from } }),
    }
    requireParent(files, newestBlock(memory))
    const addBlock = await runBlock(memory, content, senderTransaction)
    const block = hashBlock(content)
    // Another process may have created the block of this number meanwhile. The loop then reads that block, and tries
    // again.
    if (await files.create(number, writeBlock(block))) return addBlock(block)
  }
  throw new Error(`${files.name}: other processes added the next block first ${MAX_ATTEMPTS} times in a row: try again`)
}

/**
 * Throws unless the file of the parent exists with its hash. A block without its parent, or on another parent, would
 * make the chain unreadable for every process.
 */
function requireParent(files: BlockFiles, parent: HashedBlock): void {
  if (files.read(parent.number)?.includes(parent.hash) === true) return
  throw new Error(
    `${files.name}: block ${parent.number} was changed or taken away since it was read: put it back, or start this process again`,
  )
}

/**
 * Throws a JsonRpcError when the transaction is included already, is of another chain, does not have the next nonce of
 * its sender, or less gas than it costs at least. Blocks that are there may have such a transaction.
 */
function refuseUnfit(memory: LedgerMemory, { transaction, from }: SenderTransaction): void {
  const { hash, nonce, chainId, message } = transaction
  const ownChainId = memory.chainId
  if (memory.entriesByHash.has(hash)) refuseTransaction('already known')
  if (chainId !== ownChainId)
    refuseTransaction(`invalid chain id: this is chain ${ownChainId}, and the transaction says ${chainId ?? 'none'}`)
  const nextNonce = nonceAt(memory.state, from, newestBlock(memory).number)
  if (nonce < nextNonce) refuseTransaction(`nonce too low: the next of this account is ${nextNonce}`)
  if (nonce > nextNonce)
    refuseTransaction(`nonce too high: the next of this account is ${nextNonce}, and nothing waits here`)
  const leastGas = intrinsicGas(message)
  if (message.gasLimit < leastGas) {
    const reason = `the transaction takes ${leastGas} at least, and may take ${message.gasLimit}`
    refuseTransaction(`intrinsic gas too low: ${reason}`)
  }
}

/** Returns the nonce of the next transaction of an account after this block. */
export function nonceAt({ accounts }: State, address: string, block: number): number {
  return Number(accounts.getAt(address, block)?.nonce ?? 0n)
}
