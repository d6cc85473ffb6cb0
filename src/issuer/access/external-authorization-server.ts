/**
 * The authorization server that gives access tokens in our place: where it is, its keys, and what it says of a token.
 * The server is asked seldom: its keys, and its answers about tokens, are cached for seconds. RFC 8414, 7517, 7662.
 */
import { cacheRemote } from '../../async/cache-remote.ts'
import { type JsonObject, own, ownString, parseJsonObject } from '../../codec/json.ts'
import type { Jws } from '../../codec/jws.ts'
import { orElse } from '../../codec/malformed.ts'
import type { AuthorizationServerConfig } from '../../config/authorization-server.ts'
import type { Effects } from '../../http/effects.ts'
import { type HttpClientRequest, type Outbound, OutboundError } from '../../http/outbound.ts'
import { candidateKeys, isSignedByOneOf, type PublishedKey, readKeySet } from '../../keys/key-set.ts'
import { refuse } from '../../protocol/error.ts'
import { isSecureTransport } from '../../protocol/private-host.ts'
import { limitIntrospections } from './introspection-places.ts'

export interface ExternalAuthorizationServer {
  readonly config: AuthorizationServerConfig
  /**
   * Tests whether one of the server's keys signed the JWS. Refuses with `temporarily_unavailable` when the keys cannot
   * be fetched.
   */
  hasSigned(jws: Jws): Promise<boolean>
  /**
   * Returns the server's answer about a token that came from a network. Refuses with `temporarily_unavailable` when
   * there is none, and when too many tokens are asked about already.
   */
  introspect(token: string, network: string): Promise<JsonObject>
}

const MINUTE = 60_000
/**
 * The times for keys of an authorization server: a key that is taken out of its JWKS counts for ten minutes at most, or
 * for an hour when the server does not answer.
 */
const EXPIRY = { freshMs: 10 * MINUTE, usableMs: 60 * MINUTE, pauseMs: 10_000 }
const LIMITS = { timeoutMs: 5000, maxBytes: 256 * 1024 }
/**
 * The metadata documents in the order in which they are tried. RFC 8414 section 3; OpenID Connect Discovery 1.0 section
 * 4.1.
 */
const DOCUMENTS = [
  (origin: string, path: string) => `${origin}/.well-known/oauth-authorization-server${path}`,
  (origin: string, path: string) => `${origin}${path}/.well-known/openid-configuration`,
]

export function createAuthorizationServer(
  config: AuthorizationServerConfig,
  effects: Pick<Effects<never>, 'outbound' | 'now' | 'log'>,
): ExternalAuthorizationServer {
  const { outbound, now, log } = effects
  const logStaleUse = (error: unknown): void => {
    log.warn(
      { event: 'authorization_server_unreachable', why: reasonOf(error) },
      'the authorization server cannot be asked; its last answer is used',
    )
  }
  const metadata = cacheRemote({ ...EXPIRY, now }, () => discoverMetadata(outbound, config), logStaleUse)
  const findAddress = async (configuredUrl: string | undefined, name: string): Promise<Address> =>
    configuredUrl === undefined
      ? readAddress(config, await metadata.get(), name)
      : { url: configuredUrl, allowPrivateAddresses: true }
  const keys = cacheRemote(
    { ...EXPIRY, now },
    async () => fetchKeys(outbound, await findAddress(config.jwksUri, 'jwks_uri')),
    logStaleUse,
  )
  const introspection = config.introspection
  return {
    config,
    hasSigned: async (jws) => isSignedByOneOf(await keys.get((publishedKeys) => hasKeyFor(publishedKeys, jws)), jws),
    introspect: limitIntrospections(now, async (token) => {
      const address = await findAddress(introspection?.endpoint, 'introspection_endpoint')
      return fetchJson(outbound, { ...address, ...LIMITS, ...makeIntrospectionRequest(config, token) })
    }),
  }
}

/**
 * Tests whether `keys` have a key for the JWS. Without a `kid`, only verifying the signature tells whether a key is
 * missing.
 */
function hasKeyFor(keys: readonly PublishedKey[], jws: Jws): boolean {
  return own(jws.header, 'kid') === undefined ? isSignedByOneOf(keys, jws) : candidateKeys(keys, jws).length > 0
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
      if (own(metadata, 'issuer') === issuer) return metadata
      failures.push(new Error(`${url} is about another issuer`))
    } catch (error) {
      failures.push(error)
    }
  }
  return refuseUnavailable(failures.map(reasonOf).join('; '), new AggregateError(failures))
}

/**
 * Reads an address of the metadata. A private address must be that of the server, since the operator named only the
 * server.
 */
function readAddress({ issuer }: AuthorizationServerConfig, metadata: JsonObject, name: string): Address {
  const url = ownString(metadata, name)
  if (url === undefined || !URL.canParse(url)) {
    return refuseUnavailable(`the metadata of ${issuer} has no ${name}; name the address in authorizationServer`)
  }
  const address = new URL(url)
  if (!isSecureTransport(address))
    return refuseUnavailable(`${name} in the metadata of ${issuer} is not an https address`)
  return { url, allowPrivateAddresses: address.origin === new URL(issuer).origin }
}

async function fetchKeys(outbound: Outbound, address: Address): Promise<readonly PublishedKey[]> {
  const keySet = await fetchJson(outbound, { ...address, ...LIMITS })
  return readOrRefuseUnavailable(address.url, () => readKeySet(keySet))
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
      accept: 'application/json',
    },
    body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
  } as const
}

function encodeFormValue(text: string): string {
  return new URLSearchParams({ text }).toString().slice('text='.length)
}

async function fetchJson(outbound: Outbound, request: HttpClientRequest): Promise<JsonObject> {
  const accept = { accept: 'application/json' }
  const response = await outbound({ headers: accept, ...request }).catch((error: unknown) => {
    if (!(error instanceof OutboundError)) throw error
    return refuseUnavailable(`${request.url}: ${error.message}`, error)
  })
  if (response.status !== 200) return refuseUnavailable(`${request.url} answered ${response.status}`)
  return readOrRefuseUnavailable(request.url, () => parseJsonObject(response.body))
}

function readOrRefuseUnavailable<T>(url: string, read: () => T): T {
  return orElse(read, (error) => refuseUnavailable(`${url}: ${error.message}`, error))
}

/** Refuses with `temporarily_unavailable`; `reason` and `cause` are for the log alone. */
function refuseUnavailable(reason: string, cause?: unknown): never {
  return refuse('temporarily_unavailable', 'the authorization server cannot be asked now; try again later', {
    cause: new Error(reason, { cause }),
  })
}

/** Returns the message of the cause of a refusal, or of an error without a cause. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  return cause instanceof Error ? cause.message : message
}
