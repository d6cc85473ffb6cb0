/** The client and the DPoP key that an authorization code or a refresh token is bound to. */
import { refuse } from '../../protocol/error.ts'
import { refuseProof } from '../access/dpop.ts'

type BoundGrant = 'code' | 'refresh token'

/** Refuses a request of another client than the one that the grant was given to. RFC 6749 sections 4.1.3 and 6. */
export function refuseOtherClient(grant: BoundGrant, boundId: string, clientId: string | undefined): void {
  if (!clientId) refuse('invalid_request', 'client_id is missing; send that of the authorization request')
  if (clientId !== boundId) {
    refuse(
      'invalid_grant',
      `client_id: the ${grant} was given to another client; send the client_id that it was given to`,
    )
  }
}

/** Refuses a DPoP proof whose key is not the one that the grant is bound to. RFC 9449 sections 5 and 10. */
export function refuseOtherKey(grant: BoundGrant, boundKey: string | undefined, proofKey: string | undefined): void {
  if (boundKey === undefined || boundKey === proofKey) return
  if (proofKey === undefined) refuseProof(`it is missing; the ${grant} is bound to a key`)
  refuse('invalid_grant', `the ${grant} is bound to another key; sign the DPoP proof with the key of the first one`)
}
