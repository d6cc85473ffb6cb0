/** Issues W3C credentials as JWTs, and makes presentations of them. VCDM 1.1, JWT Encoding. */
import { type JsonObject, own } from '../../codec/json.ts'
import { writeJws } from '../../codec/jws.ts'
import type { ClaimPosition } from '../../codec/sd-jwt.ts'
import { epochSeconds } from '../../codec/time.ts'
import { toDidJwk } from '../../keys/did.ts'
import type { Signer } from '../../keys/signer.ts'
import type { CredentialConfiguration } from '../../protocol/credential-configuration.ts'
import { refuse } from '../../protocol/error.ts'
import { statusMember } from '../evidence.ts'
import type { Binding, Order } from '../format.ts'
import { credentialStatusMember, isoSeconds, VCDM_1_CONTEXT } from '../w3c/members.ts'
import { parseDefinition, type W3cMembers } from '../w3c/schema.ts'

/**
 * Parses the members of this format. Refuses with `invalid_request` a `credential_definition` without
 * `VerifiableCredential` or for another data model, and a `selective_disclosure` that is not `"none"`.
 */
export function parseMembers(postedConfiguration: CredentialConfiguration): W3cMembers {
  const { types, contexts = [VCDM_1_CONTEXT] } = parseDefinition(postedConfiguration, 'type')
  if (contexts[0] !== VCDM_1_CONTEXT) {
    refuse('invalid_request', `credential_definition.@context: in this format it begins with ${VCDM_1_CONTEXT}`)
  }
  const { selective_disclosure: disclosure } = postedConfiguration
  if (disclosure !== undefined && disclosure !== 'none') {
    refuse(
      'invalid_request',
      'selective_disclosure: nothing can be hidden in this format; leave it out, or use jwt_vc_json-ld',
    )
  }
  return { types, contexts }
}

/** Issues a W3C credential as a JWT. */
export function issue(order: Order<W3cMembers>, signer: Signer): Promise<string> {
  const { configuration, dataset, issuer, issuedAt, expiresAt } = order
  const subject = own(dataset, 'credentialSubject') as JsonObject
  const id = own(subject, 'id')
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

/** Makes a VP-JWT with the credential. There is no selective disclosure. */
export function present(
  credential: string,
  _places: readonly ClaimPosition[],
  binding: Binding & { readonly at: Date },
  holder: Signer,
): Promise<string> {
  const did = toDidJwk(holder.jwk)
  const at = epochSeconds(binding.at)
  const payload: JsonObject = {
    iss: did,
    aud: binding.audience,
    nonce: binding.nonce,
    iat: at,
    exp: at + LIFETIME_SECONDS,
    vp: { '@context': [VCDM_1_CONTEXT], type: ['VerifiablePresentation'], verifiableCredential: [credential] },
  }
  return writeJws({ typ: 'JWT', alg: holder.alg, kid: `${did}#0` }, payload, (data) => holder.sign(data))
}

/** The validity of a presentation. */
const LIFETIME_SECONDS = 300
