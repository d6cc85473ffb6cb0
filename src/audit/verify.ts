/**
 * Verifies a copy of an audit log: each record must continue from the previous one, and each checkpoint must have a
 * valid signature and match the copy. The chain alone proves nothing, because anybody can make one. Checkpoints prove
 * it, above all those that were kept elsewhere.
 */
import { type JsonObject, memberOf, parseJsonObject, stringMemberOf } from '../codec/json.ts'
import { MalformedError } from '../codec/malformed.ts'
import { type Checkpoint, type CheckpointKeys, readCheckpoint } from './checkpoint.ts'
import { findChainProblem, LOG_START_TYPE, type LogPosition, ORIGIN, readRecord } from './record.ts'

export interface AuditReport {
  /** Whether the copy is proved to be intact; false also when `undecided` has a reason. */
  readonly intact: boolean
  /** The faults of the copy as sentences with the line number, at most twenty. */
  readonly problems: readonly string[]
  /** The reasons for which a copy without faults may still be wrong. */
  readonly undecided: readonly string[]
  readonly records: number
  /** The number of the last record that a verified signature covers. */
  readonly vouchedFor: number
  /** The number of positions with a verified checkpoint; a checkpoint that was also kept elsewhere counts once. */
  readonly checkpoints: number
}

const MAX_PROBLEMS = 20

interface VerificationState {
  readonly keys: CheckpointKeys
  /** The checkpoints that were kept elsewhere, by the number of their record. */
  readonly keptCheckpoints: ReadonlyMap<number, readonly Checkpoint[]>
  readonly problems: string[]
  log: string | undefined
  position: LogPosition
  vouchedFor: number
  /** The numbers of the records that a verified checkpoint signs. */
  readonly signedAt: Set<number>
}

/**
 * Verifies the lines of a copy, as `audit export` writes them. `keptCheckpoints` are compact JWS that were kept
 * elsewhere; the copy must match them too.
 */
export async function verifyCopy(
  lines: AsyncIterable<string> | Iterable<string>,
  keys: CheckpointKeys,
  keptCheckpoints: readonly string[],
): Promise<AuditReport> {
  const problems: string[] = []
  const checkpointProblems: string[] = []
  const state: VerificationState = {
    keys,
    keptCheckpoints: groupByRecord(
      keptCheckpoints.flatMap((compact) => readKeptCheckpoint(compact, keys, checkpointProblems)),
    ),
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
    readLine(state, line, (problem) => problems.push(`line ${number}: ${problem}`))
    if (problems.length >= MAX_PROBLEMS) break
  }
  const undecided = problems.length === 0 ? [...checkpointProblems, ...listUndecidedReasons(state)] : []
  return {
    intact: problems.length === 0 && undecided.length === 0,
    problems,
    undecided,
    records: state.position.sequence,
    vouchedFor: state.vouchedFor,
    checkpoints: state.signedAt.size,
  }
}

/** The result of verifying a stretch of a log. */
export interface StretchReport {
  /** The faults as sentences, at most twenty. */
  readonly problems: readonly string[]
  /** The last record of the stretch. */
  readonly position: LogPosition
  /** The number of the last record that a verified signature covers; 0 when there is none in the stretch. */
  readonly vouchedFor: number
  readonly checkpoints: number
}

/**
 * Verifies lines that continue from `position`, by the rules for a whole copy. A stretch from {@link ORIGIN} must begin
 * with the start of the log. `log` is the id that all checkpoints must name.
 */
export function verifyStretch(
  lines: Iterable<string>,
  keys: CheckpointKeys,
  { position, log }: { readonly position: LogPosition; readonly log: string },
): StretchReport {
  const problems: string[] = []
  const isStart = position.sequence === ORIGIN.sequence
  const state: VerificationState = {
    keys,
    keptCheckpoints: new Map(),
    problems,
    log: isStart ? undefined : log,
    position,
    vouchedFor: 0,
    signedAt: new Set(),
  }
  for (const line of lines) {
    readLine(state, line, (problem) => problems.push(`after record ${state.position.sequence}, or in it: ${problem}`))
    if (problems.length >= MAX_PROBLEMS) break
  }
  if (isStart && state.log !== undefined && state.log !== log) problems.push('the beginning is of another log')
  return { problems, position: state.position, vouchedFor: state.vouchedFor, checkpoints: state.signedAt.size }
}

/**
 * Reads a kept checkpoint. When it cannot be verified, adds a sentence to `problems` and returns none; this does not
 * show a fault of the copy.
 */
function readKeptCheckpoint(compact: string, keys: CheckpointKeys, problems: string[]): Checkpoint[] {
  try {
    return [readCheckpoint(compact, keys)]
  } catch (error) {
    problems.push(`a checkpoint that was kept: ${messageOrThrow(error)}`)
    return []
  }
}

function groupByRecord(checkpoints: readonly Checkpoint[]): ReadonlyMap<number, readonly Checkpoint[]> {
  const groups = new Map<number, Checkpoint[]>()
  for (const checkpoint of checkpoints) {
    const group = groups.get(checkpoint.sequence)
    if (group === undefined) groups.set(checkpoint.sequence, [checkpoint])
    else group.push(checkpoint)
  }
  return groups
}

function readLine(state: VerificationState, line: string, reportProblem: (problem: string) => void): void {
  try {
    const value = parseJsonObject(line)
    const damagedBlock = memberOf(value, 'damaged')
    if (typeof damagedBlock === 'number') {
      reportProblem(`block ${damagedBlock} of the log cannot be read in the database, or stands there after the head`)
      return
    }
    const compact = stringMemberOf(value, 'checkpoint')
    if (compact !== undefined && Object.keys(value).length === 1) {
      const problem = compareCheckpoint(state, readCheckpoint(compact, state.keys))
      if (problem !== undefined) reportProblem(problem)
    } else readRecordLine(state, line, value, reportProblem)
  } catch (error) {
    reportProblem(messageOrThrow(error))
  }
}

function readRecordLine(
  state: VerificationState,
  line: string,
  value: JsonObject,
  reportProblem: (problem: string) => void,
): void {
  const record = readRecord(line, value)
  const problem = findChainProblem(state.position, record)
  if (problem !== undefined) reportProblem(problem)
  if (state.log === undefined) {
    state.log = record.subject ?? ''
    if (record.type !== LOG_START_TYPE) reportProblem('the copy does not begin with the beginning of the log')
  }
  // The chain continues from the stated hash, so that one bad record is reported once.
  state.position = { sequence: record.sequence, hash: record.hash }
  for (const checkpoint of state.keptCheckpoints.get(record.sequence) ?? []) {
    if (checkpoint.log !== state.log) continue
    const disagreement = compareCheckpoint(state, checkpoint)
    if (disagreement !== undefined) reportProblem(`by a checkpoint that was kept, ${disagreement}`)
  }
}

/**
 * Compares a checkpoint with the copy at the current position. Returns a sentence when they differ. Otherwise records
 * that the position is signed.
 */
function compareCheckpoint(state: VerificationState, checkpoint: Checkpoint): string | undefined {
  const { position, log } = state
  if (checkpoint.log !== log) return 'the checkpoint is of another log'
  if (checkpoint.sequence !== position.sequence) {
    return `the checkpoint of record ${checkpoint.sequence} stands after record ${position.sequence}`
  }
  if (checkpoint.hash !== position.hash) {
    return `record ${position.sequence} or one before it is not the one that was signed at ${checkpoint.at}`
  }
  if (state.problems.length === 0) state.vouchedFor = position.sequence
  state.signedAt.add(position.sequence)
  return undefined
}

/**
 * Yields the reasons for which the copy may still be wrong: a kept checkpoint is of another log; a kept checkpoint is
 * of a record beyond the end of the copy, for example because the service has signed again since; or the copy has no
 * checkpoint, as that of a new service.
 */
function* listUndecidedReasons(state: VerificationState): Iterable<string> {
  const { log, position, signedAt } = state
  const keptCheckpoints = [...state.keptCheckpoints.values()].flat()
  const isOfOther = (each: Checkpoint): boolean => log !== undefined && each.log !== log
  if (keptCheckpoints.some(isOfOther)) yield 'a checkpoint that was kept is of another log'
  const [last] = keptCheckpoints
    .filter((each) => !isOfOther(each) && each.sequence > position.sequence)
    .sort((a, b) => b.sequence - a.sequence)
  if (last !== undefined) {
    yield `the copy ends with record ${position.sequence}, and record ${last.sequence} was signed at ${last.at}: the copy is older than that, or its end is missing; export it again and verify that`
  }
  if (signedAt.size === 0)
    yield 'no checkpoint vouches for the copy: anybody could have written it; a service signs its log once a minute, and when it stops: export it again after that'
}

function messageOrThrow(error: unknown): string {
  if (error instanceof MalformedError) return error.message
  throw error
}
