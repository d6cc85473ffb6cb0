/** Makes presentations of W3C credentials as JWTs. VCDM 1.1, JWT Encoding. */
import type { JsonObject } from '../../codec/json.ts'
import { writeJws } from '../../codec/jws.ts'
import type { ClaimPosition } from '../../codec/sd-jwt.ts'
import { epochSeconds } from '../../codec/time.ts'
import { toDidJwk } from '../../keys/did.ts'
import type { Signer } from '../../keys/signer.ts'
import type { Binding } from '../format.ts'
import { VCDM_1_CONTEXT } from '../w3c/members.ts'

/** The validity of a presentation. */
const LIFETIME_SECONDS = 300

/** Makes a VP-JWT with the credential. There is no selective disclosure. */
export function present(
  credential: string,
  _positions: readonly ClaimPosition[],
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
