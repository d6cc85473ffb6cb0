/**
 * A transaction that a presentation has to approve, and how the holder of an SD-JWT does: by hashes of their texts in the key
 * binding. OpenID4VP 1.0, `transaction_data` and Transaction Data; A Profile of Transaction Data in SD-JWT VC.
 */
import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { fromBase64url } from '../codec/base64url.ts'
import { isObject, type Json, type JsonObject, own, parseJsonObject } from '../codec/json.ts'
import { malformed } from '../codec/malformed.ts'

/** The check that asks for it: a format that cannot carry an approval lists it among its `unasked`, with the reason. */
export const TRANSACTION_CHECK = 'holder.transaction_data'

export const MAX_TRANSACTIONS = 10

/** The names of hashes in IANA's registry (Named Information Hash Algorithm), and Node's; the one we like best first. */
const HASHES: Readonly<Record<string, string>> = { 'sha-256': 'sha256', 'sha-384': 'sha384', 'sha-512': 'sha512' }
const DEFAULT = 'sha-256'

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
  const content = parseJsonObject(fromBase64url(text))
  return { text, ...readContent(content), content }
}

/** What the specification says of every transaction, of whatever type. Throws a MalformedError that begins with the member. */
export function readContent(content: Json | undefined): Pick<Transaction, 'type' | 'credentialIds'> {
  if (!isObject(content)) return malformed('must be an object')
  const type = own(content, 'type')
  if (typeof type !== 'string' || type === '') return malformed('type: must be a non-empty string')
  const hashes = own(content, 'transaction_data_hashes_alg')
  if (hashes !== undefined) wantNames(hashes, 'transaction_data_hashes_alg')
  return { type, credentialIds: wantNames(own(content, 'credential_ids'), 'credential_ids') }
}

/** The hashes that all of the transactions may be approved with. Throws a MalformedError when one cannot be read. */
export function approvalHashes(transactionData: readonly string[]): readonly string[] {
  const wanted = transactionData.map(namedHashes)
  return Object.keys(HASHES).filter((name) => wanted.every((names) => (names ?? [DEFAULT]).includes(name)))
}

/** The members of a key binding that approves these, each the text of the request; none when there are none. */
export function approvalOf(transactionData: readonly string[]): JsonObject {
  if (transactionData.length === 0) return {}
  const [name] = approvalHashes(transactionData)
  if (name === undefined) return malformed('the transactions have no supported hash in common')
  return approvalWith(name, transactionData)
}

/** Whether the payload of a key binding approves exactly these, in their order, by a hash that each of them allows. */
export function isApproval(payload: JsonObject, transactionData: readonly string[]): boolean {
  const { transaction_data_hashes: hashes, transaction_data_hashes_alg: named } = payload
  if (transactionData.length === 0) return hashes === undefined
  const name = named ?? DEFAULT
  if (typeof name !== 'string' || !approvalHashes(transactionData).includes(name)) return false
  const expected = approvalWith(name, transactionData)
  // Required when the request named hashes.
  if (named === undefined && Object.hasOwn(expected, 'transaction_data_hashes_alg')) return false
  return isDeepStrictEqual(hashes, expected.transaction_data_hashes)
}

function wantNames(value: Json | undefined, name: string): readonly string[] {
  const names = Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
  if (!Array.isArray(value) || names.length === 0 || names.length < value.length) {
    return malformed(`${name}: must be a non-empty array of strings`)
  }
  return names
}

function approvalWith(name: string, transactionData: readonly string[]): JsonObject {
  const isNamed = transactionData.some((text) => namedHashes(text) !== undefined)
  return {
    transaction_data_hashes: transactionData.map((text) => hash(HASHES[name] ?? '', text, 'base64url')),
    ...(isNamed ? { transaction_data_hashes_alg: name } : {}),
  }
}

/** What the transaction says it may be hashed with; undefined when it says nothing. */
function namedHashes(text: string): readonly unknown[] | undefined {
  const value = own(parseJsonObject(fromBase64url(text)), 'transaction_data_hashes_alg')
  if (value === undefined) return undefined
  return Array.isArray(value) ? value : malformed('transaction_data_hashes_alg is not an array')
}
