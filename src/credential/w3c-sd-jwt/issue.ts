/**
 * Writes a W3C credential as SD-JWT: the credential's members at the root of the payload, the subject's claims behind
 * digests, bound to the holder's key by `cnf`. VC-JOSE-COSE, Securing with SD-JWT; RFC 7800 section 3.2.
 */
import { type Json, type JsonObject, own } from '../../codec/json.ts'
import { writeJws } from '../../codec/jws.ts'
import { concealClaims, type Place } from '../../codec/sd-jwt.ts'
import type { Signer } from '../../keys/signer.ts'
import { type ClaimPath, fits } from '../../protocol/claim-path.ts'
import type { Order } from '../format.ts'

const VCDM_1_CONTEXT = 'https://www.w3.org/2018/credentials/v1'

export async function issue(order: Order, signer: Signer, random: (bytes: number) => Uint8Array): Promise<string> {
  const concealed = concealClaims(claimsOf(order), concealer(order.configuration), random)
  const payload: JsonObject = {
    ...concealed.payload,
    iss: order.issuer,
    iat: seconds(order.issuedAt),
    exp: seconds(order.expiresAt),
    cnf: { jwk: { ...order.holderKey } },
  }
  const header = { typ: 'vc+sd-jwt', alg: signer.alg, x5c: [...signer.x5c] }
  const jwt = await writeJws(header, payload, (data) => signer.sign(data))
  return [jwt, ...concealed.disclosures, ''].join('~')
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

/** `selective_disclosure`: every subject claim on its own (the default), none, or those at the given paths. */
function concealer(configuration: JsonObject): (place: Place) => boolean {
  const disclosure = own(configuration, 'selective_disclosure') ?? 'all'
  if (disclosure === 'none') return () => false
  if (!Array.isArray(disclosure)) return (place) => place.length > 1 && place[0] === 'credentialSubject'
  const paths = disclosure as readonly ClaimPath[]
  return (place) =>
    paths.some((path) => path.length === place.length && path.every((step, at) => fits(step, place[at])))
}

function seconds(time: Date): number {
  return Math.floor(time.getTime() / 1000)
}

function isoSeconds(time: Date): string {
  return time.toISOString().replace(/\.\d{3}Z$/, 'Z')
}
