/** The holder's side: what a credential shows of itself, and a presentation of it. RFC 9901 sections 4.3 and 7.2. */
import { digestOf } from '../../codec/digest.ts'
import { writeJws } from '../../codec/jws.ts'
import { malformed } from '../../codec/malformed.ts'
import { asSdJwt, type ClaimPosition, readSdJwt, revealClaims, type SdJwt } from '../../codec/sd-jwt.ts'
import { joseAlgorithms } from '../../keys/algorithm.ts'
import type { Signer } from '../../keys/signer.ts'
import { isWithin } from '../../protocol/claim-path.ts'
import { approvalOf } from '../../protocol/transaction-data.ts'
import { firstEnd, inSeconds } from '../evidence.ts'
import type { Binding, HeldCredential } from '../format.ts'
import type { TakenApart } from './read.ts'

/** What `vp_formats_supported` says of SD-JWT formats. OpenID4VP 1.0, IETF SD-JWT VC, Verifier Metadata. */
export const sdJwtAlgorithms = { 'sd-jwt_alg_values': [...joseAlgorithms], 'kb-jwt_alg_values': [...joseAlgorithms] }

/** The credential as its format takes it apart; a MalformedError says `otherwise` when it is of another format. */
export function holdSdJwt(
  credential: string,
  takeApart: (sdJwt: SdJwt) => TakenApart,
  otherwise: string,
): HeldCredential {
  const { evidence, hidable } = takeApart(readSdJwt(asSdJwt(credential)))
  if (evidence.disclosuresProblem !== undefined) malformed(evidence.disclosuresProblem)
  if (evidence.formats.length === 0) malformed(`${otherwise}: ${evidence.statedFormat}`)
  return { ...evidence, hidable, expiresAt: firstEnd(evidence.validity) }
}

export async function presentSdJwt(
  credential: string,
  positions: readonly ClaimPosition[],
  binding: Binding & { readonly at: Date },
  holder: Signer,
): Promise<string> {
  const { jws, disclosures } = readSdJwt(asSdJwt(credential))
  const { disclosed } = revealClaims(jws.payload, disclosures)
  const [jwt = ''] = credential.split('~', 1)
  const shown = disclosed.filter(({ position }) =>
    positions.some((wanted) => isWithin(position, wanted) || isWithin(wanted, position)),
  )
  const bound = [jwt, ...shown.map(({ text }) => text), ''].join('~')
  const keyBinding = await writeJws(
    { typ: 'kb+jwt', alg: holder.alg },
    {
      iat: inSeconds(binding.at),
      aud: binding.audience,
      nonce: binding.nonce,
      sd_hash: digestOf(bound),
      ...approvalOf(binding.transactionData),
    },
    (data) => holder.sign(data),
  )
  return bound + keyBinding
}
