/** Checkpoints: the service signs where its log stands. Whoever keeps one can tell later that nothing before it was changed. */
import type { KeyObject } from 'node:crypto'
import { type JsonObject, own, ownString } from '../codec/json.ts'
import { readJws, writeJws } from '../codec/jws.ts'
import { malformed } from '../codec/malformed.ts'
import { publicJwkOf, thumbprint } from '../keys/jwk.ts'
import { signedBy } from '../keys/signature.ts'
import type { Signer } from '../keys/signer.ts'
import type { Position } from './record.ts'

export interface Checkpoint extends Position {
  /** The id of the log. */
  readonly log: string
  /** ISO 8601, in UTC. */
  readonly at: string
}

/** So that nothing else that the key signs can be taken for one. */
const TYPE = 'vouchsafe-audit-checkpoint+jwt'

/** Public keys by their thumbprint. */
export type CheckpointKeys = ReadonlyMap<string, KeyObject>

/** As a compact JWS; `kid` is the thumbprint of the key. RFC 7638. */
export function writeCheckpoint(signer: Signer, { log, sequence, hash, at }: Checkpoint): Promise<string> {
  const header = { typ: TYPE, alg: signer.alg, kid: signer.kid }
  return writeJws(header, { log, sequence, hash, at }, (data) => signer.sign(data))
}

/** What the checkpoint says. Throws a MalformedError when it is none, or not by one of `keys`. */
export function readCheckpoint(compact: string, keys: CheckpointKeys): Checkpoint {
  const jws = readJws(compact)
  if (ownString(jws.header, 'typ') !== TYPE) malformed('it is no checkpoint of an audit log')
  const key = keys.get(ownString(jws.header, 'kid') ?? '')
  if (key === undefined) return malformed('it is signed by another key than that of the certificates given')
  if (!signedBy(jws, key)) malformed('its signature does not hold')
  const sequence = own(jws.payload, 'sequence')
  if (typeof sequence !== 'number') return malformed('it has no sequence')
  return { log: member(jws.payload, 'log'), sequence, hash: member(jws.payload, 'hash'), at: member(jws.payload, 'at') }
}

/** Every checkpoint in a text, which may be one, or the log of a service that wrote them between other lines. */
export function findCheckpoints(text: string): readonly string[] {
  const found = text.match(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g) ?? []
  return [...new Set(found)].filter((compact) => {
    const [header = ''] = compact.split('.')
    return Buffer.from(header, 'base64url').toString('latin1').includes(`"${TYPE}"`)
  })
}

export function checkpointKeys(keys: readonly KeyObject[]): CheckpointKeys {
  return new Map(keys.map((key) => [thumbprint(publicJwkOf(key)), key]))
}

function member(payload: JsonObject, name: string): string {
  return ownString(payload, name) ?? malformed(`it has no ${name}`)
}
