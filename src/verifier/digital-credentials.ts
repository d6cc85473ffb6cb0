/**
 * Requests that a page hands to the browser, which asks the wallets: which origin may, and the request itself. What
 * comes back goes through `authorization-response.ts`. OpenID4VP 1.0, appendix A, OpenID4VP over the Digital
 * Credentials API; W3C Digital Credentials.
 */
import { parseUrl } from '../codec/url.ts'
import { msoMdoc } from '../credential/mso-mdoc/index.ts'
import type { DcqlQuery } from '../protocol/dcql.ts'
import { refuse } from '../protocol/error.ts'
import { ISO_MDOC } from '../protocol/iso-mdoc.ts'
import { EXCHANGE_PROTOCOLS } from '../protocol/oid4vp.ts'
import { isLoopback } from '../protocol/private-host.ts'
import type { VerifierContext } from './context.ts'
import type { DigitalCredentialsRequest } from './digital-credentials-schemas.ts'
import { makeIsoMdocRequest } from './iso-mdoc.ts'
import { makeRequestParameters, requireSigner, signRequestObject } from './request-object.ts'
import { requireEncryptionKey, requireSessionQuery, type VerificationSession } from './session.ts'

/** A host that a page may have: a URL may also have the `*` of a pattern, or the comma of a list. */
const PAGE_HOST = /^(\[[\da-f:]+\]|[\w.-]+)$/

/** Refuses with `invalid_request` an origin that is not written as browsers write it, or has no TLS. */
export function refuseInvalidOrigin(origin: string): void {
  const problem = originProblem(origin)
  if (problem !== undefined) refuse('invalid_request', `origin: ${problem}`)
}

/**
 * Refuses with `invalid_request` a query that does not say of each element of an mdoc whether it is retained. HAIP 1.0,
 * ISO mdoc specific requirements for OpenID for Verifiable Presentations over W3C Digital Credentials API.
 */
export function refuseUndeclaredRetention({ credentials }: DcqlQuery): void {
  const elements = credentials.filter(({ format }) => msoMdoc.ids.includes(format)).flatMap(({ claims = [] }) => claims)
  if (elements.some((claim) => claim.intent_to_retain === undefined)) {
    refuse(
      'invalid_request',
      'origin: with the profile haip, every claim of an mdoc must have intent_to_retain; store a query that has it',
    )
  }
}

/**
 * Makes the request for `navigator.credentials.get`: by OpenID4VP, signed and unsigned, and by `org-iso-mdoc` if that
 * can say the query. Refuses like {@link requireSigner}.
 */
export async function makeDigitalCredentialsRequest(
  context: VerifierContext,
  session: VerificationSession,
  origin: string,
): Promise<DigitalCredentialsRequest> {
  const signer = requireSigner(context, session)
  const query = await requireSessionQuery(context, session)
  const parameters = makeRequestParameters(context, session, query, 'dc_api.jwt')
  const request = await signRequestObject(session, { ...parameters, expected_origins: [origin] }, signer)
  const isoMdocSession = { origin, nonce: session.nonce, encryptionKey: requireEncryptionKey(session) }
  const isoMdoc = await makeIsoMdocRequest(isoMdocSession, query, signer)
  return {
    // Browsers ask the person anyway; Safari 26 refuses a request that does not say so.
    mediation: 'required',
    digital: {
      requests: [
        { protocol: EXCHANGE_PROTOCOLS.signed, data: { request } },
        { protocol: EXCHANGE_PROTOCOLS.unsigned, data: parameters },
        ...(isoMdoc === undefined ? [] : [{ protocol: ISO_MDOC, data: isoMdoc }]),
      ],
    },
  }
}

/** Returns how a response by a protocol comes. Refuses with `invalid_request` an unknown protocol. */
export function modeOfProtocol(protocol: string): 'dc_api.jwt' | typeof ISO_MDOC {
  if (protocol === ISO_MDOC) return ISO_MDOC
  const protocols: readonly string[] = Object.values(EXCHANGE_PROTOCOLS)
  if (protocols.includes(protocol)) return 'dc_api.jwt'
  const offered = [...protocols, ISO_MDOC].join(', ')
  return refuse('invalid_request', `protocol must be one of those of the request: ${offered}`)
}

/** Returns why a text is not the origin of a page, as browsers write it; undefined if it is. */
function originProblem(text: string): string | undefined {
  const url = parseUrl(text)
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (url === undefined || !isWeb || !PAGE_HOST.test(url.hostname))
    return 'must be the origin of a page, such as https://shop.example'
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    return 'must be https; plain http is for addresses of this machine'
  return url.origin === text ? undefined : `must be as browsers write it: ${url.origin}`
}
