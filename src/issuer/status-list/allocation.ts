/**
 * Allocates status list entries. Each process leases a range of numbers with one conditional update, takes numbers from
 * it in memory, and maps each to an index by the permutation of the list. docs/decisions/0007-status-lists.md.
 */
import { hash } from 'node:crypto'
import { singleFlight } from '../../async/single-flight.ts'
import { fromBase64url, toBase64url } from '../../codec/base64url.ts'
import type { Effects } from '../../http/effects.ts'
import type { Signer } from '../../keys/signer.ts'
import { type GenerationCollections, getCurrentGeneration } from '../../store/generation.ts'
import type { Attempt } from '../../store/retry.ts'
import { insertOrUpdate, partOf, type Row } from '../../store/store.ts'
import type { IssuerCollections, IssuerStore } from '../collections.ts'
import type { AllocateEntries } from '../context.ts'
import { type AllocationState, STATUS_WIDTH, type StatusEntry } from '../status-rows.ts'

/** The number of entries in a lease. A crash loses at most this many. */
const LEASE_SIZE = 64
const FIRST_ROW = 'current'
/**
 * The number of Feistel rounds. Each half changes in four of them; four rounds in all make a balanced network
 * pseudorandom.
 */
const ROUNDS = 8

interface Lease {
  readonly state: AllocationState
  readonly key: Uint8Array
  next: number
  readonly end: number
}

export type AllocationEffects = Pick<Effects<IssuerCollections>, 'store' | 'now' | 'random' | 'retryOnConflict'>

/** The newest and the oldest key of status lists. */
export type ListKeys = Record<'current' | 'oldest', Pick<Signer, 'kid'>>

/**
 * Creates an allocator for lists with `entries` entries that the current key signs. It never adds to a list with
 * another size or key.
 */
export function createEntryAllocator(
  effects: AllocationEffects,
  entries: number,
  getKeys: () => ListKeys,
): AllocateEntries {
  let lease: Lease | undefined
  const renewLease = singleFlight(async () => {
    lease = await leaseNumbers(effects, entries, getKeys())
  })
  return async (count) => {
    const allocatedEntries: StatusEntry[] = []
    while (allocatedEntries.length < count) {
      const entry = lease && takeNext(lease)
      if (entry !== undefined) {
        allocatedEntries.push(entry)
        continue
      }
      await renewLease()
    }
    return allocatedEntries
  }
}

function takeNext(lease: Lease): StatusEntry | undefined {
  if (lease.next >= lease.end) return undefined
  const { listId, entries } = lease.state
  return { listId, index: permute(lease.next++, entries, lease.key) }
}

/**
 * Leases a range by updating the row, and retries after a conflict. Never uses a list of an earlier generation of the
 * database: after a restore, the row does not know which numbers were leased since the backup.
 */
function leaseNumbers(effects: AllocationEffects, entries: number, keys: ListKeys): Promise<Lease> {
  const { store, retryOnConflict } = effects
  const generationStore = partOf<IssuerCollections, GenerationCollections>(store)
  return retryOnConflict(async () => {
    const generation = await getCurrentGeneration({ ...effects, store: generationStore })
    const allocation = await findAllocationRow(store, keys)
    const conditions = { generation, entries, kid: keys.current.kid }
    const isReusable = allocation.row !== undefined && isUsable(allocation.row.value, conditions)
    return isReusable
      ? leaseFromList(store, { ...allocation, row: allocation.row })
      : startList(effects, conditions, allocation)
  })
}

/** The row from which entries for a key are allocated, and its id. */
interface AllocationRow {
  readonly id: string
  readonly row: Row<AllocationState> | undefined
}

/**
 * Finds the row for entries of the current key. Each key has its own row, so that processes with different keys can run
 * at the same time.
 */
async function findAllocationRow(store: IssuerStore, { current, oldest }: ListKeys): Promise<AllocationRow> {
  const ownRow = await store.get('status_space', current.kid)
  if (ownRow !== undefined) return { id: current.kid, row: ownRow }
  const first = await store.get('status_space', FIRST_ROW)
  const isOurs = first === undefined || (first.value.kid ?? oldest.kid) === current.kid
  return isOurs ? { id: FIRST_ROW, row: first } : { id: current.kid, row: undefined }
}

type ListConditions = Required<Pick<AllocationState, 'generation' | 'entries' | 'kid'>>

/**
 * Tests whether `state` has a free entry for this key, generation and size. A row of an earlier release has no key;
 * {@link findAllocationRow} returns it only for the right one.
 */
function isUsable(state: AllocationState, { generation, entries, kid }: ListConditions): boolean {
  const isSameKey = state.kid === undefined || state.kid === kid
  return isSameKey && state.generation === generation && state.entries === entries && state.next < entries
}

async function leaseFromList(
  store: IssuerStore,
  { id, row: { value, version } }: AllocationRow & { readonly row: Row<AllocationState> },
): Promise<Attempt<Lease>> {
  const end = Math.min(value.next + LEASE_SIZE, value.entries)
  const state = { ...value, next: end }
  const conflict = await store.commit([{ update: 'status_space', id, version, value: state }])
  return conflict === undefined ? { committed: leaseOf(state, value.next) } : { conflict }
}

async function startList(
  { store, random }: AllocationEffects,
  conditions: ListConditions,
  { id, row: before }: AllocationRow,
): Promise<Attempt<Lease>> {
  const listId = toBase64url(random(16))
  const { entries, kid, generation } = conditions
  const state = { ...conditions, listId, next: LEASE_SIZE, key: toBase64url(random(16)) }
  const conflict = await store.commit([
    insertOrUpdate('status_space', before, { id, value: state }),
    { insert: 'status_list', id: listId, value: { entries, bits: STATUS_WIDTH, kid, generation } },
  ])
  return conflict === undefined ? { committed: leaseOf(state, 0) } : { conflict }
}

function leaseOf(state: AllocationState, from: number): Lease {
  return { state, key: fromBase64url(state.key), next: from, end: state.next }
}

/**
 * Maps `counter` to an index by a permutation of the numbers below `size`, a power of two. The permutation is an
 * alternating Feistel network with halves that differ by at most one bit. The round function is SHA-256 of the key, the
 * round and the other half. Throws a RangeError for an invalid `counter` or `size`.
 */
export function permute(counter: number, size: number, key: Uint8Array): number {
  const bits = Math.log2(size)
  if (
    !Number.isInteger(bits) ||
    bits < 2 ||
    bits > 30 ||
    !Number.isInteger(counter) ||
    counter < 0 ||
    counter >= size
  ) {
    throw new RangeError('a permutation is of the numbers below a power of two')
  }
  const lowBits = Math.ceil(bits / 2)
  const masks = [2 ** (bits - lowBits) - 1, 2 ** lowBits - 1] as const
  const data = Buffer.alloc(key.length + 5)
  data.set(key)
  const roundOf = (round: number, half: number): number => {
    data.writeUInt8(round, key.length)
    data.writeUInt32BE(half, key.length + 1)
    return hash('sha256', data, 'buffer').readUInt32BE(0)
  }
  let [high, low] = [counter >>> lowBits, counter & masks[1]]
  for (let round = 0; round < ROUNDS; round += 2) {
    high ^= roundOf(round, low) & masks[0]
    low ^= roundOf(round + 1, high) & masks[1]
  }
  return (high << lowBits) | low
}
