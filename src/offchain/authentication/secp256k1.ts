/**
 * The profile `secp256k1`: byte for byte what existing clients of off-chain components send.
 *
 *     authorization: secp256k1 <signature> <timestamp>
 *
 * `signature`: 130 hexadecimal characters in lower case: recovery id (00 or 01), r (32 bytes), s (32 bytes). Some
 * existing signers write s in the upper half of the group's order; both halves are taken, since a replay is known by
 * the message. `timestamp`: decimal milliseconds since 1970. One space between the three, and nothing else.
 *
 * The message is, big-endian, and its SHA-256 is what is signed:
 *
 *     engine address 21 | contract address 21 | u32 length, method | u32 length, uri | i64 timestamp | u32 length, body
 *
 * An address of an EVM chain is `00` and its 20 bytes. The uri is the raw request target after the contract address,
 * from its slash on, with its query, and never decoded. No header but this one is signed, nor is the chain:
 * `offchain-v2` has both.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { addressBytes } from '../address.ts'
import type { HttpRequestData } from '../http-data.ts'
import { writer } from '../rpc.ts'
import { toLowS } from './recover.ts'
import { type Profile, parseTime, type Recipient } from './signed-request.ts'

const MAX_AGE_MS = 60_000
const MAX_AHEAD_MS = 30_000

type SignedFields = Pick<HttpRequestData, 'method' | 'uri' | 'body'>

/** Returns the bytes that are hashed and signed. `timestamp` in milliseconds since 1970. */
export function secp256k1Message(
  request: SignedFields,
  { engine, contract }: Pick<Recipient, 'engine' | 'contract'>,
  timestamp: number,
): Uint8Array {
  return writer()
    .raw(addressBytes(engine))
    .raw(addressBytes(contract))
    .text(request.method)
    .text(request.uri)
    .i64(BigInt(timestamp))
    .bytes(request.body)
    .done()
}

/**
 * Returns the value of `authorization`. `key` is a private key of 32 bytes. The same request at the same time has the
 * same signature (RFC 6979).
 */
export function signSecp256k1(
  request: SignedFields,
  recipient: Pick<Recipient, 'engine' | 'contract'>,
  { key, now }: { readonly key: Uint8Array; readonly now: Date },
): string {
  const digest = sha256(secp256k1Message(request, recipient, now.getTime()))
  const signature = secp256k1.sign(digest, key, { prehash: false, lowS: true, format: 'recovered' })
  return `secp256k1 ${bytesToHex(signature)} ${now.getTime()}`
}

/**
 * Reads a request of this profile; undefined when it is older than a minute, or more than half a minute ahead of this
 * engine's clock.
 */
export const readSecp256k1: Profile = (parameters, request, recipient, now) => {
  const [, recovery, compact, time = ''] = /^0([01])([0-9a-f]{128}) (\d{1,16})$/.exec(parameters) ?? []
  const timestamp = parseTime(time)
  if (recovery === undefined || compact === undefined || timestamp === undefined) return undefined
  const age = now.getTime() - timestamp
  if (age > MAX_AGE_MS || age < -MAX_AHEAD_MS) return undefined
  const digest = sha256(secp256k1Message(request, recipient, timestamp))
  return {
    digest,
    signature: toLowS({ compact: hexToBytes(compact), recovery: recovery === '0' ? 0 : 1 }),
    id: bytesToHex(digest),
    until: new Date(timestamp + MAX_AGE_MS + 1),
  }
}
