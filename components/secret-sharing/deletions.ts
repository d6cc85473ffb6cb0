/**
 * Shares that the contract is to delete: forgotten some at a time, in one transaction each. Where the engine has come
 * is kept until it sees a block of a minute later, so that it goes on before the contract has heard of what was sent;
 * after that it begins with what the contract still waits for.
 */
import type { Context } from 'vouchsafe/component'
import { concat } from '../bytes.ts'
import { isOver, lookTime } from '../sending.ts'
import { registerDeleted, TICKET, toDelete } from './contract.ts'
import { forgetShare } from './stored.ts'
import { fromBytes, toBytes } from './unconfirmed.ts'

/** The timer that goes on, or begins anew. */
export const DELETION_TIMER = 3
/** The most deletions of one run, which are in one transaction: half as many largest shares as a run may hold. */
const DELETED_AT_ONCE = 32

const BUCKET = 'DELETIONS'
const REACHED = 'reached'

/** A place in the list of the contract, and until when the places before it are waited for. */
interface Reached {
  readonly place: bigint
  readonly until: number
}

export function deleteShares(context: Context): void {
  const stored = reached(context)
  const current = stored !== undefined && !isOver(stored.until, context) ? stored : undefined
  const { tickets, next } = toDelete(current?.place ?? 0n, DELETED_AT_ONCE, context)
  if (tickets.length === 0) {
    if (stored !== undefined && current === undefined) context.storage(BUCKET).delete(REACHED)
    return
  }
  for (let end = TICKET; end <= tickets.length; end += TICKET) forgetShare(tickets.slice(end - TICKET, end), context)
  registerDeleted(tickets, context)
  const until = current?.until ?? lookTime(context)
  context.storage(BUCKET).set(REACHED, concat([toBytes(next, 8), toBytes(BigInt(until), 8)]))
  const isLast = tickets.length < DELETED_AT_ONCE * TICKET
  context.timers.schedule(DELETION_TIMER, isLast ? Math.max(0, until - context.now().getTime()) : 0)
}

function reached(context: Context): Reached | undefined {
  const stored = context.storage(BUCKET).get(REACHED)
  return stored && { place: fromBytes(stored.subarray(0, 8)), until: Number(fromBytes(stored.subarray(8))) }
}
