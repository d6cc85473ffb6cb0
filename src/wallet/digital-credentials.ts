/**
 * Requests through a browser, by the Digital Credentials API. The reference wallet plays the browser too, which says of
 * which origin the page is that asks. OpenID4VP 1.0, appendix A.
 */
import { isObject, type JsonObject, memberOf, stringMemberOf, stringsIn } from '../codec/json.ts'
import { EXCHANGE_PROTOCOLS, ORIGIN_PREFIX } from '../protocol/oid4vp.ts'
import { requireAddress } from './address.ts'
import type { WalletContext } from './context.ts'
import { refuseWith } from './error.ts'
import { exchangeJson } from './exchange.ts'
import {
  type AuthorizationRequest,
  readCommonParameters,
  readRequestObject,
  refuseRequestObject,
  refuseUnknownClient,
  verifyRequestObject,
} from './request-object.ts'

/** HAIP 1.0, OpenID for Verifiable Presentations over W3C Digital Credentials API: no response without encryption. */
const RESPONSE_MODES = ['dc_api.jwt']

/**
 * Fetches what the page of `origin` gives to the browser, and reads the signed request in it, or else the unsigned one.
 * Refuses with `invalid_link`, `insecure_address`, `invalid_request_object`, or with `unsupported` a request that this
 * wallet does not support.
 */
export async function fetchDigitalRequest(
  wallet: WalletContext,
  uri: string,
  origin: string,
): Promise<AuthorizationRequest> {
  const answer = await exchangeJson(wallet, {
    what: 'fetched the request of the page',
    means: `What the page of ${origin} gives to the browser, which passes it on to a wallet.`,
    spec: 'OpenID4VP 1.0, appendix A, Request; W3C Digital Credentials',
    url: requireAddress(uri, 'digital_credentials_uri', 'invalid_link'),
  })
  const { protocol, data } = chooseRequest(answer)
  const signed = protocol === EXCHANGE_PROTOCOLS.signed ? verifySignedRequest(wallet, data, origin) : undefined
  return {
    ...readCommonParameters(signed?.payload ?? data, RESPONSE_MODES, wallet.now()),
    // A client_id in an unsigned request is to be ignored.
    clientId: signed?.clientId,
    certificate: signed?.certificate,
    audience: `${ORIGIN_PREFIX}${origin}`,
    state: undefined,
    recipient: { origin, protocol, uri },
  }
}

/** Chooses the request of the first protocol of this wallet. Refuses with `unsupported` if there is none. */
function chooseRequest(answer: JsonObject): { readonly protocol: string; readonly data: JsonObject } {
  const requests = memberOf(memberOf(answer, 'digital'), 'requests')
  const { signed, unsigned } = EXCHANGE_PROTOCOLS
  for (const protocol of [signed, unsigned]) {
    const request = Array.isArray(requests) && requests.find((each) => memberOf(each, 'protocol') === protocol)
    const data = request && memberOf(request, 'data')
    if (isObject(data)) return { protocol, data }
  }
  return refuseWith('unsupported', `the page has no request by ${signed} or ${unsigned}`)
}

/** Verifies a signed request, which must name the origin, so that no other page can use it. */
function verifySignedRequest(wallet: WalletContext, data: JsonObject, origin: string) {
  const jws = readRequestObject(stringMemberOf(data, 'request') ?? '')
  const { payload } = jws
  const clientId = stringMemberOf(payload, 'client_id') ?? refuseRequestObject('it has no client_id')
  refuseUnknownClient(clientId)
  const certificate = verifyRequestObject(wallet, jws, clientId)
  if (!stringsIn(memberOf(payload, 'expected_origins')).includes(origin))
    refuseRequestObject(`it is for the pages of others, and not of ${origin} (expected_origins)`)
  return { payload, certificate, clientId }
}
