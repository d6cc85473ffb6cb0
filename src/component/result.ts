/** Reads and checks the result of a hook: nothing of the result is believed before the engine hands it on. */
import { section } from '../offchain/hosted.ts'
import { type HttpResponseData, readResponse } from '../offchain/http-data.ts'
import { reader } from '../offchain/rpc.ts'
import type { CallMessage } from './messages.ts'
import type { RuntimeLimits } from './runtime.ts'

/** The error for a wrong result of a hook; `message` says what is wrong, for the operator's log. */
export class BadResult extends Error {
  override readonly name = 'BadResult'
}

export interface HookResult {
  readonly response: HttpResponseData | undefined
  /** The content of the hook's section; empty without one. */
  readonly result: Uint8Array
}

/** The most bytes of the headers of a response, whatever the limit on its body. */
export const HEADERS_BYTES = 32_768
const MOST_HEADERS = 128

/** Reads the result of a hook from `sections`, which begin after the length of all. Throws a BadResult. */
export function readHookResult(
  sections: Uint8Array,
  expects: CallMessage['expects'],
  limits: RuntimeLimits,
): HookResult {
  const sectionsById = orBad('the result is malformed', () => sectionsOf(sections))
  const nothing = new Uint8Array(0)
  if (expects === 'nothing') return { response: undefined, result: nothing }
  if (expects === 'engines') {
    const engines = sectionsById.get(section.engines) ?? bad('the result has no section 0x30 with the engines')
    return { response: undefined, result: engines.slice() }
  }
  const bytes = sectionsById.get(section.httpResponse) ?? bad('the result has no section 0x22 with a response')
  const response = orBad('the response is malformed', () => readResponse(bytes))
  judgeResponse(response, limits)
  return { response: { ...response, body: response.body.slice() }, result: nothing }
}

function sectionsOf(bytes: Uint8Array): Map<number, Uint8Array> {
  const from = reader(bytes)
  const sections = new Map<number, Uint8Array>()
  let last = -1
  for (let left = bytes.length; left > 0; ) {
    const id = from.u8()
    if (id <= last) bad('the sections of the result are not in ascending order')
    last = id
    const data = from.bytes()
    sections.set(id, data)
    left -= 5 + data.length
  }
  return sections
}

/** The form of a token. RFC 9110, "Tokens" and "Field Values". */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

function judgeResponse({ status, headers, body }: HttpResponseData, limits: RuntimeLimits): void {
  if (status < 200 || status > 599) bad(`the response has the status ${status}`)
  if (body.length > limits.responseBytes) {
    bad(`the response has ${body.length} bytes; limits.responseBytes is ${limits.responseBytes}`)
  }
  const values = headers.flatMap((header) => header.values)
  if (headers.length > MOST_HEADERS || values.length > MOST_HEADERS) {
    bad(`the response has more than ${MOST_HEADERS} headers`)
  }
  const wrong = headers.find(
    ({ name, values }) => !TOKEN.test(name) || !values.every((value) => FIELD_VALUE.test(value)),
  )
  if (wrong !== undefined)
    bad(`the response has a header that cannot be sent: ${JSON.stringify(wrong.name.slice(0, 60))}`)
  const size = headers.reduce((sum, { name, values }) => sum + name.length + values.join('').length, 0)
  if (size > HEADERS_BYTES) bad(`the headers of the response have more than ${HEADERS_BYTES} characters`)
}

function orBad<T>(what: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof BadResult) throw error
    return bad(`${what}: ${(error as Error).message}`)
  }
}

function bad(message: string): never {
  throw new BadResult(message)
}
