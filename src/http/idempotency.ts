/**
 * `Idempotency-Key`: a request that is repeated, because its answer was lost, gets the first answer again. What is kept of
 * the request is a MAC of its body under the key, and of the key a digest.
 */
import { createHmac } from 'node:crypto'
import { digestOf } from '../codec/digest.ts'
import type { JsonObject } from '../codec/json.ts'
import { refuse } from '../protocol/error.ts'
import type { Attempt } from '../store/retry.ts'
import type { Change, Store, UpdateEffects } from '../store/store.ts'

export interface IdempotentAnswer {
  readonly bodyMac: string
  readonly answer: JsonObject
  /** Milliseconds since the epoch. */
  readonly until: number
}

export type IdempotencyCollections = {
  /** By a digest of route, API key and Idempotency-Key. */
  idempotent_answer: IdempotentAnswer
}

interface IdempotencyStore {
  readonly store: Pick<Store<IdempotencyCollections>, 'get'>
}

export interface IdempotentRequest {
  /** The header; undefined when it was not sent. */
  readonly key: string | undefined
  readonly route: string
  /** By {@link apiKeyDigest}: what one application repeats is nobody else's. */
  readonly apiKey: string
  readonly body: unknown
  readonly now: Date
}

/** Changes for the batch of what is answered, so that it happens with its answer remembered or not at all. */
export type Remember = (answer: JsonObject) => readonly Change<IdempotencyCollections>[]

const LIFETIME_MS = 24 * 60 * 60 * 1000
/** Visible characters, as of a UUID or a quoted string. */
const KEY = /^[!-~]{1,255}$/

/** Works on a request and commits what comes of it with the changes of {@link Remember}, or says which change conflicted. */
type Run<Answer> = (remember: Remember) => Promise<Attempt<Answer>>

/**
 * The answer of `run`, or its answer to the first such request of the last 24 hours. Refuses with `idempotency_conflict` a
 * key that was used for another body, and with `invalid_request` a key with other characters.
 */
export async function answerIdempotently<Answer extends JsonObject>(
  { store, retryOnConflict }: Pick<UpdateEffects<IdempotencyCollections>, 'retryOnConflict'> & IdempotencyStore,
  request: IdempotentRequest,
  run: Run<Answer>,
): Promise<Answer> {
  const { key, route, apiKey, body, now } = request
  // Without a key, every change of the batch is of a new id.
  if (key === undefined) return retryOnConflict(() => run(() => []))
  if (!KEY.test(key)) refuse('invalid_request', 'Idempotency-Key must be 1 to 255 visible ASCII characters')
  const id = digestOf(JSON.stringify([route, apiKey, key]))
  const bodyMac = createHmac('sha256', key).update(JSON.stringify(body)).digest('base64url')
  // Where another request was first with the same key, its answer is there in the next attempt.
  return retryOnConflict(() => firstAnswer(store, { id, bodyMac, now }, run))
}

async function firstAnswer<Answer extends JsonObject>(
  store: IdempotencyStore['store'],
  { id, bodyMac, now }: { readonly id: string; readonly bodyMac: string; readonly now: Date },
  run: Run<Answer>,
): Promise<Attempt<Answer>> {
  const row = await store.get('idempotent_answer', id)
  if (row !== undefined && now.getTime() < row.value.until) {
    if (row.value.bodyMac !== bodyMac) {
      refuse('idempotency_conflict', 'this Idempotency-Key was used with another body; choose a new one')
    }
    return { committed: row.value.answer as Answer }
  }
  const until = now.getTime() + LIFETIME_MS
  return run((answer) => [
    ...(row === undefined ? [] : [{ delete: 'idempotent_answer', id, version: row.version } as const]),
    { insert: 'idempotent_answer', id, value: { bodyMac, answer, until }, dueAt: new Date(until) },
  ])
}
