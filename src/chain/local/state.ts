/**
 * The state of a local chain: accounts, code and storage at every block. Every version of a value is kept, with the
 * block that wrote it. A call at an old block searches back from the newest version, in leaps.
 */
import type { StateManagerInterface } from '@ethereumjs/common'
import { type Account, type Address, createAccount } from '@ethereumjs/util'
import { keccak_256 } from '@noble/hashes/sha3.js'

/** Values by key, each with all its versions. */
interface Versions<T> {
  getAt(key: string, block: number): T | undefined
  add(key: string, block: number, value: T | undefined): void
}

interface Version<T> {
  readonly block: number
  readonly value: T | undefined
  /** The number of versions before this one. */
  readonly depth: number
  readonly before: Version<T> | undefined
  /** A version further back, to reach any block in a few steps. */
  readonly farBefore: Version<T> | undefined
}

/**
 * Makes a map that keeps every version of a value, as a linked list: most keys have one or two versions, for which a
 * list takes less memory than an array.
 */
function createVersions<T>(): Versions<T> {
  const newest = new Map<string, Version<T>>()
  return {
    getAt: (key, block) => {
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
 * Returns the `farBefore` of a version that follows `before`: as far as the last two leaps together when they are
 * equally long, otherwise `before` (E. W. Myers, An applicative random-access stack, 1983).
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

export function createState(): State {
  return { accounts: createVersions(), code: createVersions(), storage: createVersions() }
}

/** The state on which executions run, one at a time. */
export interface WorkingState {
  readonly manager: StateManagerInterface
  /** Discards the changes of the last execution, and begins a new one on the state after `block`. */
  readonly begin: (block: number) => Changes
}

/** The changes of one execution. */
export interface Changes {
  /** Adds the changes to the state, as versions of this block. */
  apply(block: number): void
}

/** Makes the working state of a virtual machine on the state of a chain. */
export function createWorkingState(state: State): WorkingState {
  let layers = createLayers(state, 0)
  const accountOf = (address: Address): Account | undefined => copyAccount(layers.accounts.get(address.toString()))
  const putAccount = (address: Address, account: Account | undefined): void =>
    layers.accounts.set(address.toString(), copyAccount(account))
  const putFields = (address: Address, fields: object): void =>
    putAccount(address, Object.assign(accountOf(address) ?? createAccount({}), fields))
  const codeOf = (address: Address): Uint8Array => layers.code.get(address.toString()) ?? NOTHING
  return {
    begin: (block) => {
      const newLayers = createLayers(state, block)
      layers = newLayers
      return { apply: (number) => applyLayers(newLayers, number) }
    },
    manager: {
      getAccount: (address) => Promise.resolve(accountOf(address)),
      putAccount: (address, account) => runAsync(() => putAccount(address, account)),
      deleteAccount: (address) => runAsync(() => removeAccount(layers, address.toString())),
      modifyAccountFields: (address, fields) => runAsync(() => putFields(address, fields)),
      getCode: (address) => Promise.resolve(codeOf(address)),
      getCodeSize: (address) => Promise.resolve(codeOf(address).length),
      putCode: (address, bytes) => {
        layers.code.set(address.toString(), bytes)
        return runAsync(() => putFields(address, { codeHash: keccak_256(bytes) }))
      },
      getStorage: (address, key) => Promise.resolve(layers.storage.get(slotKey(address, key)) ?? NOTHING),
      putStorage: (address, key, value) => runAsync(() => layers.storage.set(slotKey(address, key), value)),
      // Only a contract that is being created is cleared; it has no storage in the state yet.
      clearStorage: (address) => runAsync(() => layers.storage.forget(address.toString())),
      originalStorageCache: {
        get: (address, key) => Promise.resolve(state.storage.getAt(slotKey(address, key), layers.block) ?? NOTHING),
        clear: () => undefined,
      },
      checkpoint: () => runAsync(() => layers.undo.checkpoint()),
      commit: () => runAsync(() => layers.undo.commit()),
      revert: () => runAsync(() => layers.undo.revert()),
      ...WITHOUT_ROOTS,
    },
  }
}

const NOTHING = new Uint8Array()

/** The state that an execution reads and writes: its own changes over the state after `block`. */
interface Layers {
  readonly block: number
  readonly accounts: Layer<Account>
  readonly code: Layer<Uint8Array>
  readonly storage: Layer<Uint8Array>
  readonly undo: UndoLog
}

function createLayers(state: State, block: number): Layers {
  const undo = createUndoLog()
  return {
    block,
    accounts: createLayer(state.accounts, block, undo.add),
    code: createLayer(state.code, block, undo.add),
    storage: createLayer(state.storage, block, undo.add),
    undo,
  }
}

function applyLayers({ accounts, code, storage }: Layers, block: number): void {
  accounts.apply(block)
  code.apply(block)
  storage.apply(block)
}

/** Removes an account that the same transaction created (EIP-6780), so that all of its storage is in these layers. */
function removeAccount({ accounts, code, storage }: Layers, address: string): void {
  accounts.set(address, undefined)
  code.set(address, undefined)
  storage.forget(address)
}

function runAsync(change: () => unknown): Promise<void> {
  change()
  return Promise.resolve()
}

function slotKey(address: Address, key: Uint8Array): string {
  return `${address.toString()}:${Buffer.from(key).toString('hex')}`
}

/** Copies an account, because the virtual machine changes the accounts that it gets. */
function copyAccount(account: Account | undefined): Account | undefined {
  if (account === undefined) return undefined
  const { nonce, balance, storageRoot, codeHash } = account
  return createAccount({ nonce, balance, storageRoot, codeHash })
}

interface Layer<T> {
  get(key: string): T | undefined
  set(key: string, value: T | undefined): void
  /** Removes the values whose keys begin with the prefix. */
  forget(prefix: string): void
  apply(block: number): void
}

function createLayer<T>(base: Versions<T>, block: number, log: (undo: () => void) => void): Layer<T> {
  const changedValues = new Map<string, T | undefined>()
  const set = (key: string, value: T | undefined): void => {
    const [hadValue, valueBefore] = [changedValues.has(key), changedValues.get(key)]
    log(() => (hadValue ? changedValues.set(key, valueBefore) : changedValues.delete(key)))
    changedValues.set(key, value)
  }
  return {
    get: (key) => (changedValues.has(key) ? changedValues.get(key) : base.getAt(key, block)),
    set,
    forget: (prefix) => {
      for (const key of [...changedValues.keys()]) if (key.startsWith(prefix)) set(key, undefined)
    },
    apply: (number) => {
      for (const [key, value] of changedValues) base.add(key, number, value)
    },
  }
}

/** Records how to undo the changes of an execution since its checkpoints. */
interface UndoLog {
  readonly add: (undo: () => void) => void
  readonly checkpoint: () => void
  readonly commit: () => void
  /** Undoes the changes since the last checkpoint. */
  readonly revert: () => void
}

function createUndoLog(): UndoLog {
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
