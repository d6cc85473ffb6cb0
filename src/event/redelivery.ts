/** The redelivery of dead callbacks, over HTTP and by the command. */
import { makeRequeueChanges } from '../callback/queue.ts'
import type { RetryOnConflict } from '../store/retry.ts'
import { DamagedValueError } from '../store/statements.ts'
import { partOf, type Store } from '../store/store.ts'
import { type EventCollections, makeEventChange } from './event.ts'

export interface RedeliveryEffects {
  readonly store: Store<EventCollections>
  readonly retryOnConflict: RetryOnConflict
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
}

/**
 * Queues a dead callback again, and records an event about that. `caller` is the label of the API key; the command has
 * none. Resolves to false when there is no such dead callback.
 */
export function redeliverDeadCallback(
  { store, retryOnConflict, now, random }: RedeliveryEffects,
  callbackId: string,
  caller?: string,
): Promise<boolean> {
  return retryOnConflict<boolean>(async () => {
    const at = now()
    const requeueing = await makeRequeueChanges(partOf(store), callbackId, at)
    if (requeueing === undefined) return { committed: false }
    const { changes, sessionId } = requeueing
    const event = {
      type: 'callback.redelivered' as const,
      at: at.getTime(),
      subject: callbackId,
      sessionId,
      ...(caller !== undefined && { caller }),
    }
    const conflict = await store.commit([...changes, makeEventChange(event, random)])
    return conflict === undefined ? { committed: true } : { conflict }
  })
}

/**
 * Queues dead callbacks again, one after the other, so that those of a session stay in order. Skips those that cannot
 * be read, and those whose queue cannot. Returns the number of those that were queued.
 */
export async function redeliverDeadCallbacks(
  effects: RedeliveryEffects,
  callbackIds: readonly string[],
  caller?: string,
): Promise<number> {
  let redeliveredCount = 0
  for (const callbackId of callbackIds) {
    try {
      if (await redeliverDeadCallback(effects, callbackId, caller)) redeliveredCount += 1
    } catch (error) {
      if (!(error instanceof DamagedValueError)) throw error
    }
  }
  return redeliveredCount
}
