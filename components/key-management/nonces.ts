/**
 * Nonces between the two rounds of a signature, by the registration of the key and by who asked for them; and how many
 * shares were given out in a day. Shares under one pair of nonces for several messages give the engine's key share
 * away, so a pair belongs to the generation of the engine's storage: after a backup was put back, the pairs in it are
 * worth nothing.
 */
import type { GenNonce, NonceCommitments, Nonces } from '@noble/curves/abstract/frost.js'
import type { Context } from 'vouchsafe/component'
import { equal, toHex } from '../bytes.ts'
import { replace, revive } from './stored.ts'

/** The lifetime of nonces. */
const NONCE_LIFE_MS = 5 * 60_000
/** The most nonces that each caller may have waiting for each key; the oldest make room. */
const NONCES_WAITING = 16

const NONCES = 'NONCES'
const COUNTS = 'COUNTS'
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

function load(registration: Uint8Array, caller: string, context: Context): readonly Waiting[] {
  const stored = context.storage(NONCES).get(`${toHex(registration)} ${caller}`)
  if (!stored) return []
  const all = JSON.parse(new TextDecoder().decode(stored), revive) as Waiting[]
  const [now, current] = [context.now().getTime(), context.generation()]
  return all.filter(({ expires, generation }) => expires > now && generation === current)
}

function store(registration: Uint8Array, caller: string, waiting: readonly Waiting[], context: Context): void {
  if (waiting.length === 0) context.storage(NONCES).delete(`${toHex(registration)} ${caller}`)
  else
    context
      .storage(NONCES)
      .set(`${toHex(registration)} ${caller}`, new TextEncoder().encode(JSON.stringify(waiting, replace)))
}
