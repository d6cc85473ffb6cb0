/**
 * Shares as they are stored, each with what it was brought for: the ticket of its sharing, the owner, the commitment.
 * A share is found by these alone. Where the chain took back blocks, and an id belongs to somebody else, the share of
 * before is set apart: neither given to the new owner nor lost, since the old chain may come back.
 */
import type { Context } from 'vouchsafe/component'
import { concat, equal, fromHex } from '../bytes.ts'
import { ID, type Sharing, TICKET } from './contract.ts'

/** The newest share of each id, under the 16 bytes of the id. */
const SHARES = 'SHARES'
/** The older shares, under their tickets. */
const APART = 'APART'

const ADDRESS = 21
const OWNER = TICKET
const COMMITMENT = OWNER + ADDRESS
const SHARE = COMMITMENT + 32
const NONE = new Uint8Array(TICKET)
/**
 * The most bytes of a share: a row with the ticket before it fits into a value of 1,048,576 bytes, the default of
 * `limits.storageValueBytes`. All engines of a contract have this limit, whatever their operators set.
 */
export const LARGEST_SHARE = 1_048_576 - TICKET - SHARE

/** Loads the share that was uploaded for this sharing; undefined when there is none, whatever else the id had. */
export function loadShare(sharing: Sharing, context: Context): Uint8Array | undefined {
  const binding = bindingOf(sharing)
  return rowsOf(sharing.ticket, context)
    .find((row) => equal(row.subarray(0, SHARE), binding))
    ?.subarray(SHARE)
}

/** Stores the share of a sharing that has none yet. */
export function storeShare(sharing: Sharing, share: Uint8Array, context: Context): void {
  const rows = rowsOf(sharing.ticket, context)
  replaceRows(rows, [concat([bindingOf(sharing), share]), ...rows], context)
}

/** Deletes the share of a ticket, and whatever its owner has had under the same id on other forks of the chain. */
export function forgetShare(ticket: Uint8Array, context: Context): void {
  const rows = rowsOf(ticket, context)
  const owner = rows.find((row) => equal(ticketOf(row), ticket))?.subarray(OWNER, COMMITMENT)
  if (owner === undefined) return
  const left = rows.filter((row) => !equal(row.subarray(OWNER, COMMITMENT), owner))
  replaceRows(rows, left, context)
}

function bindingOf({ ticket, owner, commitment }: Sharing): Uint8Array {
  return concat([ticket, fromHex(owner), commitment])
}

function ticketOf(row: Uint8Array): Uint8Array {
  return row.subarray(0, TICKET)
}

/** Loads all rows of the id of a ticket, the newest first. Each is stored behind the ticket of the next. */
function rowsOf(ticket: Uint8Array, context: Context): readonly Uint8Array[] {
  const rows: Uint8Array[] = []
  let stored = context.storage(SHARES).get(idOf(ticket))
  while (stored !== undefined) {
    rows.push(stored.subarray(TICKET))
    const next = ticketOf(stored)
    stored = equal(next, NONE) ? undefined : context.storage(APART).get(next)
  }
  return rows
}

function replaceRows(before: readonly Uint8Array[], rows: readonly Uint8Array[], context: Context): void {
  for (const row of before.slice(1)) context.storage(APART).delete(ticketOf(row))
  const [newest, ...older] = rows
  const behind = (at: number): Uint8Array => (older[at] === undefined ? NONE : ticketOf(older[at]))
  for (const [at, row] of older.entries()) context.storage(APART).set(ticketOf(row), concat([behind(at + 1), row]))
  const [first = NONE] = newest === undefined ? before : [newest]
  const id = idOf(ticketOf(first))
  if (newest === undefined) context.storage(SHARES).delete(id)
  else context.storage(SHARES).set(id, concat([behind(0), newest]))
}

function idOf(ticket: Uint8Array): Uint8Array {
  return ticket.slice(TICKET - ID)
}
