/** The kinds of flow: which service serves them, how flows of a kind are made, and what the floor for them does. */
import { type Case, cases, sdJwtVcCase, usualCase } from './cases.ts'
import type { FloorWork } from './floor.ts'
import type { Flow } from './flow.ts'
import { makeHolders } from './holders.ts'
import { declareConfiguration, ISSUANCE_STEPS, issuanceFlow } from './issuance-flow.ts'
import { createQuery, issueTo, verificationFlow, verificationSteps } from './verification-flow.ts'
import type { DatabaseName, Profile, ServiceName, Workplace } from './workplace.ts'

/** Makes flows with a fresh holder key each. `floor` says that the answers name another holder. */
export type MakeFlows = (count: number, of: 'service' | 'floor') => Promise<Flow[]>

export interface Kind {
  readonly name: string
  readonly service: ServiceName
  readonly profile?: Profile
  readonly encrypted: boolean
  readonly steps: readonly (readonly [name: string, prefix: string])[]
  readonly floorWork: Readonly<Record<string, FloorWork>>
  readonly floorDoes: string
  /** The ratio to the processor time of the floor that the kind may cost, by database. */
  readonly maxRatio: Readonly<Record<DatabaseName, number>>
  /** Declares at the running service what the flows are about. */
  prepare(workplace: Workplace, port: number): Promise<MakeFlows>
}

/** Most of what an mso_mdoc costs are the digests of its elements, which the floor does not make. */
const maxRatioOf = ({ format }: Case) => ({ sqlite: format === 'mso_mdoc' ? 2.5 : 2, postgresql: 3 })
const BARE = 'answers recorded from the service; no database'

export const issuances: readonly Kind[] = cases.map(issuanceOf)
export const verifications: readonly Kind[] = [
  ...cases.map((each) => verificationOf(each)),
  verificationOf(sdJwtVcCase, 'haip'),
]
/** The kinds in one format, for figures that depend little on the format. */
export const [issuance, verification] = [issuanceOf(usualCase), verificationOf(usualCase)]

function issuanceOf(card: Case): Kind {
  const cose = card.format === 'mso_mdoc'
  return {
    name: `issuance ${card.format}`,
    service: 'issuer',
    encrypted: false,
    steps: ISSUANCE_STEPS,
    floorWork: { token: { sign: 'jws' }, credential: { verify: 'proof', sign: cose ? 'mdoc' : 'jws' } },
    floorDoes: `7 requests; 1 ES256 verification with a fresh key from its JWK, 2 ES256 signatures; ${BARE}`,
    maxRatio: maxRatioOf(card),
    async prepare({ publicKeys }, port) {
      const configurationId = await declareConfiguration(port, card)
      return async (count, of) => {
        const target = { configurationId, issued: card, issuerKey: publicKeys.issuer, bindsHolder: of === 'service' }
        return (await makeHolders(count)).map((holder) => issuanceFlow(target, holder))
      }
    },
  }
}

function verificationOf(card: Case, profile?: Profile): Kind {
  const isEncrypted = profile === 'haip' || card.format === 'mso_mdoc'
  const decryptionText = isEncrypted
    ? '1 ECDH on P-256 with both keys fresh from their JWK, 1 AES-GCM decryption, '
    : ''
  return {
    name: `verification ${card.format}${profile ? `, ${profile}` : ''}`,
    service: 'verifier',
    ...(profile ? { profile } : {}),
    encrypted: isEncrypted,
    steps: verificationSteps(isEncrypted),
    floorWork: { 'request-object': { sign: 'jws' }, response: { verify: presentationOf(card) } },
    floorDoes: `4 requests; ${decryptionText}2 ES256 verifications, one with a fresh key, 1 ES256 signature; ${BARE}`,
    maxRatio: maxRatioOf(card),
    async prepare({ publicKeys, signers }, port) {
      const queryId = await createQuery(port, card)
      return async (count, of) => {
        const target = {
          queryId,
          card,
          encrypted: isEncrypted,
          verifierKey: publicKeys.verifier,
          reportsHolder: of === 'service',
        }
        const heldCards = (await makeHolders(count)).map((holder) => issueTo(holder, signers.issuer, card))
        return (await Promise.all(heldCards)).map((each) => verificationFlow(target, each))
      }
    },
  }
}

function presentationOf({ format }: Case): 'mdoc' | 'vp-jwt' | 'sd-jwt' {
  if (format === 'mso_mdoc') return 'mdoc'
  return format === 'jwt_vc_json' ? 'vp-jwt' : 'sd-jwt'
}
