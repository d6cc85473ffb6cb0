/**
 * Checking a copy of an audit log: each record goes on from the one before, and each checkpoint is signed and says what the
 * copy says. The chain alone proves nothing, as anybody can make one: the checkpoints do, and most of all those that
 * somebody else kept.
 */
import { type JsonObject, ownString, parseJsonObject } from '../codec/json.ts'
import { MalformedError } from '../codec/malformed.ts'
import { type Checkpoint, type CheckpointKeys, readCheckpoint } from './checkpoint.ts'
import { chainProblem, LOG_STARTED, ORIGIN, type Position, readRecord } from './record.ts'

export interface AuditReport {
  /** False also where `undecided` says why nobody can tell. */
  readonly intact: boolean
  /** The faults of the copy in words, each with its line; no more than twenty. */
  readonly problems: readonly string[]
  /** Why it cannot be told whether a copy without problems is right. */
  readonly undecided: readonly string[]
  readonly records: number
  /** Up to here a signature says that the copy is right. */
  readonly vouchedFor: number
  /** How many places of it are signed; one that was kept elsewhere too is the same. */
  readonly checkpoints: number
}

const MAX_PROBLEMS = 20

interface Reading {
  readonly keys: CheckpointKeys
  /** Those that were kept elsewhere. */
  readonly kept: readonly Checkpoint[]
  readonly problems: string[]
  log: string | undefined
  position: Position
  vouchedFor: number
  /** Where the log stood at each. */
  readonly signedAt: Set<number>
}

/** Checks the lines of a copy, as `audit export` writes them, and against checkpoints that were kept elsewhere. */
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

/** A kept checkpoint that cannot be verified says nothing of the copy, for or against. */
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
  const problem = chainProblem(reading.position, record)
  if (problem !== undefined) tell(problem)
  if (reading.log === undefined) {
    reading.log = record.subject ?? ''
    if (record.type !== LOG_STARTED) tell('the copy does not begin with the beginning of the log')
  }
  // Whatever is wrong with it: the next is held against what this one says of itself, or each would be told.
  reading.position = { sequence: record.sequence, hash: record.hash }
  for (const checkpoint of reading.kept.filter(({ sequence }) => sequence === record.sequence)) {
    const disagreement = holdAgainst(reading, checkpoint)
    if (disagreement !== undefined) tell(`by a checkpoint that was kept, ${disagreement}`)
  }
}

/** Whether a checkpoint says what the copy says at the same place. */
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
 * Why the end of the copy decides nothing: a kept checkpoint lies behind it, as in the log of a service that has signed again since, or
 * no checkpoint vouches for the copy, as for a log that was never signed yet.
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
