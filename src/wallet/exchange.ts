/**
 * One request and its answer, for every step of both protocols: no redirect is followed, and an answer has a time, a size
 * and a media type. What the answer says is for the callers.
 */
import { isObject, type JsonObject, ownString, parseJson, parseJsonObject } from '../codec/json.ts'
import { utf8Text } from '../codec/utf8.ts'
import type { Step, WalletContext } from './context.ts'
import { orRefuse, refuse, type ServerError, WalletError } from './error.ts'

export interface Ask extends Pick<Step, 'what' | 'means' | 'spec'> {
  readonly url: string
  /** The body, and with it the method: POST when there is one, even an empty one. */
  readonly body?: string | URLSearchParams
  /** What the body is, in words for people who watch; never its secrets. */
  readonly sent?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The media type that the answer must have, or `any` where nobody reads it; JSON when absent. */
  readonly type?: string
}

const LIMITS = { seconds: 10, bytes: 1024 * 1024 }
const MAX_SERVER_TEXT = 500
const GONE = 410
const JSON_TYPE = 'application/json'

/** The answer's body. Refuses with `unreachable`, `invalid_response`, or `refused` and what the other side said. */
export async function exchange(wallet: WalletContext, ask: Ask): Promise<string> {
  const { seconds } = wallet.limits ?? LIMITS
  const late = new WalletError(
    'unreachable',
    `${ask.url} took longer than ${seconds} seconds to answer; try again later`,
  )
  const { response, text } = await within(seconds, late, (signal) => answerOf(wallet, ask, signal))
  const request = { method: methodOf(ask), url: ask.url, ...(ask.sent === undefined ? {} : { sent: ask.sent }) }
  wallet.onStep?.({ what: ask.what, means: ask.means, spec: ask.spec, request, status: response.status })
  if (!response.ok) refuseLike(ask, response.status, text)
  const wanted = ask.type ?? JSON_TYPE
  if (wanted === 'any') return text
  const type = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? 'nothing'
  if (type !== wanted) refuse('invalid_response', `${ask.url} answered with ${type} and not with ${wanted}`)
  return text
}

/** The answer's body, which must be a JSON object. Refuses like {@link exchange}. */
export async function exchangeJson(wallet: WalletContext, ask: Ask): Promise<JsonObject> {
  const text = await exchange(wallet, { ...ask, headers: { accept: JSON_TYPE, ...ask.headers } })
  return orRefuse('invalid_response', `the answer of ${ask.url} cannot be read`, () => parseJsonObject(text))
}

async function answerOf(
  wallet: WalletContext,
  ask: Ask,
  signal: AbortSignal,
): Promise<{ readonly response: Response; readonly text: string }> {
  const { url, body, headers = {} } = ask
  // Redirects are how a server that is trusted for one address would choose another for us.
  const init = { method: methodOf(ask), headers, redirect: 'manual', signal, ...(body === undefined ? {} : { body }) }
  const response = await wallet.fetch(url, init as RequestInit).catch((error: unknown) => refuseUnreachable(url, error))
  if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
    refuse('invalid_response', `${url} redirects elsewhere, and a wallet does not follow`)
  }
  const text = await readLimited(url, response, wallet.limits?.bytes ?? LIMITS.bytes)
  return { response, text }
}

async function readLimited(url: string, response: Response, limit: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    // Leaving the loop cancels the stream.
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength
      if (size > limit) refuse('invalid_response', `the answer of ${url} is larger than ${limit} bytes`)
      chunks.push(chunk)
    }
  } catch (error) {
    throw error instanceof WalletError ? error : refuseUnreachable(url, error)
  }
  return orRefuse('invalid_response', `the answer of ${url}`, () => utf8Text(Buffer.concat(chunks)))
}

/** What `run` comes to, or `late` when that takes too long, whether or not it heeds its signal. */
function within<T>(seconds: number, late: Error, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(late)
      controller.abort()
    }, seconds * 1000)
    run(controller.signal)
      .finally(() => clearTimeout(timer))
      .then(resolve, reject)
  })
}

function methodOf({ body }: Ask): 'GET' | 'POST' {
  return body === undefined ? 'GET' : 'POST'
}

function refuseUnreachable(url: string, error: unknown): never {
  const { cause, message } = error as Error
  const { code, message: inner } = (cause ?? {}) as { code?: string; message?: string }
  const why = code ?? inner ?? message
  return refuse(
    'unreachable',
    `${new URL(url).origin} cannot be reached (${why}); check that it runs and that this machine can reach it`,
    error,
  )
}

/** Says no as the other side did. */
function refuseLike(ask: Ask, status: number, text: string): never {
  const server = serverErrorOf(text)
  const said = server?.error_description ?? server?.error ?? 'it does not say why'
  const code = ` (${[server?.error, `status ${status}`].filter(Boolean).join(', ')})`
  // What is used up or too late is the commonest no, and a person can do something about it.
  const how = status !== GONE ? code : `${server?.error_description === undefined ? code : ''}; ask for a new one`
  const message = `${new URL(ask.url).origin} said no when the wallet ${ask.what}: ${said}${how}`
  throw new WalletError('refused', message, server ? { server } : {})
}

function serverErrorOf(text: string): ServerError | undefined {
  let body: unknown
  try {
    body = parseJson(text)
  } catch {
    return undefined
  }
  const error = isObject(body) ? ownString(body, 'error') : undefined
  if (error === undefined) return undefined
  const description = ownString(body as JsonObject, 'error_description')
  return {
    error: error.slice(0, MAX_SERVER_TEXT),
    ...(description ? { error_description: description.slice(0, MAX_SERVER_TEXT) } : {}),
  }
}
