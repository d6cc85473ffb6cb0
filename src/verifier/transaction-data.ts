/**
 * The transaction data of a session: what the application wants the holder to approve, encoded for the request.
 * OpenID4VP 1.0, Transaction Data.
 */
import { toBase64url } from '../codec/base64url.ts'
import type { JsonObject } from '../codec/json.ts'
import { readOrElse } from '../codec/malformed.ts'
import { formatOf } from '../credential/formats.ts'
import type { CredentialQuery, DcqlQuery } from '../protocol/dcql.ts'
import { refuse } from '../protocol/error.ts'
import { findCommonHashes, parseTransactionContent } from '../protocol/transaction-data.ts'

/** The size limit for all transactions of a session together, as JSON. */
const MAX_CHARACTERS = 65_536

/**
 * Encodes the transactions for the request. Refuses with `invalid_request` and the path a transaction that no requested
 * credential can approve.
 */
export function writeTransactionData(postedTransactions: readonly JsonObject[], query: DcqlQuery): readonly string[] {
  const transactions = postedTransactions.map((content, index) => {
    const at = `transaction_data[${index}]`
    const { credentialIds } = readOrRefuseAt(at, () => parseTransactionContent(content))
    const problem = credentialProblem(credentialIds, query)
    if (problem !== undefined) refuse('invalid_request', `${at}.credential_ids: ${problem}`)
    return { text: toBase64url(JSON.stringify(content)), credentialIds }
  })
  const texts = transactions.map(({ text }) => text)
  if (texts.join('').length > MAX_CHARACTERS) refuse('invalid_request', 'transaction_data: it is too large')
  for (const { id } of query.credentials) {
    const ownTransactions = transactions.filter(({ credentialIds }) => credentialIds.includes(id))
    if (findCommonHashes(ownTransactions.map(({ text }) => text)).length > 0) continue
    refuse(
      'invalid_request',
      `transaction_data: no hash is allowed by every transaction for ${id}; leave transaction_data_hashes_alg out, or use sha-256`,
    )
  }
  return texts
}

function credentialProblem(ids: readonly string[], { credentials }: DcqlQuery): string | undefined {
  const [id] = ids
  // With several ids the wallet would choose one, and the checks would not know which.
  if (ids.length > 1) return 'name exactly one credential query; several are not supported'
  const query = credentials.find((each) => each.id === id)
  return query === undefined ? 'the query asks for no credential of that id' : queryProblem(query)
}

function queryProblem({ format, multiple, require_cryptographic_holder_binding: holderBinding }: CredentialQuery) {
  const unableReason = formatOf(format)?.transactionProblem
  if (unableReason !== undefined) return `${format} cannot approve a transaction: ${unableReason}`
  // OpenID4VP 1.0, Transaction Data of IETF SD-JWT VC
  if (holderBinding === false)
    return 'the query does without the holder (require_cryptographic_holder_binding), who must approve'
  return multiple ? 'the query takes several presentations (multiple), and one must approve' : undefined
}

function readOrRefuseAt<T>(at: string, read: () => T): T {
  return readOrElse(read, (error) => refuse('invalid_request', `${at}.${error.message}`, { cause: error }))
}
