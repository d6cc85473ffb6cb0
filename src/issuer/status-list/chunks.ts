/**
 * The bits of status lists. Each list is stored in 32 rows, so that a change writes little and changes of different
 * credentials rarely conflict.
 */
import { setStatus } from '../../codec/status-list.ts'
import { type Change, insertOrUpdate } from '../../store/store.ts'
import type { IssuerStore } from '../collections.ts'
import {
  STATUS_WIDTH,
  type StatusChunk,
  type StatusCollections,
  type StatusEntry,
  type StoredStatusList,
} from '../status-rows.ts'

const CHUNKS = 32

/** Returns all bits of a list. The rows are read one by one, so later rows may be newer than the first. */
export async function readBits(store: IssuerStore, listId: string, { entries }: StoredStatusList): Promise<Buffer> {
  const ids = Array.from({ length: CHUNKS }, (_, chunk) => chunkId(listId, chunk))
  const rows = await Promise.all(ids.map((id) => store.get('status_chunk', id)))
  return Buffer.concat(rows.map((row) => bytesOf(row?.value, entries)))
}

/**
 * Makes the changes that set each entry to `status` and increment the version of each list. They must be committed
 * together; after a conflict they must be made again.
 */
export async function makeBitChanges(
  store: IssuerStore,
  entries: readonly StatusEntry[],
  status: number,
): Promise<readonly Change<StatusCollections>[]> {
  const byList = groupBy(entries, ({ listId }) => listId)
  const changes = [...byList].map(async ([listId, listEntries]): Promise<readonly Change<StatusCollections>[]> => {
    const list = await store.get('status_list', listId)
    if (list === undefined) throw new Error('a credential has its entry in a status list that does not exist')
    const size = list.value.entries / CHUNKS
    const byChunk = groupBy(listEntries, ({ index }) => Math.floor(index / size))
    const chunks = [...byChunk].map(([chunk, chunkEntries]) => {
      const offsets = chunkEntries.map(({ index }) => index % size)
      return makeChunkChange(store, { id: chunkId(listId, chunk), entries: list.value.entries }, offsets, status)
    })
    return [...(await Promise.all(chunks)), { touch: 'status_list', id: listId }]
  })
  return (await Promise.all(changes)).flat()
}

async function makeChunkChange(
  store: IssuerStore,
  { id, entries }: { readonly id: string; readonly entries: number },
  offsets: readonly number[],
  status: number,
): Promise<Change<StatusCollections>> {
  const row = await store.get('status_chunk', id)
  const bytes = bytesOf(row?.value, entries)
  for (const offset of offsets) setStatus(bytes, STATUS_WIDTH, offset, status)
  const value = { bits: bytes.toString('base64') }
  return insertOrUpdate('status_chunk', row, { id, value })
}

function bytesOf(chunk: StatusChunk | undefined, entries: number): Buffer {
  return chunk === undefined ? Buffer.alloc((entries * STATUS_WIDTH) / 8 / CHUNKS) : Buffer.from(chunk.bits, 'base64')
}

function chunkId(listId: string, chunk: number): string {
  return `${listId}.${chunk}`
}

function groupBy<T, K>(values: readonly T[], keyOf: (value: T) => K): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>()
  for (const value of values) {
    const key = keyOf(value)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [value])
    else group.push(value)
  }
  return groups
}
