/** Wallets that do one thing wrong when they receive, each with the error by which the issuer has to refuse it. */
import { toBase64url } from '../../src/codec/base64url.ts'
import type { WalletContext } from '../../src/wallet/context.ts'

export interface ReceivingMisbehaviour {
  readonly id: string
  readonly title: string
  /** The misbehaviour in a sentence. */
  readonly does: string
  /** The error of OpenID4VCI that has to be the answer. */
  readonly error: string
  changeWallet(wallet: WalletContext): WalletContext
}

const AN_HOUR_MS = 3_600_000

export const receivingMisbehaviours: readonly ReceivingMisbehaviour[] = [
  {
    id: 'nonce',
    title: 'Wrong nonce',
    does: 'The key proof has a nonce that the issuer never gave.',
    error: 'invalid_nonce',
    changeWallet: (wallet) => ({ ...wallet, fetch: (input, init) => replaceNonce(wallet, wallet.fetch(input, init)) }),
  },
  {
    id: 'stale',
    title: 'Stale proof',
    does: 'The key proof is an hour old.',
    error: 'invalid_proof',
    changeWallet: (wallet) => ({ ...wallet, now: () => new Date(wallet.now().getTime() - AN_HOUR_MS) }),
  },
  {
    id: 'key',
    title: 'Swapped key',
    does: 'The key proof names one key, and another signs it.',
    error: 'invalid_proof',
    changeWallet: (wallet) => ({ ...wallet, store: { ...wallet.store, keys: withOtherSignature(wallet) } }),
  },
]

/** Replaces the nonce of an answer, where it has one. */
async function replaceNonce({ random }: WalletContext, pendingResponse: Promise<Response>): Promise<Response> {
  const response = await pendingResponse
  const body = (await response
    .clone()
    .json()
    .catch(() => ({}))) as { readonly c_nonce?: string }
  return body.c_nonce === undefined ? response : Response.json({ ...body, c_nonce: toBase64url(random(24)) })
}

function withOtherSignature({ store: { keys } }: WalletContext): WalletContext['store']['keys'] {
  return {
    open: (stored) => keys.open(stored),
    make: async (algorithm) => {
      const [holderKey, otherKey] = [await keys.make(algorithm), await keys.make(algorithm)]
      return { ...holderKey, signer: { ...holderKey.signer, sign: (data) => otherKey.signer.sign(data) } }
    },
  }
}
