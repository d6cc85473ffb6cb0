/** JSON over HTTP for the reader nodes of Partisia Blockchain. */
import type { JsonHttp } from '../../chain/partisia/reader.ts'
import { parseJson } from '../../codec/json.ts'
import { readOrUndefined } from '../../codec/malformed.ts'
import { removeTrailingSlashes } from '../../codec/url.ts'
import type { Outbound } from '../../http/outbound.ts'
import { hasTooManyValues, MAX_ANSWER_BYTES } from './answer-size.ts'

const TIMEOUT_MS = 10_000

/** Creates a client for JSON. Plain http is only allowed for private hosts. */
export function createJsonHttp(baseUrl: string, outbound: Outbound): JsonHttp {
  const base = removeTrailingSlashes(baseUrl)
  return async (method, path, body) => {
    const answer = await outbound({
      url: base + path,
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_ANSWER_BYTES,
      allowPrivateAddresses: true,
    })
    const isReadable = !hasTooManyValues(answer.body)
    return { status: answer.status, body: isReadable ? readOrUndefined(() => parseJson(answer.body)) : undefined }
  }
}
