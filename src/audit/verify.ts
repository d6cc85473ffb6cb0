/**
 * Verifies a copy of an audit log: each record continues from the one before, and each checkpoint has a valid signature
 * and agrees with the copy. The chain alone proves nothing, as anyone can make one; checkpoints do, above all those
 * that were kept elsewhere.
 */
import { type JsonObject, ownString, parseJsonObject } from '../codec/json.ts'
import { MalformedError } from '../codec/malformed.ts'
import { type Checkpoint, type CheckpointKeys, readCheckpoint } from './checkpoint.ts'
import { findChainProblem, LOG_STARTED, type LogPosition, ORIGIN, readRecord } from './record.ts'

export interface AuditReport {
  /** Whether the log is intact; false also when `undecided` says that the result is open. */
  readonly intact: boolean
  /** The faults of the copy in words, at most twenty, each with its line. */
  readonly problems: readonly string[]
  /** The reasons for which a copy without problems may still be wrong. */
  readonly undecided: readonly string[]
  readonly records: number
  /** The last record that is covered by a verified signature. */
  readonly vouchedFor: number
  /** The number of signed positions; a checkpoint that was also kept elsewhere counts once. */
  readonly checkpoints: number
}

const MAX_PROBLEMS = 20

interface Reading {
  readonly keys: CheckpointKeys
  /** The checkpoints that were kept elsewhere. */
  readonly kept: readonly Checkpoint[]
  readonly problems: string[]
  log: string | undefined
  position: LogPosition
  vouchedFor: number
  /** The positions with a verified checkpoint. */
  readonly signedAt: Set<number>
}

/** Verifies the lines of a copy, as `audit export` writes them, also against the checkpoints in `kept`. */
export async function verifyCopy(
  lines: AsyncIterable<string> | Iterable<string>,
  keys: CheckpointKeys,
  kept: readonly string[],
): Promise<AuditReport> {
  const problems: string[] = []
  const unread: string[] = []
  const reading: Reading = {
    keys,
    kept: kept.flatMap((compact) => keptCheckpoint(compact, keys, unread)),
    problems,
    log: undefined,
    position: ORIGIN,
    vouchedFor: 0,
    signedAt: new Set(),
  }
  let number = 0
  for await (const line of lines) {
    number += 1
    if (line === '') continue
    readLine(reading, line, (problem) => problems.push(`line ${number}: ${problem}`))
    if (problems.length >= MAX_PROBLEMS) break
  }
  const undecided = problems.length === 0 ? [...unread, ...endDoubts(reading)] : []
  return {
    intact: problems.length === 0 && undecided.length === 0,
    problems,
    undecided,
    records: reading.position.sequence,
    vouchedFor: reading.vouchedFor,
    checkpoints: reading.signedAt.size,
  }
}

/** The result of verifying a stretch of a log, which may go on. */
export interface StretchReport {
  /** The faults in words, at most twenty. */
  readonly problems: readonly string[]
  /** The last record of the stretch. */
  readonly position: LogPosition
  /** The last record that is covered by a verified signature; 0 where the stretch has none. */
  readonly vouchedFor: number
  readonly checkpoints: number
}

/**
 * Verifies the lines that continue from `position`, by the rules of a whole copy; from {@link ORIGIN} on, that the log
 * begins there. `log` is the id that its checkpoints have to name.
 */
export function verifyStretch(
  lines: Iterable<string>,
  keys: CheckpointKeys,
  { position, log }: { readonly position: LogPosition; readonly log: string },
): StretchReport {
  const problems: string[] = []
  const isStart = position.sequence === ORIGIN.sequence
  const reading: Reading = {
    keys,
    kept: [],
    problems,
    log: isStart ? undefined : log,
    position,
    vouchedFor: 0,
    signedAt: new Set(),
  }
  for (const line of lines) {
    readLine(reading, line, (problem) =>
      problems.push(`after record ${reading.position.sequence}, or in it: ${problem}`),
    )
    if (problems.length >= MAX_PROBLEMS) break
  }
  if (isStart && reading.log !== undefined && reading.log !== log) problems.push('the beginning is of another log')
  return { problems, position: reading.position, vouchedFor: reading.vouchedFor, checkpoints: reading.signedAt.size }
}

/**
 * Reads a kept checkpoint. A checkpoint that cannot be verified is noted in `unread`, and decides nothing about the
 * copy.
 */
function keptCheckpoint(compact: string, keys: CheckpointKeys, unread: string[]): Checkpoint[] {
  try {
    return [readCheckpoint(compact, keys)]
  } catch (error) {
    unread.push(`a checkpoint that was kept: ${reason(error)}`)
    return []
  }
}

function readLine(reading: Reading, line: string, tell: (problem: string) => void): void {
  try {
    const value = parseJsonObject(line)
    const compact = ownString(value, 'checkpoint')
    if (compact !== undefined && Object.keys(value).length === 1) {
      const problem = holdAgainst(reading, readCheckpoint(compact, reading.keys))
      if (problem !== undefined) tell(problem)
    } else readRecordLine(reading, line, value, tell)
  } catch (error) {
    tell(reason(error))
  }
}

function readRecordLine(reading: Reading, line: string, value: JsonObject, tell: (problem: string) => void): void {
  const record = readRecord(line, value)
  const problem = findChainProblem(reading.position, record)
  if (problem !== undefined) tell(problem)
  if (reading.log === undefined) {
    reading.log = record.subject ?? ''
    if (record.type !== LOG_STARTED) tell('the copy does not begin with the beginning of the log')
  }
  // Continue from the stated hash, so that one bad record is reported once.
  reading.position = { sequence: record.sequence, hash: record.hash }
  for (const checkpoint of reading.kept.filter(({ sequence }) => sequence === record.sequence)) {
    const disagreement = holdAgainst(reading, checkpoint)
    if (disagreement !== undefined) tell(`by a checkpoint that was kept, ${disagreement}`)
  }
}

/** Compares a checkpoint with the copy at the same position, and returns their disagreement. */
function holdAgainst(reading: Reading, checkpoint: Checkpoint): string | undefined {
  const { position, log } = reading
  if (checkpoint.log !== log) return 'the checkpoint is of another log'
  if (checkpoint.sequence !== position.sequence) {
    return `the checkpoint of record ${checkpoint.sequence} stands after record ${position.sequence}`
  }
  if (checkpoint.hash !== position.hash) {
    return `record ${position.sequence} or one before it is not the one that was signed at ${checkpoint.at}`
  }
  if (reading.problems.length === 0) reading.vouchedFor = position.sequence
  reading.signedAt.add(position.sequence)
  return undefined
}

/**
 * Returns the reasons for which the end of the copy leaves the result open: a kept checkpoint lies beyond it, as when
 * the service has signed again since, or the copy has no checkpoint, as the log of a new service.
 */
function* endDoubts({ log, position, signedAt, kept }: Reading): Iterable<string> {
  const [last] = kept.filter((each) => each.sequence > position.sequence).sort((a, b) => b.sequence - a.sequence)
  if (last !== undefined && log !== undefined && last.log !== log) yield 'a checkpoint that was kept is of another log'
  else if (last !== undefined) {
    yield `the copy ends with record ${position.sequence}, and record ${last.sequence} was signed at ${last.at}: the copy is older than that, or its end is missing; export it again and verify that`
  }
  if (signedAt.size === 0)
    yield 'no checkpoint vouches for the copy: anybody could have written it; a service signs its log once a minute, and when it stops: export it again after that'
}

function reason(error: unknown): string {
  if (error instanceof MalformedError) return error.message
  throw error
}
