/**
 * Verifies a presentation that the application already has, with the checks of a session but without one. The
 * application may send the values that a session would know. Checks of a missing value are `not_applicable`.
 */
import { fromBase64url } from '../codec/base64url.ts'
import type { JsonObject } from '../codec/json.ts'
import { formatOf } from '../credential/formats.ts'
import { makeEventChange } from '../event/event.ts'
import type { CredentialQuery, DcqlQuery } from '../protocol/dcql.ts'
import { readOrRefuse, refuse } from '../protocol/error.ts'
import { ORIGIN_PREFIX } from '../protocol/oid4vp.ts'
import { currentDescriptions, type DescribedReport, describeReport } from './check-descriptions.ts'
import { createOperatorPolicy, type VerifierContext } from './context.ts'
import { readNewQuery, requireQuery } from './queries.ts'
import { readVpToken } from './response-form.ts'
import type { StaticPresentation } from './schemas.ts'
import { failedChecks, verifyVpResponse } from './verification.ts'

/**
 * Returns the report on a presentation. Refuses with `not_found` an unknown query, and with `invalid_request` a body
 * with both or neither of the two query members, an invalid `vp_token`, an mdoc without the parameters that its
 * signature covers, and a `response_uri` beside an origin.
 */
export async function verifyStaticPresentation(
  context: VerifierContext,
  request: StaticPresentation,
  { requestId, caller }: { readonly requestId: string; readonly caller: string },
): Promise<DescribedReport> {
  const query = await loadRequestedQuery(context, request)
  const vpToken = readVpToken(request.vp_token as JsonObject)
  const { nonce, audience, response_uri } = request
  const origin = readOrigin(request)
  const presentedQueries = query.credentials.filter(({ id }) => vpToken.has(id))
  refuseMissingParameters(presentedQueries, { nonce, audience, ...(origin === undefined && { response_uri }) })
  const verificationContext = {
    query,
    state: undefined,
    binding: makeBinding(request, origin),
    transactions: [],
    sessionStart: undefined,
    ...createOperatorPolicy(context),
  }
  const report = await verifyVpResponse({ vpToken, state: undefined }, verificationContext, {
    logger: context.log,
    requestId,
  })
  const { verified } = report
  const event = {
    type: 'presentation.verified',
    outcome: verified ? 'succeeded' : 'failed',
    at: verificationContext.now.getTime(),
    caller,
    ...(request.verification_query_id && { subject: request.verification_query_id }),
  } as const
  await context.store.commit([makeEventChange(event, context.random)])
  const line = { event: 'presentation_verified', request: requestId, caller, verified, failed: failedChecks(report) }
  context.log.info(line, 'presentation verified')
  return describeReport(report, currentDescriptions)
}

/**
 * Returns the origin of the page that asked the browser for the presentation; undefined if a link asked for it. The
 * audience is then `origin:` and the origin, and no client identifier begins so. Refuses with `invalid_request` a
 * `response_uri` beside an origin. OpenID4VP 1.0, appendix A, Response; Client Identifier Prefixes.
 */
function readOrigin({ audience, response_uri: responseUri }: StaticPresentation): string | undefined {
  if (!audience?.startsWith(ORIGIN_PREFIX)) return undefined
  if (responseUri !== undefined) {
    refuse(
      'invalid_request',
      'response_uri: a request through the browser, whose audience begins with origin:, has none',
    )
  }
  return audience.slice(ORIGIN_PREFIX.length)
}

/** Makes the values that must bind the presentations, of which each may be missing. */
function makeBinding(request: StaticPresentation, origin: string | undefined) {
  const { nonce, audience, response_uri: responseUri = '', encryption_jwk_thumbprint: thumbprint } = request
  return {
    nonce,
    audience,
    recipient: origin === undefined ? { responseUri } : { origin },
    encryptionKeyThumbprint: thumbprint === undefined ? undefined : readThumbprint(thumbprint),
  }
}

function readThumbprint(text: string): Uint8Array {
  return readOrRefuse('invalid_request', 'encryption_jwk_thumbprint', () => fromBase64url(text))
}

function loadRequestedQuery(context: VerifierContext, request: StaticPresentation): Promise<DcqlQuery> | DcqlQuery {
  const { verification_query_id: id, dcql_query: postedQuery } = request
  if ((id === undefined) === (postedQuery === undefined)) {
    return refuse('invalid_request', 'send either verification_query_id or dcql_query')
  }
  return id === undefined ? readNewQuery(postedQuery, context.config) : requireQuery(context, id)
}

/** Refuses with `invalid_request` a missing parameter that the signature of a presented format (mdoc) covers. */
function refuseMissingParameters(
  queries: readonly CredentialQuery[],
  parameters: Readonly<Record<string, string | undefined>>,
): void {
  const coveringQuery = queries.find(
    ({ format, require_cryptographic_holder_binding: holderBinding }) =>
      holderBinding !== false && formatOf(format)?.signatureCoversRequest === true,
  )
  const missing = Object.keys(parameters).filter((name) => parameters[name] === undefined)
  if (coveringQuery !== undefined && missing.length > 0) {
    refuse('invalid_request', `${missing.join(', ')}: needed for ${coveringQuery.format}, whose signature covers it`)
  }
}
