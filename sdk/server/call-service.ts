/** Sends a request of an application to its issuer or verifier, again where that is safe, until a deadline. */
import { parseJson } from '../../src/codec/json.ts'
import { readOrUndefined } from '../../src/codec/malformed.ts'
import { parseInternationalUrl, removeTrailingSlashes } from '../../src/codec/url.ts'
import { ServiceError } from './service-error.ts'

/** The address of a service, and how requests go there. */
export interface ServiceOptions {
  /** The base URL, such as `http://localhost:8079`. As of an unset variable, undefined is refused when it runs. */
  readonly url: string | undefined
  /**
   * A key of `integrations.authentication`. It opens every administrative endpoint: never give it to a browser. Refused
   * when undefined, as `url` is.
   */
  readonly apiKey: string | undefined
  /** The `fetch` of the runtime when absent. */
  readonly fetch?: typeof globalThis.fetch
  /** How long a call may take, with all its repetitions; 30 seconds when absent. */
  readonly timeoutMilliseconds?: number
}

export interface ServiceRequest {
  readonly method: 'GET' | 'POST'
  /** The path with the query, every part encoded. */
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the request may arrive twice: it reads, its end is the same, or it has an `Idempotency-Key`. */
  readonly isRepeatable: boolean
  /** Whether the answer is an id as text; it is JSON otherwise. */
  readonly answersText?: boolean
  /** Ends the call, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal
}

/** An administrative request; resolves with the body of its answer. Rejects with a {@link ServiceError}. */
export type CallService = (request: ServiceRequest) => Promise<unknown>

/** The time limit of a call unless the application sets another. */
export const TIMEOUT_MS = 30_000
/** The pauses before a request is sent again, of which the last comes again and again. */
const PAUSES_MS = [200, 500, 1000, 2000]
const LAST_PAUSE_MS = 4000
/** Statuses after which the same request may succeed. RFC 9110 section 15.6, RFC 6585 section 4. */
const TEMPORARY = [429, 502, 503, 504]
/** Visible ASCII characters, as API keys and the keys of requests have. */
const VISIBLE = /^[!-~]+$/
/** Codes without a status after which the same request may succeed. */
const TEMPORARY_CODES = ['unreachable', 'deadline']

/**
 * Makes the function that sends requests to one service. A request that may arrive twice is sent again while the
 * service cannot be reached, is overloaded or stops, until the deadline.
 */
export function createCallService(options: ServiceOptions): CallService {
  const { timeoutMilliseconds = TIMEOUT_MS } = options
  const { base, send, authorization } = serviceAddress(options)
  return async ({ method, path, body, headers, isRepeatable, answersText = false, signal }) => {
    const endsAt = performance.now() + timeoutMilliseconds
    const end = AbortSignal.timeout(timeoutMilliseconds)
    const stop = signal === undefined ? end : AbortSignal.any([signal, end])
    const init: RequestInit = {
      method,
      headers: {
        authorization,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // A redirect would carry the API key elsewhere; Workers know no other word that follows none.
      redirect: 'manual',
      signal: stop,
    }
    for (let attempt = 0; ; attempt += 1) {
      const result = await attemptOnce(() => send(base + path, init), answersText)
      if (!(result instanceof ServiceError)) return result
      signal?.throwIfAborted()
      if (end.aborted) throw new ServiceError('deadline', `${base} did not answer within the time`, { cause: result })
      const pause = Math.max(PAUSES_MS[attempt] ?? LAST_PAUSE_MS, (result.retryAfterSeconds ?? 0) * 1000)
      const isLate = performance.now() + pause >= endsAt
      if (!isRepeatable || isLate || !isTemporary(result)) throw result
      await waitUnlessAborted(pause, stop)
    }
  }
}

/**
 * Returns where requests go, and with what. Throws a TypeError without `url` or `apiKey`, as of an unset variable, and
 * for those with which no request could be sent, since each call would try until its deadline. In a page, a path is a
 * `url` too.
 */
export function serviceAddress({ url, apiKey, fetch: send = globalThis.fetch }: ServiceOptions) {
  const base = removeTrailingSlashes(requireText('url', url).trim())
  if (!/^https?:|^[^:.]*\//i.test(base)) throw new TypeError('url has to begin with http:// or https://')
  if (/^https?:/i.test(base) && !isServiceUrl(base))
    throw new TypeError('url has to be an address, without user, password, query and fragment')
  const key = requireText('apiKey', apiKey).trim()
  if (!VISIBLE.test(key)) throw new TypeError('apiKey has a character that no API key has; is it one whole key?')
  return { base, send, authorization: `Bearer ${key}` }
}

/** Tests whether an absolute URL is one below which a request can be sent. */
function isServiceUrl(text: string): boolean {
  const { username, password } = parseInternationalUrl(text) ?? {}
  return !/[?#\s]/.test(text) && username === '' && password === ''
}

function requireText(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  throw new TypeError(`${name} is ${value === '' ? 'empty' : typeof value}; is its environment variable set?`)
}

/** The requests to the endpoints of one service. */
export interface Endpoints {
  readonly get: (path: string, signal?: AbortSignal) => Promise<unknown>
  /** Sends a request whose end is the same however often it arrives, so that it may be sent again. */
  readonly post: (path: string, body?: unknown) => Promise<unknown>
  /** Sends a request that must not arrive twice, and so is never sent again. */
  readonly postOnce: (path: string, body?: unknown, answer?: Pick<ServiceRequest, 'answersText'>) => Promise<unknown>
}

/** Returns the requests to the endpoints that `call` reaches. */
export function endpointsOf(call: CallService): Endpoints {
  return {
    get: (path, signal) => call({ method: 'GET', path, isRepeatable: true, ...(signal && { signal }) }),
    post: (path, body) => call({ method: 'POST', path, body, isRepeatable: true }),
    postOnce: (path, body, answer) => call({ method: 'POST', path, body, isRepeatable: false, ...answer }),
  }
}

/**
 * Starts a session once, however often its request has to be sent. Throws a TypeError for an `idempotencyKey` that no
 * service takes.
 */
export function startOnce(call: CallService, path: string, body: unknown, idempotencyKey?: string): Promise<unknown> {
  const key = idempotencyKey ?? crypto.randomUUID()
  if (!VISIBLE.test(key) || key.length > 255)
    throw new TypeError('idempotencyKey has to be 1 to 255 visible ASCII characters')
  return call({ method: 'POST', path, body, headers: { 'idempotency-key': key }, isRepeatable: true })
}

/** Tests whether the same request may succeed later. */
export function isTemporary({ status, code }: ServiceError): boolean {
  return status === undefined ? TEMPORARY_CODES.includes(code) : TEMPORARY.includes(status)
}

async function attemptOnce(send: () => Promise<Response>, answersText: boolean): Promise<unknown> {
  let response: Response
  let text: string
  try {
    response = await send()
    text = await response.text()
  } catch (cause) {
    return unreachable(cause)
  }
  return response.ok ? bodyOf(response, text, answersText) : refusalOf(response, text)
}

export function unreachable(cause: unknown): ServiceError {
  const reason = reasonOf(cause)
  const message = `the service could not be reached: ${withoutPaths(reason)}`
  // The errors of some runtimes have the address with the id of the session.
  return new ServiceError('unreachable', message, withoutPaths(reason) === reason ? { cause } : {})
}

/** Leaves of each address in a text its origin alone, as its path may have the id of a session. */
function withoutPaths(text: string): string {
  return text.replace(/(https?:\/\/[^\s/?#"')]+)[/?#][^\s"')]*/g, '$1')
}

/** Returns the reason of a failed `fetch`, which Node has below its cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error && cause.message !== '' ? cause.message : message
}

function bodyOf(response: Response, text: string, answersText: boolean): unknown {
  if (answersText && response.headers.get('content-type')?.startsWith('text/plain')) return text
  const value = parse(text)
  return value ?? foreignAnswer(response)
}

/** Returns the error of an answer that is not as the request wants it. */
export function refusalOf(response: Response, text: string): ServiceError {
  const { error, error_description: description } = (parse(text) ?? {}) as Record<string, unknown>
  if (typeof error !== 'string') return foreignAnswer(response)
  const retryAfter = Number(response.headers.get('retry-after') ?? undefined)
  return new ServiceError(error, typeof description === 'string' ? description : error, {
    status: response.status,
    requestId: response.headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
  })
}

function foreignAnswer({ status, url }: Response): ServiceError {
  const message = `${withoutPaths(url)} answered with ${status} and not as Vouchsafe does; is this the address of the service?`
  return new ServiceError('foreign_answer', message, { status })
}

function parse(text: string): unknown {
  return readOrUndefined(() => parseJson(text))
}

/** Resolves after so many milliseconds, or as soon as the signal ends the waiting. */
export function waitUnlessAborted(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', over)
      resolve()
    }
    const timer = setTimeout(over, milliseconds)
    signal?.addEventListener('abort', over)
  })
}
