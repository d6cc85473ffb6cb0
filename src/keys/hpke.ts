/**
 * HPKE for one message to a P-256 key: base mode with DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM. Composed
 * of primitives of `node:crypto`. RFC 9180 sections 4 to 6.
 */
import { createCipheriv, createDecipheriv, createECDH, createHmac } from 'node:crypto'
import { malformed } from '../codec/malformed.ts'
import { makePrivateJwk, type PrivateJwk } from './private-jwk.ts'

/** An encrypted message. */
export interface HpkeMessage {
  /** The sender's public key, made for this message alone: an uncompressed point. */
  readonly enc: Uint8Array
  /** The ciphertext, and its tag of 16 bytes. */
  readonly cipherText: Uint8Array
}

/** The values that sender and recipient share and do not send. */
export interface HpkeContext {
  readonly info: Uint8Array
  /** The associated data; empty when absent. */
  readonly aad?: Uint8Array
}

/** The coordinates of a public key. */
type Point = Pick<PrivateJwk, 'x' | 'y'>

const CURVE = 'prime256v1'
const CIPHER = 'aes-128-gcm'
const TAG = { authTagLength: 16 } as const
/** The length of a point, and its first byte, which says that it is not compressed. */
const POINT_BYTES = 65
const UNCOMPRESSED = 4
const EMPTY = new Uint8Array(0)

/** The functions of the key agreement and of the key schedule. RFC 9180 sections 4.1, 5.1 and 7. */
const kem = labeledHkdf('KEM\x00\x10')
const schedule = labeledHkdf('HPKE\x00\x10\x00\x01\x00\x01')

/**
 * Decrypts a message to `key`. Throws a MalformedError if it is malformed, or was encrypted to another key or with
 * another context. The sender is not authenticated.
 */
export function openHpke({ enc, cipherText }: HpkeMessage, key: PrivateJwk, context: HpkeContext): Buffer {
  if (enc.length !== POINT_BYTES || enc[0] !== UNCOMPRESSED) malformed('enc is not an uncompressed point on P-256')
  const tagStart = cipherText.length - TAG.authTagLength
  if (tagStart < 0) malformed('cipherText is shorter than its tag')
  const { contentKey, nonce } = deriveKeys(agreeOn(key.d, enc), Buffer.concat([enc, encodePoint(key)]), context)
  const decipher = createDecipheriv(CIPHER, contentKey, nonce, TAG)
  decipher.setAAD(context.aad ?? EMPTY).setAuthTag(cipherText.subarray(tagStart))
  try {
    return Buffer.concat([decipher.update(cipherText.subarray(0, tagStart)), decipher.final()])
  } catch (cause) {
    return malformed('it cannot be decrypted; it was made for another key or request, or was changed', cause)
  }
}

/** Encrypts `content` to a public key. */
export function sealHpke(
  content: Uint8Array,
  recipientKey: Point,
  context: HpkeContext,
  random: (bytes: number) => Uint8Array,
): HpkeMessage {
  const senderKey = makePrivateJwk(random)
  const [enc, recipientPoint] = [encodePoint(senderKey), encodePoint(recipientKey)]
  const secret = agreeOn(senderKey.d, recipientPoint)
  const { contentKey, nonce } = deriveKeys(secret, Buffer.concat([enc, recipientPoint]), context)
  const cipher = createCipheriv(CIPHER, contentKey, nonce, TAG).setAAD(context.aad ?? EMPTY)
  return { enc, cipherText: Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()]) }
}

/** Derives the key and the nonce of the message. RFC 9180 sections 4.1 (ExtractAndExpand) and 5.1 (KeySchedule). */
function deriveKeys(agreedSecret: Uint8Array, kemContext: Uint8Array, { info }: HpkeContext) {
  const sharedSecret = kem.expand(kem.extract(EMPTY, 'eae_prk', agreedSecret), 'shared_secret', kemContext, 32)
  const mode = Uint8Array.of(0)
  const [pskIdHash, infoHash] = [
    schedule.extract(EMPTY, 'psk_id_hash', EMPTY),
    schedule.extract(EMPTY, 'info_hash', info),
  ]
  const scheduleContext = Buffer.concat([mode, pskIdHash, infoHash])
  const secret = schedule.extract(sharedSecret, 'secret', EMPTY)
  return {
    contentKey: schedule.expand(secret, 'key', scheduleContext, 16),
    nonce: schedule.expand(secret, 'base_nonce', scheduleContext, 12),
  }
}

/** Makes LabeledExtract and LabeledExpand for a suite. Their results have at most 32 bytes. RFC 9180 section 4. */
function labeledHkdf(suiteId: string) {
  const prefix = (label: string) => Buffer.from(`HPKE-v1${suiteId}${label}`, 'latin1')
  return {
    extract: (salt: Uint8Array, label: string, content: Uint8Array) => hmac(salt, [prefix(label), content]),
    expand: (secret: Uint8Array, label: string, context: Uint8Array, length: number) =>
      hmac(secret, [Uint8Array.of(0, length), prefix(label), context, Uint8Array.of(1)]).subarray(0, length),
  }
}

function hmac(key: Uint8Array, parts: readonly Uint8Array[]): Uint8Array {
  return createHmac('sha256', key).update(Buffer.concat(parts)).digest()
}

/** Returns the secret that only the holders of both private keys can compute. Throws a MalformedError off the curve. */
function agreeOn(privateKey: string, point: Uint8Array): Uint8Array {
  const ecdh = createECDH(CURVE)
  ecdh.setPrivateKey(privateKey, 'base64url')
  try {
    return ecdh.computeSecret(point)
  } catch (cause) {
    return malformed('the public key (enc) is not on P-256', cause)
  }
}

function encodePoint({ x, y }: Point): Uint8Array {
  return Buffer.concat([Uint8Array.of(UNCOMPRESSED), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
}
