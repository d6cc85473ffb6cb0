/** docs/errors.md: every error code of the services and of an engine, with what it means and where it is answered. */
import { makeProblem, problems } from '../src/engine/problem.ts'
import { type ErrorCode, HTTP_STATUS } from '../src/protocol/error.ts'
import { CLIENT_ATTESTATION as CLIENT_ATTESTATION_DRAFT } from '../src/protocol/specifications.ts'
import { GENERATED, tableText } from './docs-text.ts'

interface Meaning {
  /** The specification that defines the code; none where the code is ours. */
  readonly source?: string
  /** The state of things, and what the caller does next. */
  readonly means: string
}

const OAUTH = 'RFC 6749 section 5.2'
const CLIENT_ATTESTATION = `${CLIENT_ATTESTATION_DRAFT}, Errors`
const CREDENTIAL = 'OpenID4VCI 1.0, Credential Error Response'

/** The compiler asks for a row for each code. */
const MEANINGS: Readonly<Record<ErrorCode, Meaning>> = {
  invalid_request: {
    source: OAUTH,
    means:
      'The request cannot be read, or a member is missing or wrong; the sentence has its path. Mend it, then ask again',
  },
  invalid_grant: {
    source: OAUTH,
    means:
      'The code or the refresh token is unknown, used or expired, or the transaction code is wrong. Start a new session, or enter the code again',
  },
  unsupported_grant_type: { source: OAUTH, means: 'The token endpoint does not know this grant' },
  invalid_client: {
    source: OAUTH,
    means:
      'The wallet has to authenticate itself and did not: send the headers `OAuth-Client-Attestation` and `OAuth-Client-Attestation-PoP`',
  },
  invalid_client_attestation: {
    source: CLIENT_ATTESTATION,
    means:
      'The wallet attestation, or the proof of possession beside it, is not good here; the sentence begins with the check that failed. Get a new attestation, or make the proof anew',
  },
  use_attestation_challenge: {
    source: CLIENT_ATTESTATION,
    means: 'No mistake: make the proof again with the challenge in the header `OAuth-Client-Attestation-Challenge`',
  },
  invalid_token: {
    source: 'RFC 6750 section 3.1',
    means: 'The access token is missing, expired, for another service, or its session is over. Get a new one',
  },
  insufficient_scope: {
    source: 'RFC 6750 section 3.1',
    means:
      'The access token is good, and is not for this credential; or, from a server of the operator, for no session',
  },
  invalid_scope: {
    source: 'RFC 6749 section 4.1.2.1',
    means:
      'The authorization request names no credential that can be asked for: name one by its scope, or by authorization details. Or a refresh asks for a scope that was not granted',
  },
  unsupported_response_type: { source: 'RFC 6749 section 4.1.2.1', means: 'The response type has to be `code`' },
  invalid_request_uri: {
    source: 'RFC 9101 section 7',
    means:
      'The `request_uri` is not ours, has been used or has expired, or is of another client. Push the request again',
  },
  invalid_dpop_proof: {
    source: 'RFC 9449 section 5',
    means: 'The DPoP proof is missing where it has to be, or does not fit the request, the token or its key',
  },
  use_dpop_nonce: {
    source: 'RFC 9449 sections 8 and 9',
    means: 'No mistake: make the proof again with the nonce in the header `DPoP-Nonce`',
  },
  invalid_authorization_details: {
    source: 'RFC 9396 section 14.6',
    means: '`authorization_details` asks for what the session does not offer',
  },
  invalid_credential_request: {
    source: CREDENTIAL,
    means: 'The credential request cannot be read, or has members that exclude each other',
  },
  unknown_credential_configuration: {
    source: CREDENTIAL,
    means:
      'There is no credential configuration of this id (for one of another offer the error is `insufficient_scope`), or none of an older draft’s format and kind in the offer',
  },
  unknown_credential_identifier: {
    source: CREDENTIAL,
    means: 'The token does not have this `credential_identifier`',
  },
  invalid_proof: {
    source: CREDENTIAL,
    means: 'A key proof does not hold: signature, key, audience, time, or their number. The sentence says which',
  },
  invalid_nonce: {
    source: CREDENTIAL,
    means: 'The nonce of a key proof is unknown, used or expired. Fetch a new one from the nonce endpoint',
  },
  invalid_encryption_parameters: {
    source: CREDENTIAL,
    means: 'The encrypted request cannot be opened, or the answer cannot be encrypted as it asks',
  },
  credential_request_denied: {
    source: CREDENTIAL,
    means:
      'There will be no credential: the application denied it, the session was revoked or is suspended, its data is gone, or this token or session has had as many as it may have; the description says which',
  },
  invalid_transaction_id: {
    source: 'OpenID4VCI 1.0, Deferred Credential Error Response',
    means: 'The transaction id is unknown, of another session, or was answered before',
  },
  issuance_pending: {
    source: 'OpenID4VCI drafts up to 15',
    means: 'No mistake, and for wallets of those drafts alone: ask again after `interval` seconds',
  },
  invalid_notification_id: {
    source: 'OpenID4VCI 1.0, Notification Error Response',
    means: 'The notification id is unknown, or of another session',
  },
  invalid_notification_request: {
    source: 'OpenID4VCI 1.0, Notification Error Response',
    means: 'The notification cannot be read, or has an event that the specification does not have',
  },
  unsupported_credential_type: {
    source: 'OpenID4VCI draft 13',
    means: 'For wallets of that draft alone: the session offers no credential of this format and type',
  },
  unauthorized: {
    means: 'The API key is missing or unknown. Send one of `integrations.authentication` as a Bearer token',
  },
  not_found: { means: 'There is nothing at this address, or it was deleted' },
  invalid_state: { means: 'The request makes no sense in the present state of the session; the sentence says why' },
  method_not_allowed: { means: 'The address takes other methods; the header `Allow` has them' },
  idempotency_conflict: {
    means: 'The `Idempotency-Key` was used for another body. Use a new key for each request that is another one',
  },
  gone: { means: 'The offer or the request was used, has expired, or is void. Start a new session' },
  request_too_large: { means: 'The body is larger than this endpoint takes' },
  unsupported_media_type: {
    means: 'The body has to be JSON, with `Content-Type: application/json` and without `Content-Encoding`',
  },
  too_many_requests: {
    means:
      'This address asked too often (`rateLimits`), or sent too many requests of one session, with unknown access tokens or with large bodies at once. Wait for the seconds of `Retry-After`',
  },
  server_error: {
    means:
      'A mistake of the service, or a database that cannot be written. The log has the reason, under the `X-Request-Id`',
  },
  not_implemented: {
    source: 'Token Status List, Historical Resolution',
    means: 'The service keeps no history of its status lists (`time`)',
  },
  temporarily_unavailable: {
    means:
      'Too much at once; an authorization server, a provider, a verifier or a token with a key that does not answer; or a certificate that has ended. Ask again, after the seconds of `Retry-After` where the answer has it',
  },
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationText>>>>
}

interface OperationText {
  readonly responses?: Readonly<Record<string, { readonly description?: string }>>
}

/** Codes that nearly every endpoint answers, whose list would say nothing. */
const MANY = 10

/** Makes the page. The OpenAPI documents are those of an issuer and of a verifier. */
export function errorsPage(documents: readonly OpenApi[]): string {
  const places = endpointsOfErrors(documents)
  const rows = Object.entries(MEANINGS).map(([code, { source = '', means }]) => {
    const paths = places.get(code) ?? []
    const where = paths.length > MANY ? `${paths.length} endpoints` : paths.map((path) => `\`${path}\``).join(', ')
    return [`\`${code}\``, String(HTTP_STATUS[code as ErrorCode]), means, source, where]
  })
  return `${GENERATED}
# Errors

On this page you find what an error code means, what to do about it, and which endpoints answer it.

## Errors of issuer and verifier

A refusal is \`{"error", "error_description"}\`, with the request id in the header \`X-Request-Id\`; the sentence says what is wrong
and what to do. A failed verification is not an error but a report: its [checks](checks.md) say why. Where a wallet is told less than
the log knows, the log has the rest under the request id. At a protected resource errors of DPoP have the status 401 (RFC 9449
section 7.1).

${tableText(['error', 'status', 'means', 'defined by', 'answered by'], rows)}

## Errors of an execution engine

The engine's own answers are problem documents (RFC 9457), with the code in the header \`x-engine-error\`; answers of components
never have that header. More about them: [engine.md](engine.md#answers-of-the-engine-itself).

${tableText(['code', 'status', 'Retry-After', 'says'], engineRows())}
`
}

/** The `Retry-After` of problems whose seconds depend on the caller. */
const VARYING_SECONDS: Readonly<Record<string, string>> = {
  'too-many-requests': 'varies',
  'transaction-quota': 'varies, or none',
}

function engineRows(): string[][] {
  return Object.entries(problems).map(([code, { status, detail }]) => {
    const seconds = makeProblem(code as keyof typeof problems).headers['retry-after'] ?? VARYING_SECONDS[code] ?? ''
    return [`\`${code}\``, String(status), seconds, detail.replaceAll('<', '\\<')]
  })
}

/** Returns the paths that answer each code, as the documents have them in the descriptions of their refusals. */
function endpointsOfErrors(documents: readonly OpenApi[]): ReadonlyMap<string, readonly string[]> {
  const places = new Map<string, Set<string>>()
  for (const { paths } of documents) {
    for (const [path, operations] of Object.entries(paths)) {
      for (const { responses = {} } of Object.values(operations)) {
        const codes = Object.entries(responses).flatMap(([status, { description = '' }]) =>
          Number(status) < 400 ? [] : description.split(', '),
        )
        for (const code of codes) places.set(code, (places.get(code) ?? new Set()).add(path))
      }
    }
  }
  return new Map([...places].map(([code, paths]) => [code, [...paths].sort()]))
}
