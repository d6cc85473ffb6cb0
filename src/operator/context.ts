/** The context of the operator routes of the issuer and the verifier. */

import { type CheckpointKeys, indexCheckpointKeys } from '../audit/checkpoint.ts'
import type { EventCollections } from '../event/event.ts'
import type { Effects } from '../http/effects.ts'
import type { ServiceKeys } from '../keys/key-ring.ts'
import { listKeys } from '../keys/key-ring.ts'

export interface OperatorContext
  extends Pick<Effects<EventCollections>, 'store' | 'retryOnConflict' | 'now' | 'random' | 'log'> {
  readonly config: { readonly keys: ServiceKeys }
}

/** Returns the keys that may have signed checkpoints: `keys.audit` and `signing`. */
export function checkpointKeys({ config }: OperatorContext): CheckpointKeys {
  const { signing, audit } = config.keys
  return indexCheckpointKeys(listKeys({ signing, audit }).map(([, { chain }]) => chain[0].publicKey))
}
