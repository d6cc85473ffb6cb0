/** The settings of what wallets sign: the algorithms of proofs, and when tokens are bound by DPoP. */
import * as Type from 'typebox'
import { joseAlgorithms } from '../keys/signature.ts'
import { makeRequirementSetting, type Requirement } from './requirement.ts'

export const walletProofSettings = {
  dpop: makeRequirementSetting(
    'Whether access tokens must be bound to a key of the wallet (DPoP); each wallet may when absent',
  ),
  dpopNonce: makeRequirementSetting(
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
  readonly dpop?: Requirement
  readonly dpopNonce?: Requirement
  readonly walletAlgorithms?: readonly string[]
}

export interface WalletProofConfig {
  /** Whether a token request must have a DPoP proof; if false, wallets may send one. */
  readonly dpopRequired: boolean
  /** Whether a DPoP proof must have a nonce; if false, a proof without one is limited by its age and its single use. */
  readonly dpopNonceRequired: boolean
  /** The accepted algorithms of key proofs and key attestations. */
  readonly proofAlgorithms: readonly string[]
  /** The accepted algorithms of DPoP proofs, wallet attestations and their proofs. */
  readonly tokenAlgorithms: readonly string[]
}

/** Adds the defaults to valid settings. `allowedForTokens` are the algorithms among which those for tokens are. */
export function resolveWalletProofs(
  { dpop, dpopNonce, walletAlgorithms = joseAlgorithms }: Settings,
  allowedForTokens: readonly string[],
): WalletProofConfig {
  return {
    dpopRequired: dpop === 'required',
    dpopNonceRequired: dpopNonce !== 'optional',
    proofAlgorithms: walletAlgorithms,
    tokenAlgorithms: walletAlgorithms.filter((name) => allowedForTokens.includes(name)),
  }
}
