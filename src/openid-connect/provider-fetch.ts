/** The requests to an OpenID Connect provider: bounded in size, depth and time, and to nobody else in this network. */
import { parseJson } from '../codec/json.ts'
import { readOrProblem } from '../codec/malformed.ts'
import { parseInternationalUrl } from '../codec/url.ts'
import { type Outbound, OutboundError } from '../http/outbound.ts'

/** The part of a request that the library of the flow asks for. */
interface ProviderRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

export type ProviderFetch = (url: string, request: ProviderRequest) => Promise<Response>

const LIMITS = { timeoutMs: 5000, maxBytes: 256 * 1024 }

/**
 * Makes the function by which the library sends its requests through `outbound`. The operator named the issuer, so that
 * its own origin may be in this network; any other address comes from its metadata, and has to be public. The function
 * rejects as `outbound` does, with an OutboundError too when the answer is JSON that no reader of ours would take, and
 * follows no redirect.
 */
export function createProviderFetch(issuer: string, outbound: Outbound): ProviderFetch {
  const { origin } = new URL(issuer)
  return async (url, { method, headers, body }) => {
    const allowPrivateAddresses = parseInternationalUrl(url)?.origin === origin
    const text = body instanceof URLSearchParams ? body.toString() : undefined
    const request = { url, method, headers, allowPrivateAddresses, ...LIMITS }
    const answer = await outbound(text === undefined ? request : { ...request, body: text })
    if (isRedirect(answer.status)) throw new OutboundError(`${new URL(url).host} answered with a redirect`)
    if (answer.headers['content-type']?.includes('json') === true) refuseUnreadable(url, answer.body)
    const type = answer.headers['content-type']
    return new Response(answer.status === 204 ? null : new Uint8Array(answer.body), {
      status: answer.status,
      headers: type === undefined ? {} : { 'content-type': type },
    })
  }
}

/**
 * Throws an OutboundError for a body that is not plain JSON, which the library would read leniently and to any depth.
 */
function refuseUnreadable(url: string, body: Uint8Array): void {
  const result = readOrProblem(() => ({ json: parseJson(body) }))
  if (!('problem' in result)) return
  const { problem, cause } = result
  throw new OutboundError(`${new URL(url).host} answered with bad JSON: ${problem}`, undefined, { cause })
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400
}
