/** The types that the profiles share. No field is to be trusted before the signer was recovered. */
import type { Address } from '../address.ts'
import type { HttpRequestData } from '../http-data.ts'

/**
 * The engine, the contract and the chain that a signed request is for. A signature for one recipient says nothing to
 * another.
 */
export interface Recipient {
  readonly engine: Address
  readonly contract: Address
  readonly chain: { readonly id: string; readonly addresses: 'evm' | 'partisia' }
}

/** A signature: r and s, of 32 bytes each, and which of the two points r may stand for. */
export interface RecoverableSignature {
  readonly compact: Uint8Array
  readonly recovery: 0 | 1
}

/** The fields of a request of the profile `offchain-v2` that are signed. */
export interface RequestFields {
  readonly chainId: string
  readonly contract: string
  readonly engine: string
  readonly method: string
  readonly target: string
  /** SHA-256. */
  readonly bodyDigest: Uint8Array
  readonly contentType: string
  /** Milliseconds since 1970, as is `expiresAt`. */
  readonly issuedAt: number
  readonly expiresAt: number
  /** The nonce, of 16 bytes. */
  readonly nonce: Uint8Array
}

/** The times of a request and its nonce, by which it differs from every other request. */
export type RequestLifetime = Pick<RequestFields, 'issuedAt' | 'expiresAt' | 'nonce'>

/** A well-formed signed request of the right time, whose signature is not verified yet. */
export interface SignedRequest {
  /** The digest that was signed, of 32 bytes. */
  readonly digest: Uint8Array
  readonly signature: RecoverableSignature
  /** SHA-256 of the signed message in hexadecimal: a request has one, however its signature is written. */
  readonly id: string
  /** The time from which the request is refused as expired; its id need not be stored longer. */
  readonly until: Date
}

/**
 * A method of authentication, which reads what stands after its name in `authorization`; undefined for whatever it does
 * not accept.
 */
export type Profile = (
  parameters: string,
  request: HttpRequestData,
  recipient: Recipient,
  now: Date,
) => SignedRequest | undefined

/**
 * Returns the only value of a header, or the empty text when there is none. Undefined when there are several: no one
 * could say which counts.
 */
export function onlyValue({ headers }: Pick<HttpRequestData, 'headers'>, name: string): string | undefined {
  const values = headers.filter((header) => header.name.toLowerCase() === name).flatMap((header) => header.values)
  return values.length > 1 ? undefined : (values[0] ?? '')
}

/**
 * Reads milliseconds since 1970 as they were written: decimal, without leading zeros or a sign; undefined for any other
 * text.
 */
export function parseTime(text: string): number | undefined {
  const time = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(time) ? time : undefined
}
