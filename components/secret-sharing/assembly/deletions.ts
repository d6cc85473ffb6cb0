// Shares that the contract is to delete: the words of ../deletions.ts hold here too, and both keep the same bytes.
import { registerDeleted, TICKET, toDelete } from './contract'
import { loadValue, now, schedule, storeValue } from './host'
import { forgetShare } from './stored'
import { RESEND_MS } from './unconfirmed'

const DELETION_TIMER: i32 = 3
const DELETED_AT_ONCE: i32 = 64
const BUCKET = 'DELETIONS'

export function deleteShares(contract: Uint8Array, engine: Uint8Array): void {
  const time = now()
  const stored = loadValue(BUCKET, reachedKey())
  const storedSince = stored ? bswap(load<u64>(stored.dataStart + 8)) : 0
  const isKnown = stored != null && storedSince <= time && storedSince > time - RESEND_MS
  const place = stored && isKnown ? bswap(load<u64>(stored.dataStart)) : 0
  const found = toDelete(engine, place, DELETED_AT_ONCE)
  const tickets = found.tickets
  if (tickets.length == 0) {
    if (stored && !isKnown) storeValue(BUCKET, reachedKey(), null)
    return
  }
  for (let end = TICKET; end <= tickets.length; end += TICKET) forgetShare(tickets.subarray(end - TICKET, end))
  registerDeleted(tickets, contract)
  const since = isKnown ? storedSince : time
  const reached = new Uint8Array(16)
  store<u64>(reached.dataStart, bswap(found.next))
  store<u64>(reached.dataStart + 8, bswap(since))
  storeValue(BUCKET, reachedKey(), reached)
  const end = since + RESEND_MS
  const isLast = tickets.length < DELETED_AT_ONCE * TICKET
  schedule(DELETION_TIMER, isLast && end > time ? end - time : 0)
}

function reachedKey(): Uint8Array {
  return Uint8Array.wrap(String.UTF8.encode('reached'))
}
