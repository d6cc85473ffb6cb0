/**
 * The state of a local chain: accounts, code and storage as they were at every block. Of each value all versions are kept, with
 * the block that made them: a call at an old block goes back from the newest, in leaps.
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
  /** One further back, so that any block is a few steps away. */
  readonly farBefore: Version<T> | undefined
}

/** Each leads to the one before it: of most keys there are one or two, for which an array would take more than they do. */
function versions<T>(): Versions<T> {
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
      newest.set(key, { block, value, depth: (before?.depth ?? -1) + 1, before, farBefore: farBefore(before) })
    },
  }
}

/**
 * Where the last two leaps from here are equally long, as far as both of them; otherwise the one before (E. W. Myers, An applicative
 * random-access stack, 1983).
 */
function farBefore<T>(before: Version<T> | undefined): Version<T> | undefined {
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
  return { accounts: versions(), code: versions(), storage: versions() }
}

/** What one execution sees, and changes for itself alone until it is kept. */
export interface View {
  readonly manager: StateManagerInterface
  /** Makes what was changed part of the state, as of this block. */
  keep(block: number): void
}

/** The state at a block. */
export function viewOf(state: State, block: number): View {
  const undo = undoLog()
  const accounts = layer(state.accounts, block, undo.log)
  const code = layer(state.code, block, undo.log)
  const storage = layer(state.storage, block, undo.log)
  const accountOf = (address: Address): Account | undefined => copyOf(accounts.get(address.toString()))
  const put = (address: Address, account: Account | undefined): void =>
    accounts.set(address.toString(), copyOf(account))
  const putFields = (address: Address, fields: object): void =>
    put(address, Object.assign(accountOf(address) ?? createAccount({}), fields))
  const storageOf = (address: Address, key: Uint8Array): Uint8Array => storage.get(slot(address, key)) ?? NOTHING
  return {
    manager: {
      getAccount: (address) => Promise.resolve(accountOf(address)),
      putAccount: (address, account) => doing(() => put(address, account)),
      deleteAccount: (address) => doing(() => forgetAll({ accounts, code, storage }, address.toString())),
      modifyAccountFields: (address, fields) => doing(() => putFields(address, fields)),
      getCode: (address) => Promise.resolve(code.get(address.toString()) ?? NOTHING),
      getCodeSize: (address) => Promise.resolve(code.get(address.toString())?.length ?? 0),
      putCode: (address, bytes) => {
        code.set(address.toString(), bytes)
        return doing(() => putFields(address, { codeHash: keccak_256(bytes) }))
      },
      getStorage: (address, key) => Promise.resolve(storageOf(address, key)),
      putStorage: (address, key, value) => doing(() => storage.set(slot(address, key), value)),
      // Only what is being created is cleared, and has nothing in the state yet.
      clearStorage: (address) => doing(() => storage.forget(address.toString())),
      originalStorageCache: {
        get: (address, key) => Promise.resolve(state.storage.at(slot(address, key), block) ?? NOTHING),
        clear: () => undefined,
      },
      ...undo.checkpoints,
      ...WITHOUT_ROOTS,
    },
    keep: (number) => {
      accounts.keep(number)
      code.keep(number)
      storage.keep(number)
    },
  }
}

const NOTHING = new Uint8Array()

interface Layers {
  readonly accounts: Layer<Account>
  readonly code: Layer<Uint8Array>
  readonly storage: Layer<Uint8Array>
}

/** Of what the same transaction made (EIP-6780), so that all its storage is in this view. */
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

/** The virtual machine changes the accounts that it is given. */
function copyOf(account: Account | undefined): Account | undefined {
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

function undoLog() {
  const undos: (() => void)[] = []
  const marks: number[] = []
  const checkpoints = {
    checkpoint: () => doing(() => marks.push(undos.length)),
    commit: () => doing(() => marks.pop()),
    revert: () => {
      const mark = marks.pop() ?? 0
      for (const undo of undos.splice(mark).reverse()) undo()
      return Promise.resolve()
    },
  }
  return { log: (undo: () => void) => undos.push(undo), checkpoints }
}

function unsupported(): never {
  throw new Error('a local chain has no state roots')
}

const WITHOUT_ROOTS = {
  getStateRoot: unsupported,
  setStateRoot: unsupported,
  hasStateRoot: unsupported,
  shallowCopy: unsupported,
  clearCaches: () => undefined,
}
