/**
 * The headers that pages may read. Browsers may call from any origin, without credentials of theirs; the engine says
 * so, and not each component.
 */

const EXPOSED = 'X-Engine-Error, X-Engine-Block, X-Engine-Signature, Retry-After, X-Request-Id'
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'

export function corsHeaders(enabled: boolean): readonly (readonly [name: string, value: string])[] {
  if (!enabled) return []
  return [
    ['access-control-allow-origin', '*'],
    ['access-control-expose-headers', EXPOSED],
  ]
}

/**
 * Returns the answer to OPTIONS. `wanted` is what a browser asks to send; `authorization` is nothing that `*` would
 * mean.
 */
export function preflightHeaders(requested: {
  readonly method: string | undefined
  readonly headers: string | undefined
}): readonly (readonly [name: string, value: string])[] {
  const isToken = (text: string | undefined): text is string => text !== undefined && /^[A-Za-z]{1,20}$/.test(text)
  const methods =
    isToken(requested.method) && !METHODS.includes(requested.method) ? `${METHODS}, ${requested.method}` : METHODS
  const names = requested.headers ?? ''
  const headers = /^[!#$%&'*+.^_`|~0-9A-Za-z, -]{1,2000}$/.test(names) ? names : 'Authorization, Content-Type'
  return [
    ...corsHeaders(true),
    ['access-control-allow-methods', methods],
    ['access-control-allow-headers', headers],
    ['access-control-max-age', '7200'],
    ['allow', `${METHODS}, OPTIONS`],
  ]
}
