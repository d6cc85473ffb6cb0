/**
 * Sends an HTTP request and reads its response, for both protocols. Redirects are not followed, and responses are
 * limited in time, size and media type.
 */

import { removeControlCharacters } from '../codec/control-characters.ts'
import { isObject, type JsonObject, parseJson, parseJsonObject, stringMemberOf } from '../codec/json.ts'
import { readOrUndefined } from '../codec/malformed.ts'
import { utf8Text } from '../codec/utf8.ts'
import { describeCertificateProblem } from '../protocol/tls-problem.ts'
import type { Step, WalletContext } from './context.ts'
import { readOrRefuseWith, refuseWith, type ServerError, WalletError } from './error.ts'

export interface ExchangeRequest extends Pick<Step, 'what' | 'means' | 'spec'> {
  readonly url: string
  /** The body. With a body, even an empty one, the method is POST. */
  readonly body?: string | URLSearchParams
  /** A description of the body for people, without secrets. */
  readonly sent?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The required media type of the response, or `any`; JSON when absent. */
  readonly type?: string
  /** Called with the headers of every response. */
  readonly onHeaders?: (headers: Headers) => void
}

const LIMITS = { seconds: 10, bytes: 1024 * 1024 }
const MAX_SERVER_TEXT = 500
/** How a server says that the person can get a new link. */
const ADVICE = /\b(ask for|start) a new\b/
const GONE = 410
/** The error of a server that wants its nonce in the DPoP proof. RFC 9449 section 8. */
export const DPOP_NONCE_ERROR = 'use_dpop_nonce'
const JSON_TYPE = 'application/json'
/** The explanation of {@link DPOP_NONCE_ERROR} for people. */
const DPOP_NONCE_MEANS =
  'The server wants a nonce of its own in the proof (DPoP), and gave one with this refusal; the wallet sends the request again with it.'

/**
 * Sends a request and returns the response body. Refuses with `unreachable`, with `invalid_response`, or with `refused`
 * and the server's message.
 */
export async function exchangeText(wallet: WalletContext, request: ExchangeRequest): Promise<string> {
  const { seconds } = wallet.limits ?? LIMITS
  const timeoutError = new WalletError(
    'unreachable',
    `${request.url} took longer than ${seconds} seconds to answer; try again later`,
  )
  const { response, text } = await runWithTimeout(seconds, timeoutError, (signal) =>
    fetchAnswer(wallet, request, signal),
  )
  const { what, spec, url, sent } = request
  const serverError = response.ok ? undefined : readServerError(response.headers, text)
  const isNonceGiven = serverError?.error === DPOP_NONCE_ERROR && response.headers.has('dpop-nonce')
  const means = isNonceGiven ? DPOP_NONCE_MEANS : request.means
  const requestLine = { method: methodOf(request), url, ...(sent === undefined ? {} : { sent }) }
  wallet.onStep?.({ what, means, spec, request: requestLine, status: response.status })
  request.onHeaders?.(response.headers)
  if (!response.ok) refuseByAnswer(request, response.status, serverError)
  const expectedType = request.type ?? JSON_TYPE
  if (expectedType === 'any') return text
  const type = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? 'nothing'
  if (type !== expectedType)
    refuseWith('invalid_response', `${request.url} answered with ${type} and not with ${expectedType}`)
  return text
}

/** Sends a request and returns the JSON object in the response. Refuses like {@link exchangeText}. */
export async function exchangeJson(wallet: WalletContext, request: ExchangeRequest): Promise<JsonObject> {
  const text = await exchangeText(wallet, { ...request, headers: { accept: JSON_TYPE, ...request.headers } })
  return readOrRefuseWith('invalid_response', `the answer of ${request.url} cannot be read`, () =>
    parseJsonObject(text),
  )
}

async function fetchAnswer(
  wallet: WalletContext,
  request: ExchangeRequest,
  signal: AbortSignal,
): Promise<{ readonly response: Response; readonly text: string }> {
  const { url, body, headers = {} } = request
  // Redirects are not followed, since the server of one URL could choose another.
  const init = {
    method: methodOf(request),
    headers,
    redirect: 'manual',
    signal,
    ...(body === undefined ? {} : { body }),
  }
  const response = await wallet.fetch(url, init as RequestInit).catch((error: unknown) => refuseUnreachable(url, error))
  if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
    refuseWith('invalid_response', `${url} redirects elsewhere, and a wallet does not follow`)
  }
  const text = await readBody(url, response, wallet.limits?.bytes ?? LIMITS.bytes)
  return { response, text }
}

async function readBody(url: string, response: Response, limit: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    // Ending the loop cancels the stream.
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength
      if (size > limit) refuseWith('invalid_response', `the answer of ${url} is larger than ${limit} bytes`)
      chunks.push(chunk)
    }
  } catch (error) {
    throw error instanceof WalletError ? error : refuseUnreachable(url, error)
  }
  return readOrRefuseWith('invalid_response', `the answer of ${url}`, () => utf8Text(Buffer.concat(chunks)))
}

/** Resolves like `run`, or rejects with `timeoutError` after `seconds`, even if `run` ignores its signal. */
function runWithTimeout<T>(seconds: number, timeoutError: Error, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(timeoutError)
      controller.abort()
    }, seconds * 1000)
    run(controller.signal)
      .finally(() => clearTimeout(timer))
      .then(resolve, reject)
  })
}

function methodOf({ body }: ExchangeRequest): 'GET' | 'POST' {
  return body === undefined ? 'GET' : 'POST'
}

function refuseUnreachable(url: string, error: unknown): never {
  const { cause, message } = error as Error
  const { code, message: causeMessage } = (cause ?? {}) as { code?: string; message?: string }
  const reason = code ?? causeMessage ?? message
  const { origin, host } = new URL(url)
  const problem =
    describeCertificateProblem(code ?? '', host) ??
    `${origin} cannot be reached (${reason}); check that it runs and that this machine can reach it`
  return refuseWith('unreachable', problem, error)
}

/** Throws the server's refusal as a {@link WalletError}. */
function refuseByAnswer(request: ExchangeRequest, status: number, server: ServerError | undefined): never {
  const { error, error_description: description } = server ?? {}
  const reason = description ?? error ?? 'it does not say why'
  const code = ` (${[description && error, `status ${status}`].filter(Boolean).join(', ')})`
  // A used or expired code is a common refusal, and the person can get a new one.
  const advice = ADVICE.test(reason) ? '' : '; ask for a new one'
  const suffix = status !== GONE ? code : `${description === undefined ? code : ''}${advice}`
  const message = `${new URL(request.url).origin} said no when the wallet ${request.what}: ${reason}${suffix}`
  throw new WalletError('refused', message, server ? { server } : {})
}

/** Returns the error of a refusal. A resource server asks for its nonce in a challenge. RFC 9449 sections 8 and 9. */
function readServerError(headers: Headers, text: string): ServerError | undefined {
  const bodyError = readBodyError(text)
  const challenge = headers.get('www-authenticate') ?? ''
  return /\berror="use_dpop_nonce"/.test(challenge) ? { ...bodyError, error: DPOP_NONCE_ERROR } : bodyError
}

function readBodyError(text: string): ServerError | undefined {
  const body = readOrUndefined(() => parseJson(text))
  const error = isObject(body) ? stringMemberOf(body, 'error') : undefined
  if (error === undefined) return undefined
  const description = stringMemberOf(body, 'error_description')
  return {
    error: serverText(error),
    ...(description ? { error_description: serverText(description) } : {}),
  }
}

function serverText(text: string): string {
  return removeControlCharacters(text.slice(0, MAX_SERVER_TEXT))
}
