/**
 * The redirect of a same-device flow. The response tells the wallet to open the redirect URI of the application, with a
 * response code. The verifier returns the result only for this code, which only that browser has. OpenID4VP 1.0,
 * Response Mode direct_post (redirect_uri), Session Fixation.
 */
import { toBase64url } from '../codec/base64url.ts'
import { digestOf, isSameSecret } from '../codec/digest.ts'
import { refuse } from '../protocol/error.ts'
import { isSecureTransport } from '../protocol/private-host.ts'
import { addParameters, readRedirectUri } from '../protocol/redirect-uri.ts'

const PARAMETER = 'response_code'

/** Refuses with `invalid_request` an unsafe redirect URI, and one that has a response code already. */
export function refuseInvalidRedirectUri(uri: string): void {
  const reading = readRedirectUri(uri)
  if ('problem' in reading) refuseRedirectUri(reading.problem)
  if (!isSecureTransport(reading.url)) {
    refuseRedirectUri('it must be https; plain http is for addresses of this machine and its network')
  }
  if (reading.url.searchParams.has(PARAMETER)) refuseRedirectUri(`it must not have a ${PARAMETER} of its own`)
}

/** Makes a response code. Returns the redirect URI with the code, and the digest of the code, which is stored. */
export function makeResponseCode(uri: string, random: (bytes: number) => Uint8Array) {
  const code = toBase64url(random(24))
  return { uri: addParameters(uri, { [PARAMETER]: code }), digest: digestOf(code) }
}

/** Tests whether `digest` is that of `code`, in constant time. */
export function isResponseCode(code: string, digest: string): boolean {
  return isSameSecret(digestOf(code), digest)
}

function refuseRedirectUri(problem: string): never {
  return refuse('invalid_request', `redirect_uri: ${problem}`)
}
