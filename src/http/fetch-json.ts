/** Fetches JSON from another server that a request needs, such as an authorization server. */
import { type JsonObject, parseJsonObject } from '../codec/json.ts'
import { readOrElse } from '../codec/malformed.ts'
import { refuse } from '../protocol/error.ts'
import { type HttpClientRequest, type Outbound, OutboundError } from './outbound.ts'

/** Refuses the request that needs the other server. The reason and the cause are for the log. */
export type RefuseUnavailable = (reason: string, cause?: unknown) => never

/** Makes the refusal with `temporarily_unavailable` of a request that needs `serverName`. */
export function createUnavailableRefusal(serverName: string): RefuseUnavailable {
  return (reason, cause) =>
    refuse('temporarily_unavailable', `${serverName} cannot be asked now; try again in a moment`, {
      cause: new Error(reason, { cause }),
    })
}

/** Sends a request, and returns the JSON object of its response; calls `refuseUnavailable` if there is none. */
export async function fetchJsonObject(
  outbound: Outbound,
  request: HttpClientRequest,
  serverName: string,
  refuseUnavailable: RefuseUnavailable,
): Promise<JsonObject> {
  const headers = { accept: 'application/json', ...request.headers }
  const response = await outbound({ ...request, headers }).catch((error: unknown) => {
    if (!(error instanceof OutboundError)) throw error
    return refuseUnavailable(`${serverName}: ${error.message}`, error)
  })
  if (response.status !== 200) return refuseUnavailable(`${serverName} answered ${response.status}`)
  return readOrElse(
    () => parseJsonObject(response.body),
    (error) => refuseUnavailable(`${serverName} answered with what cannot be read: ${error.message}`, error),
  )
}
