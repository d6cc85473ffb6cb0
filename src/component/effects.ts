/**
 * Collects the effects of a call in the worker: they are returned with its outcome, and discarded by a trap. All of
 * them count towards `limits.memoryBytes`, so that a component cannot have the worker keep what its own memory could
 * not.
 */
import type { Address } from '../offchain/address.ts'
import type { SentEffects } from './messages.ts'
import type { CallEffects, RuntimeLimits, StorageChange } from './runtime.ts'
import { overLimit } from './trap.ts'

export interface CollectedEffects {
  /** Returns the value that this call has stored; undefined when it has not touched the key. */
  readonly stored: (bucket: Uint8Array, key: Uint8Array) => { readonly value: Uint8Array | undefined } | undefined
  readonly store: (change: StorageChange) => void
  /** Keeps a value that was loaded, which is loaded once, so that a call sees one state. */
  readonly loaded: (bucket: Uint8Array, key: Uint8Array, value: Uint8Array | undefined) => void
  readonly transact: (payload: Uint8Array, gas: bigint) => void
  readonly timer: (timer: CallEffects['timers'][number]) => void
  readonly timers: () => CallEffects['timers']
  readonly spend: (spent: CallEffects['spent'][number]) => void
  /** Notes whose signature was accepted. */
  readonly signed: (address: Address) => void
  readonly log: (text: string) => void
  /** Counts bytes that are kept for the component outside its memory. Traps when they are too many. */
  readonly hold: (bytes: number) => void
  readonly logged: () => readonly string[]
  readonly done: () => SentEffects
}

/** The approximate cost of a change beside its bytes. */
const OVERHEAD = 512

interface Entry extends StorageChange {
  /** Whether the call itself stored the value; false for one that was only loaded. */
  readonly own: boolean
}

export function collectEffects(limits: RuntimeLimits): CollectedEffects {
  const hold = holdUpTo(limits.memoryBytes)
  const overlay = new Map<string, Entry>()
  const transactions: CallEffects['transactions'][number][] = []
  const timers = new Map<number, CallEffects['timers'][number]>()
  const spent: CallEffects['spent'][number][] = []
  const signers = new Set<Address>()
  const log = createBoundedLog(limits.logBytes)
  let reads = 0
  const put = putInto(overlay, limits, hold)
  return {
    stored: (bucket, key) => overlay.get(nameOf(bucket, key)),
    store: (change) => put({ ...change, own: true }),
    loaded: (bucket, key, value) => {
      put({ bucket, key, value, own: false })
      reads += 1
    },
    ...sending(limits, hold, transactions, timers),
    spend: (request) => {
      if (!spent.some(({ id }) => id === request.id)) spent.push(request)
    },
    signed: (address) => void signers.add(address),
    log: log.add,
    hold,
    logged: log.lines,
    done: () => {
      const common = { spent, signers: [...signers], log: log.lines(), reads }
      return asSent({ storage: changesIn(overlay), transactions, timers: [...timers.values()], ...common })
    },
  }
}

function putInto(
  overlay: Map<string, Entry>,
  limits: RuntimeLimits,
  hold: (bytes: number) => void,
): (entry: Entry) => void {
  let changes = 0
  return (entry) => {
    const name = nameOf(entry.bucket, entry.key)
    if (entry.own && overlay.get(name)?.own !== true) {
      below(limits, 'storageChanges', changes)
      changes += 1
    }
    hold(entry.bucket.length + entry.key.length + (entry.value?.length ?? 0))
    // Taken out first: the order is that of the last changes.
    overlay.delete(name)
    overlay.set(name, entry)
  }
}

function sending(
  limits: RuntimeLimits,
  hold: (bytes: number) => void,
  transactions: CallEffects['transactions'][number][],
  timers: Map<number, CallEffects['timers'][number]>,
): Pick<CollectedEffects, 'transact' | 'timer' | 'timers'> {
  return {
    transact: (payload, gas) => {
      below(limits, 'transactions', transactions.length)
      within(limits, 'transactionBytes', payload)
      hold(payload.length)
      transactions.push({ payload, gas })
    },
    timer: (timer) => {
      if (!timers.delete(timer.id)) below(limits, 'timers', timers.size)
      const payload = 'payload' in timer ? timer.payload : NOTHING
      within(limits, 'timerBytes', payload)
      hold(payload.length)
      timers.set(timer.id, timer)
    },
    timers: () => [...timers.values()],
  }
}

function holdUpTo(most: number): (bytes: number) => void {
  let held = 0
  return (bytes) => {
    held += bytes + OVERHEAD
    if (held > most) overLimit('memoryBytes', most, 'what the call reads, stores and sends is too much')
  }
}

const NOTHING = new Uint8Array(0)
const COUNTED = { transactions: 'transactions', timers: 'timers', storageChanges: 'stored values' } as const

function below(limits: RuntimeLimits, limit: keyof typeof COUNTED, count: number): void {
  if (count >= limits[limit]) overLimit(limit, limits[limit], `too many ${COUNTED[limit]} in one call`)
}

function within(limits: RuntimeLimits, limit: 'transactionBytes' | 'timerBytes', { length }: Uint8Array): void {
  if (length > limits[limit]) overLimit(limit, limits[limit], `a payload has ${length} bytes`)
}

function changesIn(overlay: ReadonlyMap<string, Entry>): StorageChange[] {
  const changed = [...overlay.values()].filter(({ own }) => own)
  return changed.map(({ bucket, key, value }) => ({ bucket, key, value }))
}

function asSent(effects: CallEffects): SentEffects {
  const { storage, transactions, timers, spent, signers, log, reads } = effects
  return [storage, transactions, timers, spent, signers, log].every(({ length }) => length === 0) ? { reads } : effects
}

function nameOf(bucket: Uint8Array, key: Uint8Array): string {
  return `${bucket.length}:${latin1(bucket)}${latin1(key)}`
}

function latin1({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1')
}

/** The approximate cost of a line in the operator's log beside its text, so that empty lines count too. */
const LINE_BYTES = 64

/**
 * Makes a log of at most `most` bytes. What is more is cut off and noted in the log, since a component that logs too
 * much may still be right in what it does.
 */
function createBoundedLog(most: number): { add: (text: string) => void; lines: () => readonly string[] } {
  const lines: string[] = []
  let left = most
  return {
    add: (text) => {
      if (left <= 0) return
      const bytes = Buffer.from(text)
      const room = left - LINE_BYTES
      left = room - bytes.length
      if (left > 0) lines.push(text)
      else lines.push(bytes.subarray(0, Math.max(0, room)).toString('utf8'), `(cut: limits.logBytes is ${most})`)
    },
    lines: () => lines,
  }
}
