// Shares as they are stored, each with what it was brought for: the words of ../stored.ts hold here too, and both keep the same bytes.
import { equal, ID, Sharing, TICKET } from './contract'
import { loadValue, storeValue } from './host'

const SHARES = 'SHARES'
const APART = 'APART'
const ADDRESS: i32 = 21
const OWNER: i32 = TICKET
const COMMITMENT: i32 = OWNER + ADDRESS
const SHARE: i32 = COMMITMENT + 32

export function loadShare(sharing: Sharing): Uint8Array | null {
  const binding = bindingOf(sharing)
  const rows = rowsOf(sharing.ticket)
  for (let at = 0; at < rows.length; at++) {
    if (equal(rows[at].subarray(0, SHARE), binding)) return rows[at].subarray(SHARE)
  }
  return null
}

export function storeShare(sharing: Sharing, share: Uint8Array): void {
  const before = rowsOf(sharing.ticket)
  const rows = before.slice(0)
  rows.unshift(concat(bindingOf(sharing), share))
  replaceRows(before, rows)
}

export function forgetShare(ticket: Uint8Array): void {
  const before = rowsOf(ticket)
  let owner: Uint8Array | null = null
  for (let at = 0; at < before.length; at++) if (equal(ticketOf(before[at]), ticket)) owner = ownerOf(before[at])
  if (!owner) return
  const rows: Uint8Array[] = []
  for (let at = 0; at < before.length; at++) if (!equal(ownerOf(before[at]), <Uint8Array>owner)) rows.push(before[at])
  replaceRows(before, rows)
}

function bindingOf(sharing: Sharing): Uint8Array {
  return concat(concat(sharing.ticket, sharing.owner), sharing.commitment)
}

function ticketOf(row: Uint8Array): Uint8Array {
  return row.subarray(0, TICKET)
}

function ownerOf(row: Uint8Array): Uint8Array {
  return row.subarray(OWNER, COMMITMENT)
}

function rowsOf(ticket: Uint8Array): Uint8Array[] {
  const rows: Uint8Array[] = []
  let stored = loadValue(SHARES, idOf(ticket))
  while (stored) {
    rows.push(stored.subarray(TICKET))
    const next = ticketOf(stored)
    stored = isNone(next) ? null : loadValue(APART, next)
  }
  return rows
}

function replaceRows(before: Uint8Array[], rows: Uint8Array[]): void {
  for (let at = 1; at < before.length; at++) storeValue(APART, ticketOf(before[at]), null)
  for (let at = 1; at < rows.length; at++) storeValue(APART, ticketOf(rows[at]), concat(behind(rows, at), rows[at]))
  if (rows.length > 0) storeValue(SHARES, idOf(ticketOf(rows[0])), concat(behind(rows, 0), rows[0]))
  else storeValue(SHARES, idOf(ticketOf(before[0])), null)
}

/** The ticket of the row after that, or zeros. */
function behind(rows: Uint8Array[], at: i32): Uint8Array {
  return at + 1 < rows.length ? ticketOf(rows[at + 1]) : new Uint8Array(TICKET)
}

function isNone(ticket: Uint8Array): bool {
  for (let at = 0; at < ticket.length; at++) if (ticket[at] != 0) return false
  return true
}

function idOf(ticket: Uint8Array): Uint8Array {
  return ticket.subarray(TICKET - ID)
}

function concat(one: Uint8Array, other: Uint8Array): Uint8Array {
  const whole = new Uint8Array(one.length + other.length)
  whole.set(one)
  whole.set(other, one.length)
  return whole
}
