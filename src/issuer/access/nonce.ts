/**
 * Single use: the `c_nonce` of key proofs, and whatever else a request spends. A `c_nonce` is made without storing
 * anything and accepted once (OpenID4VCI 1.0, Nonce Endpoint): it carries its expiry and a MAC over the expiry and the
 * session, and only a spent nonce takes a row, until it would have expired.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { fromBase64url, toBase64url } from '../../codec/base64url.ts'
import { orUndefined } from '../../codec/malformed.ts'
import type { Secrets } from '../../keys/secrets.ts'
import { refuse } from '../../protocol/error.ts'
import type { Change } from '../../store/store.ts'
import type { IssuerCollections, IssuerStore } from '../collections.ts'
import type { AccessContext } from './context.ts'

/** A change that a request may make once, and the refusal of a request that makes it again. */
export interface Spending {
  readonly spend: Change<IssuerCollections>
  readonly refuseSpent: () => never
}

/** How long a nonce is good. */
const NONCE_SECONDS = 300
const RANDOM_BYTES = 16
const EXPIRY_BYTES = 6
const MAC_BYTES = 16

/**
 * Commits the changes of a request together with what the request spends. Gives the change that conflicted. Refuses as
 * the spending says when that had been spent before; nothing is committed then.
 */
export async function commitSpending(
  store: IssuerStore,
  changes: readonly Change<IssuerCollections>[],
  spendings: readonly Spending[],
): Promise<Change<IssuerCollections> | undefined> {
  const batch = [...changes, ...spendings.map(({ spend }) => spend)]
  if (batch.length === 0) return undefined
  const conflict = await store.commit(batch)
  if (conflict !== undefined) spendings.find(({ spend }) => spend === conflict)?.refuseSpent()
  return conflict
}

/** Refuses a nonce or a proof that was spent. The batch decides; this only saves a replay the work of the request. */
export async function refuseIfSpent(store: IssuerStore, { spend, refuseSpent }: Spending): Promise<void> {
  if (await store.get('spent_nonce', spend.id)) refuseSpent()
}

/** A fresh nonce for the session, or for any session when it is fetched from the endpoint without one. */
export function makeNonce(
  { secrets, random, now }: Pick<AccessContext, 'secrets' | 'random' | 'now'>,
  sessionId: string | undefined,
): string {
  const expiry = Buffer.alloc(EXPIRY_BYTES)
  expiry.writeUIntBE(now().getTime() + NONCE_SECONDS * 1000, 0, EXPIRY_BYTES)
  const body = Buffer.concat([expiry, random(RANDOM_BYTES)])
  return toBase64url(Buffer.concat([body, mac(secrets.nonce[0], sessionId, body)]))
}

/** The members by which an answer of draft 13 gives a nonce: a token response, a credential response or an error. */
export function nonceMembers(context: AccessContext, sessionId: string) {
  return { c_nonce: makeNonce(context, sessionId), c_nonce_expires_in: NONCE_SECONDS }
}

/**
 * The spending of a nonce by a request of the session. Refuses with `invalid_nonce` one that is not ours, expired or
 * spent.
 */
export async function spendNonce(
  { secrets, store }: AccessContext,
  sessionId: string,
  nonce: string,
  now: Date,
): Promise<Spending> {
  const dueAt = expiryOf(secrets.nonce, sessionId, nonce) ?? refuseNonce()
  if (now >= dueAt) refuseNonce()
  const spend = { insert: 'spent_nonce', id: nonce, value: {}, dueAt } as const
  const spending = { spend, refuseSpent: refuseNonce }
  await refuseIfSpent(store, spending)
  return spending
}

/** When the nonce expires, if we made it for this session or for any. */
function expiryOf(secrets: Secrets, sessionId: string, nonce: string): Date | undefined {
  const bytes = orUndefined(() => fromBase64url(nonce))
  if (bytes?.length !== EXPIRY_BYTES + RANDOM_BYTES + MAC_BYTES) return undefined
  const body = bytes.subarray(0, -MAC_BYTES)
  const sent = bytes.subarray(-MAC_BYTES)
  const isOf = (session: string | undefined): boolean =>
    secrets.some((secret) => timingSafeEqual(mac(secret, session, body), sent))
  return isOf(sessionId) || isOf(undefined) ? new Date(body.readUIntBE(0, EXPIRY_BYTES)) : undefined
}

function mac(secret: KeyObject, sessionId: string | undefined, body: Uint8Array): Buffer {
  // A session id is never empty, so the empty text stands for "any session" and nothing else.
  return createHmac('sha256', secret)
    .update(body)
    .update(sessionId ?? '')
    .digest()
    .subarray(0, MAC_BYTES)
}

function refuseNonce(): never {
  return refuse('invalid_nonce', 'the c_nonce is unknown, used or expired; fetch a new one from the nonce endpoint')
}
