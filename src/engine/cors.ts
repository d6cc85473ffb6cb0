/** The CORS headers of an engine, the same for all components: pages of any origin may call it, without credentials. */

const EXPOSED_HEADERS = 'X-Engine-Error, X-Engine-Block, X-Engine-Signature, Retry-After, X-Request-Id'
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'

/** Returns the CORS headers of a response; none unless `enabled`. */
export function corsHeaders(enabled: boolean): readonly (readonly [name: string, value: string])[] {
  if (!enabled) return []
  return [
    ['access-control-allow-origin', '*'],
    ['access-control-expose-headers', EXPOSED_HEADERS],
  ]
}

/**
 * Returns the headers of the answer to a preflight request. Header names are listed one by one, because `*` does not
 * include `authorization`.
 */
export function preflightHeaders(preflightRequest: {
  readonly method: string | undefined
  readonly headers: string | undefined
}): readonly (readonly [name: string, value: string])[] {
  const isToken = (text: string | undefined): text is string => text !== undefined && /^[A-Za-z]{1,20}$/.test(text)
  const methods =
    isToken(preflightRequest.method) && !METHODS.split(', ').includes(preflightRequest.method)
      ? `${METHODS}, ${preflightRequest.method}`
      : METHODS
  const names = preflightRequest.headers ?? ''
  const headers = /^[!#$%&'*+.^_`|~0-9A-Za-z, -]{1,2000}$/.test(names) ? names : 'Authorization, Content-Type'
  return [
    ...corsHeaders(true),
    ['access-control-allow-methods', methods],
    ['access-control-allow-headers', headers],
    ['access-control-max-age', '7200'],
    ['allow', `${METHODS}, OPTIONS`],
  ]
}
