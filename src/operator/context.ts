/** The context of the endpoints that both services have for whoever operates them. */

import { type CheckpointKeys, indexCheckpointKeys } from '../audit/checkpoint.ts'
import type { EventCollections } from '../event/event.ts'
import type { Effects } from '../http/effects.ts'
import type { ServiceKeys } from '../keys/key-ring.ts'
import { listKeys } from '../keys/key-ring.ts'

export interface OperatorContext
  extends Pick<Effects<EventCollections>, 'store' | 'retryOnConflict' | 'now' | 'random' | 'log'> {
  readonly config: { readonly keys: ServiceKeys }
}

/** Returns the keys that may have signed the audit log: that of the audit log, and those of `signing`. */
export function checkpointKeys({ config }: OperatorContext): CheckpointKeys {
  const { signing, audit } = config.keys
  return indexCheckpointKeys(
    listKeys({ signing, audit, secrets: config.keys.secrets }).map(([, { chain }]) => chain[0].publicKey),
  )
}
