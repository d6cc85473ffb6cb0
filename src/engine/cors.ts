/** The CORS headers of an engine, the same for all components: pages of any origin may call it, without credentials. */

const EXPOSED_HEADERS = 'X-Engine-Error, X-Engine-Block, X-Engine-Signature, Retry-After, X-Request-Id'
const COMPONENT_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const OWN_METHODS = 'GET, HEAD'

/** Returns the CORS headers of a response; none unless `enabled`. */
export function corsHeaders(enabled: boolean): readonly (readonly [name: string, value: string])[] {
  if (!enabled) return []
  return [
    ['access-control-allow-origin', '*'],
    ['access-control-expose-headers', EXPOSED_HEADERS],
  ]
}

/**
 * Returns the headers of the answer to a preflight request, which is for a component or for a route of the engine
 * itself. Only a component may have methods that HTTP does not define. Header names are listed one by one, because `*`
 * does not include `authorization`.
 */
export function preflightHeaders(preflightRequest: {
  readonly isForComponent: boolean
  readonly method: string | undefined
  readonly headers: string | undefined
}): readonly (readonly [name: string, value: string])[] {
  const { isForComponent, method = '', headers: names = '' } = preflightRequest
  const isOtherMethod = /^[A-Za-z]{1,20}$/.test(method) && !COMPONENT_METHODS.split(', ').includes(method)
  const standardMethods = isForComponent ? COMPONENT_METHODS : OWN_METHODS
  const methods = isForComponent && isOtherMethod ? `${standardMethods}, ${method}` : standardMethods
  const headers = /^[!#$%&'*+.^_`|~0-9A-Za-z, -]{1,2000}$/.test(names) ? names : 'Authorization, Content-Type'
  return [
    ...corsHeaders(true),
    ['access-control-allow-methods', methods],
    ['access-control-allow-headers', headers],
    ['access-control-max-age', '7200'],
    ['allow', `${standardMethods}, OPTIONS`],
  ]
}
