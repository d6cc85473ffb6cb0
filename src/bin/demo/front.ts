/**
 * The front of the demo: one port for both services, so that one tunnel or proxy is enough for wallets elsewhere. It
 * forwards only operations without API key, according to the OpenAPI documents of the services.
 */
import { createServer, type IncomingMessage, request as requestFrom, type Server, type ServerResponse } from 'node:http'
import { isObject, type JsonObject, memberOf } from '../../codec/json.ts'
import { pathOf } from '../../codec/url.ts'
import { closeServer, findFreePort } from '../network/network.ts'

/** A service behind the front. */
export interface FrontService {
  readonly port: number
  readonly openapi: JsonObject
}

/** An operation without API key. */
interface OpenOperation {
  readonly port: number
  readonly method: string
  readonly path: RegExp
}

/** A running front. */
export interface ListeningFront {
  /** The URL that a tunnel must forward to. */
  readonly url: string
  readonly close: () => Promise<void>
}

/** Starts a front on loopback, before the services: at the preferred port, or at another if that is in use. */
export async function listenAsFront(
  services: readonly { readonly url: string; readonly port: number }[],
  preferredPort: number,
): Promise<ListeningFront> {
  const frontServices = services.map(async ({ url, port }) => {
    const response = await fetch(`${url}/openapi`)
    return { port, openapi: (await response.json()) as JsonObject }
  })
  const server = createFront(await Promise.all(frontServices))
  const port = await findFreePort(preferredPort)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host: '127.0.0.1' }, resolve)
  })
  return { url: `http://127.0.0.1:${port}`, close: () => closeServer(server) }
}

/**
 * Creates the front. The caller makes it listen. If both services have an operation, the first one gets the request.
 */
export function createFront(services: readonly FrontService[]): Server {
  const operations = services.flatMap(openOperations)
  return createServer((request, response) => {
    const path = pathOf(request.url ?? '/')
    // A preflight request is allowed if GET or POST is.
    const methods = request.method === 'OPTIONS' ? ['GET', 'POST'] : [request.method ?? '']
    const operation = operations.find((each) => methods.includes(each.method) && each.path.test(path))
    if (operation === undefined) refuseRequest(response, 404, 'there is nothing for wallets here')
    else passToService(request, response, operation.port)
  })
}

function openOperations({ port, openapi }: FrontService): readonly OpenOperation[] {
  return Object.entries(membersOf(memberOf(openapi, 'paths'))).flatMap(([path, methods]) =>
    Object.entries(membersOf(methods))
      .filter(([, operation]) => !needsApiKey(membersOf(operation)))
      .map(([method]) => ({ port, method: method.toUpperCase(), path: patternOf(path) })),
  )
}

/** Tests whether an operation requires an API key; one without `security` does. */
function needsApiKey(operation: JsonObject): boolean {
  const ways = memberOf(operation, 'security')
  return !Array.isArray(ways) || ways.some((way) => Object.hasOwn(membersOf(way), 'apiKey'))
}

function patternOf(path: string): RegExp {
  const parts = path.split(/\{[^{}]+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[\\w-]+')}$`)
}

function membersOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

function passToService(request: IncomingMessage, response: ServerResponse, port: number): void {
  const { method, url, headers } = request
  const serviceRequest = requestFrom({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  serviceRequest.on('error', () => {
    if (response.headersSent) response.destroy()
    else refuseRequest(response, 502, 'the service does not answer')
  })
  response.on('close', () => serviceRequest.destroy())
  request.pipe(serviceRequest)
}

function refuseRequest(response: ServerResponse, status: number, why: string): void {
  const body = JSON.stringify({ error: status === 404 ? 'not_found' : 'server_error', error_description: why })
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}
