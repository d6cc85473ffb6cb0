/** Identifies the service at a URL by the title of its OpenAPI document. */
import { isObject, parseJson } from '../codec/json.ts'
import { readOrUndefined } from '../codec/malformed.ts'
import { OutboundError } from '../http/outbound.ts'
import { outbound } from './effects.ts'

/** The time limit for a response. */
export const ANSWER_MS = 3000
/** The maximum size of an OpenAPI document. */
const MAX_BYTES = 4 * 1024 * 1024

/** Returns the title of the OpenAPI document at the URL; undefined if there is none. */
export async function fetchTitle(baseUrl: string): Promise<string | undefined> {
  const limits = { timeoutMs: ANSWER_MS, maxBytes: MAX_BYTES, allowPrivateAddresses: true }
  try {
    const { body } = await outbound({ url: `${baseUrl}/openapi`, ...limits })
    const document = readOrUndefined(() => parseJson(body))
    const info = isObject(document) && isObject(document.info) ? document.info : {}
    return typeof info.title === 'string' ? info.title : undefined
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
