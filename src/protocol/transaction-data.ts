/**
 * Transaction data that a presentation must approve. In SD-JWT formats the key binding approves it by hashes. OpenID4VP
 * 1.0, `transaction_data` and Transaction Data; A Profile of Transaction Data in SD-JWT VC.
 */
import { isDeepStrictEqual } from 'node:util'
import { fromBase64url } from '../codec/base64url.ts'
import { digestOf, type HashName, hashNames, isHashName } from '../codec/digest.ts'
import { isObject, type Json, type JsonObject, memberOf, parseJsonObject } from '../codec/json.ts'
import { malformed } from '../codec/malformed.ts'
import { untrustedText } from '../codec/untrusted-text.ts'

export const MAX_TRANSACTIONS = 10

const DEFAULT_HASH: HashName = 'sha-256'

export interface RequestedTransaction {
  /** The encoded text in the request, which is hashed. */
  readonly text: string
  readonly type: string
  /** The ids of the credential queries of which one must approve the transaction. */
  readonly credentialIds: readonly string[]
  /** The decoded object. */
  readonly content: JsonObject
}

/** Parses an entry of `transaction_data`. Throws a MalformedError. */
export function parseTransaction(text: string): RequestedTransaction {
  const content = parseJsonObject(fromBase64url(text))
  return { text, ...parseTransactionContent(content), content }
}

/** Parses the common members of a decoded transaction. Throws a MalformedError that begins with the member name. */
export function parseTransactionContent(
  content: Json | undefined,
): Pick<RequestedTransaction, 'type' | 'credentialIds'> {
  if (!isObject(content)) return malformed('must be an object')
  const type = memberOf(content, 'type')
  if (typeof type !== 'string' || type === '') return malformed('type: must be a non-empty string')
  const hashes = memberOf(content, 'transaction_data_hashes_alg')
  if (hashes !== undefined) requireNames(hashes, 'transaction_data_hashes_alg')
  return { type, credentialIds: requireNames(memberOf(content, 'credential_ids'), 'credential_ids') }
}

/** Returns the hash algorithms that all transactions accept. Throws a MalformedError for an invalid transaction. */
export function findCommonHashes(transactionData: readonly string[]): readonly HashName[] {
  const acceptedHashes = transactionData.map(readNamedHashes)
  return hashNames.filter((name) => acceptedHashes.every((names) => (names ?? [DEFAULT_HASH]).includes(name)))
}

/** Makes the members of a key binding that approve these transactions; empty if there are none. */
export function makeApproval(transactionData: readonly string[]): JsonObject {
  if (transactionData.length === 0) return {}
  const [name] = findCommonHashes(transactionData)
  if (name === undefined) return malformed('the transactions have no supported hash in common')
  return makeApprovalByHash(name, transactionData)
}

/**
 * Returns why the payload of a key binding does not approve these transactions, with a hash algorithm that each of them
 * accepts, as part of a sentence; undefined if it does. It may also approve others of the request, as some wallets do
 * with each credential, and nothing else; all are in the order of the request.
 */
export function approvalProblem(
  payload: JsonObject,
  transactionData: readonly string[],
  requestTransactionData: readonly string[],
): string | undefined {
  const { transaction_data_hashes: hashes, transaction_data_hashes_alg: statedName } = payload
  if (transactionData.length === 0) return hashes === undefined ? undefined : 'no transaction was to be approved'
  if (!Array.isArray(hashes)) return 'it has no list of transaction_data_hashes'
  // `transaction_data_hashes_alg` is required if the request has it.
  if (statedName === undefined && hasNamedHashes(transactionData)) return 'it has no transaction_data_hashes_alg'
  const name = statedName === undefined ? DEFAULT_HASH : statedName
  if (!isHashName(name) || !findCommonHashes(transactionData).includes(name))
    return `the request does not offer its transaction_data_hashes_alg (${typeof name === 'string' ? untrustedText(name) : 'not a text'})`
  const expectedHashes = requestTransactionData.flatMap((text) => {
    const digest = digestOf(text, name)
    return transactionData.includes(text) || hashes.includes(digest) ? [digest] : []
  })
  if (isDeepStrictEqual(hashes, expectedHashes)) return undefined
  return 'transaction_data_hashes are not those of its transactions in the request, in the order of the request'
}

function requireNames(value: Json | undefined, name: string): readonly string[] {
  const names = Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
  if (!Array.isArray(value) || names.length === 0 || names.length < value.length) {
    return malformed(`${name}: must be a non-empty array of strings`)
  }
  return names
}

function makeApprovalByHash(name: HashName, transactionData: readonly string[]): JsonObject {
  return {
    transaction_data_hashes: transactionData.map((text) => digestOf(text, name)),
    ...(hasNamedHashes(transactionData) ? { transaction_data_hashes_alg: name } : {}),
  }
}

function hasNamedHashes(transactionData: readonly string[]): boolean {
  return transactionData.some((text) => readNamedHashes(text) !== undefined)
}

/** Returns the hash algorithms in the transaction; undefined if it has none. */
function readNamedHashes(text: string): readonly unknown[] | undefined {
  const value = memberOf(parseJsonObject(fromBase64url(text)), 'transaction_data_hashes_alg')
  if (value === undefined) return undefined
  return Array.isArray(value) ? value : malformed('transaction_data_hashes_alg is not an array')
}
