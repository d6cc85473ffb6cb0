/**
 * Redirect URIs: what all must be, which ones of unregistered wallets are allowed, and the URL with the response. RFC
 * 6749 section 3.1.2, RFC 8252 section 7, RFC 9700 section 4.1.
 */
import type { Problem } from '../codec/malformed.ts'
import { MAX_URL, parseUrl } from '../codec/url.ts'

/** The parameters that the response adds, which a redirect URI must not have. RFC 6749 section 4.1.2, RFC 9207. */
const RESPONSE_PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description', 'error_uri']
/**
 * The hosts of loopback redirect URIs, with any port. `localhost` is excluded, since it may resolve to another machine.
 * RFC 8252 section 7.3.
 */
const LOOPBACK_HOSTS = ['127.0.0.1', '[::1]']
const PRIVATE_USE_SCHEME = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/
/** The schemes that browsers execute or that refer to local resources. */
const FORBIDDEN_SCHEME = /^(javascript|data|vbscript|file|blob|about|view-source):$/

/** An http(s) URL without a host, such as `https:host`, which browsers resolve as a relative path. */
const WITHOUT_HOST = /^https?:(?!\/\/[^/])/i

/** The parameters of a response besides `iss`. */
export interface ResponseMembers {
  readonly code?: string
  readonly state?: string | undefined
  readonly error?: string
  readonly error_description?: string | undefined
}

/** Reads the redirect URI of an application or a wallet. Returns why no redirect can go to it as it is written. */
export function readRedirectUri(uri: string): { readonly url: URL } | Problem {
  const url = parseUrl(uri)
  if (url === undefined) return { problem: `it is not a URI of at most ${MAX_URL} ASCII characters` }
  if (uri.includes('#')) return { problem: 'it must have no fragment' }
  if (uri.includes('\\')) return { problem: 'it has a backslash, which no URI has' }
  if (WITHOUT_HOST.test(uri)) return { problem: 'after https: or http: it needs two slashes and a host' }
  if (url.username !== '' || url.password !== '') return { problem: 'it must not contain a user or password' }
  return { url }
}

/**
 * Returns why a redirect URI of a wallet is not allowed; undefined if it is. Allowed are https, http to a loopback
 * address, private-use schemes with a dot (RFC 8252 section 7.1), and `configuredUris`.
 */
export function redirectUriProblem(uri: string, configuredUris: readonly string[]): string | undefined {
  const reading = readRedirectUri(uri)
  if ('problem' in reading) return reading.problem
  const { url } = reading
  if (/["<>^`{|}]/.test(uri)) return 'it has characters that no URI has'
  const takenParameter = RESPONSE_PARAMETERS.find((name) => url.searchParams.has(name))
  if (takenParameter !== undefined) return `it must not have the parameter ${takenParameter}, which the response adds`
  if (FORBIDDEN_SCHEME.test(url.protocol)) return `nobody may be sent to ${url.protocol}`
  if (url.protocol === 'https:' || configuredUris.includes(uri) || PRIVATE_USE_SCHEME.test(url.protocol))
    return undefined
  if (url.protocol !== 'http:') {
    return 'its scheme needs a dot, as in com.example.wallet:/callback, or a place in redirectUris'
  }
  return LOOPBACK_HOSTS.includes(url.hostname) ? undefined : 'plain http is for 127.0.0.1 and [::1] alone; use https'
}

/** Appends the response to the redirect URI, which is not changed otherwise, since wallets compare it. */
export function responseAddress(redirectUri: string, issuer: string, members: ResponseMembers): string {
  return addParameters(redirectUri, { ...members, iss: issuer })
}

/** Appends parameters to a URL. Undefined ones are left out. */
export function addParameters(address: string, members: Readonly<Record<string, string | undefined>>): string {
  const parameters = Object.entries(members).filter((each): each is [string, string] => each[1] !== undefined)
  return `${address}${address.includes('?') ? '&' : '?'}${new URLSearchParams(parameters).toString()}`
}
