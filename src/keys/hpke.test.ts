import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toBase64url } from '../codec/base64url.ts'
import { MalformedError } from '../codec/malformed.ts'
import { openHpke, sealHpke } from './hpke.ts'
import { makePrivateJwk } from './private-jwk.ts'

const hex = (text: string) => Buffer.from(text, 'hex')

/** RFC 9180 appendix A.3.1, with the first encryption. */
const vector = {
  info: hex('4f6465206f6e2061204772656369616e2055726e'),
  senderPrivate: hex('4995788ef4b9d6132b249ce59a77281493eb39af373d236a1fe415cb0c2d7beb'),
  recipientPrivate: hex('f3ce7fdae57e1a310d87f1ebbde6f328be0a99cdbcadf4d6589cf29de4b8ffd2'),
  recipientPublic: hex(
    '04fe8c19ce0905191ebc298a9245792531f26f0cece2460639e8bc39cb7f706a82' +
      '6a779b4cf969b8a0e539c7f62fb3d30ad6aa8f80e30f1d128aafd68a2ce72ea0',
  ),
  enc: hex(
    '04a92719c6195d5085104f469a8b9814d5838ff72b60501e2c4466e5e67b325ac9' +
      '8536d7b61a1af4b78e5b7f951c0900be863c403ce65c9bfcb9382657222d18c4',
  ),
  aad: hex('436f756e742d30'),
  content: hex('4265617574792069732074727574682c20747275746820626561757479'),
  cipherText: hex('5ad590bb8baa577f8619db35a36311226a896e7342a6d836d8b7bcd2f20b6c7f9076ac232e3ab2523f39513434'),
}
const vectorKey = makePrivateJwk(() => vector.recipientPrivate)

const ours = makePrivateJwk(randomBytes)
const context = { info: Buffer.from('the session') }
const message = sealHpke(Buffer.from('content'), ours, context, randomBytes)
const changed = (bytes: Uint8Array, at: number) => bytes.map((byte, index) => (index === at ? byte ^ 1 : byte))

describe('HPKE', () => {
  it('encrypts and decrypts as in RFC 9180, appendix A.3.1', () => {
    expect(vectorKey.x).toBe(toBase64url(vector.recipientPublic.subarray(1, 33)))
    const sealed = sealHpke(vector.content, vectorKey, vector, () => vector.senderPrivate)
    expect(Buffer.from(sealed.enc)).toEqual(vector.enc)
    expect(Buffer.from(sealed.cipherText)).toEqual(vector.cipherText)
    expect(openHpke(vector, vectorKey, vector)).toEqual(vector.content)
  })

  it('gives back any content', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), fc.uint8Array({ maxLength: 200 }), (content, info) => {
        expect([...openHpke(sealHpke(content, ours, { info }, randomBytes), ours, { info })]).toEqual([...content])
      }),
      { numRuns: 50 },
    )
  })

  it('is not decrypted with another key, another context, or one bit changed', () => {
    const other = makePrivateJwk(randomBytes)
    expect(() => openHpke(message, other, context)).toThrow('another key or request')
    expect(() => openHpke(message, ours, { info: Buffer.from('another session') })).toThrow('another key or request')
    expect(() => openHpke(message, ours, { ...context, aad: Buffer.from('a') })).toThrow('another key or request')
    for (const at of message.cipherText.keys()) {
      const cipherText = changed(message.cipherText, at)
      expect(() => openHpke({ ...message, cipherText }, ours, context)).toThrow('another key or request')
    }
  })

  it('is refused before any decryption if its parts have the wrong length or form', () => {
    const compressed = Buffer.concat([Uint8Array.of(2), message.enc.subarray(1, 33)])
    for (const enc of [new Uint8Array(0), compressed, changed(message.enc, 0), message.enc.subarray(1)]) {
      expect(() => openHpke({ ...message, enc }, ours, context)).toThrow('enc is not an uncompressed point on P-256')
    }
    const short = { ...message, cipherText: message.cipherText.subarray(0, 15) }
    expect(() => openHpke(short, ours, context)).toThrow('cipherText is shorter than its tag')
  })

  it('is refused if the key of the sender is not on the curve, or is infinity', () => {
    for (const enc of [changed(message.enc, 64), Uint8Array.of(4, ...new Uint8Array(64))]) {
      expect(() => openHpke({ ...message, enc }, ours, context)).toThrow('not on P-256')
    }
  })

  it('throws a MalformedError for whatever is sent', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), fc.uint8Array({ maxLength: 40 }), (enc, cipherText) => {
        expect(() => openHpke({ enc, cipherText }, ours, context)).toThrow(MalformedError)
      }),
    )
  })
})
