/** A token request of a wallet that attests itself, whose attestation or proof has grown. */
import type { JsonObject } from '../../src/codec/json.ts'
import { attestedHeaders, makeInstance } from '../support/wallet-attestation.ts'
import { codeOf, GRANT, startIssuance } from '../support/wire.ts'
import { grownCertificates } from './cost-certificates.ts'
import { FORM, formOf } from './cost-request.ts'
import { type CostTarget, walletProvider } from './cost-world.ts'
import { grownHeader } from './growth.ts'

/** The bytes that an attestation may have beside its usual members, within the limit of its header. */
const ROOM = 4000

export const attestedTokenTarget: CostTarget = {
  name: 'issuer POST token, attested',
  bytes: 11_000,
  places: ['attestation.header', 'attestation.payload', 'attestation.x5c', 'pop.header', 'pop.payload', 'form.extra'],
  make: async (world, growths) => {
    const { services } = world.world
    const { sessionId } = await startIssuance(services, { credential_configurations: [world.configurationId] })
    const instance = await makeInstance(await walletProvider)
    const grownAt = (place: string): JsonObject => {
      const growth = growths.find((each) => each.place === place)
      return growth === undefined ? {} : { extra: grownHeader(growth, ROOM) }
    }
    const chain = growths.find(({ place }) => place === 'attestation.x5c')
    const more = chain && grownCertificates(world.world, chain).map((der) => der.toString('base64'))
    const x5c = [...instance.provider.x5c, ...(more ?? [])].slice(0, 8)
    const headers = await attestedHeaders(
      instance,
      { services, sessionId },
      {
        attestation: { header: { x5c, ...grownAt('attestation.header') }, payload: grownAt('attestation.payload') },
        pop: { header: grownAt('pop.header'), payload: grownAt('pop.payload') },
      },
    )
    const fields = { grant_type: GRANT, 'pre-authorized_code': await codeOf(services, sessionId) }
    const path = `/auth/token-endpoint/${sessionId}`
    return { service: 'issuer', method: 'POST', path, headers: { ...FORM, ...headers }, body: formOf(fields, growths) }
  },
}
