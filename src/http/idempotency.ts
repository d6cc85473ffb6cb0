/**
 * `Idempotency-Key`: a repeated request, whose response was lost, gets the first response again. The store has a digest
 * of the key, and a MAC of the body with the key. The order of the body's members does not matter.
 */
import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { digestOf } from '../codec/digest.ts'
import { isObject, type JsonObject } from '../codec/json.ts'
import { refuse } from '../protocol/error.ts'
import type { Attempt } from '../store/retry.ts'
import type { Change, Store, UpdateEffects } from '../store/store.ts'
import { apiKeyDigest } from './api-key.ts'

export interface IdempotentAnswer {
  readonly bodyMac: string
  readonly answer: JsonObject
  /** Milliseconds since the epoch. */
  readonly until: number
}

export type IdempotencyCollections = {
  /** The stored answers, by a digest of route, API key and Idempotency-Key. */
  idempotent_answer: IdempotentAnswer
}

interface IdempotencyStore {
  readonly store: Pick<Store<IdempotencyCollections>, 'get'>
}

export interface IdempotentRequest {
  /** The value of the header; undefined if it is absent. */
  readonly key: string | undefined
  readonly route: string
  /** The digest from {@link apiKeyDigest}: each application has its own idempotency keys. */
  readonly apiKey: string
  readonly body: unknown
  readonly now: Date
}

/** A request with an API key, and perhaps with an `Idempotency-Key`. */
interface KeyedRequest {
  readonly headers: { readonly 'idempotency-key'?: string | undefined }
  readonly raw: { readonly headers: IncomingHttpHeaders }
  readonly body: unknown
}

/** Reads what makes a request to start a session the same as another. */
export function readIdempotentRequest(
  { headers, raw, body }: KeyedRequest,
  route: 'issuance' | 'verification',
  now: Date,
): IdempotentRequest {
  const apiKey = apiKeyDigest(raw.headers.authorization)
  return { key: headers['idempotency-key'], route, apiKey, body, now }
}

/** Makes the changes that store the answer, to commit with the changes of the request. */
export type MakeAnswerChanges = (answer: JsonObject) => readonly Change<IdempotencyCollections>[]

const LIFETIME_MS = 24 * 60 * 60 * 1000
/** A key of visible ASCII characters. */
const KEY = /^[!-~]{1,255}$/

/**
 * Processes a request and commits its changes with those of `makeAnswerChanges`. Returns the answer or the conflicting
 * change.
 */
type IdempotentHandler<Answer> = (makeAnswerChanges: MakeAnswerChanges) => Promise<Attempt<Answer>>

/**
 * Returns the answer of `handle`, or that of the first request with the same key in the last 24 hours. Refuses with
 * `idempotency_conflict` a key that was used with another body, and with `invalid_request` an invalid key.
 */
export async function answerIdempotently<Answer extends JsonObject>(
  { store, retryOnConflict }: Pick<UpdateEffects<IdempotencyCollections>, 'retryOnConflict'> & IdempotencyStore,
  request: IdempotentRequest,
  handle: IdempotentHandler<Answer>,
): Promise<Answer> {
  const { key, route, apiKey, body, now } = request
  // Without a key there is no stored answer.
  if (key === undefined) return retryOnConflict(() => handle(() => []))
  if (!KEY.test(key)) refuse('invalid_request', 'Idempotency-Key must be 1 to 255 visible ASCII characters')
  const id = digestOf(JSON.stringify([route, apiKey, key]))
  const bodyMac = createHmac('sha256', key).update(orderedText(body)).digest('base64url')
  // After a conflict with a request with the same key, the next attempt finds the stored answer.
  return retryOnConflict(() => findOrMakeAnswer(store, { id, bodyMac, now }, handle))
}

/** Returns the JSON text with the members of all objects in one order. */
function orderedText(body: unknown): string {
  return JSON.stringify(body, (_, value: unknown) => {
    return isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
  })
}

async function findOrMakeAnswer<Answer extends JsonObject>(
  store: IdempotencyStore['store'],
  { id, bodyMac, now }: { readonly id: string; readonly bodyMac: string; readonly now: Date },
  handle: IdempotentHandler<Answer>,
): Promise<Attempt<Answer>> {
  const row = await store.get('idempotent_answer', id)
  if (row !== undefined && now.getTime() < row.value.until) {
    if (row.value.bodyMac !== bodyMac) {
      refuse('idempotency_conflict', 'this Idempotency-Key was used with another body; choose a new one')
    }
    return { committed: row.value.answer as Answer }
  }
  const until = now.getTime() + LIFETIME_MS
  return handle((answer) => [
    ...(row === undefined ? [] : [{ delete: 'idempotent_answer', id, version: row.version } as const]),
    { insert: 'idempotent_answer', id, value: { bodyMac, answer, until }, dueAt: new Date(until) },
  ])
}
