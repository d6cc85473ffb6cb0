/** Issues W3C credentials as JWTs. VCDM 1.1, JWT Encoding. */
import { type JsonObject, memberOf } from '../../codec/json.ts'
import { writeJws } from '../../codec/jws.ts'
import { epochSeconds } from '../../codec/time.ts'
import type { Signer } from '../../keys/signer.ts'
import { statusMember } from '../evidence.ts'
import type { Order } from '../format.ts'
import { credentialStatusMember, isoSeconds } from '../w3c/members.ts'
import { subjectOf } from './subject.ts'
import type { W3cJwtMembers } from './validation.ts'

/** Issues a W3C credential as a JWT. */
export function issue(order: Order<W3cJwtMembers>, signer: Signer): Promise<string> {
  const { configuration, issuer, issuedAt, expiresAt } = order
  const subject = subjectOf(order)
  const id = memberOf(subject, 'id')
  const payload: JsonObject = {
    iss: issuer,
    ...(typeof id === 'string' ? { sub: id } : {}),
    nbf: epochSeconds(issuedAt),
    iat: epochSeconds(issuedAt),
    exp: epochSeconds(expiresAt),
    vc: {
      '@context': [...configuration.contexts],
      type: [...configuration.types],
      issuer,
      issuanceDate: isoSeconds(issuedAt),
      expirationDate: isoSeconds(expiresAt),
      credentialSubject: subject,
      ...credentialStatusMember(order),
    },
    cnf: { jwk: { ...order.holderKey } },
    ...statusMember(order),
  }
  const header = { typ: 'JWT', alg: signer.alg, x5c: [...signer.x5c] }
  return writeJws(header, payload, (data) => signer.sign(data))
}
