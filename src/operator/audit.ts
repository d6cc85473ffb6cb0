/** The audit log for operators: lists its records from the newest, and verifies it in pieces. */
import type { Static } from 'typebox'
import { readCheckpoint } from '../audit/checkpoint.ts'
import type { AuditCollections, AuditHead } from '../audit/collections.ts'
import {
  BEFORE_FIRST,
  type BlockEnd,
  findLastCheckpoint,
  MAX_UNSIGNED_BLOCKS,
  readEndBefore,
  readHead,
  readRecordsBefore,
  verifyNextStretch,
} from '../audit/stretch.ts'
import { type Problem, readOrProblem } from '../codec/malformed.ts'
import { type EventCollections, makeEventChange } from '../event/event.ts'
import { readCursor, writeCursor } from '../http/cursor.ts'
import { describeCauseForLog } from '../http/logged-error.ts'
import { readPageSize } from '../http/page.ts'
import { partOf, type Store } from '../store/store.ts'
import { checkpointKeys, type OperatorContext } from './context.ts'
import type { AuditRecordPage, AuditVerification, PageQuery, VerifyAudit } from './schemas.ts'

type Page = Static<typeof AuditRecordPage>

const RECORDS = 'audit records'
/** The cursor of a list of records: a block, and the sequence number of the last returned record. */
const RECORD_PLACE = /^(\d{1,12})\.(\d{1,15})$/
/** The cursor of a verification: a block, and the sequence number and the hash of its last record. */
const STRETCH_PLACE = /^(\d{1,12})\.(\d{1,15})\.([\w-]{0,100})$/
const NO_CHECKPOINT_PROBLEM = `none of the newest ${MAX_UNSIGNED_BLOCKS} blocks was signed: look for upkeep_failed in the log of the service, and verify from the start`

/**
 * Returns a page of the audit log's records, newest first, and records who read it. Refuses with `invalid_request` a
 * wrong cursor or page size.
 */
export async function listAuditRecords(context: OperatorContext, query: PageQuery, caller: string): Promise<Page> {
  const { store, now, random } = context
  const limit = readPageSize(query.limit)
  const place = query.cursor === undefined ? undefined : readCursor(RECORDS, query.cursor, RECORD_PLACE)
  await store.commit([makeEventChange({ type: 'audit.read', at: now().getTime(), caller }, random)])
  const head = await readHead(partOf(store))
  if (head === undefined) return { records: [] }
  const [block = head.block, endSequence = head.sequence + 1] = place?.map(Number) ?? []
  const recordPage = await readRecordsBefore(partOf(store), { end: { block, sequence: endSequence }, limit })
  const last = recordPage.records.at(-1)?.sequence ?? endSequence
  return {
    records: [...recordPage.records],
    ...(recordPage.damagedBlocks.length === 0 ? {} : { damaged_blocks: [...recordPage.damagedBlocks] }),
    ...(recordPage.block >= 1 && last > 1 ? { next: writeCursor(RECORDS, `${recordPage.block}.${last}`) } : {}),
    ...(place === undefined ? await describeHead(context, head) : {}),
  }
}

async function describeHead(context: OperatorContext, head: AuditHead): Promise<Pick<Page, 'head' | 'checkpoint'>> {
  const { log, sequence, hash } = head
  const last = await findLastCheckpoint(partOf(context.store), head)
  if (last === undefined) return { head: { log, sequence, hash } }
  const signature = last.checkpoint
  const checkpoint = readOrProblem(() => readCheckpoint(signature, checkpointKeys(context)))
  if ('problem' in checkpoint) logUnreadableCheckpoint(context, checkpoint)
  const checkpointMembers =
    'problem' in checkpoint ? { problem: checkpoint.problem } : { sequence: checkpoint.sequence, at: checkpoint.at }
  return { head: { log, sequence, hash }, checkpoint: { signature, ...checkpointMembers } }
}

function logUnreadableCheckpoint({ log }: OperatorContext, { problem, cause }: Problem): void {
  const line = {
    event: 'checkpoint_unreadable',
    problem,
    ...(cause !== undefined && { cause: describeCauseForLog(cause) }),
  }
  log.warn(line, 'the last checkpoint of the audit log cannot be used')
}

/** Verifies the next part of the log in the database. Refuses with `invalid_request` a wrong cursor. */
export async function verifyAuditLog(
  context: OperatorContext,
  { from = 'checkpoint', cursor }: VerifyAudit,
): Promise<Static<typeof AuditVerification>> {
  const store = partOf<EventCollections, AuditCollections>(context.store)
  const list = `audit verification from ${from}`
  const resumePosition = cursor === undefined ? undefined : blockEndOf(readCursor(list, cursor, STRETCH_PLACE))
  const head = await readHead(store)
  if (head === undefined) return emptyVerification('the log has no record yet', 0)
  const start = resumePosition ?? (from === 'start' ? BEFORE_FIRST : await findVerificationStart(store, head))
  if (start === undefined) return emptyVerification(NO_CHECKPOINT_PROBLEM, head.sequence)
  const stretch = await verifyNextStretch(store, checkpointKeys(context), { head, start })
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
 * Returns where verification from the last checkpoint starts: before the block that it signs. Without any checkpoint, a
 * short log is verified from its start; for a longer one the result is undefined.
 */
async function findVerificationStart(store: Store<AuditCollections>, head: AuditHead): Promise<BlockEnd | undefined> {
  const last = await findLastCheckpoint(store, head)
  if (last !== undefined) return readEndBefore(store, last.block)
  return head.block <= MAX_UNSIGNED_BLOCKS ? BEFORE_FIRST : undefined
}

function blockEndOf([block, sequence, hash = '']: readonly string[]): BlockEnd {
  return { block: Number(block), sequence: Number(sequence), hash }
}

function emptyVerification(problem: string, head: number): Static<typeof AuditVerification> {
  return { intact: false, problems: [problem], after: 0, up_to: 0, head, vouched_for: 0, checkpoints: 0 }
}
