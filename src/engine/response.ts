/**
 * Converts the response of a component to an HTTP response, without the header fields that a component may not set. The
 * runtime has already checked it (component/result.ts).
 */
import { type Header, type HttpResponseData, headerValue } from '../offchain/http-data.ts'

export interface WireResponse {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Uint8Array
}

/** The hop-by-hop header fields. RFC 9110 section 7.6.1. */
export const HOP_BY_HOP_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** The header fields that the engine itself adds to every answer. */
const ENGINE_HEADERS = new Set(['content-length', 'date', 'x-request-id', 'x-content-type-options'])
/** The header fields that tell a browser something about the whole origin, which all contracts share. */
const ORIGIN_HEADERS = new Set([
  'set-cookie',
  'set-login',
  'sec-session-registration',
  'secure-session-registration',
  'clear-site-data',
  'strict-transport-security',
  'service-worker-allowed',
  'shared-storage-write',
  'use-as-dictionary',
  'accept-ch',
  'alt-svc',
  'public-key-pins',
  'expect-ct',
  'nel',
  'report-to',
  'reporting-endpoints',
  'origin-agent-cluster',
])
/** Matches a challenge that makes a browser ask its user for a password for the whole origin, or send one unasked. */
const BROWSER_CHALLENGE = /\b(basic|digest|negotiate|ntlm)\b/i
/**
 * The beginnings of the header fields that are orders to a reverse proxy: to send a file or another answer, to purge
 * its cache, to fetch what the body includes (ESI), or to take the engine for failed.
 */
const PROXY_PREFIXES = [
  'x-accel-',
  'x-sendfile',
  'x-lighttpd-',
  'x-litespeed-',
  'x-reproxy-',
  'x-envoy-',
  'surrogate-',
  'edge-control',
  'proxy-',
] as const

/**
 * The content security policy of every response. All contracts share the origin of the engine, and a page of one
 * contract must not act as that origin. Browsers apply all policies of a page, so a policy of the component can only
 * restrict the page further.
 */
const SANDBOX_HEADER = ['content-security-policy', 'sandbox'] as const

/**
 * Converts the response of a component. With `cors`, it removes the component's CORS headers; the engine adds its own.
 */
export function toWire(response: HttpResponseData, cors: boolean): WireResponse {
  const { status, headers, body } = response
  const connection = connectionOptions(headers)
  const passedHeaders = headers
    .map(({ name, values }) => ({ name: name.toLowerCase(), values }))
    .filter(({ name }) => !isReserved(name, connection, cors))
  return {
    status,
    headers: [
      ...passedHeaders.flatMap(({ name, values }) =>
        values.filter((value) => !isBrowserChallenge(name, value)).map((value) => [name, value.trim()] as const),
      ),
      SANDBOX_HEADER,
      ...(headerValue(response, 'cache-control') === undefined ? ([['cache-control', 'no-store']] as const) : []),
    ],
    // RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5.
    body: [204, 205, 304].includes(status) ? new Uint8Array() : body,
  }
}

function isReserved(name: string, connection: ReadonlySet<string>, cors: boolean): boolean {
  if (HOP_BY_HOP_FIELDS.has(name) || connection.has(name) || ORIGIN_HEADERS.has(name)) return true
  if (PROXY_PREFIXES.some((prefix) => name.startsWith(prefix))) return true
  if (ENGINE_HEADERS.has(name) || name.startsWith('x-engine-')) return true
  return cors && name.startsWith('access-control-')
}

function isBrowserChallenge(name: string, value: string): boolean {
  return name === 'www-authenticate' && BROWSER_CHALLENGE.test(value)
}

const NO_OPTIONS: ReadonlySet<string> = new Set()

/** Returns the further hop-by-hop header fields, which the `connection` header field lists. */
function connectionOptions(headers: readonly Header[]): ReadonlySet<string> {
  const connection = headers.filter(({ name }) => name.toLowerCase() === 'connection')
  if (connection.length === 0) return NO_OPTIONS
  const listTexts = connection.flatMap(({ values }) => values)
  return new Set(listTexts.flatMap((text) => text.split(',')).map((option) => option.trim().toLowerCase()))
}

/**
 * Returns the header fields of a request for the component: names in lower case, each with all its values, without
 * hop-by-hop fields.
 */
export function requestHeaders(raw: readonly string[]): Header[] {
  const headers: Header[] = []
  const valuesByName = new Map<string, string[]>()
  for (let at = 0; at < raw.length; at += 2) {
    const [name, value] = [(raw[at] ?? '').toLowerCase(), raw[at + 1] ?? '']
    const values = valuesByName.get(name)
    if (values) values.push(value)
    else {
      const firstValues = [value]
      valuesByName.set(name, firstValues)
      headers.push({ name, values: firstValues })
    }
  }
  const connection = connectionOptions(headers)
  return headers.filter(({ name }) => !HOP_BY_HOP_FIELDS.has(name) && !connection.has(name))
}
