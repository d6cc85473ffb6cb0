// Shares that are stored, and of which the contract may not know yet: a queue in the engine's storage, oldest first. The words of
// ../unconfirmed.ts hold here too, and both keep the same bytes.
import { Id, ownIndex, registerShared, sharingOf } from './contract'
import { fail, loadValue, now, schedule, storeValue } from './host'

const RESEND_MS: u64 = 60_000
const RESEND_TIMER: i32 = 1
const LOOKED_AT: u64 = 64
const SENT: i32 = 8

const BUCKET = 'UNCONFIRMED'

let head: u64 = 0
let tail: u64 = 0

export function announce(id: Id, contract: Uint8Array): void {
  registerShared(id, contract)
  readEnds()
  const wasEmpty = head == tail
  append(id)
  writeEnds()
  if (wasEmpty) schedule(RESEND_TIMER, RESEND_MS)
}

export function announceAgain(contract: Uint8Array, engine: Uint8Array): void {
  readEnds()
  if (head == tail) return
  const latest = now() - RESEND_MS
  const end = tail
  const last = head + LOOKED_AT
  let sent = 0
  while (head < end && head < last && sent < SENT) {
    const entry = entryAt(head)
    if (sentAt(entry) > latest) break
    storeValue(BUCKET, key(head++), null)
    const id = entry.subarray(0, 16)
    if (!isUnconfirmed(id, engine)) continue
    registerShared(id, contract)
    append(id)
    sent++
  }
  writeEnds()
  const more = head < end && sentAt(entryAt(head)) <= latest
  if (head < tail) schedule(RESEND_TIMER, more ? 0 : RESEND_MS)
}

function isUnconfirmed(id: Id, engine: Uint8Array): bool {
  const sharing = sharingOf(id)
  return sharing != null && !sharing.deleting && !sharing.uploaded(ownIndex(engine))
}

function endsKey(): Uint8Array {
  return Uint8Array.wrap(String.UTF8.encode('ends'))
}

function readEnds(): void {
  const stored = loadValue(BUCKET, endsKey())
  head = stored ? bswap(load<u64>(stored.dataStart)) : 0
  tail = stored ? bswap(load<u64>(stored.dataStart + 8)) : 0
}

function writeEnds(): void {
  const ends = new Uint8Array(16)
  store<u64>(ends.dataStart, bswap(head))
  store<u64>(ends.dataStart + 8, bswap(tail))
  storeValue(BUCKET, endsKey(), ends)
}

function append(id: Id): void {
  const entry = new Uint8Array(24)
  entry.set(id)
  store<u64>(entry.dataStart + 16, bswap(now()))
  storeValue(BUCKET, key(tail++), entry)
}

function entryAt(at: u64): Uint8Array {
  const entry = loadValue(BUCKET, key(at))
  if (!entry) fail('the queue of unconfirmed shares has a hole')
  return entry as Uint8Array
}

function sentAt(entry: Uint8Array): u64 {
  return bswap(load<u64>(entry.dataStart + 16))
}

function key(at: u64): Uint8Array {
  const bytes = new Uint8Array(8)
  store<u64>(bytes.dataStart, bswap(at))
  return bytes
}
