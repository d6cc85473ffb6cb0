/** DPoP: each request with a bound token has a proof of the key that the token is bound to. RFC 9449. */
import { toBase64url } from '../codec/base64url.ts'
import { digestOf } from '../codec/digest.ts'
import { writeJws } from '../codec/jws.ts'
import type { HolderKey, WalletContext } from './context.ts'
import { WalletError } from './error.ts'
import type { ExchangeRequest } from './exchange.ts'

/** The key of one authorization, which no other has. */
export interface DpopKey extends HolderKey {
  /** The newest nonce of each origin. */
  readonly nonces: Map<string, string>
}

/** The members that a proof adds to a request. */
export type ProofMembers = Required<Pick<ExchangeRequest, 'headers' | 'onHeaders'>>

export const DPOP_ALGORITHM = 'ES256'

export async function makeDpopKey({ store }: WalletContext): Promise<DpopKey> {
  return dpopKeyOf(await store.keys.make(DPOP_ALGORITHM))
}

export function dpopKeyOf(key: HolderKey): DpopKey {
  return { ...key, nonces: new Map() }
}

/**
 * Returns the result of `send`, which posts to the address with a proof, beside the access token where there is one. A
 * server that wants its nonce in the proof gets a second one. RFC 9449 sections 8 and 9.
 */
export async function sendWithProof<T>(
  wallet: WalletContext,
  key: DpopKey,
  target: { readonly url: string; readonly token?: string },
  send: (proofMembers: ProofMembers) => Promise<T>,
): Promise<T> {
  const { origin } = new URL(target.url)
  const previousNonce = key.nonces.get(origin)
  const challenges: string[] = []
  const onHeaders = (headers: Headers): void => {
    const nonce = headers.get('dpop-nonce')
    if (nonce !== null) key.nonces.set(origin, nonce)
    challenges.push(headers.get('www-authenticate') ?? '')
  }
  const sendOnce = async (): Promise<T> => send({ headers: { dpop: await makeProof(wallet, key, target) }, onHeaders })
  try {
    return await sendOnce()
  } catch (error) {
    if (!(error instanceof WalletError) || key.nonces.get(origin) === previousNonce) throw error
    const wantsNonce = challenges.some((challenge) => /\berror="use_dpop_nonce"/.test(challenge))
    if (!wantsNonce && error.server?.error !== 'use_dpop_nonce') throw error
    return sendOnce()
  }
}

function makeProof(
  { now, random }: WalletContext,
  { signer, nonces }: DpopKey,
  { url, token }: { readonly url: string; readonly token?: string },
): Promise<string> {
  const { origin, pathname } = new URL(url)
  const nonce = nonces.get(origin)
  const claims = {
    jti: toBase64url(random(16)),
    htm: 'POST',
    htu: origin + pathname,
    iat: Math.floor(now().getTime() / 1000),
    ...(nonce !== undefined && { nonce }),
    ...(token !== undefined && { ath: digestOf(token) }),
  }
  return writeJws({ typ: 'dpop+jwt', alg: signer.alg, jwk: { ...signer.jwk } }, claims, (data) => signer.sign(data))
}
