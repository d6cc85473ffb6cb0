/**
 * A presentation that the application already holds: verified against a query by the same checks, without a session.
 * Values that a session would know are compared where the application gives them; their checks are `not_applicable`
 * where it does not.
 */
import { fromBase64url } from '../codec/base64url.ts'
import type { JsonObject } from '../codec/json.ts'
import { formatOf } from '../credential/formats.ts'
import { recordEvent } from '../event/event.ts'
import type { DcqlQuery } from '../protocol/dcql.ts'
import { orRefuse, refuse } from '../protocol/error.ts'
import type { VerifierContext } from './context.ts'
import { operatorTerms } from './operator-terms.ts'
import { getQuery, readNewQuery } from './queries.ts'
import { readVpToken } from './response-form.ts'
import type { StaticPresentation } from './schemas.ts'
import { failedChecks, type VerificationReport, verify } from './verification.ts'

/**
 * Returns the report that a session would have. Refuses with `not_found` an unknown query, and with `invalid_request` a
 * body with both queries or none, a `vp_token` that cannot be read, and an mdoc without all that its signature covers.
 */
export async function verifyStatic(
  context: VerifierContext,
  request: StaticPresentation,
  { requestId, label: caller }: { readonly requestId: string; readonly label: string },
): Promise<VerificationReport> {
  const query = await queryOf(context, request)
  const vpToken = readVpToken(request.vp_token as JsonObject)
  const { nonce, audience, response_uri: responseUri, encryption_jwk_thumbprint: thumbprint } = request
  refuseMissing(query, { nonce, audience, response_uri: responseUri })
  const terms = {
    query,
    state: undefined,
    binding: {
      nonce,
      audience,
      responseUri: responseUri ?? '',
      encryptionKeyThumbprint: thumbprint === undefined ? undefined : thumbprintOf(thumbprint),
      transactionData: [],
    },
    sessionStart: undefined,
    ...operatorTerms(context),
  }
  const report = await verify({ vpToken, state: undefined }, terms, { log: context.log, requestId })
  const subject = request.verification_query_id
  const event = { type: 'presentation.verified', at: terms.now.getTime(), caller, ...(subject && { subject }) } as const
  await context.store.commit([recordEvent(event, context.random)])
  const { verified } = report
  const line = { event: 'presentation_verified', request: requestId, caller, verified, failed: failedChecks(report) }
  context.log.info(line, 'presentation verified')
  return report
}

function thumbprintOf(text: string): Uint8Array {
  return orRefuse('invalid_request', 'encryption_jwk_thumbprint', () => fromBase64url(text))
}

function queryOf(context: VerifierContext, request: StaticPresentation): Promise<DcqlQuery> | DcqlQuery {
  const { verification_query_id: id, dcql_query: posted } = request
  if ((id === undefined) === (posted === undefined)) {
    return refuse('invalid_request', 'send either verification_query_id or dcql_query')
  }
  return id === undefined ? readNewQuery(posted) : getQuery(context, id)
}

/**
 * Refuses with `invalid_request` a missing parameter that the holder's signature covers in the format of a requested
 * credential (mdoc), since that signature cannot be verified without it.
 */
function refuseMissing(query: DcqlQuery, parameters: Readonly<Record<string, string | undefined>>): void {
  const covered = query.credentials.find(
    ({ format, require_cryptographic_holder_binding: bound }) =>
      bound !== false && formatOf(format)?.unasked['holder.nonce'] !== undefined,
  )
  const missing = Object.keys(parameters).filter((name) => parameters[name] === undefined)
  if (covered !== undefined && missing.length > 0) {
    refuse('invalid_request', `${missing.join(', ')}: needed for ${covered.format}, whose signature covers it`)
  }
}
