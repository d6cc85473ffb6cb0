/**
 * The blocks of a local chain, and its state. Blocks are files, of which nobody ever makes the same number twice: any
 * number of processes may append, in one order for all, and none of them is a server. Each has the state in memory,
 * and comes up with the files whenever it is asked.
 */
import { serialQueue } from '../../async/serial-queue.ts'
import { loadRecovery } from '../../offchain/authentication/key-recovery.ts'
import type { Recover } from '../../offchain/authentication/recover.ts'
import { type HashedBlock, hashBlock, type StoredBlock, writeBlock } from './block.ts'
import { createMachine, type Log, type Machine, type Result, type Surroundings } from './execute.ts'
import type { BlockFiles } from './files.ts'
import { type KeptLogs, keepLogs } from './kept-logs.ts'
import { type Changes, emptyState, type State } from './state.ts'
import { genesis, readFirstBlock, readStoredBlock } from './stored-blocks.ts'
import { type ReadTransaction, readTransaction, refuseTransaction } from './transaction.ts'

export interface LedgerEntry {
  readonly block: HashedBlock
  readonly done?: IncludedTransaction
}

/**
 * The result of a block's transaction. The transaction itself is read from the block when it is needed: a chain has
 * many blocks.
 */
export interface IncludedTransaction extends Pick<ReadTransaction, 'hash' | 'type'> {
  readonly from: string
  readonly to: string | undefined
  readonly result: Pick<Result, 'gasUsed' | 'failure' | 'created'>
  readonly logCount: number
}

export interface Ledger {
  /** The blocks that this process has read; see {@link Ledger.catchUp}. The first is always there. */
  readonly entries: readonly LedgerEntry[]
  readonly chainId: bigint
  /** Finds a block by the hash of its transaction. */
  find(hash: string): LedgerEntry | undefined
  /** Reads the blocks that others made. Rejects, in words for an operator, when one of them is none of this chain. */
  catchUp(): Promise<void>
  /**
   * Makes a block of a transaction, or an empty one. Rejects with a JsonRpcError when the transaction cannot be in a
   * block.
   */
  append(transaction?: ReadTransaction): Promise<LedgerEntry>
  readonly logs: KeptLogs<LedgerEntry>
  readonly state: State
  readonly machine: Machine
  /** Returns the surroundings of a block that would follow this one now. */
  next(block: HashedBlock): Surroundings
  /** Returns the surroundings of the block itself. */
  around(block: HashedBlock): Surroundings
}

/** Opens a chain, and begins one where there is none. Rejects, in words for an operator, when what is there is none. */
export async function openLedger(files: BlockFiles, now: () => Date): Promise<Ledger> {
  const numbers = new Set(files.numbers())
  if (numbers.size === 0) await files.create(0, writeBlock(genesis(secondsOf(now()))))
  for (let number = 0; number < numbers.size; number++) {
    if (!numbers.has(number)) throw new Error(`${files.name}: block ${number} is missing, and there are later ones`)
  }
  const first = readFirstBlock(files)
  const state = emptyState()
  const machine = await createMachine(BigInt(first.chainId), state)
  const ledger = makeLedger({ files, now, state, machine, recover: await loadRecovery() }, first)
  await ledger.catchUp()
  return ledger
}

interface Chained {
  readonly chainId: bigint
  readonly machine: Machine
  readonly entries: LedgerEntry[]
  readonly byHash: Map<string, LedgerEntry>
  readonly logs: KeptLogs<LedgerEntry>
  readonly state: State
  readonly surroundings: (number: number, time: number, parent: string) => Surroundings
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
  const surroundings = (number: number, time: number, parent: string): Surroundings => ({
    number,
    time,
    parent,
    hashOf,
  })
  const logs = keepLogs((entry: LedgerEntry) => runForLogs({ machine, surroundings }, entry))
  const chained: Chained = { entries, byHash: new Map(), logs, state, machine, chainId, surroundings }
  const inTurn = serialQueue()
  const next = ({ number, time, hash }: HashedBlock): Surroundings =>
    chained.surroundings(number + 1, Math.max(time, secondsOf(now())), hash)
  return {
    entries,
    chainId,
    find: (hash) => chained.byHash.get(hash),
    catchUp: () => inTurn(() => catchUp(files, chained)),
    append: (transaction) => inTurn(() => append({ files, chained, next, recover }, transaction)),
    state,
    logs,
    machine,
    next,
    around: ({ number, time, parent }) => chained.surroundings(number, time, parent),
  }
}

function secondsOf(time: Date): number {
  return Math.floor(time.getTime() / 1000)
}

function head({ entries }: Chained): HashedBlock {
  return (entries.at(-1) as LedgerEntry).block
}

async function catchUp(files: BlockFiles, chained: Chained): Promise<void> {
  for (;;) {
    const parent = head(chained)
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
    const { keep, entry } = await run(chained, block, transaction && signedOf(transaction))
    keep(entry(block))
  }
}

interface Ran {
  readonly entry: (block: HashedBlock) => LedgerEntry
  /** Makes it the newest. */
  readonly keep: (entry: LedgerEntry) => LedgerEntry
}

/** A transaction and its signer. */
interface Signed {
  readonly transaction: ReadTransaction
  readonly from: string
}

function signedOf({ raw, from }: StoredBlock['transaction'] & object): Signed {
  return { transaction: readTransaction(raw), from }
}

/** Runs the transaction of a block that stands on the newest, if there is one. */
async function run(
  chained: Chained,
  { number, time, parent }: Pick<StoredBlock, 'number' | 'time' | 'parent'>,
  signed: Signed | undefined,
): Promise<Ran> {
  const { entries, byHash, surroundings } = chained
  const ran = (changes?: Changes, done?: IncludedTransaction, logs: readonly Log[] = []): Ran => ({
    entry: (block) => (done === undefined ? { block } : { block, done }),
    keep: (entry) => {
      changes?.keep(number)
      entries.push(entry)
      if (done !== undefined) byHash.set(done.hash, entry)
      chained.logs.add(entry, logs)
      return entry
    },
  })
  if (signed === undefined) return ran()
  const { from, transaction } = signed
  const { hash, type, message } = transaction
  const result = await chained.machine.execute(number - 1, { ...message, from }, surroundings(number, time, parent))
  const { gasUsed, failure, created, logs } = result
  const done = { hash, type, from, to: message.to, result: { gasUsed, failure, created }, logCount: logs.length }
  return ran(result, done, logs)
}

/** Runs the transaction of a block once more, on the state before it, and changes nothing. */
async function runForLogs(
  { machine, surroundings }: Pick<Chained, 'machine' | 'surroundings'>,
  { block: { number, time, parent, transaction } }: LedgerEntry,
): Promise<readonly Log[]> {
  if (transaction === undefined) return []
  const { message } = readTransaction(transaction.raw)
  const signed = { ...message, from: transaction.from }
  return (await machine.execute(number - 1, signed, surroundings(number, time, parent))).logs
}

/** The most attempts to add a block; each that fails is a block that another process added. */
const MOST_ATTEMPTS = 1000

interface Appending {
  readonly files: BlockFiles
  readonly chained: Chained
  readonly next: (block: HashedBlock) => Surroundings
  readonly recover: Recover
}

async function append(
  { files, chained, next, recover }: Appending,
  transaction?: ReadTransaction,
): Promise<LedgerEntry> {
  const signed = transaction && { transaction, from: transaction.sender(recover) }
  for (let attempts = 0; attempts < MOST_ATTEMPTS; attempts += 1) {
    await catchUp(files, chained)
    const { number, time, parent } = next(head(chained))
    if (signed !== undefined) refuseUnfit(chained, signed)
    const content = {
      number,
      time,
      parent,
      ...(signed === undefined ? {} : { transaction: { raw: signed.transaction.raw, from: signed.from } }),
    }
    requireParent(files, head(chained))
    const { keep, entry } = await run(chained, content, signed)
    const block = hashBlock(content)
    // Another process may have made this number in between: then everything is seen anew.
    if (await files.create(number, writeBlock(block))) return keep(entry(block))
  }
  throw new Error(
    `${files.name}: other processes added the next block first ${MOST_ATTEMPTS} times in a row: try again`,
  )
}

/**
 * Throws unless the file of the parent is there with its hash: a block above a hole, or above another block than it
 * says, would be the end of the chain for everybody.
 */
function requireParent(files: BlockFiles, parent: HashedBlock): void {
  if (files.read(parent.number)?.includes(parent.hash) === true) return
  throw new Error(
    `${files.name}: block ${parent.number} was changed or taken away since it was read: put it back, or start this process again`,
  )
}

function refuseUnfit(chained: Chained, { transaction: { hash, nonce, chainId }, from }: Signed): void {
  const ours = chained.chainId
  if (chained.byHash.has(hash)) refuseTransaction('already known')
  if (chainId !== ours)
    refuseTransaction(`invalid chain id: this is chain ${ours}, and the transaction says ${chainId ?? 'none'}`)
  const expected = nonceAt(chained.state, from, head(chained).number)
  if (nonce < expected) refuseTransaction(`nonce too low: the next of this account is ${expected}`)
  if (nonce > expected)
    refuseTransaction(`nonce too high: the next of this account is ${expected}, and nothing waits here`)
}

/** Returns the nonce of the next transaction of an account, after this block. */
export function nonceAt({ accounts }: State, address: string, block: number): number {
  return Number(accounts.at(address, block)?.nonce ?? 0n)
}
