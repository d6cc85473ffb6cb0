/** Identifies the service at a URL by the title of its OpenAPI document, and its metrics by their names. */
import { isIPv6 } from 'node:net'
import { isObject, parseJson } from '../../codec/json.ts'
import { readOrUndefined } from '../../codec/malformed.ts'
import type { MetricsAddress } from '../../config/management.ts'
import { OutboundError } from '../../http/outbound.ts'
import { outbound } from '../effects.ts'
import type { ServiceName } from '../service/service-kind.ts'

/** The time limit for a response. */
export const ANSWER_MS = 3000
/** The maximum size of an OpenAPI document, and of a page of metrics. */
const MAX_BYTES = 4 * 1024 * 1024

/** Returns the title of the OpenAPI document at the URL; undefined if there is none. */
export async function fetchTitle(baseUrl: string): Promise<string | undefined> {
  const body = await fetchBody(`${baseUrl}/openapi`)
  const document = body && readOrUndefined(() => parseJson(body))
  const info = isObject(document) && isObject(document.info) ? document.info : {}
  return typeof info.title === 'string' ? info.title : undefined
}

/** Tests whether an address of this machine has the metrics of a service of this kind. */
export async function servesMetrics({ host, port }: MetricsAddress, service: ServiceName): Promise<boolean> {
  const reachableHost = host === '::' || host === '0.0.0.0' ? '127.0.0.1' : host
  const body = await fetchBody(`http://${isIPv6(reachableHost) ? `[${reachableHost}]` : reachableHost}:${port}/metrics`)
  return body !== undefined && Buffer.from(body).includes(`vouchsafe_${service}_`)
}

/** Returns the body of the answer at the URL; undefined if there is none in time, or it is too large. */
async function fetchBody(url: string): Promise<Uint8Array | undefined> {
  const limits = { timeoutMs: ANSWER_MS, maxBytes: MAX_BYTES, allowPrivateAddresses: true }
  try {
    return (await outbound({ url, ...limits })).body
  } catch (error) {
    if (error instanceof OutboundError) return undefined
    throw error
  }
}

/** Describes the program that listens at a port of this machine. */
export async function describeListener(port: number): Promise<string> {
  const title = await fetchTitle(`http://127.0.0.1:${port}`)
  return title === undefined ? 'another program' : `a ${title}`
}
