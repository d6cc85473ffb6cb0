/** Writes a W3C credential as SD-JWT, its members at the root of the payload. VC-JOSE-COSE, Securing with SD-JWT. */
import { type Json, type JsonObject, own } from '../../codec/json.ts'
import type { Signer } from '../../keys/signer.ts'
import type { Order } from '../format.ts'
import { issueSdJwt } from '../sd-jwt/issue.ts'
import { credentialStatusMember, isoSeconds, VCDM_1_CONTEXT } from '../w3c/members.ts'

export function issue(order: Order, signer: Signer, random: (bytes: number) => Uint8Array): Promise<string> {
  const content = {
    typ: 'vc+sd-jwt',
    claims: claimsOf(order),
    shown: credentialStatusMember(order),
    // Every claim of the subject on its own.
    concealable: (position: readonly (string | number)[]) => position.length > 1 && position[0] === 'credentialSubject',
  }
  return issueSdJwt(content, order, signer, random)
}

function claimsOf({ configuration, dataset, issuer, issuedAt, expiresAt }: Order): JsonObject {
  const definition = own(configuration, 'credential_definition') as JsonObject
  const contexts = own(definition, '@context') as string[]
  const [from, until] = [isoSeconds(issuedAt), isoSeconds(expiresAt)]
  return {
    '@context': contexts,
    type: own(definition, 'type') as Json,
    issuer,
    // VCDM 1.1 requires issuanceDate; its context knows validFrom and validUntil too.
    ...(contexts[0] === VCDM_1_CONTEXT ? { issuanceDate: from, expirationDate: until } : {}),
    validFrom: from,
    validUntil: until,
    credentialSubject: own(dataset, 'credentialSubject') as JsonObject,
  }
}
