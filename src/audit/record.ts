/**
 * The records of the audit log, each chained to the one before: what a record covers, and how a line of a copy is written.
 * No personal data is in one, and no secret: a session stands in it by the hash of its id.
 */
import { digestOf } from '../codec/digest.ts'
import { type JsonObject, ownString } from '../codec/json.ts'
import { malformed } from '../codec/malformed.ts'

/** What is recorded of something that happened. */
export interface AuditEntry {
  /** ISO 8601, in UTC. */
  readonly at: string
  readonly type: string
  /** The label of the API key of whoever did it. */
  readonly caller?: string
  /** The id of what it is about, where that is no secret. */
  readonly subject?: string
  /** SHA-256 of the session id, base64url. */
  readonly session?: string
}

export interface AuditRecord extends AuditEntry {
  /** The first is 1; no number is left out. */
  readonly sequence: number
  /** SHA-256 of the hash before and of everything else in the record, base64url. */
  readonly hash: string
}

/** Where a log stands: what its next record goes on from. */
export interface Position {
  readonly sequence: number
  readonly hash: string
}

/** Before the first record. */
export const ORIGIN: Position = { sequence: 0, hash: '' }

/** Of the first record of every log; its subject is the id of the log. */
export const LOG_STARTED = 'audit.started'

/** The entries as records that go on from `position`. */
export function chain(position: Position, entries: readonly AuditEntry[]): readonly AuditRecord[] {
  let { sequence, hash: previous } = position
  return entries.map((entry) => {
    sequence += 1
    previous = hashOf(previous, { ...entry, sequence })
    return { ...entry, sequence, hash: previous }
  })
}

/** Why the record does not go on from `position`; undefined when it does. */
export function chainProblem(position: Position, record: AuditRecord): string | undefined {
  const wanted = position.sequence + 1
  if (record.sequence !== wanted) return `record ${record.sequence} stands where record ${wanted} should be`
  const { hash: stated, ...rest } = record
  return hashOf(position.hash, rest) === stated
    ? undefined
    : `record ${wanted} is not what its hash was made of: it, or one before it, was changed`
}

export function sessionThumbprint(sessionId: string): string {
  return digestOf(sessionId)
}

/** A record as a line of a copy: members in order, no white space. RFC 8785. */
export function recordLine(record: AuditRecord): string {
  return canonical(record as unknown as JsonObject)
}

/** Reads what {@link recordLine} wrote. Throws a MalformedError: what is not covered by a hash must not be in a line. */
export function readRecord(line: string, value: JsonObject): AuditRecord {
  const { sequence } = value
  if (!Number.isSafeInteger(sequence)) malformed('it has no sequence')
  for (const name of ['hash', 'at', 'type']) if (ownString(value, name) === undefined) malformed(`it has no ${name}`)
  if (canonical(value) !== line) malformed('it is not written as the log writes it; keep copies byte for byte')
  return value as unknown as AuditRecord
}

function hashOf(previous: string, record: AuditEntry & { readonly sequence: number }): string {
  return digestOf(`${previous}\n${canonical(record as unknown as JsonObject)}`)
}

/** All members are texts and whole numbers, so that their order is all there is to decide. */
function canonical(record: JsonObject): string {
  return JSON.stringify(record, Object.keys(record).sort())
}
