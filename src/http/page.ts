/**
 * Pages of a list, newest row first: its query parameters, its cursor, and its filter.
 * docs/decisions/0012-listing-sessions.md.
 */
import { setImmediate } from 'node:timers/promises'
import type { Logger } from 'pino'
import * as Type from 'typebox'
import { digestOf } from '../codec/digest.ts'
import { refuse } from '../protocol/error.ts'
import type { CreatedRow, RowPosition, Store } from '../store/store.ts'
import { readCursor, writeCursor } from './cursor.ts'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 100
/** The number of rows that are read at once. A row may be large, since it contains a report. */
const ROWS_AT_ONCE = 25
const MAX_EXAMINED_ROWS = 1000
const POSITION = /^(\d{1,15})\.([\w-]+)$/

/** The query parameters of all lists; each list adds its filter. */
export const pageQuery = {
  limit: Type.Optional(
    Type.String({
      'x-described': Type.Integer({
        minimum: 1,
        maximum: MAX_LIMIT,
        description: `The highest number of entries in a page; ${DEFAULT_LIMIT} when absent`,
      }),
    }),
  ),
  cursor: Type.Optional(
    Type.String({ maxLength: 200, description: 'The member `next` of the page before, with the same filter' }),
  ),
}

export const NextCursor = Type.Optional(
  Type.String({
    description:
      'The cursor of the following page; absent when there is none. With a filter a page may have few entries, or none, and a next all the same',
  }),
)

/** The query parameters: `limit`, `cursor` and those of the filter. */
export interface ListQuery {
  readonly limit?: string
  readonly cursor?: string
  readonly [filter: string]: string | undefined
}

export interface Listing<Value, Entry> {
  readonly query: ListQuery
  /** Makes the list entry for a row. */
  readonly entryOf: (id: string, value: Value) => Entry
  /** Tests whether the entry matches the filter; absent in a list without one. */
  readonly matches?: (entry: Entry) => boolean
}

export interface Page<Entry> {
  readonly entries: readonly Entry[]
  readonly next?: string
}

/**
 * Returns a page of a list. With a filter, at most a thousand rows are examined, and `next` continues after them. Rows
 * that cannot be read are skipped and logged. Refuses with `invalid_request` an invalid limit, and a cursor of another
 * list or filter.
 */
export async function readPage<C, K extends keyof C & string, Entry>(
  { store, log }: { readonly store: Store<C>; readonly log: Logger },
  collection: K,
  { query, entryOf, matches = () => true }: Listing<C[K], Entry>,
): Promise<Page<Entry>> {
  const { limit, cursor, ...filter } = query
  const size = readPageSize(limit)
  const list = JSON.stringify([collection, ...Object.entries(filter).sort()])
  let lastPosition = cursor === undefined ? undefined : positionOf(cursor, list)
  const entries: Entry[] = []
  for (let examinedRows = 0; examinedRows < MAX_EXAMINED_ROWS; examinedRows += ROWS_AT_ONCE) {
    const isFull = entries.length === size
    const rows = await store.listNewest(collection, isFull ? 1 : ROWS_AT_ONCE, lastPosition)
    for (const row of rows) {
      if (lastPosition !== undefined && entries.length === size) return { entries, next: cursorOf(lastPosition, list) }
      const entry = readEntry(collection, row, entryOf, log)
      if (entry !== undefined && matches(entry)) entries.push(entry)
      lastPosition = row
    }
    if (isFull || rows.length < ROWS_AT_ONCE) return { entries }
    // Serves other requests between two reads.
    await setImmediate()
  }
  return { entries, ...(lastPosition && { next: cursorOf(lastPosition, list) }) }
}

/** Parses the page size. Refuses with `invalid_request` a value that is not a number or out of range. */
export function readPageSize(limit = String(DEFAULT_LIMIT)): number {
  const size = /^[1-9]\d{0,2}$/.test(limit) ? Number(limit) : Infinity
  return size <= MAX_LIMIT ? size : refuse('invalid_request', `limit: must be a number from 1 to ${MAX_LIMIT}`)
}

function readEntry<Value, Entry>(
  collection: string,
  row: CreatedRow<Value>,
  entryOf: Listing<Value, Entry>['entryOf'],
  log: Logger,
): Entry | undefined {
  try {
    return entryOf(row.id, row.value)
  } catch (err) {
    const line = { event: 'row_unreadable', collection, row: digestOf(row.id), err }
    log.error(line, `a row of ${collection} cannot be read`)
    return undefined
  }
}

function cursorOf({ createdAt, id }: RowPosition, list: string): string {
  return writeCursor(list, `${createdAt.getTime()}.${id}`)
}

function positionOf(cursor: string, list: string): RowPosition {
  const [time, id = ''] = readCursor(list, cursor, POSITION)
  return { createdAt: new Date(Number(time)), id }
}
