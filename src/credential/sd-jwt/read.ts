/**
 * What all SD-JWT credentials have in common when they are taken apart: disclosures and key binding.
 * RFC 9901 sections 7.1 and 7.3; OpenID4VP 1.0, IETF SD-JWT VC, for the key binding.
 */
import { digestOf } from '../../codec/digest.ts'
import { type JsonObject, own, ownString } from '../../codec/json.ts'
import { MalformedError, malformed } from '../../codec/malformed.ts'
import { type ClaimPosition, revealClaims, type SdJwt } from '../../codec/sd-jwt.ts'
import { importPublicKey } from '../../keys/jwk.ts'
import { signedBy } from '../../keys/signature.ts'
import { isApproval } from '../../protocol/transaction-data.ts'
import { numericDate, signedAt } from '../evidence.ts'
import type { Evidence, HolderEvidence } from '../format.ts'

/** An SD-JWT as a format takes it apart: for who is shown it, and for its holder. */
export interface TakenApart {
  readonly evidence: Evidence
  /** Where what is disclosed stands: what the holder can leave out. */
  readonly hidable: readonly ClaimPosition[]
}

/**
 * The payload with what the disclosures reveal; with a problem, the payload as the issuer signed it. `mustBeShown` says
 * where nothing may be disclosed selectively.
 */
export function revealSdJwt(
  { jws, disclosures }: SdJwt,
  mustBeShown: (position: ClaimPosition) => boolean,
): Pick<TakenApart, 'hidable'> & { readonly payload: JsonObject; readonly problem: string | undefined } {
  try {
    const { claims, disclosed } = revealClaims(jws.payload, disclosures)
    const concealed = disclosed.find(({ position }) => mustBeShown(position))
    if (concealed) malformed(`${concealed.position.join('.')} must not be selectively disclosable`)
    return { payload: claims, hidable: disclosed.map(({ position }) => position), problem: undefined }
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    return { payload: jws.payload, hidable: [], problem: error.message }
  }
}

/** The key binding; undefined when there is none. */
export function keyBindingOf({ keyBinding, bound }: SdJwt): HolderEvidence | undefined {
  if (keyBinding === undefined) return undefined
  const { header, payload } = keyBinding
  return {
    problem: ownString(header, 'typ') === 'kb+jwt' ? undefined : 'the type of the key binding is not kb+jwt',
    signedBy: (key) => signedBy(keyBinding, importPublicKey(key)),
    nonce: ownString(payload, 'nonce'),
    audience: ownString(payload, 'aud'),
    // It has to be there. RFC 9901, Key Binding JWT
    issuedAt: signedAt(payload) ?? new Date(Number.NaN),
    validity: { notBefore: numericDate(payload, 'nbf'), notAfter: numericDate(payload, 'exp') },
    coversPresentation: own(payload, 'sd_hash') === digestOf(bound),
    approves: (transactionData) => isApproval(payload, transactionData),
  }
}
