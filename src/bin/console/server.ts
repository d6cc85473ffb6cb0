/**
 * The server of the console: the page, the sign-in, and forwarded requests to the services, to which it adds the API
 * key.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { pathOf } from '../../codec/url.ts'
import { isClientGone } from '../network/failed-request.ts'
import {
  type ConsoleAnswer,
  type ConsoleFile,
  type ConsoleRefusal,
  jsonAnswer,
  refusalAnswer,
  sendAnswer,
  signedInAnswer,
} from './answer.ts'
import { type ConsoleServices, type ForwardedRequest, findEndpoint } from './endpoints.ts'
import { forwardRequest, isEventStream, readBody } from './forward.ts'
import { ANSWER_PATH, type ProviderSignIn, START_PATH } from './provider-sign-in.ts'
import { createSignIn, type SignIn } from './sign-in.ts'

export interface ConsoleOptions {
  readonly services: ConsoleServices
  /** The files of the page by path, below the path of the sign-in. */
  readonly files: ReadonlyMap<string, ConsoleFile>
  /** The page after the sign-in; the overview when absent. */
  readonly firstPage?: string
  readonly random: (bytes: number) => Uint8Array
  readonly now: () => Date
  readonly fetch: typeof globalThis.fetch
  /** Tells the operator in the terminal why a request failed. */
  readonly report: (line: string) => void
  /** Sign-in with a provider, in addition to the link. */
  readonly providerSignIn?: ProviderSignIn | undefined
}

/** The host names of loopback. */
const OWN_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/
const STYLE = '/style.css'
const REQUEST_MS = 30_000
const HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
}
/** Seconds that are longer than the clients of the page wait, so that they do not ask again by themselves. */
const UNREACHABLE_RETRY_SECONDS = 60
const CONSOLE_FAILED = {
  status: 500,
  title: 'The console failed',
  message: 'This is a mistake of the console, and not of the service. Its terminal says more.',
}
const TOO_LARGE = { status: 413, title: 'Too large', message: 'The body is too large.' }
const NOT_FOUND = { status: 404, title: 'Nothing here', message: 'There is nothing here.' }
const FOREIGN_PAGE = { status: 403, title: 'Not from here', message: 'Only the page of the console may do that.' }
const FOREIGN_NAME = { status: 421, title: 'Another name', message: 'The console is at localhost only.' }
const NEW_LINK =
  'For a new link, end the console in its terminal by Ctrl-C, and start it again as before (vouchsafe console, or npm start, whose demo then begins anew, without its keys and sessions).'
const SIGNED_OUT = {
  status: 401,
  title: 'Please sign in',
  message: `Sign in by the link that the console printed when it started; it works once, within ten minutes. If you signed in already in this browser, go on in that window, or at its address in your history. ${NEW_LINK}`,
}
const LINK_REFUSED = {
  status: 401,
  title: 'This link is over',
  message: `This link has been used, or is too old. If you signed in with it, go on in that browser. ${NEW_LINK}`,
}

type Decision = ConsoleAnswer | ForwardedRequest | ConsoleRefusal

/** Creates the server and the path of the sign-in link. The caller makes the server listen. */
export function createConsoleServer(options: ConsoleOptions): { readonly server: Server; readonly signInPath: string } {
  const signIn = createSignIn(options.random, options.now)
  const policy = policyFor(options.services)
  const server = createServer({ requestTimeout: REQUEST_MS }, (request, response) => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value)
    response.setHeader('content-security-policy', policy)
    respond(options, signIn, request, response).catch((error: unknown) => {
      if (!isClientGone(error)) options.report(`The console failed to answer a request: ${reasonText(error)}.`)
      endWithRefusal(request, response, CONSOLE_FAILED)
    })
  })
  return { server, signInPath: `/sign-in?code=${signIn.code}` }
}

/**
 * Makes the Content-Security-Policy of the page. It allows images from everywhere, since issuers choose the URL of
 * their logo, and requests to the services, which the page makes without API keys for its wallet and for those of the
 * browser.
 */
function policyFor(services: ConsoleServices): string {
  const origins = [services.issuer, services.verifier].flatMap((service) => service?.walletOrigin ?? service?.url ?? [])
  const reachable = ["'self'", ...new Set(origins.map((url) => new URL(url).origin))].join(' ')
  return `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; connect-src ${reachable}; form-action 'none'; base-uri 'none'; frame-ancestors 'none'`
}

async function respond(
  options: ConsoleOptions,
  signIn: SignIn,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const providerAnswer = signInAtProvider(options, signIn, request)
  const decision = providerAnswer === undefined ? decide(options, signIn, request) : await providerAnswer
  if ('message' in decision) sendAnswer(response, refusalAnswer(decision, request.headers.accept))
  else if ('service' in decision) {
    const body = decision.method === 'POST' ? await readBody(request) : Buffer.alloc(0)
    if (body === undefined) sendAnswer(response, refusalAnswer(TOO_LARGE, request.headers.accept))
    else {
      const key = request.headers['idempotency-key']
      const content = { body, idempotencyKey: typeof key === 'string' ? key : undefined }
      await forwardRequest(options.fetch, decision, content, response).catch((error: unknown) => {
        if (!isClientGone(error))
          options.report(`${decision.method} ${decision.service.url} failed: ${reasonText(error)}.`)
        endWithRefusal(request, response, unreachableRefusal(decision))
      })
    }
  } else sendAnswer(response, decision)
}

/** Makes the refusal for a service without an answer. A stream of events is asked for again, as after a restart. */
function unreachableRefusal({ name, service, target }: ForwardedRequest): ConsoleRefusal {
  return {
    status: 502,
    title: 'No answer',
    message: `The ${name} at ${service.url} could not be reached. Look at its log, and whether it runs.`,
    ...(!isEventStream(target) && { retryAfterSeconds: UNREACHABLE_RETRY_SECONDS }),
  }
}

/** Refuses a request, or aborts a response that has started. */
function endWithRefusal({ headers }: IncomingMessage, response: ServerResponse, refusal: ConsoleRefusal): void {
  if (response.headersSent) response.destroy()
  else sendAnswer(response, refusalAnswer(refusal, headers.accept))
}

/** Returns the message of an error, with the code or the message of its cause. */
function reasonText(error: unknown): string {
  const { message, cause } = error as Error
  const { code, message: detail } = (cause ?? {}) as Partial<NodeJS.ErrnoException>
  const why = code ?? detail
  return why === undefined ? message : `${message} (${why})`
}

/** Decides on a request before its body is read. */
function decide(
  { services, files, firstPage, providerSignIn }: ConsoleOptions,
  signIn: SignIn,
  { method = 'GET', url = '/', headers }: IncomingMessage,
): Decision {
  // Refuses other host names, against DNS rebinding.
  if (!OWN_HOST.test(headers.host ?? '')) return FOREIGN_NAME
  if (method === 'GET' && pathOf(url) === '/sign-in') return redeemLink(signIn, url, firstPage)
  const style = files.get(STYLE)
  // The style sheet is public, since the pages before the sign-in use it.
  if (method === 'GET' && url === STYLE && style !== undefined) return { status: 200, ...style }
  if (!url.startsWith(signIn.path) || !signIn.isSignedIn(headers.cookie)) {
    return providerSignIn === undefined ? SIGNED_OUT : { ...SIGNED_OUT, signIn: START_PATH }
  }
  const target = url.slice(signIn.path.length - 1)
  const path = pathOf(target)
  const file = files.get(path)
  if (method === 'GET' && file !== undefined) return { status: 200, ...file }
  if (method === 'GET' && path === '/api/services') return jsonAnswer(serviceAddresses(services))
  const forwardedRequest = findEndpoint(services, method, target)
  if (forwardedRequest === undefined) return NOT_FOUND
  // Refuses POST requests from pages of other origins (CSRF).
  if (method === 'POST' && headers.origin !== `http://${headers.host ?? ''}`) return FOREIGN_PAGE
  return forwardedRequest
}

/** Handles the two URLs of the sign-in with a provider; returns undefined for other requests. */
function signInAtProvider(
  { providerSignIn, firstPage }: ConsoleOptions,
  signIn: SignIn,
  { method = 'GET', url = '/', headers, socket }: IncomingMessage,
): Promise<Decision> | undefined {
  const { host = '', cookie: cookies } = headers
  if (providerSignIn === undefined || method !== 'GET' || !OWN_HOST.test(host)) return undefined
  const request = { url, host, port: socket.localPort ?? 0, cookies }
  const path = pathOf(url)
  if (path === START_PATH) return providerSignIn.beginSignIn(request)
  if (path !== ANSWER_PATH) return undefined
  return providerSignIn
    .finishSignIn(request)
    .then((result) =>
      result === 'allowed' ? signedInAnswer(firstPageOf(signIn, firstPage), signIn.openSession()) : result,
    )
}

function firstPageOf({ path }: SignIn, firstPage = ''): string {
  return path + (firstPage === '' ? '' : `#/${firstPage}`)
}

function redeemLink(signIn: SignIn, url: string, firstPage: string | undefined): Decision {
  const cookie = signIn.redeemCode(new URLSearchParams(url.split('?')[1]).get('code') ?? '')
  return cookie === undefined ? LINK_REFUSED : signedInAnswer(firstPageOf(signIn, firstPage), cookie)
}

function serviceAddresses({ issuer, verifier, engines = [] }: ConsoleServices): object {
  return {
    ...(issuer && { issuer: { url: issuer.url } }),
    ...(verifier && { verifier: { url: verifier.url } }),
    engines: engines.map(({ url, apiKey }) => ({ url, has_key: apiKey !== undefined })),
  }
}
