/**
 * The records of the audit log, each chained to the previous one by its hash, and the lines of a copy. A record
 * contains neither personal data nor secrets: it names a session by the hash of its id.
 */
import { digestOf } from '../codec/digest.ts'
import { type JsonObject, stringMemberOf } from '../codec/json.ts'
import { malformed } from '../codec/malformed.ts'

/** The content of a record. */
export interface AuditEntry {
  /** The time in ISO 8601, in UTC. */
  readonly at: string
  readonly type: string
  /** How a verification without a session ended, of which the type says only that it was done. */
  readonly outcome?: 'succeeded' | 'failed'
  /** The label of the API key of the caller. */
  readonly caller?: string
  /** The id of the configuration, query or log that the record is about; such ids are not secret. */
  readonly subject?: string
  /** The SHA-256 of the session id, in base64url. */
  readonly session?: string
}

export interface AuditRecord extends AuditEntry {
  /** The number of the record: 1 for the first, and one more for each further record. */
  readonly sequence: number
  /** The SHA-256 of the previous record's hash and of all other members of this record, in base64url. */
  readonly hash: string
}

/** A position in a log: the number and the hash of a record, which the next record continues. */
export interface LogPosition {
  readonly sequence: number
  readonly hash: string
}

/** The position before the first record. */
export const ORIGIN: LogPosition = { sequence: 0, hash: '' }

/** The type of the first record of every log, whose subject is the id of the log. */
export const LOG_START_TYPE = 'audit.started'

/** Makes the records of entries, chained to the record at `position`. */
export function chainRecords(position: LogPosition, entries: readonly AuditEntry[]): readonly AuditRecord[] {
  let { sequence, hash: previousHash } = position
  return entries.map((entry) => {
    sequence += 1
    previousHash = hashOf(previousHash, { ...entry, sequence })
    return { ...entry, sequence, hash: previousHash }
  })
}

/** Returns a sentence when the record does not continue from `position`; undefined when it does. */
export function findChainProblem(position: LogPosition, record: AuditRecord): string | undefined {
  const expectedSequence = position.sequence + 1
  if (record.sequence !== expectedSequence)
    return `record ${record.sequence} stands where record ${expectedSequence} should be`
  const { hash: statedHash, ...rest } = record
  return hashOf(position.hash, rest) === statedHash
    ? undefined
    : `record ${expectedSequence} is not what its hash was made of: it, or one before it, was changed`
}

/** Returns the hash by which a record names a session. */
export function hashSessionId(sessionId: string): string {
  return digestOf(sessionId)
}

/** Returns a record as a line of a copy: canonical JSON, with sorted members and without white space. RFC 8785. */
export function writeRecord(record: AuditRecord): string {
  return writeCanonicalJson(record as unknown as JsonObject)
}

/**
 * Reads a line of {@link writeRecord}; `value` is its parsed JSON. Throws a MalformedError when the line is not exactly
 * what writeRecord would return: a line must not contain anything that the hash does not cover.
 */
export function readRecord(line: string, value: JsonObject): AuditRecord {
  const { sequence } = value
  if (!Number.isSafeInteger(sequence)) malformed('it has no sequence')
  for (const name of ['hash', 'at', 'type'])
    if (stringMemberOf(value, name) === undefined) malformed(`it has no ${name}`)
  if (writeCanonicalJson(value) !== line) malformed('it is not written as the log writes it; keep copies byte for byte')
  return value as unknown as AuditRecord
}

function hashOf(previousHash: string, record: AuditEntry & { readonly sequence: number }): string {
  return digestOf(`${previousHash}\n${writeCanonicalJson(record as unknown as JsonObject)}`)
}

/** Returns canonical JSON. All members are strings or whole numbers, so that only the order has to be fixed. */
function writeCanonicalJson(record: JsonObject): string {
  return JSON.stringify(record, Object.keys(record).sort())
}
