/** Fetches JSON from another server that a request needs, such as an authorization server. */
import { type JsonObject, parseJsonObject } from '../codec/json.ts'
import { readOrElse } from '../codec/malformed.ts'
import { type HttpClientRequest, type Outbound, OutboundError } from './outbound.ts'

/** Refuses the request that needs the other server. The reason and the cause are for the log. */
export type RefuseUnavailable = (reason: string, cause?: unknown) => never

/** Sends a request, and returns the JSON object of its response; calls `refuse` if there is none. */
export async function fetchJsonObject(
  outbound: Outbound,
  request: HttpClientRequest,
  serverName: string,
  refuse: RefuseUnavailable,
): Promise<JsonObject> {
  const headers = { accept: 'application/json', ...request.headers }
  const response = await outbound({ ...request, headers }).catch((error: unknown) => {
    if (!(error instanceof OutboundError)) throw error
    return refuse(`${serverName}: ${error.message}`, error)
  })
  if (response.status !== 200) return refuse(`${serverName} answered ${response.status}`)
  return readOrElse(
    () => parseJsonObject(response.body),
    (error) => refuse(`${serverName} answered with what cannot be read: ${error.message}`, error),
  )
}
