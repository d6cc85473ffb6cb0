/**
 * What a call would change: collected in the worker, given back with its outcome, and gone with a trap. All of it counts towards
 * `limits.memoryBytes`, so that a component cannot have the worker keep what its own memory could not.
 */

import type { Effects, RuntimeLimits, StorageChange } from './runtime.ts'
import { overLimit } from './trap.ts'

export interface CollectedEffects {
  /** The value that this call has stored; undefined when it has not touched the key. */
  readonly stored: (bucket: Uint8Array, key: Uint8Array) => { readonly value: Uint8Array | undefined } | undefined
  readonly store: (change: StorageChange) => void
  /** What was loaded is loaded once: a call sees one state. */
  readonly loaded: (bucket: Uint8Array, key: Uint8Array, value: Uint8Array | undefined) => void
  readonly transact: (payload: Uint8Array, gas: bigint) => void
  readonly timer: (timer: Effects['timers'][number]) => void
  readonly timers: () => Effects['timers']
  readonly spend: (spent: Effects['spent'][number]) => void
  readonly log: (text: string) => void
  /** Counts bytes that are kept for the component outside its memory. Traps when they are too many. */
  readonly hold: (bytes: number) => void
  readonly logged: () => readonly string[]
  /** Undefined when nothing was changed, read or logged. */
  readonly done: () => Effects | undefined
}

/** What a change costs beside its bytes. */
const OVERHEAD = 128

export function collectEffects(limits: RuntimeLimits): CollectedEffects {
  const overlay = new Map<
    string,
    { bucket: Uint8Array; key: Uint8Array; value: Uint8Array | undefined; own: boolean }
  >()
  const transactions: Effects['transactions'][number][] = []
  const timers = new Map<number, Effects['timers'][number]>()
  const spent: Effects['spent'][number][] = []
  const log = boundedLog(limits.logBytes)
  let held = 0
  let reads = 0
  const hold = (bytes: number): void => {
    held += bytes + OVERHEAD
    if (held > limits.memoryBytes) {
      overLimit('memoryBytes', limits.memoryBytes, 'what the call reads, stores and sends is too much')
    }
  }
  return {
    stored: (bucket, key) => overlay.get(nameOf(bucket, key)),
    store: ({ bucket, key, value }) => {
      hold(bucket.length + key.length + (value?.length ?? 0))
      const name = nameOf(bucket, key)
      // Taken out first: the order is that of the last changes.
      overlay.delete(name)
      overlay.set(name, { bucket, key, value, own: true })
    },
    loaded: (bucket, key, value) => {
      hold(bucket.length + key.length + (value?.length ?? 0))
      reads += 1
      overlay.set(nameOf(bucket, key), { bucket, key, value, own: false })
    },
    transact: (payload, gas) => {
      if (transactions.length >= limits.transactions) {
        overLimit('transactions', limits.transactions, 'too many transactions in one call')
      }
      hold(payload.length)
      transactions.push({ payload, gas })
    },
    timer: (timer) => {
      if (!timers.has(timer.id) && timers.size >= limits.timers) {
        overLimit('timers', limits.timers, 'too many timers in one call')
      }
      hold('payload' in timer ? timer.payload.length : 0)
      timers.delete(timer.id)
      timers.set(timer.id, timer)
    },
    timers: () => [...timers.values()],
    spend: (request) => {
      if (!spent.some(({ id }) => id === request.id)) spent.push(request)
    },
    log: log.add,
    hold,
    logged: log.lines,
    done: () => {
      const storage = [...overlay.values()].filter(({ own }) => own)
      const changes = storage.map(({ bucket, key, value }) => ({ bucket, key, value }))
      const lists = [changes, transactions, [...timers.values()], spent, log.lines()] as const
      if (reads === 0 && lists.every(({ length }) => length === 0)) return undefined
      return { storage: changes, transactions, timers: lists[2], spent, log: lists[4], reads }
    },
  }
}

function nameOf(bucket: Uint8Array, key: Uint8Array): string {
  return `${bucket.length}:${latin1(bucket)}${latin1(key)}`
}

function latin1({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1')
}

/** More than its bytes is cut off and said: a component that says too much is still right in what it does. */
function boundedLog(most: number): { add: (text: string) => void; lines: () => readonly string[] } {
  const lines: string[] = []
  let left = most
  return {
    add: (text) => {
      if (left <= 0) return
      const bytes = Buffer.from(text)
      // A line costs something even when it is empty.
      left -= bytes.length + 1
      if (left > 0) lines.push(text)
      else lines.push(bytes.subarray(0, bytes.length + left).toString('utf8'), `(cut: limits.logBytes is ${most})`)
    },
    lines: () => lines,
  }
}
