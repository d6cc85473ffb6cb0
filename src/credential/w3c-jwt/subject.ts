/** The subject of a credential: that of the dataset, which the holder's DID may name. VCDM 1.1, Credential Subject. */
import { type JsonObject, memberOf } from '../../codec/json.ts'
import { toDidJwk } from '../../keys/did.ts'
import { thumbprint } from '../../keys/jwk.ts'
import { refuse } from '../../protocol/error.ts'
import type { Configuration, Order } from '../format.ts'
import { refuseInvalidW3cDataset } from '../w3c/validation.ts'
import type { W3cJwtMembers } from './validation.ts'

/** Returns the `credentialSubject` of the credential that is ordered. */
export function subjectOf({ configuration, dataset, holderKey, holderDids }: Order<W3cJwtMembers>): JsonObject {
  const subject = memberOf(dataset, 'credentialSubject') as JsonObject
  if (!configuration.isHolderSubject) return subject
  return { id: holderDids?.[thumbprint(holderKey)] ?? toDidJwk(holderKey), ...subject }
}

/** Refuses with `invalid_request` a dataset that is invalid, or has an `id` that the issuer writes. */
export function refuseInvalidDataset(dataset: JsonObject, configuration: Configuration<W3cJwtMembers>): void {
  refuseInvalidW3cDataset(dataset, configuration)
  if (!configuration.isHolderSubject || memberOf(memberOf(dataset, 'credentialSubject'), 'id') === undefined) return
  refuse(
    'invalid_request',
    'credential_dataset.credentialSubject.id: the issuer writes it, by subject of the configuration; leave it out',
  )
}
