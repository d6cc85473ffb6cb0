/**
 * Pushed authorization requests (RFC 9126). A pushed request is checked, encrypted, and returned as the request_uri.
 * Nothing is stored until a browser brings the request_uri, so pushed requests cannot fill the database.
 */
import { toBase64url } from '../../codec/base64url.ts'
import { refuse } from '../../protocol/error.ts'
import type { PushedAuthorizationResponse } from '../../protocol/oauth.ts'
import { authenticateClient, type ClientRequest } from '../access/client-attestation.ts'
import { secretPurposes } from '../access/context.ts'
import { findIdOfDerivedCode } from '../access/derived-code.ts'
import { type DpopRequest, refuseDpopProof, verifyDpopProof } from '../access/dpop.ts'
import { decryptObject, encryptValue, type ValueKey } from '../access/encrypted-value.ts'
import { commitWithSingleUses } from '../access/single-use.ts'
import { type CodeFlowRequest, PUSHED_SECONDS } from '../authorization-request.ts'
import type { IssuerContext } from '../context.ts'
import { acceptedIdentifiers } from '../issuer-addresses.ts'
import { type AuthorizationParameters, readAuthorizationRequest, requireCodeFlow } from './request-parameters.ts'

/**
 * A request and the id of its row, which the first browser that brings the request inserts. Two browsers that bring the
 * same request_uri get the same row.
 */
export interface IdentifiedRequest {
  readonly id: string
  readonly request: CodeFlowRequest
}

interface RequestUriContent extends IdentifiedRequest {
  /** Milliseconds since the epoch. */
  readonly until: number
}

const PREFIX = 'urn:ietf:params:oauth:request_uri:'
/**
 * The maximum size of a request before encryption. The browser sends it in the URL, and all headers together have at
 * most 16 KiB.
 */
const MAX_BYTES = 6144
const ID_BYTES = 24

/** The wallet that pushes a request: its client authentication and its DPoP proof, if any. */
export interface Pusher {
  readonly clientRequest: ClientRequest
  readonly dpopRequest: DpopRequest
}

/**
 * Checks a pushed request and returns its request_uri. Refuses like {@link readAuthorizationRequest} and {@link
 * authenticateClient}, and with `invalid_dpop_proof` or `use_dpop_nonce` a DPoP proof that is invalid or whose key is
 * not that of dpop_jkt. The DPoP proof only binds the code to its key, so it is not marked as used. RFC 9449 section
 * 10.1.
 */
export async function pushRequest(
  context: IssuerContext,
  parameters: AuthorizationParameters,
  { clientRequest, dpopRequest }: Pusher,
): Promise<PushedAuthorizationResponse> {
  const audiences = audiencesOf(context, parameters)
  // RFC 9126 section 2.1: authenticates the client first.
  const client = await authenticateClient(context, clientRequest, {
    clientId: parameters.form.client_id,
    audiences,
  })
  const codeFlowRequest = await readAuthorizationRequest(context, parameters)
  const jkt = dpopRequest.dpop === undefined ? undefined : verifyDpopProof(context, dpopRequest).jkt
  if (jkt !== undefined && codeFlowRequest.jkt !== undefined && jkt !== codeFlowRequest.jkt)
    refuseDpopProof('its key is not that of dpop_jkt')
  const request = { ...codeFlowRequest, ...(jkt && { jkt }), ...(client && { instance: client.instance }) }
  const until = context.now().getTime() + PUSHED_SECONDS * 1000
  const text = JSON.stringify({ id: makeRequestId(context), request, until } satisfies RequestUriContent)
  if (text.length > MAX_BYTES) refuse('invalid_request', `the request has more than ${MAX_BYTES} bytes; ask for less`)
  if (client !== undefined) await commitWithSingleUses(context.store, [], [client.singleUse])
  return { request_uri: PREFIX + encryptValue(requestUriKeyOf(context), text, context), expires_in: PUSHED_SECONDS }
}

/**
 * Returns the accepted audiences of a client's proof: the base identifier, and that of the session whose issuer_state
 * the request has.
 */
function audiencesOf(context: IssuerContext, { form }: AuthorizationParameters): readonly string[] {
  requireCodeFlow(context)
  const offeredSessionId = form.issuer_state
    ? findIdOfDerivedCode(context.secrets.issuerState, form.issuer_state)
    : undefined
  return acceptedIdentifiers(context.config, offeredSessionId)
}

/**
 * Decrypts the request in a request_uri. Refuses with `invalid_request_uri` one that this service did not make, one
 * that has expired, and one of another client.
 */
export function readPushedRequest(context: IssuerContext, requestUri: string, clientId: string): IdentifiedRequest {
  const content = decryptRequestUri(context, requestUri)
  if (content === undefined) return refuse('invalid_request_uri', 'request_uri: this issuer did not make it')
  const { until, ...identifiedRequest } = content
  if (context.now().getTime() >= until)
    refuse('invalid_request_uri', 'request_uri: it has expired; begin anew in the wallet, which pushes another')
  if (identifiedRequest.request.clientId !== clientId) {
    refuse('invalid_request_uri', 'request_uri: it was pushed by another client than client_id')
  }
  return identifiedRequest
}

/** Makes an unguessable id. */
export function makeRequestId({ random }: Pick<IssuerContext, 'random'>): string {
  return toBase64url(random(ID_BYTES))
}

function decryptRequestUri(context: IssuerContext, requestUri: string): RequestUriContent | undefined {
  if (!requestUri.startsWith(PREFIX)) return undefined
  const text = requestUri.slice(PREFIX.length)
  return decryptObject(requestUriKeyOf(context), text) as unknown as RequestUriContent | undefined
}

function requestUriKeyOf({ secrets }: IssuerContext): ValueKey {
  return { secrets: secrets.pushedRequest, boundTo: secretPurposes.pushedRequest }
}
