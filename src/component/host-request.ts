/**
 * Checks a host request, which is what a component asks of its engine, before it leaves the thread of the component.
 * The engine's thread, which serves all HTTP requests, copies each host request; the time of the component is limited,
 * and that of the engine is not.
 */
import { MAX_URL } from '../codec/url.ts'
import type { Header, HttpRequestData } from '../offchain/http-data.ts'
import type { HostRequest } from './messages.ts'
import type { RuntimeLimits } from './runtime.ts'
import { trap, trapOverLimit } from './trap.ts'

/** The most bytes of a host request without a limit of its own; nodes of Ethereum take no larger transaction. */
const MAX_HOST_REQUEST_BYTES = 128 * 1024
/** The most characters of the headers of a request or a response. */
export const MAX_HEADER_CHARACTERS = 32_768
const MAX_HEADERS = 128

/** Traps when a host request is too large. The name of a stored value was checked when it was read. */
export function checkHostRequest(hostRequest: HostRequest, limits: RuntimeLimits): void {
  switch (hostRequest.ask) {
    case 'readContract':
      checkLength('bytes in the input of a read', hostRequest.args[0].length, MAX_HOST_REQUEST_BYTES)
      return
    case 'getConfiguration':
      checkLength('characters in a key of the configuration', hostRequest.args[0].length, MAX_HOST_REQUEST_BYTES)
      return
    case 'send':
      checkRequest(hostRequest.args[0], limits)
      return
    case 'load':
    case 'listTimers':
    case 'getGeneration':
    case 'isSpent':
  }
}

function checkRequest({ method, uri, headers, body }: HttpRequestData, { outboundBytes }: RuntimeLimits): void {
  checkLength('characters in the method and the URL of a request', method.length + uri.length, MAX_URL)
  const excess = findExcess(headers)
  if (excess !== undefined) trap(`a request has ${excess}`)
  if (body.length > outboundBytes) {
    trapOverLimit('outboundBytes', outboundBytes, `the body of a request has ${body.length} bytes`)
  }
}

function checkLength(what: string, length: number, most: number): void {
  if (length > most) trap(`too many ${what}: ${length}; the most are ${most}`)
}

/** Returns what is too much in the headers of a request or a response; undefined when nothing is. */
export function findExcess(headers: readonly Header[]): string | undefined {
  const values = headers.flatMap((header) => header.values)
  if (headers.length > MAX_HEADERS || values.length > MAX_HEADERS) return `more than ${MAX_HEADERS} headers`
  const characters = headers.reduce((sum, { name, values }) => sum + name.length + values.join('').length, 0)
  return characters > MAX_HEADER_CHARACTERS ? `headers of more than ${MAX_HEADER_CHARACTERS} characters` : undefined
}
