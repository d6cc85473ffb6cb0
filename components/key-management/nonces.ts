/**
 * Nonces between the two rounds of a signature, by the registration of the key and by who asked for them; and how many
 * shares were given out in a day. Shares under one pair of nonces for several messages give the engine's key share
 * away, so a pair belongs to the generation of the engine's storage: after a backup was put back, the pairs in it are
 * worth nothing. All of it goes with the key.
 */
import type { GenNonce, NonceCommitments, Nonces } from '@noble/curves/abstract/frost.js'
import type { Context } from 'vouchsafe/component'
import { equal, toHex } from '../bytes.ts'
import { replace, revive } from './stored.ts'

/** The lifetime of nonces. */
const NONCE_LIFE_MS = 5 * 60_000
/** The most nonces that each caller may have waiting for each key; the oldest make room. */
const NONCES_WAITING = 16

/** The most callers of each key who have nonces waiting, which are deleted at once when the key ends. */
const MAX_CALLERS = 256

const NONCES = 'NONCES'
const COUNTS = 'COUNTS'
/** For each key the callers with nonces, each with the time until which the last of these are kept. */
const CALLERS = 'CALLERS'
const DAY_MS = 86_400_000

interface Waiting extends GenNonce {
  readonly expires: number
  readonly generation: string
}

/** Stores nonces, and returns until when they are kept. */
export function addNonces(registration: Uint8Array, caller: string, nonces: GenNonce, context: Context): number {
  const expires = context.now().getTime() + NONCE_LIFE_MS
  store(
    registration,
    caller,
    [...load(registration, caller, context), { ...nonces, expires, generation: context.generation() }].slice(
      -NONCES_WAITING,
    ),
    context,
  )
  return expires
}

/** Takes the nonces of these commitments, once; undefined when none of this caller are waiting. */
export function takeNonces(
  registration: Uint8Array,
  caller: string,
  { hiding, binding }: NonceCommitments,
  context: Context,
): Nonces | undefined {
  const waiting = load(registration, caller, context)
  const entry = waiting.find(
    ({ commitments }) => equal(commitments.hiding, hiding) && equal(commitments.binding, binding),
  )
  if (!entry) return undefined
  store(
    registration,
    caller,
    waiting.filter((one) => one !== entry),
    context,
  )
  return entry.nonces
}

/** Tests whether one more share may be given out in this day of UTC, and counts it. A `limit` of 0 is none. */
export function countShare(registration: Uint8Array, limit: number, context: Context): boolean {
  if (limit === 0) return true
  const today = Math.floor(context.now().getTime() / DAY_MS)
  const stored = context.storage(COUNTS).get(registration)
  const [day, count] = stored ? new TextDecoder().decode(stored).split(' ').map(Number) : []
  const before = day === today ? (count ?? 0) : 0
  if (before >= limit) return false
  context.storage(COUNTS).set(registration, new TextEncoder().encode(`${today} ${before + 1}`))
  return true
}

/** Deletes whatever is kept here for a key that signs no more, and returns how many values that were. */
export function forgetNonces(registration: Uint8Array, context: Context): number {
  const callers = loadCallers(registration, context)
  for (const caller of callers.keys()) context.storage(NONCES).delete(nameOf(registration, caller))
  context.storage(CALLERS).delete(registration)
  context.storage(COUNTS).delete(registration)
  return callers.size + 2
}

function load(registration: Uint8Array, caller: string, context: Context): readonly Waiting[] {
  const stored = context.storage(NONCES).get(nameOf(registration, caller))
  if (!stored) return []
  const all = JSON.parse(new TextDecoder().decode(stored), revive) as Waiting[]
  const [now, current] = [context.now().getTime(), context.generation()]
  return all.filter(({ expires, generation }) => expires > now && generation === current)
}

/**
 * Stores the nonces of a caller, and deletes those of every caller of the key whose last have expired, and those of the
 * first to expire where the key has more than {@link MAX_CALLERS}.
 */
function store(registration: Uint8Array, caller: string, waiting: readonly Waiting[], context: Context): void {
  const now = context.now().getTime()
  const callers = loadCallers(registration, context)
  callers.set(caller, Math.max(0, ...waiting.map(({ expires }) => expires)))
  const latestFirst = [...callers].sort(([, one], [, other]) => other - one)
  for (const [index, [each, expires]] of latestFirst.entries()) {
    if (expires > now && index < MAX_CALLERS) continue
    callers.delete(each)
    context.storage(NONCES).delete(nameOf(registration, each))
  }
  if (callers.has(caller)) context.storage(NONCES).set(nameOf(registration, caller), JSON.stringify(waiting, replace))
  if (callers.size > 0) context.storage(CALLERS).set(registration, JSON.stringify([...callers]))
  else context.storage(CALLERS).delete(registration)
}

function loadCallers(registration: Uint8Array, context: Context): Map<string, number> {
  const stored = context.storage(CALLERS).get(registration)
  return new Map(stored && (JSON.parse(new TextDecoder().decode(stored)) as [string, number][]))
}

function nameOf(registration: Uint8Array, caller: string): string {
  return `${toHex(registration)} ${caller}`
}
