/**
 * How the holder of an SD-JWT approves transactions: hashes of their texts in the key binding.
 * OpenID4VP 1.0, A Profile of Transaction Data in SD-JWT VC.
 */
import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { fromBase64url } from './base64url.ts'
import { type JsonObject, own, parseJsonObject } from './json.ts'
import { malformed } from './malformed.ts'

/** The names of hashes in IANA's registry (Named Information Hash Algorithm), and Node's; the one we like best first. */
const HASHES: Readonly<Record<string, string>> = { 'sha-256': 'sha256', 'sha-384': 'sha384', 'sha-512': 'sha512' }
const DEFAULT = 'sha-256'

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

function approvalWith(name: string, transactionData: readonly string[]): JsonObject {
  const isNamed = transactionData.some((text) => namedHashes(text) !== undefined)
  return {
    transaction_data_hashes: transactionData.map((text) => hash(HASHES[name] ?? '', text, 'base64url')),
    ...(isNamed ? { transaction_data_hashes_alg: name } : {}),
  }
}

/** What the transaction says it may be hashed with; undefined when it says nothing. */
function namedHashes(text: string): readonly unknown[] | undefined {
  const value = own(parseJsonObject(fromBase64url(text).toString('utf8')), 'transaction_data_hashes_alg')
  if (value === undefined) return undefined
  return Array.isArray(value) ? value : malformed('transaction_data_hashes_alg is not an array')
}
