/**
 * The turns of those who write to one SQLite file. SQLite has no queue for its lock: who finds it taken looks again
 * after pauses that grow to 100 ms, and a connection that writes without pause has it again by then.
 */
import type { DatabaseSync } from 'node:sqlite'

/** The time for which the lock of another connection is waited for. */
export const BUSY_TIMEOUT_MS = 5000
/** The pause between two looks at a lock that is taken. */
const LOOK_EVERY_MS = 0.5
/** The time that a connection which had to wait leaves to others between its transactions: some of their looks. */
const LEFT_TO_OTHERS_MS = 1.5
/** The time for which a connection that had to wait takes others for writing still. */
const REMEMBERED_MS = 1000
/** The result code of SQLite for a lock that is taken; extended codes have it in their lowest byte. */
const BUSY = 5

/** Creates the function that begins the transactions of a connection. */
export function createTurns(database: DatabaseSync): () => void {
  let waitedAt = -Infinity
  let begunAt = -Infinity
  return () => {
    const from = performance.now()
    if (from - waitedAt < REMEMBERED_MS && from - begunAt < REMEMBERED_MS) pause(LEFT_TO_OTHERS_MS)
    if (beginTransaction(database, 'immediate')) waitedAt = performance.now()
    begunAt = performance.now()
  }
}

/** Begins a transaction as soon as no other connection has the lock; returns whether it was waited for. */
export function beginTransaction(database: DatabaseSync, kind: 'immediate' | 'exclusive'): boolean {
  const until = performance.now() + BUSY_TIMEOUT_MS
  database.exec('pragma busy_timeout = 0')
  try {
    for (let looks = 0; ; looks++) {
      if (couldBegin(database, kind, performance.now() >= until)) return looks > 0
      pause(LOOK_EVERY_MS)
    }
  } finally {
    database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

/** Begins a transaction unless the lock is taken, for which `isLast` makes it throw. */
function couldBegin(database: DatabaseSync, kind: 'immediate' | 'exclusive', isLast: boolean): boolean {
  try {
    database.exec(`begin ${kind}`)
    return true
  } catch (error) {
    if (isLast || ((error as { readonly errcode?: number }).errcode ?? 0) % 256 !== BUSY) throw error
    return false
  }
}

const never = new Int32Array(new SharedArrayBuffer(4))

function pause(milliseconds: number): void {
  Atomics.wait(never, 0, 0, milliseconds)
}
