/** DPoP: sends requests with a proof of possession of the key that the token is bound to. RFC 9449. */
import { toBase64url } from '../codec/base64url.ts'
import { digestOf } from '../codec/digest.ts'
import { writeJws } from '../codec/jws.ts'
import { epochSeconds } from '../codec/time.ts'
import type { HolderKey, WalletContext } from './context.ts'
import { WalletError } from './error.ts'
import { DPOP_NONCE_ERROR, type ExchangeRequest } from './exchange.ts'

/** The DPoP key of one authorization. */
export interface DpopKey extends HolderKey {
  /** The latest nonce of each origin. */
  readonly nonces: Map<string, string>
}

/** The parts of a request that have the proof. */
export type ProofMembers = Required<Pick<ExchangeRequest, 'headers' | 'onHeaders'>>

export const DPOP_ALGORITHM = 'ES256'

/** Makes a new DPoP key. */
export async function makeDpopKey({ store }: WalletContext): Promise<DpopKey> {
  return dpopKeyOf(await store.keys.make(DPOP_ALGORITHM))
}

/** Makes a DPoP key from a stored key, without nonces. */
export function dpopKeyOf(key: HolderKey): DpopKey {
  return { ...key, nonces: new Map() }
}

/**
 * Calls `send` with a DPoP proof for the URL and the access token, if there is one. If the server requires its nonce,
 * calls it again with another proof. RFC 9449 sections 8 and 9.
 */
export async function sendWithProof<T>(
  wallet: WalletContext,
  key: DpopKey,
  target: { readonly url: string; readonly token?: string },
  send: (proofMembers: ProofMembers) => Promise<T>,
): Promise<T> {
  const { origin } = new URL(target.url)
  const previousNonce = key.nonces.get(origin)
  const onHeaders = (headers: Headers): void => {
    const nonce = headers.get('dpop-nonce')
    if (nonce !== null) key.nonces.set(origin, nonce)
  }
  const sendOnce = async (): Promise<T> => send({ headers: { dpop: await makeProof(wallet, key, target) }, onHeaders })
  try {
    return await sendOnce()
  } catch (error) {
    const wantsNonce = error instanceof WalletError && error.server?.error === DPOP_NONCE_ERROR
    if (!wantsNonce || key.nonces.get(origin) === previousNonce) throw error
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
    iat: epochSeconds(now()),
    ...(nonce !== undefined && { nonce }),
    ...(token !== undefined && { ath: digestOf(token) }),
  }
  return writeJws({ typ: 'dpop+jwt', alg: signer.alg, jwk: { ...signer.jwk } }, claims, (data) => signer.sign(data))
}
