/**
 * Transaction data: the wallet shows all of it, and presenting approves it. The wallet knows no specific types.
 * OpenID4VP 1.0, Transaction Data.
 */
import { type JsonObject, memberOf, refuseMany } from '../codec/json.ts'
import { readOrElse } from '../codec/malformed.ts'
import { formatOf } from '../credential/formats.ts'
import type { CredentialQuery, DcqlQuery } from '../protocol/dcql.ts'
import {
  findCommonHashes,
  MAX_TRANSACTIONS,
  parseTransaction,
  type RequestedTransaction,
} from '../protocol/transaction-data.ts'
import { refuseWith } from './error.ts'

/** The maximum number of members and elements of a transaction that a person can be expected to read. */
const MAX_VALUES = 1000

/** A transaction, and the query whose presentation approves it. */
export type Approval = RequestedTransaction & { readonly queryId: string }

/**
 * Returns the transactions of a request. Refuses with `invalid_request_object` an invalid transaction, or one for a
 * credential that is not requested, and with `unsupported` one that this wallet cannot approve.
 */
export function readTransactions(payload: JsonObject, query: DcqlQuery): readonly RequestedTransaction[] {
  const value = memberOf(payload, 'transaction_data')
  if (value === undefined) return []
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_TRANSACTIONS) {
    return refuseTransactionData(`is not an array of 1 to ${MAX_TRANSACTIONS} transactions`)
  }
  return value.map((text, index) => readTransaction(text, `[${index}]`, query))
}

/**
 * Assigns each transaction to one presentation. An optional query is answered too if it must approve a transaction.
 * Returns a problem if a transaction cannot be approved.
 */
export function approvalsOf(
  transactions: readonly RequestedTransaction[],
  requiredIds: readonly string[],
  available: ReadonlySet<string>,
):
  | { readonly approvals: readonly Approval[]; readonly chosenQueryIds: readonly string[] }
  | { readonly problem: string } {
  const approvals: Approval[] = []
  const chosenIds = new Set(requiredIds)
  for (const transaction of transactions) {
    const { type, credentialIds } = transaction
    const queryId = credentialIds.find((id) => chosenIds.has(id)) ?? credentialIds.find((id) => available.has(id))
    if (queryId === undefined) {
      return {
        problem: `the transaction ${type} is to be approved with ${credentialIds.join(' or ')}, which is not there`,
      }
    }
    chosenIds.add(queryId)
    approvals.push({ ...transaction, queryId })
  }
  return { approvals, chosenQueryIds: [...chosenIds] }
}

function readTransaction(text: unknown, at: string, query: DcqlQuery): RequestedTransaction {
  if (typeof text !== 'string') return refuseTransactionData(`${at} is not a string`)
  const transaction = readOrRefuseTransactionData(at, () => parseTransaction(text))
  readOrRefuseTransactionData(at, () => refuseMany(transaction.content, MAX_VALUES))
  for (const id of transaction.credentialIds) {
    const credential = query.credentials.find((each) => each.id === id)
    if (credential === undefined)
      return refuseTransactionData(`${at}.credential_ids names a credential that is not asked for`)
    const problem = approvalProblem(credential)
    if (problem !== undefined)
      refuseWith('unsupported', `the verifier wants a transaction approved with ${id}, and ${problem}`)
  }
  if (readOrRefuseTransactionData(at, () => findCommonHashes([text])).length === 0) {
    refuseWith('unsupported', 'the verifier wants a transaction approved by a hash that this wallet does not know')
  }
  return transaction
}

function approvalProblem({
  format,
  multiple,
  require_cryptographic_holder_binding: hasHolderBinding,
}: CredentialQuery): string | undefined {
  const plugin = formatOf(format)
  const reason = plugin ? plugin.transactionProblem : 'this wallet does not know the format'
  if (reason !== undefined) return `${format} cannot do that: ${reason}`
  if (hasHolderBinding === false)
    return 'the query does without the signature of the holder, which would be the approval'
  return multiple ? 'the query takes several presentations, of which one is to approve' : undefined
}

function readOrRefuseTransactionData<T>(at: string, read: () => T): T {
  return readOrElse(read, (error) => refuseTransactionData(`${at}: ${error.message}`, error))
}

function refuseTransactionData(reason: string, cause?: unknown): never {
  return refuseWith(
    'invalid_request_object',
    `the request cannot be trusted, and nothing was sent: transaction_data ${reason}`,
    cause,
  )
}
