/**
 * Pushed authorization requests: what a wallet pushes is checked at once, and comes back to it as the request_uri: the
 * request itself, encrypted. Nothing is stored until a browser brings it, so that nobody fills the database by pushing.
 * RFC 9126.
 */
import { toBase64url } from '../../codec/base64url.ts'
import { refuse } from '../../protocol/error.ts'
import type { PushedAuthorizationResponse } from '../../protocol/oauth.ts'
import { authenticateClient, type ClientRequest } from '../access/client-attestation.ts'
import { findIdOfDerivedCode } from '../access/derived-code.ts'
import { type DpopRequest, refuseProof, verifyDpopProof } from '../access/dpop.ts'
import { decryptObject, encryptValue } from '../access/encrypted-value.ts'
import { commitWithSingleUses } from '../access/single-use.ts'
import { type CodeFlowRequest, PUSHED_SECONDS } from '../authorization-request.ts'
import type { IssuerContext } from '../context.ts'
import { acceptedIdentifiers } from '../issuer-identifier.ts'
import { type AuthorizationParameters, readAuthorizationRequest, requireCodeFlow } from './request.ts'

/** A request with the id that its row will have: a request_uri is good for one row. */
export interface IdentifiedRequest {
  readonly id: string
  readonly request: CodeFlowRequest
}

interface RequestUriContent extends IdentifiedRequest {
  /** Milliseconds since the epoch. */
  readonly until: number
}

const PREFIX = 'urn:ietf:params:oauth:request_uri:'
const PURPOSE = 'pushed authorization request'
/** The most bytes of a request that is encrypted: a browser brings it in its address, within 16 KiB of headers. */
const MAX_BYTES = 6144
const ID_BYTES = 24

/** The sender of a pushed request: a wallet instance, where it says which, and a key, where it proves one. */
export interface Pusher {
  readonly sender: ClientRequest
  readonly dpopRequest: DpopRequest
}

/**
 * Returns the request_uri of a request. Refuses as {@link readAuthorizationRequest} and {@link authenticateClient} do,
 * and a DPoP proof that is wrong or by another key than dpop_jkt names with `invalid_dpop_proof` or `use_dpop_nonce`.
 * The DPoP proof binds the code to its key and opens nothing, so that it need not be spent. RFC 9449 section 10.1.
 */
export async function pushRequest(
  context: IssuerContext,
  parameters: AuthorizationParameters,
  { sender, dpopRequest }: Pusher,
): Promise<PushedAuthorizationResponse> {
  const audiences = audiencesOf(context, parameters)
  // RFC 9126 section 2.1: before anything of the request is looked up.
  const client = await authenticateClient(context, sender, {
    clientId: parameters.form.client_id || undefined,
    audiences,
  })
  const codeFlowRequest = await readAuthorizationRequest(context, parameters)
  const jkt = dpopRequest.dpop === undefined ? undefined : verifyDpopProof(context, dpopRequest).jkt
  if (jkt !== undefined && codeFlowRequest.jkt !== undefined && jkt !== codeFlowRequest.jkt)
    refuseProof('its key is not that of dpop_jkt')
  const request = { ...codeFlowRequest, ...(jkt && { jkt }), ...(client && { instance: client.instance }) }
  const until = context.now().getTime() + PUSHED_SECONDS * 1000
  const text = JSON.stringify({ id: makeRequestId(context), request, until } satisfies RequestUriContent)
  if (text.length > MAX_BYTES) refuse('invalid_request', `the request has more than ${MAX_BYTES} bytes; ask for less`)
  if (client !== undefined) await commitWithSingleUses(context.store, [], [client.singleUse])
  const encryptedRequest = encryptValue({ secrets: context.secrets.pushedRequest, purpose: PURPOSE }, text, context)
  return { request_uri: PREFIX + encryptedRequest, expires_in: PUSHED_SECONDS }
}

/**
 * Returns the identifiers that a proof may be for: the base, and the session whose offer the request proves to have.
 */
function audiencesOf(context: IssuerContext, { form }: AuthorizationParameters): readonly string[] {
  requireCodeFlow(context)
  const offeredSessionId = form.issuer_state
    ? findIdOfDerivedCode(context.secrets.issuerState, form.issuer_state)
    : undefined
  return acceptedIdentifiers(context.config, offeredSessionId)
}

/**
 * Returns the request of a request_uri. Refuses with `invalid_request_uri` one that is not ours or has expired, and
 * that of another client.
 */
export function openPushedRequest(context: IssuerContext, requestUri: string, clientId: string): IdentifiedRequest {
  const content = decryptRequestUri(context, requestUri)
  if (content === undefined) return refuse('invalid_request_uri', 'request_uri: it is not one of ours')
  const { until, ...identifiedRequest } = content
  if (context.now().getTime() >= until)
    refuse('invalid_request_uri', 'request_uri: it has expired; begin anew in the wallet, which pushes another')
  if (identifiedRequest.request.clientId !== clientId) {
    refuse('invalid_request_uri', 'request_uri: it was pushed by another client than client_id')
  }
  return identifiedRequest
}

/** Returns a new id, which nobody can guess. */
export function makeRequestId({ random }: Pick<IssuerContext, 'random'>): string {
  return toBase64url(random(ID_BYTES))
}

function decryptRequestUri({ secrets }: IssuerContext, requestUri: string): RequestUriContent | undefined {
  if (!requestUri.startsWith(PREFIX)) return undefined
  const key = { secrets: secrets.pushedRequest, purpose: PURPOSE }
  return decryptObject(key, requestUri.slice(PREFIX.length)) as unknown as RequestUriContent | undefined
}
