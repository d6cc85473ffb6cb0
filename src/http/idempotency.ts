/**
 * `Idempotency-Key`: a request that is repeated, because its answer was lost, gets the first answer again. What is kept of
 * the request is a MAC of its body under the key, and of the key a digest.
 */
import { createHmac } from 'node:crypto'
import { digestOf } from '../codec/digest.ts'
import type { JsonObject } from '../codec/json.ts'
import { refuse } from '../protocol/error.ts'
import type { Change, Store } from '../store/store.ts'

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

/**
 * What `run` answers, or what it answered to the first such request of the last 24 hours. `run` commits what `remember`
 * gives with all the rest, and answers undefined when that could not be. Refuses with `idempotency_conflict` a key that was
 * used for another body, and with `invalid_request` one that is no key.
 */
export async function answerOnce<Answer extends JsonObject>(
  store: Pick<Store<IdempotencyCollections>, 'get'>,
  request: IdempotentRequest,
  run: (remember: Remember) => Promise<Answer | undefined>,
): Promise<Answer> {
  const { key, route, apiKey, body, now } = request
  if (key === undefined) return (await run(() => [])) ?? impossible()
  if (!KEY.test(key)) refuse('invalid_request', 'Idempotency-Key must be 1 to 255 visible ASCII characters')
  const id = digestOf(JSON.stringify([route, apiKey, key]))
  const bodyMac = createHmac('sha256', key).update(JSON.stringify(body)).digest('base64url')
  for (;;) {
    const answer = await firstAnswer(store, { id, bodyMac, now }, run)
    // Somebody else was first with the same key: the answer is there now.
    if (answer !== undefined) return answer
  }
}

async function firstAnswer<Answer extends JsonObject>(
  store: Pick<Store<IdempotencyCollections>, 'get'>,
  { id, bodyMac, now }: { readonly id: string; readonly bodyMac: string; readonly now: Date },
  run: (remember: Remember) => Promise<Answer | undefined>,
): Promise<Answer | undefined> {
  const row = await store.get('idempotent_answer', id)
  if (row !== undefined && now.getTime() < row.value.until) {
    if (row.value.bodyMac !== bodyMac) {
      refuse('idempotency_conflict', 'this Idempotency-Key was used with another body; choose a new one')
    }
    return row.value.answer as Answer
  }
  const until = now.getTime() + LIFETIME_MS
  return run((answer) => [
    ...(row === undefined ? [] : [{ delete: 'idempotent_answer', id, version: row.version } as const]),
    { insert: 'idempotent_answer', id, value: { bodyMac, answer, until }, dueAt: new Date(until) },
  ])
}

/** Nothing else in the batch of a new session can have been there before. */
function impossible(): never {
  throw new Error('a new id was in use')
}
