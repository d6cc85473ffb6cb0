/**
 * The operator's external authorization server, which issues the access tokens: its metadata (RFC 8414), its keys (RFC
 * 7517) and its introspection endpoint (RFC 7662). Keys and introspection responses are cached.
 */
import { cacheRemote } from '../../async/cache-remote.ts'
import { type JsonObject, memberOf, stringMemberOf } from '../../codec/json.ts'
import type { Jws } from '../../codec/jws.ts'
import { readOrElse } from '../../codec/malformed.ts'
import { parseInternationalUrl } from '../../codec/url.ts'
import type { AuthorizationServerConfig } from '../../config/authorization-server.ts'
import type { Effects } from '../../http/effects.ts'
import { createUnavailableRefusal, fetchJsonObject, type RefuseUnavailable } from '../../http/fetch-json.ts'
import type { HttpClientRequest, Outbound } from '../../http/outbound.ts'
import { candidateKeys, isSignedByOneOf, type PublishedKey, readKeySet } from '../../keys/key-set.ts'
import { isSecureTransport } from '../../protocol/private-host.ts'
import { limitIntrospections } from './introspection-limits.ts'

export interface AuthorizationServerClient {
  readonly config: AuthorizationServerConfig
  /**
   * Tests whether one of the server's keys signed the JWS. Refuses with `temporarily_unavailable` if the keys cannot be
   * fetched.
   */
  hasSigned(jws: Jws): Promise<boolean>
  /**
   * Introspects a token that was sent from `network`. Refuses with `temporarily_unavailable` if the server does not
   * answer, and like {@link limitIntrospections}.
   */
  introspect(token: string, network: string): Promise<JsonObject>
}

const MINUTE = 60_000
/**
 * How long the metadata and the keys of the authorization server are cached. A key that was removed from the JWKS is
 * accepted for at most ten minutes, or for an hour if the server does not answer.
 */
const EXPIRY = { freshMs: 10 * MINUTE, usableMs: 60 * MINUTE, pauseMs: 10_000 }
const LIMITS = { timeoutMs: 5000, maxBytes: 256 * 1024 }
const refuseUnavailable: RefuseUnavailable = createUnavailableRefusal('the authorization server')
/**
 * The paths of the metadata documents, in the order in which they are tried. RFC 8414 section 3; OpenID Connect
 * Discovery 1.0 section 4.1.
 */
const DOCUMENTS = [
  (origin: string, path: string) => `${origin}/.well-known/oauth-authorization-server${path}`,
  (origin: string, path: string) => `${origin}${path}/.well-known/openid-configuration`,
]

/** Creates the client of the external authorization server. Its metadata is fetched with the first token. */
export function createAuthorizationServerClient(
  config: AuthorizationServerConfig,
  effects: Pick<Effects<never>, 'outbound' | 'now' | 'log'>,
): AuthorizationServerClient {
  const { outbound, now, log } = effects
  const logStaleUse = (error: unknown): void => {
    log.warn(
      { event: 'authorization_server_unreachable', why: reasonOf(error) },
      'the authorization server cannot be asked, and its last answer is used; see that it can be reached',
    )
  }
  const metadata = cacheRemote({ ...EXPIRY, now }, () => discoverMetadata(outbound, config), logStaleUse)
  const requireAddress = async (configuredUrl: string | undefined, name: string): Promise<Address> =>
    configuredUrl === undefined
      ? readAddress(config, await metadata.get(), name)
      : { url: configuredUrl, allowPrivateAddresses: true }
  const keys = cacheRemote(
    { ...EXPIRY, now },
    async () => fetchKeys(outbound, await requireAddress(config.jwksUri, 'jwks_uri')),
    logStaleUse,
  )
  const introspection = config.introspection
  return {
    config,
    hasSigned: async (jws) => isSignedByOneOf(await keys.get((publishedKeys) => hasKeyFor(publishedKeys, jws)), jws),
    introspect: limitIntrospections(now, async (token) => {
      const address = await requireAddress(introspection?.endpoint, 'introspection_endpoint')
      return fetchJson(outbound, { ...address, ...LIMITS, ...makeIntrospectionRequest(config, token) })
    }),
  }
}

/**
 * Tests whether `keys` has a key for the JWS. For a JWS without `kid`, only verification of the signature can tell
 * whether a key is missing.
 */
function hasKeyFor(keys: readonly PublishedKey[], jws: Jws): boolean {
  return memberOf(jws.header, 'kid') === undefined ? isSignedByOneOf(keys, jws) : candidateKeys(keys, jws).length > 0
}

type Address = Pick<HttpClientRequest, 'url' | 'allowPrivateAddresses'>

async function discoverMetadata(outbound: Outbound, { issuer }: AuthorizationServerConfig): Promise<JsonObject> {
  const { origin, pathname } = new URL(issuer)
  const failures: unknown[] = []
  for (const document of DOCUMENTS) {
    const url = document(origin, pathname.replace(/\/$/, ''))
    try {
      const metadata = await fetchJson(outbound, { url, allowPrivateAddresses: true, ...LIMITS })
      // RFC 8414 section 3.3.
      if (memberOf(metadata, 'issuer') === issuer) return metadata
      failures.push(new Error(`${url} is about another issuer`))
    } catch (error) {
      failures.push(error)
    }
  }
  return refuseUnavailable(failures.map(reasonOf).join('; '), new AggregateError(failures))
}

/**
 * Returns the URL in the metadata member `name`. Refuses a missing URL and one that is not https. Private addresses are
 * allowed only where the URL is of the server's own origin, because the operator configured only the server.
 */
function readAddress({ issuer }: AuthorizationServerConfig, metadata: JsonObject, name: string): Address {
  const url = stringMemberOf(metadata, name) ?? ''
  const address = parseInternationalUrl(url)
  if (address === undefined) {
    return refuseUnavailable(`the metadata of ${issuer} has no ${name}; name the address in authorizationServer`)
  }
  if (!isSecureTransport(address))
    return refuseUnavailable(`${name} in the metadata of ${issuer} is not an https address`)
  return { url, allowPrivateAddresses: address.origin === new URL(issuer).origin }
}

async function fetchKeys(outbound: Outbound, address: Address): Promise<readonly PublishedKey[]> {
  const keySet = await fetchJson(outbound, { ...address, ...LIMITS })
  return readOrElse(
    () => readKeySet(keySet),
    (error) => refuseUnavailable(`${address.url}: ${error.message}`, error),
  )
}

/**
 * Makes the introspection request for `token`, with client_secret_basic. RFC 7662 section 2.1, RFC 6749 section 2.3.1.
 */
function makeIntrospectionRequest({ introspection }: AuthorizationServerConfig, token: string) {
  const credentials = [introspection?.clientId ?? '', introspection?.clientSecret ?? ''].map(encodeFormValue).join(':')
  return {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
  } as const
}

function encodeFormValue(text: string): string {
  return new URLSearchParams({ text }).toString().slice('text='.length)
}

function fetchJson(outbound: Outbound, request: HttpClientRequest): Promise<JsonObject> {
  return fetchJsonObject(outbound, request, request.url, refuseUnavailable)
}

/** Returns the message of the error's cause, or of the error itself if it has no cause. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  return cause instanceof Error ? cause.message : message
}
