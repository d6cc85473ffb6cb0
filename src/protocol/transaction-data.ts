/** A transaction that a presentation has to approve. OpenID4VP 1.0, `transaction_data` and Transaction Data. */
import { fromBase64url } from '../codec/base64url.ts'
import { isObject, type Json, type JsonObject, own, parseJsonObject } from '../codec/json.ts'
import { malformed } from '../codec/malformed.ts'

/** The check that asks for it: a format that cannot carry an approval lists it among its `unasked`, with the reason. */
export const TRANSACTION_CHECK = 'holder.transaction_data'

export const MAX_TRANSACTIONS = 10

export interface Transaction {
  /** As it stands in the request: what is hashed. */
  readonly text: string
  readonly type: string
  /** The credential queries, one of which is to approve it. */
  readonly credentialIds: readonly string[]
  /** All of it. */
  readonly content: JsonObject
}

/** Reads one string of `transaction_data`. Throws a MalformedError that says what is wrong with it. */
export function readTransaction(text: string): Transaction {
  const content = parseJsonObject(fromBase64url(text).toString('utf8'))
  return { text, ...readContent(content), content }
}

/** What the specification says of every transaction, of whatever type. Throws a MalformedError that begins with the member. */
export function readContent(content: Json | undefined): Pick<Transaction, 'type' | 'credentialIds'> {
  if (!isObject(content)) return malformed('must be an object')
  const type = own(content, 'type')
  if (typeof type !== 'string' || type === '') return malformed('type: must be a non-empty string')
  wantNames(own(content, 'transaction_data_hashes_alg') ?? ['sha-256'], 'transaction_data_hashes_alg')
  return { type, credentialIds: wantNames(own(content, 'credential_ids'), 'credential_ids') }
}

function wantNames(value: Json | undefined, name: string): readonly string[] {
  const names = Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
  if (!Array.isArray(value) || names.length === 0 || names.length < value.length) {
    return malformed(`${name}: must be a non-empty array of strings`)
  }
  return names
}
