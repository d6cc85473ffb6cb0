/** Checks of the response as a whole, and whether each presentation can be parsed. */

import { type Check, fail, pass } from '../../check/check.ts'
import type { Problem } from '../../codec/malformed.ts'
import type { Binding, Evidence } from '../../credential/format.ts'
import type { DcqlQuery } from '../../protocol/dcql.ts'
import { answerableIds, chooseCredentials } from '../../protocol/dcql-match.ts'
import type { RequestedTransaction } from '../../protocol/transaction-data.ts'
import type { PresentationCheckContext } from './context.ts'

export interface ResponseCheckContext {
  readonly query: DcqlQuery
  /** The `state` of the request; undefined if there is no session. */
  readonly state: string | undefined
  readonly binding: Pick<Binding, 'recipient'>
  /** The transactions that the response must approve. */
  readonly transactions: readonly RequestedTransaction[]
}

export interface ResponseEvidence {
  readonly state: string | undefined
  /** The number of presentations for each credential query id in the `vp_token`. */
  readonly counts: ReadonlyMap<string, number>
}

const BOUND_BY_KEY =
  'a response through the browser has no state; it was encrypted to the key of this session, which alone ties a credential without holder binding to it'

/** The checks that run once for each response. */
export const responseChecks: readonly Check<ResponseEvidence, ResponseCheckContext>[] = [
  {
    id: 'presentation.session',
    asks: 'Is the response to the request of this session?',
    spec: 'OpenID4VP 1.0, Response Parameters; RFC 6749 section 4.1.2',
    level: 'MUST',
    notApplicableReason: ({ state }) => (state === undefined ? 'there is no session' : undefined),
    run({ state }, context) {
      if ('origin' in context.binding.recipient) return pass(BOUND_BY_KEY)
      if (state === undefined)
        return pass('the response carries no state; the proof of each holder says whether it is for this session')
      // `receiveResponse` refuses another state before the checks, so that a stranger cannot end the session.
      return state === context.state ? pass() : fail('state is not the one of the request')
    },
  },
  {
    id: 'query.count',
    asks: 'Is there one presentation for each credential query, or more only where more were asked for?',
    spec: 'OpenID4VP 1.0, Response Parameters; Credential Query, multiple',
    level: 'MUST',
    run({ counts }, { query }) {
      const miscounts = query.credentials.flatMap(({ id, multiple }) => {
        const count = counts.get(id)
        if (count === undefined || count === 1 || (count > 1 && multiple === true)) return []
        return [`${id} has ${count} presentations, and ${multiple ? 'at least one' : 'exactly one'} was asked for`]
      })
      return miscounts.length === 0 ? pass() : fail(miscounts.join('; '))
    },
  },
  {
    id: 'query.complete',
    asks: 'Are all credentials there that were asked for, and no others?',
    spec: 'OpenID4VP 1.0, VP Token Validation; Selecting Credentials',
    level: 'MUST',
    run({ counts }, { query, transactions }) {
      if (counts.size === 0) return fail('the response presents nothing')
      const askedIds = answerableIds(query)
      const unrequestedIds = [...counts.keys()].filter((id) => !askedIds.has(id))
      if (unrequestedIds.length > 0)
        return fail(`the response has ${unrequestedIds.length} presentations that no credential query asks for`)
      const choice = chooseCredentials(query, new Set(counts.keys()))
      const missing = 'problem' in choice ? choice.problem : missingApproval(counts, transactions)
      return missing === undefined ? pass() : fail(missing)
    },
  },
]

/**
 * Returns the problem if a credential that must approve a transaction is missing; otherwise undefined. Such a
 * credential is required even if the query has it as optional.
 */
function missingApproval(counts: ResponseEvidence['counts'], transactions: ResponseCheckContext['transactions']) {
  const missing = transactions.flatMap(({ credentialIds }) => credentialIds).find((id) => !counts.has(id))
  return missing === undefined ? undefined : `${missing} was to approve a transaction, and is not there`
}

/** The evidence of a presentation, or why it cannot be parsed. */
export type Reading = { readonly evidence: Evidence } | Problem

/** The first check of each presentation: whether it can be parsed. */
export const readingChecks: readonly Check<Reading, PresentationCheckContext>[] = [
  {
    id: 'presentation.well_formed',
    asks: 'Can the presentation be read?',
    spec: 'RFC 9901, SD-JWT and SD-JWT+KB Data Formats; OpenID4VP 1.0, Credential Format Specific Parameters and Rules',
    level: 'MUST',
    run: (reading) => ('problem' in reading ? fail(reading.problem, reading.cause) : pass()),
  },
]
