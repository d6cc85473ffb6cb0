/**
 * The state of a local chain: accounts, code and storage as they were at every block. Of each value all versions are
 * kept, with the block that made them: a call at an old block goes back from the newest, in leaps.
 */
import type { StateManagerInterface } from '@ethereumjs/common'
import { type Account, type Address, createAccount } from '@ethereumjs/util'
import { keccak_256 } from '@noble/hashes/sha3.js'

/** Values by a key, each since some block. */
interface Versions<T> {
  at(key: string, block: number): T | undefined
  add(key: string, block: number, value: T | undefined): void
}

interface Version<T> {
  readonly block: number
  readonly value: T | undefined
  /** How many there are before it. */
  readonly depth: number
  readonly before: Version<T> | undefined
  /** A version further back, so that any block is a few steps away. */
  readonly farBefore: Version<T> | undefined
}

/**
 * Makes a map that keeps every version of a value. Each version refers to the one before it, which takes less memory
 * than an array, as most keys have one or two.
 */
function createVersions<T>(): Versions<T> {
  const newest = new Map<string, Version<T>>()
  return {
    at: (key, block) => {
      let version = newest.get(key)
      while (version !== undefined && version.block > block) {
        const { before, farBefore } = version
        version = farBefore !== undefined && farBefore.block > block ? farBefore : before
      }
      return version?.value
    },
    add: (key, block, value) => {
      const before = newest.get(key)
      newest.set(key, { block, value, depth: (before?.depth ?? -1) + 1, before, farBefore: findFarBefore(before) })
    },
  }
}

/**
 * Returns the version to which the next one leaps: as far as the last two leaps where those are equally long, otherwise
 * the one before (E. W. Myers, An applicative random-access stack, 1983).
 */
function findFarBefore<T>(before: Version<T> | undefined): Version<T> | undefined {
  const next = before?.farBefore
  const last = next?.farBefore
  if (before === undefined || next === undefined || last === undefined) return before
  return before.depth - next.depth === next.depth - last.depth ? last : before
}

export interface State {
  readonly accounts: Versions<Account>
  readonly code: Versions<Uint8Array>
  readonly storage: Versions<Uint8Array>
}

export function emptyState(): State {
  return { accounts: createVersions(), code: createVersions(), storage: createVersions() }
}

/** The state that one execution after another works on. */
export interface WorkingState {
  readonly manager: StateManagerInterface
  /** Forgets what the last execution changed, and begins with the state as it was after `block`. */
  readonly begin: (block: number) => Changes
}

/** The changes of one execution. */
export interface Changes {
  /** Makes the changes part of the state, as of this block. */
  keep(block: number): void
}

export function workingState(state: State): WorkingState {
  let layers = layersOn(state, 0)
  const accountOf = (address: Address): Account | undefined => copyAccount(layers.accounts.get(address.toString()))
  const put = (address: Address, account: Account | undefined): void =>
    layers.accounts.set(address.toString(), copyAccount(account))
  const putFields = (address: Address, fields: object): void =>
    put(address, Object.assign(accountOf(address) ?? createAccount({}), fields))
  const codeOf = (address: Address): Uint8Array => layers.code.get(address.toString()) ?? NOTHING
  return {
    begin: (block) => {
      const begun = layersOn(state, block)
      layers = begun
      return { keep: (number) => keepLayers(begun, number) }
    },
    manager: {
      getAccount: (address) => Promise.resolve(accountOf(address)),
      putAccount: (address, account) => doing(() => put(address, account)),
      deleteAccount: (address) => doing(() => forgetAll(layers, address.toString())),
      modifyAccountFields: (address, fields) => doing(() => putFields(address, fields)),
      getCode: (address) => Promise.resolve(codeOf(address)),
      getCodeSize: (address) => Promise.resolve(codeOf(address).length),
      putCode: (address, bytes) => {
        layers.code.set(address.toString(), bytes)
        return doing(() => putFields(address, { codeHash: keccak_256(bytes) }))
      },
      getStorage: (address, key) => Promise.resolve(layers.storage.get(slot(address, key)) ?? NOTHING),
      putStorage: (address, key, value) => doing(() => layers.storage.set(slot(address, key), value)),
      // Only what is being created is cleared, and has nothing in the state yet.
      clearStorage: (address) => doing(() => layers.storage.forget(address.toString())),
      originalStorageCache: {
        get: (address, key) => Promise.resolve(state.storage.at(slot(address, key), layers.block) ?? NOTHING),
        clear: () => undefined,
      },
      checkpoint: () => doing(() => layers.undo.checkpoint()),
      commit: () => doing(() => layers.undo.commit()),
      revert: () => doing(() => layers.undo.revert()),
      ...WITHOUT_ROOTS,
    },
  }
}

const NOTHING = new Uint8Array()

/** The state that an execution reads and writes: its own changes, on the state after `block`. */
interface Layers {
  readonly block: number
  readonly accounts: Layer<Account>
  readonly code: Layer<Uint8Array>
  readonly storage: Layer<Uint8Array>
  readonly undo: UndoLog
}

function layersOn(state: State, block: number): Layers {
  const undo = undoLog()
  return {
    block,
    accounts: layer(state.accounts, block, undo.add),
    code: layer(state.code, block, undo.add),
    storage: layer(state.storage, block, undo.add),
    undo,
  }
}

function keepLayers({ accounts, code, storage }: Layers, block: number): void {
  accounts.keep(block)
  code.keep(block)
  storage.keep(block)
}

/** Removes an account that the same transaction made (EIP-6780), so that all of its storage is in these layers. */
function forgetAll({ accounts, code, storage }: Layers, address: string): void {
  accounts.set(address, undefined)
  code.set(address, undefined)
  storage.forget(address)
}

function doing(change: () => unknown): Promise<void> {
  change()
  return Promise.resolve()
}

function slot(address: Address, key: Uint8Array): string {
  return `${address.toString()}:${Buffer.from(key).toString('hex')}`
}

/** Copies an account, since the virtual machine changes the accounts that it is given. */
function copyAccount(account: Account | undefined): Account | undefined {
  if (account === undefined) return undefined
  const { nonce, balance, storageRoot, codeHash } = account
  return createAccount({ nonce, balance, storageRoot, codeHash })
}

interface Layer<T> {
  get(key: string): T | undefined
  set(key: string, value: T | undefined): void
  /** Unmakes what was set with keys that begin so. */
  forget(prefix: string): void
  keep(block: number): void
}

function layer<T>(below: Versions<T>, block: number, log: (undo: () => void) => void): Layer<T> {
  const changed = new Map<string, T | undefined>()
  const set = (key: string, value: T | undefined): void => {
    const [had, before] = [changed.has(key), changed.get(key)]
    log(() => (had ? changed.set(key, before) : changed.delete(key)))
    changed.set(key, value)
  }
  return {
    get: (key) => (changed.has(key) ? changed.get(key) : below.at(key, block)),
    set,
    forget: (prefix) => {
      for (const key of [...changed.keys()]) if (key.startsWith(prefix)) set(key, undefined)
    },
    keep: (number) => {
      for (const [key, value] of changed) below.add(key, number, value)
    },
  }
}

/** The changes of an execution since its checkpoints, so that they can be taken back. */
interface UndoLog {
  readonly add: (undo: () => void) => void
  readonly checkpoint: () => void
  readonly commit: () => void
  /** Takes back what was changed since the last checkpoint. */
  readonly revert: () => void
}

function undoLog(): UndoLog {
  const undos: (() => void)[] = []
  const marks: number[] = []
  return {
    add: (undo) => undos.push(undo),
    checkpoint: () => marks.push(undos.length),
    commit: () => void marks.pop(),
    revert: () => {
      for (const undo of undos.splice(marks.pop() ?? 0).reverse()) undo()
    },
  }
}

function refuseStateRoots(): never {
  throw new Error('a local chain has no state roots')
}

const WITHOUT_ROOTS = {
  getStateRoot: refuseStateRoots,
  setStateRoot: refuseStateRoots,
  hasStateRoot: refuseStateRoots,
  shallowCopy: refuseStateRoots,
  clearCaches: () => undefined,
}
