/** JSON over HTTP for the reader nodes of Partisia Blockchain. */
import type { JsonHttp } from '../../chain/partisia/reader.ts'
import { parseJson } from '../../codec/json.ts'
import { orUndefined } from '../../codec/malformed.ts'
import type { Outbound } from '../../http/outbound.ts'

const TIMEOUT_MS = 10_000
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/** Creates a client for JSON. Plain http is only allowed for private hosts. */
export function jsonHttp(baseUrl: string, outbound: Outbound): JsonHttp {
  const base = baseUrl.replace(/\/+$/, '')
  return async (method, path, body) => {
    const answer = await outbound({
      url: base + path,
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_ANSWER_BYTES,
      allowPrivateAddresses: true,
    })
    return { status: answer.status, body: orUndefined(() => parseJson(answer.body)) }
  }
}
