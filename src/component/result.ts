/** Reads and checks the result of a hook before the engine uses any part of it. */
import { section } from '../offchain/hosted.ts'
import { type HttpResponseData, readResponse } from '../offchain/http-data.ts'
import { reader } from '../offchain/rpc.ts'
import { findExcess } from './host-request.ts'
import type { CallMessage } from './messages.ts'
import type { RuntimeLimits } from './runtime.ts'

/** The error for an invalid result of a hook. The message is for the operator's log. */
export class BadResult extends Error {
  override readonly name = 'BadResult'
}

export interface HookResult {
  readonly response: HttpResponseData | undefined
  /** The content of section 0x30 for the hook `engines`; empty for other hooks. */
  readonly result: Uint8Array
}

/**
 * Reads the result of a hook. `sections` are its bytes after the total length. Throws a BadResult when the result is
 * malformed, lacks the expected section, or has a response that cannot be sent.
 */
export function readHookResult(
  sections: Uint8Array,
  expects: CallMessage['expects'],
  limits: RuntimeLimits,
): HookResult {
  const sectionsById = readOrRefuseResult('the result is malformed', () => readSections(sections))
  const nothing = new Uint8Array(0)
  if (expects === 'nothing') return { response: undefined, result: nothing }
  if (expects === 'engines') {
    const engines = sectionsById.get(section.engines) ?? refuseResult('the result has no section 0x30 with the engines')
    if (engines.length > limits.responseBytes)
      refuseResult(`the list of engines has ${engines.length} bytes; limits.responseBytes is ${limits.responseBytes}`)
    return { response: undefined, result: engines.slice() }
  }
  const bytes = sectionsById.get(section.httpResponse) ?? refuseResult('the result has no section 0x22 with a response')
  const response = readOrRefuseResult('the response is malformed', () => readResponse(bytes))
  checkResponse(response, limits)
  return { response: { ...response, body: response.body.slice() }, result: nothing }
}

function readSections(bytes: Uint8Array): Map<number, Uint8Array> {
  const from = reader(bytes)
  const sections = new Map<number, Uint8Array>()
  let last = -1
  for (let remainingBytes = bytes.length; remainingBytes > 0; ) {
    const id = from.u8()
    if (id <= last) refuseResult('the sections of the result are not in ascending order')
    last = id
    const data = from.bytes()
    sections.set(id, data)
    remainingBytes -= 5 + data.length
  }
  return sections
}

/** The valid names and values of header fields, which Node sends unchanged. RFC 9110 sections 5.6.2 and 5.5. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

function checkResponse({ status, headers, body }: HttpResponseData, limits: RuntimeLimits): void {
  // An informational response would have to be followed by a final one, and a component gives one response only.
  if (status < 200 || status > 599)
    refuseResult(`the response has the status ${status}, which is not a final HTTP status (200 to 599)`)
  if (body.length > limits.responseBytes) {
    refuseResult(`the response has ${body.length} bytes; limits.responseBytes is ${limits.responseBytes}`)
  }
  const excess = findExcess(headers)
  if (excess !== undefined) refuseResult(`the response has ${excess}`)
  const invalidHeader = headers.find(
    ({ name, values }) => !TOKEN.test(name) || !values.every((value) => FIELD_VALUE.test(value)),
  )
  if (invalidHeader !== undefined)
    refuseResult(`the response has a header that cannot be sent: ${JSON.stringify(invalidHeader.name.slice(0, 60))}`)
  // RFC 9110 section 8.3. The engine signs a single value, and a client joins several.
  const contentTypes = headers.filter(({ name }) => name.toLowerCase() === 'content-type')
  if (contentTypes.flatMap((header) => header.values).length > 1)
    refuseResult('the response has more than one content-type; give one value')
  // The engine signs the body of the component. A client decodes the body before it verifies the signature, which would
  // fail.
  if (headers.some(({ name }) => name.toLowerCase() === 'content-encoding'))
    refuseResult('the response has a content-encoding; give the body without one')
}

function readOrRefuseResult<T>(what: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof BadResult) throw error
    return refuseResult(`${what}: ${(error as Error).message}`, { cause: error })
  }
}

function refuseResult(message: string, options?: ErrorOptions): never {
  throw new BadResult(message, options)
}
