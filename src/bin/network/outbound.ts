/**
 * Implements `http/outbound.ts`. A host name is resolved once, and the connection uses the checked address, so that DNS
 * rebinding cannot lead requests into the private network.
 */
import type { LookupAddress } from 'node:dns'
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { MAX_URL, parseInternationalUrl } from '../../codec/url.ts'
import { type HttpClientRequest, type HttpClientResponse, type Outbound, OutboundError } from '../../http/outbound.ts'
import { isPublicAddress, stripBrackets } from '../../protocol/private-host.ts'
import { lookUpAtNameServers, lookUpBySystem, lookUpPrivateName } from './name-lookup.ts'
import { reasonOf } from './outbound-reason.ts'

/** Resolves the host name of a request to its addresses. */
type Resolve = (
  hostname: string,
  request: Pick<HttpClientRequest, 'allowPrivateAddresses' | 'isHostUntrusted'>,
) => Promise<readonly LookupAddress[]>

interface Options {
  readonly resolve?: Resolve
  /** The CA certificates for TLS in PEM; Node's defaults when absent. */
  readonly ca?: string
}

/** The maximum number of connections to one host and port. */
const MAX_SOCKETS = 32
const MAX_IDLE_SOCKETS = 8
const IDLE_MS = 15_000
/** The maximum number of interim responses (status 1xx) to a request. RFC 9110 section 15.2. */
const MAX_INTERIM_RESPONSES = 10

/**
 * Creates an HTTP client with keep-alive. Connections to private addresses are pooled separately, for requests that may
 * use them.
 */
export function createOutbound({ resolve = lookUpAddresses, ca }: Options = {}): Outbound {
  const pool = { keepAlive: true, maxSockets: MAX_SOCKETS, maxFreeSockets: MAX_IDLE_SOCKETS, timeout: IDLE_MS }
  const http = new HttpAgent(pool)
  const secure = { public: new HttpsAgent({ ...pool, ca }), any: new HttpsAgent({ ...pool, ca }) }
  return async (request) => {
    const url = addressOf(request)
    const lookup = createLookup(resolve, request)
    const send = (): ClientRequest => {
      const options = { method: request.method ?? 'GET', headers: headersOf(request), lookup }
      if (url.protocol === 'http:') return requestHttp(url, { ...options, agent: http })
      return requestHttps(url, { ...options, agent: request.allowPrivateAddresses ? secure.any : secure.public })
    }
    const deadline = Date.now() + request.timeoutMs
    try {
      return await exchange(send, request, deadline).catch((error: unknown) => {
        // The server closed an idle connection when it was reused. RFC 9112 section 9.3.1.
        if (error instanceof StaleConnection) return exchange(send, request, deadline)
        throw error
      })
    } catch (error) {
      if (error instanceof OutboundError) throw error
      throw new OutboundError(reasonOf(error, url.host), undefined, { cause: error })
    }
  }
}

class StaleConnection extends Error {
  readonly code = 'ECONNRESET'
}

/** Returns the URL of a request. Throws an OutboundError if it is not allowed. */
function addressOf({ url: text, allowPrivateAddresses }: HttpClientRequest): URL {
  const url = parseInternationalUrl(text)
  if (url === undefined) throw new OutboundError(`the address is not a URL of at most ${MAX_URL} characters`)
  const { protocol, username, password } = url
  if (protocol !== 'https:' && protocol !== 'http:') throw new OutboundError('the address is neither https nor http')
  if (username !== '' || password !== '') throw new OutboundError('the address has a user name or a password in it')
  if (protocol === 'http:' && !allowPrivateAddresses) throw new OutboundError('the address is not https')
  const literal = stripBrackets(url.hostname)
  if (isIP(literal) !== 0 && !mayConnect(literal, protocol, allowPrivateAddresses)) throw addressRefusal(url)
  return url
}

function mayConnect(address: string, protocol: string, allowPrivateAddresses: boolean): boolean {
  // Plain http is only allowed to private addresses.
  return isPublicAddress(address) ? protocol === 'https:' : allowPrivateAddresses
}

function addressRefusal({ protocol, hostname }: URL): OutboundError {
  const why =
    protocol === 'https:'
      ? 'is a private or reserved address, to which no request is sent'
      : 'is a public address, to which requests are sent by https only'
  return new OutboundError(`${hostname} ${why}`)
}

/** Makes the `lookup` of a connection, which returns only addresses that the request may use. */
function createLookup(resolve: Resolve, request: HttpClientRequest): LookupFunction {
  const { url, allowPrivateAddresses } = request
  const { protocol } = new URL(url)
  return (hostname, options, callback) => {
    resolve(hostname, request).then(
      (addresses) => {
        const allowedAddresses = addresses.filter(({ address }) => mayConnect(address, protocol, allowPrivateAddresses))
        const [first] = allowedAddresses
        if (first === undefined) callback(addressRefusal(new URL(url)), '')
        else if (options.all === true) callback(null, allowedAddresses)
        else callback(null, first.address, first.family)
      },
      (error: unknown) => callback(error as NodeJS.ErrnoException, ''),
    )
  }
}

const lookUpAddresses: Resolve = (hostname, { allowPrivateAddresses, isHostUntrusted = false }) => {
  if (!isHostUntrusted) return lookUpBySystem(hostname)
  return allowPrivateAddresses ? lookUpPrivateName(hostname) : lookUpAtNameServers(hostname)
}

function headersOf({ headers, body: text, bytes }: HttpClientRequest): Record<string, string | number> {
  const body = text ?? bytes
  return {
    'accept-encoding': 'gzip',
    'user-agent': 'vouchsafe',
    ...headers,
    ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
  }
}

/** Sends one request, and reads the response before the deadline. */
function exchange(
  send: () => ClientRequest,
  { body, bytes, maxBytes, timeoutMs }: HttpClientRequest,
  deadline: number,
): Promise<HttpClientResponse> {
  return new Promise((resolve, reject) => {
    const request = send()
    const fail = (error: Error): void => {
      clearTimeout(timer)
      request.destroy()
      reject(error)
    }
    const timer = setTimeout(
      () => fail(new OutboundError(`${request.host} gave no whole answer within ${timeoutMs / 1000} s`, 'time')),
      Math.max(0, deadline - Date.now()),
    )
    let hasAnswer = false
    request.on('error', (error: NodeJS.ErrnoException) => {
      fail(request.reusedSocket && !hasAnswer && error.code === 'ECONNRESET' ? new StaleConnection() : error)
    })
    let interimResponses = 0
    request.on('information', () => {
      interimResponses++
      if (interimResponses > MAX_INTERIM_RESPONSES)
        fail(new OutboundError(`${request.host} gave more than ${MAX_INTERIM_RESPONSES} interim answers`, 'size'))
    })
    request.on('response', (response) => {
      hasAnswer = true
      readBody(response, maxBytes, request.host).then((responseBody) => {
        clearTimeout(timer)
        resolve({ status: response.statusCode ?? 0, headers: headersFrom(response), body: responseBody })
      }, fail)
    })
    request.end(body ?? bytes)
  })
}

function headersFrom({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value = '']) => [name, Array.isArray(value) ? value.join(', ') : value]),
  )
}

/** Reads and decodes at most `maxBytes`. */
async function readBody(response: IncomingMessage, maxBytes: number, host: string): Promise<Uint8Array> {
  const refuseSize = (): never => {
    throw new OutboundError(`the answer of ${host} is larger than ${maxBytes} bytes`, 'size')
  }
  if (Number(response.headers['content-length']) > maxBytes) refuseSize()
  const parts: Buffer[] = []
  let size = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length
    if (size > maxBytes) refuseSize()
    parts.push(part)
  }
  const body = Buffer.concat(parts)
  const encoding = response.headers['content-encoding']?.toLowerCase() ?? 'identity'
  if (encoding === 'identity' || size === 0) return body
  if (encoding !== 'gzip')
    throw new OutboundError(`the answer of ${host} has a content encoding that was not asked for`)
  return promisify(gunzip)(body, { maxOutputLength: maxBytes }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') refuseSize()
    throw new OutboundError(`the answer of ${host} is not the gzip that it says it is`, undefined, { cause: error })
  })
}
