/** The audit log for whoever operates: its records from the newest down, and whether it is intact, piece by piece. */
import type { Static } from 'typebox'
import { readCheckpoint } from '../audit/checkpoint.ts'
import type { AuditCollections, AuditHead } from '../audit/collections.ts'
import {
  BEFORE_FIRST,
  type BlockEnd,
  endBefore,
  findLastCheckpoint,
  MOST_UNSIGNED,
  readHead,
  readRecordsDown,
  verifyFrom,
} from '../audit/stretch.ts'
import { orProblem } from '../codec/malformed.ts'
import { type EventCollections, recordEvent } from '../event/event.ts'
import { readCursor, writeCursor } from '../http/cursor.ts'
import { readPageSize } from '../http/page.ts'
import { partOf, type Store } from '../store/store.ts'
import { checkpointKeys, type OperatorContext } from './context.ts'
import type { AuditRecordPage, AuditVerification, PageQuery, VerifyAudit } from './schemas.ts'

type Page = Static<typeof AuditRecordPage>

const RECORDS = 'audit records'
/** The form of a cursor of records: a block, and the number of the last record that was read in it. */
const RECORD_PLACE = /^(\d{1,12})\.(\d{1,15})$/
/** The form of a cursor of stretches: a block, and the number and the hash of its last record. */
const STRETCH_PLACE = /^(\d{1,12})\.(\d{1,15})\.([\w-]{0,100})$/
const UNSIGNED = `none of the newest ${MOST_UNSIGNED} blocks was signed: look for upkeep_failed in the log of the service, and verify from the start`

/** Returns a page of the records, and records that it was read and by whom. Refuses with `invalid_request`. */
export async function listAuditRecords(context: OperatorContext, query: PageQuery, caller: string): Promise<Page> {
  const { store, now, random } = context
  const limit = readPageSize(query.limit)
  const place = query.cursor === undefined ? undefined : readCursor(RECORDS, query.cursor, RECORD_PLACE)
  await store.commit([recordEvent({ type: 'audit.read', at: now().getTime(), caller }, random)])
  const head = await readHead(partOf(store))
  if (head === undefined) return { records: [] }
  const [block = head.block, before = head.sequence + 1] = place?.map(Number) ?? []
  const read = await readRecordsDown(partOf(store), { before: { block, sequence: before }, limit })
  const last = read.records.at(-1)?.sequence ?? before
  return {
    records: [...read.records],
    ...(read.block >= 1 && last > 1 ? { next: writeCursor(RECORDS, `${read.block}.${last}`) } : {}),
    ...(place === undefined ? await describeHead(context, head) : {}),
  }
}

async function describeHead(context: OperatorContext, head: AuditHead): Promise<Pick<Page, 'head' | 'checkpoint'>> {
  const { log, sequence, hash } = head
  const last = await findLastCheckpoint(partOf(context.store), head)
  if (last === undefined) return { head: { log, sequence, hash } }
  const signature = last.checkpoint
  const read = orProblem(() => readCheckpoint(signature, checkpointKeys(context)))
  const described = 'problem' in read ? { problem: read.problem } : { sequence: read.sequence, at: read.at }
  return { head: { log, sequence, hash }, checkpoint: { signature, ...described } }
}

/** Verifies a stretch of the log in the database. Refuses with `invalid_request`. */
export async function verifyAuditLog(
  context: OperatorContext,
  { from = 'checkpoint', cursor }: VerifyAudit,
): Promise<Static<typeof AuditVerification>> {
  const store = partOf<EventCollections, AuditCollections>(context.store)
  const list = `audit verification from ${from}`
  const resumed = cursor === undefined ? undefined : placeOf(readCursor(list, cursor, STRETCH_PLACE))
  const head = await readHead(store)
  if (head === undefined) return nothingVerified('the log has no record yet', 0)
  const start = resumed ?? (from === 'start' ? BEFORE_FIRST : await startOfSigned(store, head))
  if (start === undefined) return nothingVerified(UNSIGNED, head.sequence)
  const stretch = await verifyFrom(store, checkpointKeys(context), { head, start })
  const { problems, position, vouchedFor, checkpoints, next } = stretch
  return {
    intact: problems.length === 0,
    problems: [...problems],
    after: start.sequence,
    up_to: position.sequence,
    head: head.sequence,
    vouched_for: vouchedFor,
    checkpoints,
    ...(next === undefined ? {} : { next: writeCursor(list, `${next.block}.${next.sequence}.${next.hash}`) }),
  }
}

/**
 * Returns the end before the block that was signed last, or before the first of a log that is short and was never
 * signed.
 */
async function startOfSigned(store: Store<AuditCollections>, head: AuditHead): Promise<BlockEnd | undefined> {
  const last = await findLastCheckpoint(store, head)
  if (last !== undefined) return endBefore(store, last.block)
  return head.block <= MOST_UNSIGNED ? BEFORE_FIRST : undefined
}

function placeOf([block, sequence, hash = '']: readonly string[]): BlockEnd {
  return { block: Number(block), sequence: Number(sequence), hash }
}

function nothingVerified(problem: string, head: number): Static<typeof AuditVerification> {
  return { intact: false, problems: [problem], after: 0, up_to: 0, head, vouched_for: 0, checkpoints: 0 }
}
