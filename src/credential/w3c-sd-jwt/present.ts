/** The holder's side: what a credential shows of itself, and a presentation of it. RFC 9901 sections 4.3 and 7.2. */
import { isDeepStrictEqual } from 'node:util'
import { own } from '../../codec/json.ts'
import { writeJws } from '../../codec/jws.ts'
import { malformed } from '../../codec/malformed.ts'
import { asSdJwt, digestOf, type Place, readSdJwt, revealClaims } from '../../codec/sd-jwt.ts'
import { approvalOf } from '../../codec/transaction-data.ts'
import type { Signer } from '../../keys/signer.ts'
import { isWithin } from '../../protocol/claim-path.ts'
import type { Binding, HeldCredential, Order } from '../format.ts'
import { read } from './read.ts'

export function hold(credential: string): HeldCredential {
  const sdJwt = asSdJwt(credential)
  const evidence = read(sdJwt)
  if (evidence.disclosuresProblem !== undefined) malformed(evidence.disclosuresProblem)
  if (evidence.formats.length === 0) malformed('its type is not vc+sd-jwt')
  const ends = evidence.validity.notAfter.flatMap(({ at }) => at ?? [])
  const { jws, disclosures } = readSdJwt(sdJwt)
  return {
    ...evidence,
    hidable: revealClaims(jws.payload, disclosures).disclosed.map(({ place }) => place),
    expiresAt: ends.length > 0 ? new Date(Math.min(...ends.map((at) => at.getTime()))) : undefined,
  }
}

export function fulfils({ dataset }: Order, credential: string): boolean {
  const { claims } = hold(credential)
  return isDeepStrictEqual(own(claims, 'credentialSubject'), own(dataset, 'credentialSubject'))
}

export async function present(
  credential: string,
  places: readonly Place[],
  binding: Binding & { readonly at: Date },
  holder: Signer,
): Promise<string> {
  const { jws, disclosures } = readSdJwt(asSdJwt(credential))
  const { disclosed } = revealClaims(jws.payload, disclosures)
  const [jwt = ''] = credential.split('~', 1)
  const shown = disclosed.filter(({ place }) =>
    places.some((wanted) => isWithin(place, wanted) || isWithin(wanted, place)),
  )
  const bound = [jwt, ...shown.map(({ text }) => text), ''].join('~')
  const keyBinding = await writeJws(
    { typ: 'kb+jwt', alg: holder.alg },
    {
      iat: Math.floor(binding.at.getTime() / 1000),
      aud: binding.audience,
      nonce: binding.nonce,
      sd_hash: digestOf(bound),
      ...approvalOf(binding.transactionData),
    },
    (data) => holder.sign(data),
  )
  return bound + keyBinding
}
