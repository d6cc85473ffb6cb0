/** The settings of what wallets sign: the algorithms of proofs, and when tokens are bound by DPoP. */
import * as Type from 'typebox'
import { joseAlgorithms } from '../keys/signature.ts'

const Requirement = (description: string) =>
  Type.Optional(Type.Union([Type.Literal('optional'), Type.Literal('required')], { description }))

export const walletProofSettings = {
  dpop: Requirement('Whether access tokens must be bound to a key of the wallet (DPoP); each wallet may when absent'),
  dpopNonce: Requirement(
    'Whether DPoP proofs must have a nonce of this service; they must when absent. A proof without one is good for five minutes from its iat, once',
  ),
  walletAlgorithms: Type.Optional(
    Type.Array(Type.Union(joseAlgorithms.map((name) => Type.Literal(name))), {
      minItems: 1,
      uniqueItems: true,
      description:
        'Algorithms of what wallets and their providers sign (key proofs, key attestations, DPoP proofs, wallet attestations), which the metadata names; all of these when absent',
    }),
  ),
}

interface Settings {
  readonly dpop?: 'optional' | 'required'
  readonly dpopNonce?: 'optional' | 'required'
}

export interface WalletProofConfig {
  /** Whether a token request must have a DPoP proof; if false, wallets may send one. */
  readonly dpopRequired: boolean
  /** Whether a DPoP proof must have a nonce; if false, a proof without one is limited by its age and its single use. */
  readonly dpopNonceRequired: boolean
}

/** Returns what the settings say about DPoP. */
export function resolveWalletProofs({ dpop, dpopNonce }: Settings): WalletProofConfig {
  return { dpopRequired: dpop === 'required', dpopNonceRequired: dpopNonce !== 'optional' }
}
