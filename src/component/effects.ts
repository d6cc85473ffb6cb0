/**
 * Collects the effects of a call in the worker. The worker returns them with the outcome, and discards them after a
 * trap. All effects count towards `limits.memoryBytes`, so that a component cannot use more memory of the worker than
 * its own memory may have.
 */
import type { Address } from '../offchain/address.ts'
import type { SentEffects } from './messages.ts'
import type { CallEffects, RuntimeLimits, StorageChange } from './runtime.ts'
import { MAX_HELD_OBJECTS, trap, trapOverLimit } from './trap.ts'

export interface EffectCollector {
  /** Returns the value that this call has stored or loaded before; undefined when it has not touched the key. */
  readonly getSeen: (bucket: Uint8Array, key: Uint8Array) => { readonly value: Uint8Array | undefined } | undefined
  readonly store: (change: StorageChange) => void
  /** Keeps a value that was loaded from the engine, so that the call loads it once and sees a consistent state. */
  readonly noteLoaded: (bucket: Uint8Array, key: Uint8Array, value: Uint8Array | undefined) => void
  readonly transact: (payload: Uint8Array, gas: bigint) => void
  readonly changeTimer: (timer: CallEffects['timers'][number]) => void
  readonly listTimers: () => CallEffects['timers']
  readonly spend: (request: CallEffects['spentRequests'][number]) => void
  /** Records the signer of a request whose signature was accepted. */
  readonly noteSigner: (address: Address) => void
  readonly log: (text: string) => void
  /** Counts bytes that the worker holds for the component outside its memory. Traps when the limit is exceeded. */
  readonly reserveBytes: (bytes: number) => void
  readonly getLog: () => readonly string[]
  readonly finish: () => SentEffects
}

/** The approximate memory of a change beside its bytes. */
const OVERHEAD_BYTES = 512

/**
 * The most bytes that a call may store, where `limits.storageValueBytes` does not allow more for a single value. The
 * engine's thread, which serves all requests, encrypts them at the commit of the call: 0.2 s for so many.
 */
const MAX_STORED_BYTES = 8 * 1024 * 1024

interface Entry extends StorageChange {
  /** Whether the call itself stored the value; false for one that was only loaded. */
  readonly isOwn: boolean
}

/** Creates an empty collector of the effects of one call. Its methods trap when the call exceeds a limit. */
export function createEffectCollector(limits: RuntimeLimits): EffectCollector {
  const reserveBytes = createByteBudget(limits.memoryBytes)
  const overlay = new Map<string, Entry>()
  const transactions: CallEffects['transactions'][number][] = []
  const timers = new Map<number, CallEffects['timers'][number]>()
  const spentRequests: CallEffects['spentRequests'][number][] = []
  const signers = new Set<Address>()
  const log = createBoundedLog(limits.logBytes)
  let reads = 0
  const putEntry = createOverlayWriter(overlay, limits, reserveBytes)
  return {
    getSeen: (bucket, key) => overlay.get(entryName(bucket, key)),
    store: (change) => putEntry({ ...change, isOwn: true }),
    noteLoaded: (bucket, key, value) => {
      putEntry({ bucket, key, value, isOwn: false })
      reads += 1
    },
    ...createSenders(limits, reserveBytes, transactions, timers),
    spend: (request) => {
      if (!spentRequests.some(({ id }) => id === request.id)) spentRequests.push(request)
    },
    noteSigner: (address) => void signers.add(address),
    log: log.add,
    reserveBytes,
    getLog: log.lines,
    finish: () => {
      const common = { spentRequests, signers: [...signers], log: log.lines(), reads }
      return packEffects({ storage: listChanges(overlay), transactions, timers: [...timers.values()], ...common })
    },
  }
}

function createOverlayWriter(
  overlay: Map<string, Entry>,
  limits: RuntimeLimits,
  reserveBytes: (bytes: number) => void,
): (entry: Entry) => void {
  const mostStored = Math.max(MAX_STORED_BYTES, limits.storageValueBytes + 2 * limits.storageKeyBytes)
  let [changes, storedBytes] = [0, 0]
  return (entry) => {
    const name = entryName(entry.bucket, entry.key)
    const before = overlay.get(name)
    if (entry.isOwn && before?.isOwn !== true) {
      checkCount(limits, 'storageChanges', changes)
      changes += 1
    }
    storedBytes += ownBytes(entry) - ownBytes(before)
    if (storedBytes > mostStored) trap(`the call stores too many bytes: ${storedBytes}; the most are ${mostStored}`)
    reserveBytes(sizeOf(entry))
    // The entry is removed first, so that the map keeps the order of the last changes.
    overlay.delete(name)
    overlay.set(name, entry)
  }
}

function sizeOf({ bucket, key, value }: StorageChange): number {
  return bucket.length + key.length + (value?.length ?? 0)
}

function ownBytes(entry: Entry | undefined): number {
  return entry?.isOwn === true ? sizeOf(entry) : 0
}

function createSenders(
  limits: RuntimeLimits,
  reserveBytes: (bytes: number) => void,
  transactions: CallEffects['transactions'][number][],
  timers: Map<number, CallEffects['timers'][number]>,
): Pick<EffectCollector, 'transact' | 'changeTimer' | 'listTimers'> {
  return {
    transact: (payload, gas) => {
      checkCount(limits, 'transactions', transactions.length)
      checkLength(limits, 'transactionBytes', payload)
      reserveBytes(payload.length)
      transactions.push({ payload, gas })
    },
    changeTimer: (timer) => {
      if (!timers.delete(timer.id)) checkCount(limits, 'timers', timers.size)
      const payload = 'payload' in timer ? timer.payload : NOTHING
      checkLength(limits, 'timerBytes', payload)
      reserveBytes(payload.length)
      timers.set(timer.id, timer)
    },
    listTimers: () => [...timers.values()],
  }
}

function createByteBudget(most: number): (bytes: number) => void {
  let [heldBytes, heldObjects] = [0, 0]
  return (bytes) => {
    heldBytes += bytes + OVERHEAD_BYTES
    heldObjects += 1
    if (heldObjects > MAX_HELD_OBJECTS) trap(`the call reads, stores and sends more than ${MAX_HELD_OBJECTS} values`)
    if (heldBytes > most) trapOverLimit('memoryBytes', most, 'what the call reads, stores and sends is too much')
  }
}

const NOTHING = new Uint8Array(0)
const COUNTED_NAMES = { transactions: 'transactions', timers: 'timers', storageChanges: 'stored values' } as const

function checkCount(limits: RuntimeLimits, limit: keyof typeof COUNTED_NAMES, count: number): void {
  if (count >= limits[limit]) trapOverLimit(limit, limits[limit], `too many ${COUNTED_NAMES[limit]} in one call`)
}

function checkLength(limits: RuntimeLimits, limit: 'transactionBytes' | 'timerBytes', { length }: Uint8Array): void {
  if (length > limits[limit]) trapOverLimit(limit, limits[limit], `a payload has ${length} bytes`)
}

function listChanges(overlay: ReadonlyMap<string, Entry>): StorageChange[] {
  const changedEntries = [...overlay.values()].filter(({ isOwn }) => isOwn)
  return changedEntries.map(({ bucket, key, value }) => ({ bucket, key, value }))
}

function packEffects(effects: CallEffects): SentEffects {
  const { storage, transactions, timers, spentRequests, signers, log, reads } = effects
  return [storage, transactions, timers, spentRequests, signers, log].every(({ length }) => length === 0)
    ? { reads }
    : effects
}

/** Returns the name of a stored entry, unique in its contract. */
export function entryName(bucket: Uint8Array, key: Uint8Array): string {
  return `${bucket.length}:${latin1(bucket)}${latin1(key)}`
}

function latin1({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1')
}

/** The approximate size of a log line beside its text, so that empty lines count too. */
const LINE_BYTES = 64

/**
 * Makes a log of at most `most` bytes. A longer log is truncated with a note and does not trap, since the component may
 * otherwise work correctly.
 */
function createBoundedLog(most: number): { add: (text: string) => void; lines: () => readonly string[] } {
  const lines: string[] = []
  let remainingBytes = most
  return {
    add: (text) => {
      if (remainingBytes <= 0) return
      const bytes = Buffer.from(text)
      const room = remainingBytes - LINE_BYTES
      remainingBytes = room - bytes.length
      if (remainingBytes > 0) lines.push(text)
      else lines.push(bytes.subarray(0, Math.max(0, room)).toString('utf8'), `(cut: limits.logBytes is ${most})`)
    },
    lines: () => lines,
  }
}
