/** The background tasks that move events into the audit log, sign its head, and deliver callbacks. */

import type { Task } from '../async/task.ts'
import { createDelivery, type DeliveryContext } from '../callback/deliver.ts'
import type { SessionCallback } from '../config/session-callback.ts'
import { partOf } from '../store/store.ts'
import { type CheckpointContext, signAuditLog } from './checkpoint.ts'
import { type PassOnContext, passOnEvents } from './pass-on.ts'

type EventTaskContext = Omit<PassOnContext, 'hasCallback'> &
  CheckpointContext &
  Omit<DeliveryContext, 'store' | 'sessionCallback'> & { readonly sessionCallback: SessionCallback | undefined }

/** Creates the tasks. The task that delivers callbacks exists only where a callback is configured. */
export function createEventTasks(context: EventTaskContext): readonly Task[] {
  const { store, now, sessionCallback } = context
  const hasCallback = sessionCallback !== undefined
  return [
    {
      name: 'events',
      everyMs: 300,
      atStop: true,
      run: async (stop) => {
        const damage = await passOnEvents({ ...context, hasCallback }, stop)
        if (damage !== undefined) throw damage
      },
    },
    { name: 'audit checkpoint', everyMs: 60_000, atStop: true, run: () => signAuditLog(context) },
    {
      name: 'dead callbacks',
      everyMs: 60 * 60_000,
      needsTrustedClock: true,
      run: async () => {
        await store.purge('dead_callback', now())
      },
    },
    ...(hasCallback
      ? [
          {
            name: 'callbacks',
            everyMs: 300,
            run: createDelivery({ ...context, store: partOf(store), sessionCallback }),
          },
        ]
      : []),
  ]
}
