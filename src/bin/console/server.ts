/**
 * The server of the console: the page, the sign-in, and the administrative endpoints of the services, to which it adds
 * the API key that no browser has.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createSignIn, type SignIn } from './sign-in.ts'

export interface ConsoleService {
  /** The base URL. */
  readonly url: string
  readonly apiKey: string
}

export interface ConsoleServices {
  readonly issuer?: ConsoleService
  readonly verifier?: ConsoleService
}

export interface ConsoleFile {
  readonly type: string
  readonly body: Uint8Array
}

export interface ConsoleOptions {
  readonly services: ConsoleServices
  /** The files of the page by path, below that of the sign-in. */
  readonly files: ReadonlyMap<string, ConsoleFile>
  readonly random: (bytes: number) => Uint8Array
  readonly now: () => Date
  readonly fetch: typeof globalThis.fetch
}

/** The endpoints that the page uses, by service. Nothing else is passed on. */
const ENDPOINTS: Readonly<Record<keyof ConsoleServices, readonly RegExp[]>> = {
  issuer: [
    /^GET \/health\/ready$/,
    /^GET \/\.well-known\/openid-credential-issuer$/,
    /^GET \/issuance\/oid4vci\/sessions(\?[^#]*)?$/,
    /^(GET|POST) \/issuance\/oid4vci\/(status\/[\w-]+|new-session|complete\/[\w-]+)$/,
    /^GET \/issuance\/oid4vci\/events\/[\w-]+$/,
    /^(GET|POST) \/credential-configuration\/[\w-]+$/,
    /^POST \/credential-status\/(revoke|suspend|reinstate)\/[\w-]+$/,
  ],
  verifier: [
    /^GET \/health\/ready$/,
    /^GET \/presentation\/oid4vp\/sessions(\?[^#]*)?$/,
    /^(GET|POST) \/presentation\/oid4vp\/(status\/[\w-]+|new-session|static-presentation)$/,
    /^GET \/presentation\/oid4vp\/events\/[\w-]+$/,
    /^(GET|POST) \/verification-query\/[\w-]+$/,
  ],
}

/** The names of this machine for itself. */
const OWN_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/
const MAX_BODY_BYTES = 1024 * 1024
const SERVICE_MS = 30_000
const REQUEST_MS = 30_000
/** The page may load nothing from elsewhere but pictures, since an issuer's logo is where the issuer says. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
}

/** An answer of the console itself. */
interface ConsoleAnswer extends ConsoleFile {
  readonly status: number
  readonly cookie?: string
}

/** A request to pass on to a service. */
interface PassedOn {
  readonly service: ConsoleService
  readonly method: string
  readonly target: string
}

/** Makes the server, which does not listen yet, and the path that signs in once. */
export function createConsoleServer(options: ConsoleOptions): { readonly server: Server; readonly signInPath: string } {
  const signIn = createSignIn(options.random, options.now)
  const server = createServer({ requestTimeout: REQUEST_MS }, (request, response) => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value)
    respond(request, response).catch(() => {
      if (response.headersSent) response.destroy()
      else send(response, problem(502, 'The service could not be reached. Look at its log, and whether it runs.'))
    })
  })
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const decision = decide(options, signIn, request)
    if (!('service' in decision)) {
      send(response, decision)
      return
    }
    const body = decision.method === 'POST' ? await readBody(request) : Buffer.alloc(0)
    if (body === undefined) send(response, problem(413, 'The body is too large.'))
    else await passOn(options.fetch, decision, body, response)
  }
  return { server, signInPath: `/sign-in?code=${signIn.code}` }
}

/** Decides about a request before its body is read. */
function decide(
  { services, files }: ConsoleOptions,
  signIn: SignIn,
  { method = 'GET', url = '/', headers }: IncomingMessage,
): ConsoleAnswer | PassedOn {
  // A page of another name that leads to this address would else read what the console shows (DNS rebinding).
  if (!OWN_HOST.test(headers.host ?? '')) return problem(421, 'The console is at localhost only.')
  if (method === 'GET' && url.split('?', 1)[0] === '/sign-in') return enter(signIn, url)
  if (!url.startsWith(signIn.path) || !signIn.isSignedIn(headers.cookie)) {
    return problem(401, 'Sign in by the link that the console printed when it started; it works once.')
  }
  const target = url.slice(signIn.path.length - 1)
  const [path = ''] = target.split('?', 1)
  const file = files.get(path)
  if (method === 'GET' && file !== undefined) return { status: 200, ...file }
  if (method === 'GET' && path === '/api/services') return { status: 200, ...jsonFile(addresses(services)) }
  const passedOn = findEndpoint(services, method, target)
  if (passedOn === undefined) return problem(404, 'There is nothing here.')
  // A browser names the page that a change comes from; those of others change nothing, whatever cookies come along.
  if (method === 'POST' && headers.origin !== `http://${headers.host ?? ''}`) {
    return problem(403, 'Only the page of the console may do that.')
  }
  return passedOn
}

function enter(signIn: SignIn, url: string): ConsoleAnswer {
  const cookie = signIn.redeem(new URLSearchParams(url.split('?')[1]).get('code') ?? '')
  if (cookie === undefined) {
    return problem(401, 'This link has been used, or is too old. Start the console again for a new one.')
  }
  // A redirect would not carry the cookie where the link was opened from another site.
  return { status: 200, type: 'text/html; charset=utf-8', body: Buffer.from(enteredPage(signIn.path)), cookie }
}

function findEndpoint(services: ConsoleServices, method: string, url: string): PassedOn | undefined {
  const [, name, target = ''] = /^\/api\/(issuer|verifier)(\/.*)$/.exec(url) ?? []
  if (name !== 'issuer' && name !== 'verifier') return undefined
  const service = services[name]
  const isPassedOn = ENDPOINTS[name].some((each) => each.test(`${method} ${target}`))
  return service !== undefined && isPassedOn ? { service, method, target } : undefined
}

async function passOn(
  fetchFrom: typeof globalThis.fetch,
  { service, method, target }: PassedOn,
  body: Buffer<ArrayBuffer>,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  // A stream of events goes on for as long as somebody looks.
  const isStream = target.includes('/events/')
  const hasBody = body.length > 0
  const answer = await fetchFrom(service.url + target, {
    method,
    headers: { authorization: `Bearer ${service.apiKey}`, ...(hasBody && { 'content-type': 'application/json' }) },
    ...(hasBody && { body }),
    redirect: 'error',
    signal: isStream ? gone.signal : AbortSignal.any([gone.signal, AbortSignal.timeout(SERVICE_MS)]),
  })
  for (const name of ['content-type', 'x-request-id', 'retry-after']) {
    const value = answer.headers.get(name)
    if (value !== null) response.setHeader(name, value)
  }
  response.writeHead(answer.status)
  const chunks: AsyncIterable<Uint8Array> | readonly never[] = answer.body ?? []
  for await (const chunk of chunks) response.write(chunk)
  response.end()
}

/** The page after signing in, which goes on to the console by itself. */
function enteredPage(path: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Vouchsafe console</title><meta http-equiv="refresh" content="0; url=${path}"><p>You are signed in. <a href="${path}">Go on to the console.</a></p></html>`
}

function addresses(services: ConsoleServices): object {
  const entries: readonly [string, ConsoleService][] = Object.entries(services)
  return Object.fromEntries(entries.map(([name, { url }]) => [name, { url }]))
}

function jsonFile(value: object): ConsoleFile {
  return { type: 'application/json; charset=utf-8', body: Buffer.from(JSON.stringify(value)) }
}

function send(response: ServerResponse, { status, type, body, cookie }: ConsoleAnswer): void {
  if (cookie !== undefined) response.setHeader('set-cookie', cookie)
  response.writeHead(status, { 'content-type': type, 'content-length': body.length }).end(body)
}

/** An error in the form of the services' errors, which the page shows as they are. */
function problem(status: number, message: string): ConsoleAnswer {
  return { status, ...jsonFile({ error: 'console', error_description: message }) }
}

/** Reads a body; undefined when it is too large. */
async function readBody(request: IncomingMessage): Promise<Buffer<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
