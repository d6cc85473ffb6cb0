/** The response headers in the OpenAPI document, besides those that every response has. */
import type { JsonObject } from '../codec/json.ts'

/** The member with the names of the headers that successful responses of an operation have. */
export const SENT_HEADERS = 'x-sent-headers'

/** The description of the answer 304, which goes with `ETag`. */
export const NOT_MODIFIED = 'Not modified: the caller has this document'

/** The descriptions of the headers that mean the same in all three services. */
export const COMMON_DESCRIPTIONS = {
  ETag: 'The version of the document, for If-None-Match',
  'Retry-After': 'The seconds to wait before the next request, where they are known',
} as const

const DESCRIPTIONS = {
  ...COMMON_DESCRIPTIONS,
  'DPoP-Nonce':
    'The nonce for the next DPoP proof (RFC 9449 section 8); with a request that has one, and of the endpoints for nonces and challenges',
  Location: 'Where the browser goes',
  'OAuth-Client-Attestation-Challenge':
    'The challenge for the next proof, with a request that has a wallet attestation',
  'WWW-Authenticate': 'How to authenticate: the scheme, and the error of the token or the proof',
} as const

export type ResponseHeader = keyof typeof DESCRIPTIONS

/** The part of a response in an OpenAPI document that names its headers. */
type HeadersMember = { readonly headers?: JsonObject }

interface DescribedResponse {
  readonly status: number
  /** The error codes of all responses of the operation. */
  readonly operationCodes: readonly string[]
  readonly sentHeaders: readonly ResponseHeader[]
}

/** Returns the `headers` member of a response of an issuer or a verifier; an empty object if it has none. */
export function headersMember(response: DescribedResponse): HeadersMember {
  return describeHeaders(headerNames(response), DESCRIPTIONS)
}

/** Returns the `headers` member of a response with these headers; an empty object if there are none. */
export function describeHeaders<Name extends string>(
  names: readonly Name[],
  descriptions: Readonly<Record<Name, string>>,
): HeadersMember {
  if (names.length === 0) return {}
  const entries = names.map((name) => [name, { description: descriptions[name], schema: { type: 'string' } }] as const)
  return { headers: Object.fromEntries(entries) }
}

function headerNames({ status, operationCodes, sentHeaders }: DescribedResponse): readonly ResponseHeader[] {
  const names: readonly ResponseHeader[] = [
    ...(status < 400 ? sentHeaders : []),
    ...(status === 303 ? (['Location'] as const) : []),
    ...(status === 429 || status === 503 ? (['Retry-After'] as const) : []),
    // RFC 9110 section 11.6.1, RFC 6750 section 3.
    ...(status === 401 || status === 403 ? (['WWW-Authenticate'] as const) : []),
    ...(operationCodes.includes('use_dpop_nonce') ? (['DPoP-Nonce'] as const) : []),
    ...(operationCodes.includes('use_attestation_challenge') ? (['OAuth-Client-Attestation-Challenge'] as const) : []),
  ]
  return [...new Set(names)].sort()
}
