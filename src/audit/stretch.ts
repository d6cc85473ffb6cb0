/**
 * Reads and verifies a log in the database in stretches of limited length, so that the cost of a request does not grow
 * with the log. The rules are those for a copy (`verify.ts`).
 */
import { DamagedValueError } from '../store/statements.ts'
import type { Store } from '../store/store.ts'
import type { CheckpointKeys } from './checkpoint.ts'
import { type AuditCollections, type AuditHead, blockId, HEAD } from './collections.ts'
import { checkpointOf, HEAD_SET_BACK, isSetBack, readBlockLines, recordsOf } from './copy.ts'
import { type AuditRecord, type LogPosition, ORIGIN } from './record.ts'
import { type StretchReport, verifyStretch } from './verify.ts'

type AuditStore = Store<AuditCollections>

/** The end of a block, at which a stretch can begin. */
export interface BlockEnd extends LogPosition {
  readonly block: number
}

/** The position before the first block. */
export const BEFORE_FIRST: BlockEnd = { block: 0, ...ORIGIN }

/** The last checkpoint, and the block that it follows. */
export interface LastCheckpoint {
  readonly block: number
  readonly checkpoint: string
}

export interface VerifiedStretch extends StretchReport {
  /** The end of this stretch, at which the next begins; absent at the end of the log. */
  readonly next?: BlockEnd
}

const BLOCKS_AT_ONCE = 10
const MAX_BLOCKS = 500
const MAX_LINES = 2000
/**
 * The number of blocks that are searched for a checkpoint. A service signs its log each minute, and writes at most 200
 * blocks in that time.
 */
export const MAX_UNSIGNED_BLOCKS = 1000

/** Reads the head of the log; undefined before the first record. */
export async function readHead(store: AuditStore): Promise<AuditHead | undefined> {
  return (await store.get('audit_head', HEAD))?.value
}

/** Finds the last checkpoint among the newest {@link MAX_UNSIGNED_BLOCKS} blocks; undefined when there is none. */
export async function findLastCheckpoint(
  store: AuditStore,
  { block: last }: AuditHead,
): Promise<LastCheckpoint | undefined> {
  for (let end = last; end > Math.max(0, last - MAX_UNSIGNED_BLOCKS); end -= BLOCKS_AT_ONCE) {
    const blocks = countDown(end, BLOCKS_AT_ONCE)
    const checkpoints = await Promise.all(blocks.map((block) => readCheckpoint(store, block)))
    const index = checkpoints.findIndex((checkpoint) => checkpoint !== undefined)
    const [block, checkpoint] = [blocks[index], checkpoints[index]]
    if (block !== undefined && checkpoint !== undefined) return { block, checkpoint }
  }
  return undefined
}

/** Reads the checkpoint of a block; undefined if it has none, or one that was damaged in the database. */
async function readCheckpoint(store: AuditStore, block: number): Promise<string | undefined> {
  try {
    const row = await store.get('audit_checkpoint', blockId(block))
    return row && checkpointOf(row.value)
  } catch (error) {
    if (error instanceof DamagedValueError) return undefined
    throw error
  }
}

/** Returns the end of the block before `block` as it is stored, without verifying it. */
export async function readEndBefore(store: AuditStore, block: number): Promise<BlockEnd> {
  if (block <= 1) return BEFORE_FIRST
  const last = (await readRecords(store, block - 1, Number.POSITIVE_INFINITY))?.at(-1)
  return { block: block - 1, sequence: last?.sequence ?? 0, hash: last?.hash ?? '' }
}

/**
 * Verifies the blocks after `start`, at most some hundreds. The last stretch must end with the record that the head
 * names.
 */
export async function verifyNextStretch(
  store: AuditStore,
  keys: CheckpointKeys,
  { head, start }: { readonly head: AuditHead; readonly start: BlockEnd },
): Promise<VerifiedStretch> {
  const lines: string[] = []
  let block = start.block
  while (block < head.block && block - start.block < MAX_BLOCKS && lines.length < MAX_LINES) {
    const blocks = countDown(Math.min(block + BLOCKS_AT_ONCE, head.block), BLOCKS_AT_ONCE)
      .filter((each) => each > block)
      .reverse()
    const linesOfBlocks = await Promise.all(blocks.map((each) => readBlockLines(store, each)))
    lines.push(...linesOfBlocks.flat())
    block = blocks.at(-1) ?? head.block
  }
  const report = verifyStretch(lines, keys, { position: start, log: head.log })
  const { problems, position } = report
  if (block < head.block) return { ...report, next: { block, ...position } }
  const endsAtHead = position.sequence === head.sequence && position.hash === head.hash
  if (problems.length > 0) return report
  const problem = `the log ends with record ${position.sequence}, and its head names another: record ${head.sequence}`
  if (!endsAtHead) return { ...report, problems: [problem] }
  return (await isSetBack(store, head)) ? { ...report, problems: [HEAD_SET_BACK] } : report
}

export interface RecordPage {
  readonly records: readonly AuditRecord[]
  /** The numbers of the blocks that cannot be read. */
  readonly damagedBlocks: readonly number[]
  /** The block at which the next page begins: that of the last record, or the block before the last one read. */
  readonly block: number
}

/** Reads at most `limit` records before the record `end`, the newest first. */
export async function readRecordsBefore(
  store: AuditStore,
  { end, limit }: { readonly end: { readonly block: number; readonly sequence: number }; readonly limit: number },
): Promise<RecordPage> {
  const records: AuditRecord[] = []
  const damagedBlocks: number[] = []
  let { block } = end
  for (let blocksRead = 0; block >= 1 && blocksRead < MAX_BLOCKS; blocksRead += 1) {
    const older = await readRecords(store, block, end.sequence)
    if (older === undefined) damagedBlocks.push(block)
    else records.push(...older.toReversed())
    if (records.length >= limit) break
    block -= 1
  }
  return { records: records.slice(0, limit), damagedBlocks, block }
}

/** Reads the records of a block that precede the record `end`; undefined when the block is damaged. */
async function readRecords(store: AuditStore, block: number, end: number): Promise<readonly AuditRecord[] | undefined> {
  try {
    return recordsOf(await store.get('audit_block', blockId(block))).filter(({ sequence }) => sequence < end)
  } catch (error) {
    if (error instanceof DamagedValueError) return undefined
    throw error
  }
}

/** Returns `count` numbers down from `last`, without those below 1. */
function countDown(last: number, count: number): readonly number[] {
  return Array.from({ length: Math.min(count, last) }, (_, index) => last - index)
}
