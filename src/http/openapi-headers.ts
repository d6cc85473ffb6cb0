/** The response headers in the OpenAPI document, besides those that every response has. */
import type { JsonObject } from '../codec/json.ts'

/** The member with the names of the headers that successful responses of an operation have. */
export const SENT_HEADERS = 'x-sent-headers'

const DESCRIPTIONS = {
  'DPoP-Nonce':
    'The nonce for the next DPoP proof (RFC 9449 section 8); with a request that has one, and of a nonce endpoint',
  ETag: 'The version of the document, for If-None-Match',
  Location: 'Where the browser goes',
  'OAuth-Client-Attestation-Challenge':
    'The challenge for the next proof, with a request that has a wallet attestation',
  'Retry-After': 'The seconds to wait before the next request, where they are known',
  'WWW-Authenticate': 'How to authenticate: the scheme, and the error of the token or the proof',
} as const

export type ResponseHeader = keyof typeof DESCRIPTIONS

interface DescribedResponse {
  readonly status: number
  /** The error codes of the response; none if it is a success. */
  readonly codes: readonly string[]
  /** The error codes of all responses of the operation. */
  readonly operationCodes: readonly string[]
  readonly sentHeaders: readonly ResponseHeader[]
}

/** Returns the `headers` member of a response; an empty object if it has none. */
export function headersMember(response: DescribedResponse): JsonObject {
  const names = headerNames(response)
  if (names.length === 0) return {}
  return {
    headers: Object.fromEntries(
      names.map((name) => [name, { description: DESCRIPTIONS[name], schema: { type: 'string' } }]),
    ),
  }
}

function headerNames({ status, codes, operationCodes, sentHeaders }: DescribedResponse): readonly ResponseHeader[] {
  const isRefused = codes.length > 0
  const names: readonly ResponseHeader[] = [
    ...(isRefused ? [] : sentHeaders),
    ...(status === 303 ? (['Location'] as const) : []),
    ...(status === 429 || status === 503 ? (['Retry-After'] as const) : []),
    // RFC 9110 section 11.6.1, RFC 6750 section 3.
    ...(status === 401 || status === 403 ? (['WWW-Authenticate'] as const) : []),
    ...(operationCodes.includes('use_dpop_nonce') ? (['DPoP-Nonce'] as const) : []),
    ...(operationCodes.includes('use_attestation_challenge') ? (['OAuth-Client-Attestation-Challenge'] as const) : []),
  ]
  return [...new Set(names)].sort()
}
