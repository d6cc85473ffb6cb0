/**
 * Checkpoints: signatures of a service over the head of its audit log. A copy of a checkpoint proves later that no
 * earlier record was changed.
 */
import type { KeyObject } from 'node:crypto'
import { type JsonObject, memberOf, stringMemberOf } from '../codec/json.ts'
import { readJws, writeJws } from '../codec/jws.ts'
import { malformed } from '../codec/malformed.ts'
import { publicJwkOf, thumbprint } from '../keys/jwk.ts'
import { isJwsSignedBy } from '../keys/signature.ts'
import type { Signer } from '../keys/signer.ts'
import type { LogPosition } from './record.ts'

export interface Checkpoint extends LogPosition {
  /** The id of the log. */
  readonly log: string
  /** The time in ISO 8601, in UTC. */
  readonly at: string
}

/** The JWS type, which distinguishes checkpoints from other texts that the key signs. */
const TYPE = 'vouchsafe-audit-checkpoint+jwt'

/** Public keys by their thumbprint. */
export type CheckpointKeys = ReadonlyMap<string, KeyObject>

/** Signs a checkpoint as a compact JWS. Its `kid` is the thumbprint of the key (RFC 7638). */
export function writeCheckpoint(signer: Signer, { log, sequence, hash, at }: Checkpoint): Promise<string> {
  const header = { typ: TYPE, alg: signer.alg, kid: signer.kid }
  return writeJws(header, { log, sequence, hash, at }, (data) => signer.sign(data))
}

/**
 * Reads a checkpoint, and verifies its signature. Throws a MalformedError when the text is not a checkpoint, or is not
 * signed by one of `keys`.
 */
export function readCheckpoint(compact: string, keys: CheckpointKeys): Checkpoint {
  const jws = readJws(compact)
  if (stringMemberOf(jws.header, 'typ') !== TYPE) malformed('it is not a checkpoint of an audit log')
  const key = keys.get(stringMemberOf(jws.header, 'kid') ?? '')
  if (key === undefined) return malformed('it is signed by another key than that of the certificates given')
  if (!isJwsSignedBy(jws, key)) malformed('its signature does not hold')
  const sequence = memberOf(jws.payload, 'sequence')
  if (typeof sequence !== 'number') return malformed('it has no sequence')
  return { log: member(jws.payload, 'log'), sequence, hash: member(jws.payload, 'hash'), at: member(jws.payload, 'at') }
}

/** Finds all checkpoints in a text, such as the log stream of a service. */
export function findCheckpoints(text: string): readonly string[] {
  const candidates = text.match(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g) ?? []
  return [...new Set(candidates)].filter((compact) => {
    const [header = ''] = compact.split('.')
    return Buffer.from(header, 'base64url').toString('latin1').includes(`"${TYPE}"`)
  })
}

/** Returns the keys by thumbprint. */
export function indexCheckpointKeys(keys: readonly KeyObject[]): CheckpointKeys {
  return new Map(keys.map((key) => [thumbprint(publicJwkOf(key)), key]))
}

function member(payload: JsonObject, name: string): string {
  return stringMemberOf(payload, name) ?? malformed(`it has no ${name}`)
}
