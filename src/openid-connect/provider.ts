/**
 * An OpenID Connect provider that the operator named, which signs people in: the address that a browser is sent to, and
 * what the provider says of the person when the browser comes back. OpenID Connect Core 1.0 section 3.1, RFC 7636, RFC
 * 9207; the package `openid-client` holds the answers to these, and is loaded when the first person signs in.
 */
import type { Configuration } from 'openid-client'
import { cacheRemote } from '../async/cache-remote.ts'
import { type JsonObject, refuseMany, stringMemberOf } from '../codec/json.ts'
import { readJws } from '../codec/jws.ts'
import { parseInternationalUrl } from '../codec/url.ts'
import type { Outbound } from '../http/outbound.ts'
import { refuse } from '../protocol/error.ts'
import { isSecureTransport } from '../protocol/private-host.ts'
import { refuseProviderFailures, refuseUnavailableProvider, refuseUnlessReached } from './provider-failure.ts'
import { createProviderFetch } from './provider-fetch.ts'

/** The client that this service is at the provider. */
export interface OpenidClient {
  /** The issuer identifier of the provider. */
  readonly issuer: string
  readonly clientId: string
  /** Absent for a public client, which PKCE alone protects. */
  readonly clientSecret?: string
  /** The scope of the request, with `openid` in it. */
  readonly scope: string
  /** The address at which browsers come back, as it is registered at the provider. */
  readonly redirectUri: string
  /** The claims that are needed: the UserInfo endpoint is asked for those which the ID token does not have. */
  readonly claims: readonly string[]
}

/** The secrets of one attempt to sign in. */
export interface SignInAttempt {
  readonly state: string
  readonly nonce: string
  /** The code_verifier of PKCE. */
  readonly verifier: string
}

/** The claims of the person, or the error code of a provider that did not sign anybody in. */
export type SignInResult = { readonly claims: JsonObject } | { readonly refused: string }

export interface OpenidProvider {
  /** Returns the address at the provider. Refuses with `temporarily_unavailable` when it cannot be asked. */
  makeAuthorizationUrl(attempt: SignInAttempt): Promise<string>
  /**
   * Reads the answer in the parameters that a browser came back with; the state has to be looked up before. Refuses
   * with `invalid_request` an answer that does not hold, and with `temporarily_unavailable` when the provider cannot be
   * asked.
   */
  readAuthorizationResponse(parameters: URLSearchParams, attempt: SignInAttempt): Promise<SignInResult>
}

const MINUTE = 60_000
/**
 * The times for metadata and keys, which are fetched again after ten minutes, and used for an hour when the provider
 * does not answer.
 */
const EXPIRY = { freshMs: 10 * MINUTE, usableMs: 60 * MINUTE, pauseMs: 1000 }
/** The most answers that are verified at once: each may cost a request to the provider. */
const MAX_AT_ONCE = 50
const MAX_CLAIMS = 5000

/** Makes the client of a provider; nothing is asked before the first person signs in. */
export function createOpenidProvider(
  client: OpenidClient,
  { outbound, now }: { readonly outbound: Outbound; readonly now: () => Date },
): OpenidProvider {
  const configuration = cacheRemote(
    { ...EXPIRY, now },
    () => discover(client, outbound),
    () => undefined,
  )
  let running = 0
  return {
    makeAuthorizationUrl: (attempt) =>
      refuseUnlessReached(async () => makeAuthorizationUrl(client, await configuration.get(), attempt)),
    readAuthorizationResponse: async (parameters, attempt) => {
      if (running >= MAX_AT_ONCE) refuseUnavailableProvider('too many people sign in at once')
      running++
      try {
        const providerConfiguration = await refuseUnlessReached(() => configuration.get())
        return await refuseProviderFailures(() =>
          redeemAuthorizationResponse(client, providerConfiguration, { parameters, attempt }),
        )
      } finally {
        running--
      }
    },
  }
}

/**
 * Reads the metadata of the provider, and makes the client configuration from it. Signatures of ID tokens are verified
 * although they come by TLS: an ID token is evidence of who signed in.
 */
async function discover({ issuer, clientId, clientSecret }: OpenidClient, outbound: Outbound): Promise<Configuration> {
  const library = await import('openid-client')
  const execute = [library.enableNonRepudiationChecks]
  // The rules about addresses of `createProviderFetch` come on top.
  if (issuer.startsWith('http:')) execute.push(library.allowInsecureRequests)
  const options = { execute, [library.customFetch]: createProviderFetch(issuer, outbound) }
  const publicConfiguration = await library.discovery(new URL(issuer), clientId, undefined, undefined, options)
  const metadata = publicConfiguration.serverMetadata()
  // OpenID Connect Discovery 1.0 section 4.3 has none of the exceptions that the library makes for a few providers.
  if (withoutSlash(metadata.issuer) !== withoutSlash(issuer)) {
    refuseUnavailableProvider(`its metadata is that of another issuer than ${issuer}`)
  }
  const { authorization_endpoint: endpoint = '' } = metadata
  const authorizationUrl = parseInternationalUrl(endpoint)
  if (authorizationUrl === undefined || !isSecureTransport(authorizationUrl)) {
    refuseUnavailableProvider('the authorization_endpoint of its metadata is not an https address')
  }
  if (clientSecret === undefined) return publicConfiguration
  const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = metadata
  const authenticate = methods.includes('client_secret_basic') ? library.ClientSecretBasic : library.ClientSecretPost
  const confidentialConfiguration = new library.Configuration(metadata, clientId, undefined, authenticate(clientSecret))
  confidentialConfiguration[library.customFetch] = options[library.customFetch]
  for (const extend of execute) extend(confidentialConfiguration)
  return confidentialConfiguration
}

async function makeAuthorizationUrl(
  { scope, redirectUri }: OpenidClient,
  configuration: Configuration,
  { state, nonce, verifier }: SignInAttempt,
): Promise<string> {
  const library = await import('openid-client')
  const address = library.buildAuthorizationUrl(configuration, {
    scope,
    redirect_uri: redirectUri,
    state,
    nonce,
    code_challenge: await library.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  return address.href
}

async function redeemAuthorizationResponse(
  { redirectUri, claims: claimNames }: OpenidClient,
  configuration: Configuration,
  { parameters, attempt }: { readonly parameters: URLSearchParams; readonly attempt: SignInAttempt },
): Promise<SignInResult> {
  const library = await import('openid-client')
  const address = new URL(redirectUri)
  address.search = parameters.toString()
  let tokens: Awaited<ReturnType<typeof library.authorizationCodeGrant>>
  try {
    tokens = await library.authorizationCodeGrant(configuration, address, {
      expectedState: attempt.state,
      expectedNonce: attempt.nonce,
      pkceCodeVerifier: attempt.verifier,
      idTokenExpected: true,
    })
  } catch (error) {
    if (error instanceof library.AuthorizationResponseError) return { refused: error.error }
    throw error
  }
  const claims = readJws(tokens.id_token ?? '').payload
  const hasAll = claimNames.every((name) => Object.hasOwn(claims, name))
  if (hasAll || configuration.serverMetadata().userinfo_endpoint === undefined) return { claims }
  const subject = stringMemberOf(claims, 'sub') ?? refuse('invalid_request', 'the ID token has no sub')
  const userInfo = (await library.fetchUserInfo(configuration, tokens.access_token, subject)) as unknown as JsonObject
  refuseMany(userInfo, MAX_CLAIMS)
  return { claims: { ...userInfo, ...claims } }
}

function withoutSlash(issuer: string): string {
  return issuer.replace(/\/$/, '')
}
