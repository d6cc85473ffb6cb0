/**
 * The sender's side of HPKE, composed of primitives of `node:crypto`, beside which that of the recipient is tested: one
 * message in base mode with DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM. RFC 9180 sections 4 to 6.
 */
import { createCipheriv, createECDH, createHmac } from 'node:crypto'
import type { HpkeMessage } from '../../src/keys/hpke.ts'
import { makePrivateJwk, type PrivateJwk } from '../../src/keys/private-jwk.ts'

/** The coordinates of a public key. */
type Point = Pick<PrivateJwk, 'x' | 'y'>

const EMPTY = new Uint8Array(0)

/** The functions of the key agreement and of the key schedule. RFC 9180 sections 4.1, 5.1 and 7. */
const kem = labeledHkdf('KEM\x00\x10')
const schedule = labeledHkdf('HPKE\x00\x10\x00\x01\x00\x01')

/** Encrypts `content` to a public key. */
export function sealHpke(
  content: Uint8Array,
  recipientKey: Point,
  { info, aad = EMPTY }: { readonly info: Uint8Array; readonly aad?: Uint8Array },
  random: (bytes: number) => Uint8Array,
): HpkeMessage {
  const senderKey = makePrivateJwk(random)
  const [enc, recipientPoint] = [encodePoint(senderKey), encodePoint(recipientKey)]
  const ecdh = createECDH('prime256v1')
  ecdh.setPrivateKey(senderKey.d, 'base64url')
  const keys = deriveKeys(ecdh.computeSecret(recipientPoint), Buffer.concat([enc, recipientPoint]), info)
  const cipher = createCipheriv('aes-128-gcm', keys.content, keys.nonce, { authTagLength: 16 }).setAAD(aad)
  return { enc, cipherText: Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()]) }
}

/** Derives the key and the nonce of the message. RFC 9180 sections 4.1 (ExtractAndExpand) and 5.1 (KeySchedule). */
function deriveKeys(agreedSecret: Uint8Array, kemContext: Uint8Array, info: Uint8Array) {
  const sharedSecret = kem.expand(kem.extract(EMPTY, 'eae_prk', agreedSecret), 'shared_secret', kemContext, 32)
  const pskIdHash = schedule.extract(EMPTY, 'psk_id_hash', EMPTY)
  const context = Buffer.concat([Uint8Array.of(0), pskIdHash, schedule.extract(EMPTY, 'info_hash', info)])
  const secret = schedule.extract(sharedSecret, 'secret', EMPTY)
  return {
    content: schedule.expand(secret, 'key', context, 16),
    nonce: schedule.expand(secret, 'base_nonce', context, 12),
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

function encodePoint({ x, y }: Point): Uint8Array {
  return Buffer.concat([Uint8Array.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
}
