/** Reads and verifies the callbacks of an issuer or a verifier. Standard Webhooks. */
import { isObject, parseJson } from '../../src/codec/json.ts'
import { readOrUndefined } from '../../src/codec/malformed.ts'
import type { IssuerSchemas } from './issuer-schemas.ts'
import type { VerifierSchemas } from './verifier-schemas.ts'

type IssuanceSession = IssuerSchemas['IssuanceSession']
type VerificationSession = VerifierSchemas['VerificationSession']
type IssuanceType = 'issuance.succeeded' | 'issuance.deferred' | 'issuance.notified' | 'issuance.expired'
type CredentialType = 'credential.revoked' | 'credential.suspended' | 'credential.reinstated'
type VerificationType =
  | 'verification.succeeded'
  | 'verification.failed'
  | 'verification.declined'
  | 'verification.expired'

/** An event of a session. Its `type` says which `data` it has; more types may come: ignore those you do not know. */
export type CallbackEvent =
  | EventOf<IssuanceType, IssuanceSession>
  | EventOf<CredentialType, IssuanceSession | PurgedIssuanceSession>
  | EventOf<VerificationType, VerificationSession>

interface EventOf<Type extends string, Data> {
  /** The same when the event comes twice. */
  readonly id: string
  readonly type: Type
  /** The time in RFC 3339. */
  readonly timestamp: string
  /** The session as its status endpoint gives it. */
  readonly data: Data
}

/** The rest of a session that was deleted before the status of its credentials changed. */
export interface PurgedIssuanceSession {
  readonly session_id: string
  readonly status?: undefined
  readonly credentials: readonly {
    readonly credential_configuration_id: string
    readonly credential_status: 'VALID' | 'SUSPENDED' | 'REVOKED'
  }[]
}

/** The keys by which a receiver recognizes its service: `sessionCallback.secret`, `sessionCallback.apiKey`, or both. */
export interface CallbackKeys {
  /**
   * The secret in base64, with or without `whsec_` before it. While a secret is replaced there are two: a callback is
   * from the service when one of them signed it. A list with undefined, as of an unset variable, is refused.
   */
  readonly secret?: string | readonly (string | undefined)[] | undefined
  readonly apiKey?: string | undefined
}

export interface ReceivedCallback {
  readonly headers: Headers
  /** The body as it came, byte for byte. */
  readonly body: Uint8Array | string
}

type Receive = (event: CallbackEvent) => void | Promise<void>
type OnError = (error: unknown) => void

/** Tells an application that nothing can be verified, because something before the handler has taken the body. */
const BODY_READ = 'the body was read before this handler: put the handler before express.json() and other parsers'
/** The most bytes of a callback that a handler reads. */
const MAX_BYTES = 4 * 1024 * 1024
const BASE64_SECRET = /^(whsec_)?([A-Za-z0-9+/]{4})+([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?$/
/** The headers of a callback. Standard Webhooks, Webhook headers. */
const HEADERS = ['authorization', 'webhook-id', 'webhook-timestamp', 'webhook-signature']
/** The difference that the time of a callback may have from now. Standard Webhooks, Verifying webhook authenticity. */
const TOLERANCE_SECONDS = 300

/**
 * Verifies a callback. Resolves with its event, or with undefined when it is not from the service, is older than five
 * minutes or is not an event. Throws when there is neither a secret nor an API key, since such a receiver would believe
 * everybody.
 */
export async function readCallback(
  { headers, body }: ReceivedCallback,
  keys: CallbackKeys,
  now: Date = new Date(),
): Promise<CallbackEvent | undefined> {
  const secrets = readSecrets(keys)
  const { apiKey } = keys
  if (apiKey && !(await isEqual(headers.get('authorization') ?? '', `Bearer ${apiKey}`))) return undefined
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  if (secrets.length > 0 && !(await isSigned(headers, bytes, secrets, now))) return undefined
  return eventOf(bytes)
}

/** Returns the secrets. Throws when the keys cannot verify anything. */
function readSecrets({ secret, apiKey }: CallbackKeys): readonly string[] {
  const list = typeof secret === 'string' ? [secret].filter((each) => each !== '') : (secret ?? [])
  if (list.length === 0 && !apiKey) throw new TypeError('give the secret or the apiKey of sessionCallback')
  const secrets = list.filter((each): each is string => typeof each === 'string' && BASE64_SECRET.test(each))
  if (secrets.length < list.length) throw new TypeError('the secret must be that of sessionCallback, which is base64')
  return secrets
}

/**
 * Makes a handler for servers that take a `Request` and give a `Response` (Deno, Bun, Workers, Hono, Next.js). It
 * answers 204 after `receive` has resolved, 401 to what is not from the service, and 500 when `receive` rejects or the
 * body was read before, after which the service sends the event again; `onError` gets what `receive` threw, or a
 * TypeError when the body was read before; it must not throw. Throws when there is neither a secret nor an API key.
 */
export function callbackHandler(
  keys: CallbackKeys,
  receive: Receive,
  onError: OnError = console.error,
): (request: Request) => Promise<Response> {
  const receiveBody = createReceiver(keys, receive, onError)
  return async ({ headers, body, bodyUsed }) => {
    if (bodyUsed) {
      onError(new TypeError(BODY_READ))
      return new Response(null, { status: 500 })
    }
    const read = await readBody(body)
    const status = read instanceof Uint8Array ? await receiveBody({ headers, body: read }) : read
    return new Response(null, { status })
  }
}

/** The request of `node:http`, as far as a handler reads it. */
interface NodeRequest extends AsyncIterable<Uint8Array> {
  /** Whether the body has been read, in part or whole. */
  readonly readableDidRead?: boolean
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

interface NodeResponse {
  writeHead(status: number): { end(): unknown }
}

/** Makes a handler for `node:http` and Express, before any parser of bodies; it answers as {@link callbackHandler}. */
export function nodeCallbackHandler(
  keys: CallbackKeys,
  receive: Receive,
  onError: OnError = console.error,
): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  const receiveBody = createReceiver(keys, receive, onError)
  return async (request, response) => {
    if (request.readableDidRead === true) {
      onError(new TypeError(BODY_READ))
      response.writeHead(500).end()
      return
    }
    const body = await readBody(request)
    const headers = new Headers()
    for (const name of HEADERS) {
      const value = request.headers[name]
      if (typeof value === 'string') headers.set(name, value)
    }
    const status = body instanceof Uint8Array ? await receiveBody({ headers, body }) : body
    response.writeHead(status).end()
  }
}

/** Makes a function that verifies a callback and hands its event on; it resolves with the status of the answer. */
function createReceiver(
  keys: CallbackKeys,
  receive: Receive,
  onError: OnError,
): (callback: ReceivedCallback) => Promise<number> {
  // A missing key throws here, at the start of the application.
  readSecrets(keys)
  return async (callback) => {
    const event = await readCallback(callback, keys)
    if (event === undefined) return 401
    try {
      await receive(event)
      return 204
    } catch (error) {
      onError(error)
      return 500
    }
  }
}

/**
 * Reads a body up to the limit. Resolves with the status of the answer where there is no body to verify: nothing waits
 * for the handler, so that a rejection would end a process of Node.
 */
async function readBody(
  chunks: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array> | null,
): Promise<Uint8Array | 400 | 413> {
  const read: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of (chunks ?? []) as AsyncIterable<Uint8Array>) {
      length += chunk.length
      if (length > MAX_BYTES) return 413
      read.push(chunk)
    }
  } catch {
    return 400
  }
  return joinBytes(read)
}

function joinBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** Verifies the signature over id, time and body by one of the secrets. */
async function isSigned(headers: Headers, body: Uint8Array, secrets: readonly string[], now: Date): Promise<boolean> {
  const [id, time] = [headers.get('webhook-id'), headers.get('webhook-timestamp')]
  if (id === null || time === null || !/^\d{1,12}$/.test(time)) return false
  if (Math.abs(now.getTime() / 1000 - Number(time)) > TOLERANCE_SECONDS) return false
  const signed = joinBytes([new TextEncoder().encode(`${id}.${time}.`), body])
  const signatures = signaturesOf(headers)
  for (const secret of secrets) {
    const key = await hmacKey(keyOf(secret))
    for (const signature of signatures) if (await crypto.subtle.verify('HMAC', key, signature, signed)) return true
  }
  return false
}

/** Returns the signatures of the header, which may have several. */
function signaturesOf(headers: Headers): readonly Uint8Array<ArrayBuffer>[] {
  const texts = (headers.get('webhook-signature') ?? '').split(' ').slice(0, 10)
  return texts.flatMap((text) => {
    const [, base64] = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(text) ?? []
    return base64 === undefined ? [] : [bytesOf(base64)]
  })
}

/** Compares two texts in a time that does not depend on where they differ. */
async function isEqual(one: string, other: string): Promise<boolean> {
  const key = await hmacKey(crypto.getRandomValues(new Uint8Array(32)))
  const encoder = new TextEncoder()
  const mac = await crypto.subtle.sign('HMAC', key, encoder.encode(one))
  return crypto.subtle.verify('HMAC', key, mac, encoder.encode(other))
}

function hmacKey(secret: Uint8Array<ArrayBuffer>): Promise<Awaited<ReturnType<typeof crypto.subtle.importKey>>> {
  return crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify'])
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  return bytesOf(secret.replace(/^whsec_/, ''))
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
}

function eventOf(body: Uint8Array): CallbackEvent | undefined {
  const value = readOrUndefined(() => parseJson(body))
  if (!isObject(value) || typeof value.id !== 'string' || typeof value.type !== 'string') return undefined
  return isObject(value.data) ? (value as unknown as CallbackEvent) : undefined
}
