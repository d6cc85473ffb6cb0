/**
 * The signature of an engine's answers, which the engine cannot deny later, and the endorsement of its signing key.
 *
 *     x-engine-signature: ed25519 <public key> <time> <signature>
 *
 * Public key (32 bytes) and signature (64) in hexadecimal, in lower case; the time in decimal milliseconds since 1970.
 * One space between each of them. The signed message is, big-endian, where T is SHA-256 of the text
 * `vouchsafe/engine-response`:
 *
 *     T 32 | T 32 | u8 version = 1 | u32 length, chain id | contract 21 | engine 21
 *     | u32 length, method | u32 length, uri | u32 length, authorization | SHA-256 of the request's body 32
 *     | u32 status | u32 length, content type | SHA-256 of the response's body 32 | u64 block number | u64 time
 *
 * Bodies are meant as they are without content encoding, and that of an answer to HEAD is empty. The uri is the request
 * target after the contract address, raw, with its query. Headers that are not there are empty texts. The block is that
 * of `x-engine-block`.
 *
 * The Ed25519 key is made when an engine starts. Its identity, the secp256k1 key that contracts list, endorses it: it
 * signs SHA-256 of this message, where E is SHA-256 of the text `vouchsafe/engine-response-key`:
 *
 *     E 32 | E 32 | u8 version = 1 | u32 length, chain id | engine 21 | public key 32 | u64 time of the endorsement
 */
import { ed25519 } from '@noble/curves/ed25519.js'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { type Address, addressBytes } from './address.ts'
import { accountOf, recoverInJavaScript } from './authentication/recover.ts'
import { parseTime } from './authentication/signed-request.ts'
import { writer } from './rpc.ts'

const VERSION = 1
const RESPONSE = textDigest('vouchsafe/engine-response')
const RESPONSE_KEY = textDigest('vouchsafe/engine-response-key')

/** The parts of one answer to one request that are signed. Digests are SHA-256. */
export interface ResponseParts {
  readonly chainId: string
  readonly contract: Address
  readonly engine: Address
  readonly request: {
    readonly method: string
    readonly uri: string
    /** The value of that header; empty when there is none. */
    readonly authorization: string
    readonly bodyDigest: Uint8Array
  }
  readonly response: { readonly status: number; readonly contentType: string; readonly bodyDigest: Uint8Array }
  readonly block: number
  /** Milliseconds since 1970. */
  readonly time: number
}

/** The content of `x-engine-signature`. */
export interface EngineSignature {
  readonly publicKey: Uint8Array
  readonly time: number
  readonly signature: Uint8Array
}

/**
 * A statement that a key is an engine's, as `GET /engine` shows it. Numbers are milliseconds since 1970, texts
 * hexadecimal in lower case.
 */
export interface Endorsement {
  readonly public_key: string
  readonly issued_at: number
  /** The signature: the recovery id (00 or 01), r and s. */
  readonly signature: string
}

/** Returns the bytes that are signed by Ed25519 (RFC 8032), as they are. */
export function responseSignatureInput(parts: ResponseParts): Uint8Array {
  const { chainId, contract, engine, request, response, block, time } = parts
  return writer()
    .raw(RESPONSE)
    .raw(RESPONSE)
    .u8(VERSION)
    .text(chainId)
    .raw(addressBytes(contract))
    .raw(addressBytes(engine))
    .text(request.method)
    .text(request.uri)
    .text(request.authorization)
    .raw(request.bodyDigest)
    .u32(response.status)
    .text(response.contentType)
    .raw(response.bodyDigest)
    .u64(BigInt(block))
    .u64(BigInt(time))
    .done()
}

/** Returns the value of the header of a signed answer. */
export function writeEngineSignature({ publicKey, time, signature }: EngineSignature): string {
  return `ed25519 ${bytesToHex(publicKey)} ${time} ${bytesToHex(signature)}`
}

/** Parses the header; returns undefined when it is not what it should be. */
export function parseEngineSignature(value: string): EngineSignature | undefined {
  const [, key, timeText = '', signature = ''] = /^ed25519 ([0-9a-f]{64}) (\d{1,16}) ([0-9a-f]{128})$/.exec(value) ?? []
  const time = parseTime(timeText)
  if (key === undefined || time === undefined) return undefined
  return { publicKey: hexToBytes(key), time, signature: hexToBytes(signature) }
}

/**
 * Tests whether the header's key made its signature of this answer. Whose key that is, {@link verifyEndorsement} says.
 */
export function verifyResponse(
  parts: Omit<ResponseParts, 'time'>,
  { publicKey, time, signature }: EngineSignature,
): boolean {
  try {
    // Strict, as RFC 8032 has it: no points that make one signature good for several messages.
    return ed25519.verify(signature, responseSignatureInput({ ...parts, time }), publicKey, { zip215: false })
  } catch {
    return false
  }
}

/** The subject of an endorsement: `publicKey` is the Ed25519 key, 32 bytes. */
export interface EndorsementSubject {
  readonly chainId: string
  readonly engine: Address
  readonly publicKey: Uint8Array
  readonly issuedAt: number
}

/** Returns the bytes whose SHA-256 an identity signs. */
export function endorsementInput({ chainId, engine, publicKey, issuedAt }: EndorsementSubject): Uint8Array {
  return writer()
    .raw(RESPONSE_KEY)
    .raw(RESPONSE_KEY)
    .u8(VERSION)
    .text(chainId)
    .raw(addressBytes(engine))
    .raw(publicKey)
    .u64(BigInt(issuedAt))
    .done()
}

/** Signs `subject` with `key`, the private key of the engine's identity, of 32 bytes. */
export function endorse(subject: EndorsementSubject, key: Uint8Array): Endorsement {
  const digest = sha256(endorsementInput(subject))
  const signature = secp256k1.sign(digest, key, { prehash: false, lowS: true, format: 'recovered' })
  const { publicKey, issuedAt } = subject
  return { public_key: bytesToHex(publicKey), issued_at: issuedAt, signature: bytesToHex(signature) }
}

/**
 * Returns the endorsed key, 32 bytes; undefined when it was not this engine, on this chain, that endorsed it. Never
 * throws, whatever came.
 */
export function verifyEndorsement(
  { public_key: key, issued_at: issuedAt, signature }: Endorsement,
  engine: Address,
  chain: { readonly id: string; readonly addresses: 'evm' | 'partisia' },
): Uint8Array | undefined {
  const [, recovery, compact] = /^0([01])([0-9a-f]{128})$/.exec(signature) ?? []
  if (compact === undefined || !/^[0-9a-f]{64}$/.test(key) || parseTime(String(issuedAt)) === undefined)
    return undefined
  const publicKey = hexToBytes(key)
  const digest = sha256(endorsementInput({ chainId: chain.id, engine, publicKey, issuedAt }))
  const identity = recoverInJavaScript(digest, { compact: hexToBytes(compact), recovery: recovery === '0' ? 0 : 1 })
  return identity !== undefined && accountOf(identity, chain.addresses) === engine ? publicKey : undefined
}

function textDigest(text: string): Uint8Array {
  return sha256(new TextEncoder().encode(text))
}
