/**
 * The authorization code flow: a pushed authorization request, the browser of the person, and the authorization
 * response. OpenID4VCI 1.0, Authorization Code Flow; RFC 9126, RFC 7636, RFC 9207.
 */
import { toBase64url } from '../codec/base64url.ts'
import { digestOf, isSameSecret } from '../codec/digest.ts'
import { memberOf, stringMemberOf, stringsIn } from '../codec/json.ts'
import { AUTHORIZATION_CODE_GRANT } from '../protocol/grant-types.ts'
import { addParameters } from '../protocol/redirect-uri.ts'
import { type AccessToken, requestToken, sendForm, type TokenServer } from './access-token.ts'
import { requireAddress } from './address.ts'
import { chooseClientId } from './client-attestation.ts'
import type { BrowserVisit, WalletContext } from './context.ts'
import { DPOP_ALGORITHM, type DpopKey, makeDpopKey } from './dpop.ts'
import { refuseWith, WalletError } from './error.ts'
import type { IssuerDescription } from './issuer-metadata.ts'

/** The requested credentials. */
export interface RequestedCredentials {
  readonly issuer: IssuerDescription
  readonly configurationIds: readonly string[]
  /** The `issuer_state` of the offer, if present. */
  readonly issuerState: string | undefined
}

interface CodeFlowServer extends TokenServer {
  readonly authorizationEndpoint: string
  readonly pushEndpoint: string
}

/** The values of one authorization request, which its response and its token request must match. */
interface AuthorizationParameters {
  readonly clientId: string
  readonly redirectUri: string
  readonly state: string
  readonly codeVerifier: string
  readonly dpop: DpopKey | undefined
}

const MAX_TEXT = 500

/** Returns the function that opens a browser. Refuses with `unsupported` if the wallet has none. */
export function requireBrowser({ openBrowser: browser }: WalletContext): () => Promise<BrowserVisit> {
  if (browser !== undefined) return browser
  return refuseWith(
    'unsupported',
    'the issuer wants to ask you at its own page first (authorization code flow), and this wallet cannot send you ' +
      'there; receive it with vouchsafe wallet receive, or ask for an offer with a pre-authorized code',
  )
}

/**
 * Sends the person to the authorization server, and returns the access token. Refuses with `unsupported` a server that
 * lacks what the flow needs, with `invalid_response` a response to another request, with `not_yet` if the browser does
 * not return in time, and with `refused`.
 */
export async function authorizeByCode(
  wallet: WalletContext,
  tokenServer: TokenServer,
  credentials: RequestedCredentials,
): Promise<AccessToken> {
  const server = readCodeFlowServer(tokenServer)
  const visit = await requireBrowser(wallet)()
  try {
    const request = await makeAuthorizationParameters(wallet, server, visit.redirectUri)
    const requestUri = await pushAuthorizationRequest(wallet, server, request, credentials)
    const { clientId: client_id } = request
    const address = addParameters(server.authorizationEndpoint, { client_id, request_uri: requestUri })
    wallet.onStep?.({
      what: 'sent the person to the issuer',
      means: 'The issuer finds out who the person is; the address has nothing of the request but its name.',
      spec: 'RFC 9126 section 4',
    })
    const code = readAuthorizationCode(await visit.sendPerson(address), request, server.issuer)
    return await redeemAuthorizationCode(wallet, server, request, code)
  } finally {
    await visit.close()
  }
}

function readCodeFlowServer(server: TokenServer): CodeFlowServer {
  const { metadata } = server
  const requireEndpoint = (name: string): string => {
    const value = memberOf(metadata, name)
    if (value === undefined)
      refuseWith('unsupported', `the authorization server has no ${name}, which this wallet needs`)
    return requireAddress(value, `${name} of the authorization server`, 'invalid_metadata')
  }
  if (!stringsIn(memberOf(metadata, 'code_challenge_methods_supported') ?? []).includes('S256')) {
    refuseWith(
      'unsupported',
      'the authorization server does not say that it checks PKCE with S256, which this wallet needs',
    )
  }
  return {
    ...server,
    authorizationEndpoint: requireEndpoint('authorization_endpoint'),
    pushEndpoint: requireEndpoint('pushed_authorization_request_endpoint'),
  }
}

async function makeAuthorizationParameters(
  wallet: WalletContext,
  { metadata }: TokenServer,
  redirectUri: string,
): Promise<AuthorizationParameters> {
  const algorithms = stringsIn(memberOf(metadata, 'dpop_signing_alg_values_supported') ?? [])
  return {
    clientId: chooseClientId(wallet, metadata),
    redirectUri,
    state: toBase64url(wallet.random(32)),
    codeVerifier: toBase64url(wallet.random(32)),
    dpop: algorithms.includes(DPOP_ALGORITHM) ? await makeDpopKey(wallet) : undefined,
  }
}

/** Pushes the authorization request, and returns the request_uri. RFC 9126 section 2. */
async function pushAuthorizationRequest(
  wallet: WalletContext,
  { pushEndpoint: url, metadata }: CodeFlowServer,
  { clientId, redirectUri, state, codeVerifier, dpop }: AuthorizationParameters,
  credentials: RequestedCredentials,
): Promise<string> {
  const form = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: digestOf(codeVerifier),
    code_challenge_method: 'S256',
    ...credentialParameters(credentials),
    ...(credentials.issuerState !== undefined && { issuer_state: credentials.issuerState }),
  }
  const step = {
    what: 'pushed its authorization request',
    means: 'Nobody on the way of the browser can read or change the request; the code will be for this wallet alone.',
    spec: 'RFC 9126 section 2',
  }
  const answer = await sendForm(wallet, { url, metadata, dpop, step }, form)
  return (
    stringMemberOf(answer, 'request_uri') ||
    refuseWith('invalid_response', 'the answer to the request has no request_uri')
  )
}

/**
 * Requests the credentials by scope if each has one, and otherwise by authorization details. OpenID4VCI 1.0,
 * Authorization Request.
 */
function credentialParameters({ issuer, configurationIds }: RequestedCredentials): Readonly<Record<string, string>> {
  const scopes = configurationIds.map((id) => {
    const configuration = memberOf(issuer.configurations, id)
    return stringMemberOf(configuration, 'scope')
  })
  if (scopes.every(Boolean)) return { scope: [...new Set(scopes)].join(' ') }
  const details = configurationIds.map((id) => ({
    type: 'openid_credential',
    credential_configuration_id: id,
    locations: [issuer.credentialIssuer],
  }))
  return { authorization_details: JSON.stringify(details) }
}

/** Returns the code of the response. Checks `state` and `iss` first. RFC 6749 section 10.12, RFC 9207 section 2.4. */
function readAuthorizationCode(query: string, { state }: AuthorizationParameters, issuer: string): string {
  const parameters = new URLSearchParams(query)
  const names = [...parameters.keys()]
  if (new Set(names).size !== names.length) {
    refuseWith('invalid_response', 'the browser came back with a parameter twice; begin anew')
  }
  if (!isSameSecret(parameters.get('state') ?? '', state)) {
    refuseWith('invalid_response', 'the browser came back from another request than this one (state); begin anew')
  }
  if (!parameters.has('iss')) {
    const remedy = 'ask whoever runs its authorization server'
    refuseWith('invalid_response', `the page of the issuer does not say whose answer it is (iss, RFC 9207); ${remedy}`)
  }
  if (parameters.get('iss') !== issuer) {
    refuseWith('invalid_response', `the browser came back from another server than ${issuer} (iss); begin anew`)
  }
  const error = parameters.get('error')
  if (error !== null) refuseByServerError(error, parameters.get('error_description') ?? undefined)
  return parameters.get('code') || refuseWith('invalid_response', 'the browser came back without a code; begin anew')
}

function refuseByServerError(code: string, text: string | undefined): never {
  const [error, description] = [code.slice(0, MAX_TEXT), text?.slice(0, MAX_TEXT)]
  const reason = description === undefined ? error : `${description} (${error})`
  const server = { error, ...(description !== undefined && { error_description: description }) }
  throw new WalletError('refused', `the issuer said no at its page: ${reason}`, { server })
}

function redeemAuthorizationCode(
  wallet: WalletContext,
  server: TokenServer,
  request: AuthorizationParameters,
  code: string,
): Promise<AccessToken> {
  const form = {
    grant_type: AUTHORIZATION_CODE_GRANT,
    code,
    code_verifier: request.codeVerifier,
    redirect_uri: request.redirectUri,
    client_id: request.clientId,
  }
  return requestToken(wallet, server, form, request.dpop)
}
