/**
 * Returns which of the addresses that a component accepts signed a request (operation 0x80). Does not detect replays:
 * the engine stores `id` for that.
 */
import type { Address } from '../address.ts'
import type { HttpRequestData } from '../http-data.ts'
import { readOffchainV2 } from './offchain-v2.ts'
import { accountOf, type Recover } from './recover.ts'
import { readSecp256k1 } from './secp256k1.ts'
import { onlyValue, type Profile, type Recipient } from './signed-request.ts'

export interface AuthenticationInput extends Recipient {
  readonly request: HttpRequestData
  /** The engine's clock. */
  readonly now: Date
  /** The addresses that may have signed, in their canonical form. */
  readonly addresses: readonly Address[]
}

export interface AuthenticatedRequest {
  /** The signer, one of the addresses that were asked about. */
  readonly address: Address
  /** SHA-256 of the signed message in hexadecimal. Never of the signature, which could be written in another way. */
  readonly id: string
  /** The time from which the request is refused as expired; its id need not be stored longer. */
  readonly until: Date
  readonly profile: ProfileName
}

export type ProfileName = 'secp256k1' | 'offchain-v2'

const profiles: Readonly<Record<ProfileName, Profile>> = { secp256k1: readSecp256k1, 'offchain-v2': readOffchainV2 }

/**
 * Returns who signed the request. Undefined unless the request has exactly one `authorization`, of a known profile, for
 * this engine, contract and chain, of the right time, whose signature is that of one of `addresses`. Never throws for
 * what is in the request.
 */
export function authenticate(input: AuthenticationInput, recover: Recover): AuthenticatedRequest | undefined {
  const [, name = '', parameters = ''] =
    /^([a-z0-9-]+) (.*)$/s.exec(onlyValue(input.request, 'authorization') ?? '') ?? []
  if (!isProfile(name) || input.addresses.length === 0) return undefined
  const signedRequest = profiles[name](parameters, input.request, input, input.now)
  const publicKey = signedRequest && recover(signedRequest.digest, signedRequest.signature)
  if (signedRequest === undefined || publicKey === undefined) return undefined
  const address = accountOf(publicKey, input.chain.addresses)
  return input.addresses.includes(address)
    ? { address, id: signedRequest.id, until: signedRequest.until, profile: name }
    : undefined
}

function isProfile(name: string): name is ProfileName {
  return Object.hasOwn(profiles, name)
}
