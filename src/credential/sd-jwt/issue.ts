/** Writes a credential as SD-JWT: claims behind digests, bound to the holder's key by `cnf`. RFC 9901; RFC 7800 section 3.2. */
import { type JsonObject, own } from '../../codec/json.ts'
import { writeJws } from '../../codec/jws.ts'
import { type ClaimPosition, concealClaims } from '../../codec/sd-jwt.ts'
import type { Signer } from '../../keys/signer.ts'
import { type ClaimPath, stepMatches } from '../../protocol/claim-path.ts'
import { inSeconds } from '../evidence.ts'
import type { Order } from '../format.ts'
import { statusMember } from '../ordered-status.ts'

/** What a format puts into an SD-JWT. */
export interface SdJwtContent {
  readonly typ: string
  readonly claims: JsonObject
  /** Members that stand in the clear beside the claims, whatever the configuration says. */
  readonly shown?: JsonObject
  /** Whether `selective_disclosure: "all"` conceals what stands there. */
  readonly concealable: (position: ClaimPosition) => boolean
}

export async function issueSdJwt(
  { typ, claims, shown, concealable }: SdJwtContent,
  order: Order,
  signer: Signer,
  random: (bytes: number) => Uint8Array,
): Promise<string> {
  const concealed = concealClaims(claims, concealer(order.configuration, concealable), random)
  const payload: JsonObject = {
    ...concealed.payload,
    ...shown,
    iss: order.issuer,
    iat: inSeconds(order.issuedAt),
    exp: inSeconds(order.expiresAt),
    cnf: { jwk: { ...order.holderKey } },
    ...statusMember(order),
  }
  const header = { typ, alg: signer.alg, x5c: [...signer.x5c] }
  const jwt = await writeJws(header, payload, (data) => signer.sign(data))
  return [jwt, ...concealed.disclosures, ''].join('~')
}

/** `selective_disclosure`: every claim that can be ("all", and the default), none, or those at the given paths. */
function concealer(
  configuration: JsonObject,
  concealable: SdJwtContent['concealable'],
): (position: ClaimPosition) => boolean {
  const disclosure = own(configuration, 'selective_disclosure')
  if (disclosure === 'none') return () => false
  if (!Array.isArray(disclosure)) return concealable
  const paths = disclosure as readonly ClaimPath[]
  return (position) =>
    paths.some((path) => path.length === position.length && path.every((step, at) => stepMatches(step, position[at])))
}
