// Shares that are stored, and of which the contract may not know yet: collected for a moment, then in a queue, oldest first. The
// words of ../unconfirmed.ts hold here too, and both keep the same bytes.
import { awaited, equal, registerShared, TICKET } from './contract'
import { fail, loadValue, now, schedule, storeValue } from './host'

const COLLECTED_MS: u64 = 500
const COLLECTED_TIMER: i32 = 2
const MOST_TOGETHER: i32 = 64
export const RESEND_MS: u64 = 60_000
const RESEND_TIMER: i32 = 1
const LOOKED_AT: i32 = 7
const LOOKED_BACK: i32 = 64

const BUCKET = 'UNCONFIRMED'

let head: u64 = 0
let tail: u64 = 0

/** Tickets one after another, and a time behind them. */
class Batch {
  constructor(
    public tickets: Uint8Array,
    public at: u64,
  ) {}

  has(ticket: Uint8Array): bool {
    for (let at = 0; at < this.tickets.length; at += TICKET) {
      if (equal(this.tickets.subarray(at, at + TICKET), ticket)) return true
    }
    return false
  }
}

export function announce(ticket: Uint8Array, wasStored: bool, contract: Uint8Array): void {
  if (wasStored && wasToldLately(ticket)) return
  const time = now()
  const stored = batchAt(collectedKey())
  const collected = stored ? stored : new Batch(new Uint8Array(0), time)
  const before = collected.tickets.length
  let tickets = collected.tickets
  if (!wasStored || !collected.has(ticket)) {
    tickets = new Uint8Array(before + TICKET)
    tickets.set(collected.tickets)
    tickets.set(ticket, before)
    setBatch(collectedKey(), tickets, collected.at)
  }
  if (tickets.length >= MOST_TOGETHER * TICKET || collected.at <= time - RESEND_MS) announceCollected(contract)
  else if (before == 0) schedule(COLLECTED_TIMER, COLLECTED_MS + contract[contract.length - 1])
}

export function announceCollected(contract: Uint8Array): void {
  const collected = batchAt(collectedKey())
  if (!collected) return
  storeValue(BUCKET, collectedKey(), null)
  readEnds()
  const wasEmpty = head == tail
  tell(collected.tickets, contract)
  writeEnds()
  if (wasEmpty) schedule(RESEND_TIMER, RESEND_MS)
}

export function announceAgain(contract: Uint8Array, engine: Uint8Array): void {
  const latest = now() - RESEND_MS
  const collected = batchAt(collectedKey())
  if (collected && collected.at <= latest) announceCollected(contract)
  readEnds()
  if (head == tail) return
  const end = tail
  for (let looked = 0; head < end && looked < LOOKED_AT; looked++) {
    const batch = sentAt(head)
    if (batch.at > latest) break
    storeValue(BUCKET, key(head++), null)
    const missing = awaited(engine, batch.tickets)
    if (missing.length > 0) tell(missing, contract)
  }
  writeEnds()
  const more = head < end && sentAt(head).at <= latest
  if (head < tail) schedule(RESEND_TIMER, more ? 0 : RESEND_MS)
}

function wasToldLately(ticket: Uint8Array): bool {
  const earliest = now() - RESEND_MS
  readEnds()
  let at = tail
  for (let looked = 0; at > head && looked < LOOKED_BACK; looked++) {
    const batch = sentAt(--at)
    if (batch.at <= earliest) return false
    if (batch.has(ticket)) return true
  }
  return false
}

function tell(tickets: Uint8Array, contract: Uint8Array): void {
  registerShared(tickets, contract)
  setBatch(key(tail++), tickets, now())
}

function textKey(text: string): Uint8Array {
  return Uint8Array.wrap(String.UTF8.encode(text))
}

function collectedKey(): Uint8Array {
  return textKey('new')
}

function readEnds(): void {
  const stored = loadValue(BUCKET, textKey('ends'))
  head = stored ? bswap(load<u64>(stored.dataStart)) : 0
  tail = stored ? bswap(load<u64>(stored.dataStart + 8)) : 0
}

function writeEnds(): void {
  const ends = new Uint8Array(16)
  store<u64>(ends.dataStart, bswap(head))
  store<u64>(ends.dataStart + 8, bswap(tail))
  storeValue(BUCKET, textKey('ends'), ends)
}

function sentAt(at: u64): Batch {
  const batch = batchAt(key(at))
  if (!batch) fail('the queue of unconfirmed shares has a hole')
  return batch as Batch
}

function batchAt(at: Uint8Array): Batch | null {
  const stored = loadValue(BUCKET, at)
  if (!stored) return null
  const length = stored.length - 8
  return new Batch(stored.subarray(0, length), bswap(load<u64>(stored.dataStart + <usize>length)))
}

function setBatch(at: Uint8Array, tickets: Uint8Array, time: u64): void {
  const batch = new Uint8Array(tickets.length + 8)
  batch.set(tickets)
  store<u64>(batch.dataStart + <usize>tickets.length, bswap(time))
  storeValue(BUCKET, at, batch)
}

function key(at: u64): Uint8Array {
  const bytes = new Uint8Array(8)
  store<u64>(bytes.dataStart, bswap(at))
  return bytes
}
