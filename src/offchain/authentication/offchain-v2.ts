/**
 * The profile `offchain-v2`: a request that is for one engine, one contract on one chain, one target and one body,
 * once, for at most five minutes.
 *
 *     authorization: offchain-v2 <scheme> <issuedAt> <expiresAt> <nonce> <signature>
 *
 * `scheme`: `sha256`, for whoever holds the key, or `eip712`, for wallets (`eth_signTypedData_v4`; on EVM chains
 * alone). `issuedAt`, `expiresAt`: decimal milliseconds since 1970. `nonce`: 16 random bytes. `signature`: 65 bytes as
 * a wallet gives them: r (32), s (32, in the lower half), v (1b or 1c). Both in hexadecimal, in lower case and without
 * `0x`. One space between each of them and nothing else: one text for one request and signature.
 *
 * The message of `sha256` is, big-endian, where T is SHA-256 of the text `vouchsafe/offchain-request`:
 *
 *     T 32 | T 32 | u8 version = 2 | u32 length, chain id | contract 21 | engine 21
 *     | u32 length, method | u32 length, target | SHA-256 of the body 32
 *     | u32 length, content type | u64 issuedAt | u64 expiresAt | nonce 16
 *
 * Texts are UTF-8. The target is the raw request target after the contract address, from its slash on, with its query.
 * The content type is the value of that header, empty when there is none. SHA-256 of the message is signed.
 *
 * `eip712` signs the same fields as typed data; {@link typedData} has the domain and the types.
 *
 * SHA-256 of the message above identifies a request under each scheme: a request signed under two schemes counts once.
 * The nonce distinguishes two requests that are otherwise the same; an engine remembers each until it expires.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { addressBytes } from '../address.ts'
import type { HttpRequestData } from '../http-data.ts'
import { writer } from '../rpc.ts'
import { hasTypedData, typedDataDigest } from './eip712.ts'
import {
  onlyValue,
  type Profile,
  parseTime,
  type Recipient,
  type RecoverableSignature,
  type RequestFields,
  type RequestLifetime,
} from './signed-request.ts'

/** The signing scheme: typed data for wallets, or a digest for keys. */
export type SignatureScheme = 'sha256' | 'eip712'

const MAX_LIFE_MS = 300_000
const MAX_AHEAD_MS = 30_000
const VERSION = 2
const TAG = sha256(new TextEncoder().encode('vouchsafe/offchain-request'))

/** Returns the fields of a request to an engine, or undefined when it has several content types. */
export function requestFields(
  request: HttpRequestData,
  recipient: Recipient,
  life: RequestLifetime,
): RequestFields | undefined {
  const contentType = onlyValue(request, 'content-type')
  if (contentType === undefined) return undefined
  const { engine, contract, chain } = recipient
  const { method, uri: target, body } = request
  return { chainId: chain.id, contract, engine, method, target, bodyDigest: sha256(body), contentType, ...life }
}

/** Returns the tagged message. */
export function requestMessage(fields: RequestFields): Uint8Array {
  return writer()
    .raw(TAG)
    .raw(TAG)
    .u8(VERSION)
    .text(fields.chainId)
    .raw(addressBytes(fields.contract))
    .raw(addressBytes(fields.engine))
    .text(fields.method)
    .text(fields.target)
    .raw(fields.bodyDigest)
    .text(fields.contentType)
    .u64(BigInt(fields.issuedAt))
    .u64(BigInt(fields.expiresAt))
    .raw(fields.nonce)
    .done()
}

/** Returns the value of `authorization`, signed by a private key of 32 bytes. */
export function signRequest(fields: RequestFields, scheme: SignatureScheme, key: Uint8Array): string {
  const digest = scheme === 'eip712' ? typedDataDigest(fields) : sha256(requestMessage(fields))
  const [recovery = 0, ...compact] = secp256k1.sign(digest, key, { prehash: false, lowS: true, format: 'recovered' })
  return authorizationOf(fields, scheme, Uint8Array.of(...compact, 27 + recovery))
}

/**
 * Returns the value of `authorization` with a signature that a wallet gave: 65 bytes, whose last may be 0 or 1 as well.
 */
export function authorizationOf(
  { issuedAt, expiresAt, nonce }: RequestLifetime,
  scheme: SignatureScheme,
  signature: Uint8Array,
): string {
  const [v = 0] = signature.subarray(64)
  const signatureText = bytesToHex(Uint8Array.of(...signature.subarray(0, 64), v < 27 ? v + 27 : v))
  return `offchain-v2 ${scheme} ${issuedAt} ${expiresAt} ${bytesToHex(nonce)} ${signatureText}`
}

const PARAMETERS = /^(sha256|eip712) (\d{1,16}) (\d{1,16}) ([0-9a-f]{32}) ([0-9a-f]{128})(1b|1c)$/

/**
 * Reads a request of this profile; undefined when it has expired, lives longer than five minutes, or was issued more
 * than half a minute ahead of this engine's clock.
 */
export const readOffchainV2: Profile = (parameters, request, recipient, now) => {
  const [, scheme, issuedText = '', expiresText = '', nonce = '', compact = '', v] = PARAMETERS.exec(parameters) ?? []
  const [issuedAt, expiresAt] = [parseTime(issuedText), parseTime(expiresText)]
  if (issuedAt === undefined || expiresAt === undefined || !isTimely(issuedAt, expiresAt, now)) return undefined
  if (scheme === 'eip712' && !hasTypedData(recipient.chain)) return undefined
  const fields = requestFields(request, recipient, { issuedAt, expiresAt, nonce: hexToBytes(nonce) })
  if (fields === undefined) return undefined
  const signature: RecoverableSignature = { compact: hexToBytes(compact), recovery: v === '1b' ? 0 : 1 }
  const id = sha256(requestMessage(fields))
  const digest = scheme === 'eip712' ? typedDataDigest(fields) : id
  return { digest, signature, id: bytesToHex(id), until: new Date(expiresAt) }
}

function isTimely(issuedAt: number, expiresAt: number, now: Date): boolean {
  const life = expiresAt - issuedAt
  return life > 0 && life <= MAX_LIFE_MS && issuedAt <= now.getTime() + MAX_AHEAD_MS && now.getTime() < expiresAt
}
