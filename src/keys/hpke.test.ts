import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sealHpke } from '../../test/support/hpke.ts'
import { MalformedError } from '../codec/malformed.ts'
import { openHpke } from './hpke.ts'
import { makePrivateJwk } from './private-jwk.ts'

const hex = (text: string) => Buffer.from(text, 'hex')

/** RFC 9180 appendix A.3.1, with the first encryption. */
const vector = {
  info: hex('4f6465206f6e2061204772656369616e2055726e'),
  senderPrivate: hex('4995788ef4b9d6132b249ce59a77281493eb39af373d236a1fe415cb0c2d7beb'),
  recipientPrivate: hex('f3ce7fdae57e1a310d87f1ebbde6f328be0a99cdbcadf4d6589cf29de4b8ffd2'),
  enc: hex(
    '04a92719c6195d5085104f469a8b9814d5838ff72b60501e2c4466e5e67b325ac9' +
      '8536d7b61a1af4b78e5b7f951c0900be863c403ce65c9bfcb9382657222d18c4',
  ),
  aad: hex('436f756e742d30'),
  content: hex('4265617574792069732074727574682c20747275746820626561757479'),
  cipherText: hex('5ad590bb8baa577f8619db35a36311226a896e7342a6d836d8b7bcd2f20b6c7f9076ac232e3ab2523f39513434'),
}

const ours = makePrivateJwk(randomBytes)
const info = Buffer.from('the session')
const message = sealHpke(Buffer.from('content'), ours, { info }, randomBytes)
const changed = (bytes: Uint8Array, at: number) => bytes.map((byte, index) => (index === at ? byte ^ 1 : byte))

describe('HPKE', () => {
  it('is encrypted by these tests as in RFC 9180, appendix A.3.1', () => {
    const key = makePrivateJwk(() => vector.recipientPrivate)
    const sealed = sealHpke(vector.content, key, vector, () => vector.senderPrivate)
    expect(Buffer.from(sealed.enc)).toEqual(vector.enc)
    expect(Buffer.from(sealed.cipherText)).toEqual(vector.cipherText)
  })

  it('gives back any content', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 2000 }),
        fc.uint8Array({ maxLength: 200 }),
        async (content, shared) => {
          const sealed = sealHpke(content, ours, { info: shared }, randomBytes)
          expect([...(await openHpke(sealed, ours, shared))]).toEqual([...content])
        },
      ),
      { numRuns: 50 },
    )
  })

  it('is not decrypted with another key, another context, or one bit changed', async () => {
    const refused = 'another key or request'
    await expect(openHpke(message, makePrivateJwk(randomBytes), info)).rejects.toThrow(refused)
    await expect(openHpke(message, ours, Buffer.from('another session'))).rejects.toThrow(refused)
    const withData = sealHpke(Buffer.from('content'), ours, { info, aad: Buffer.from('a') }, randomBytes)
    await expect(openHpke(withData, ours, info)).rejects.toThrow(refused)
    for (const at of message.cipherText.keys()) {
      const cipherText = changed(message.cipherText, at)
      await expect(openHpke({ ...message, cipherText }, ours, info)).rejects.toThrow(refused)
    }
  })

  const infinity = Uint8Array.of(4, ...new Uint8Array(64))
  it.each<[string, { readonly enc?: Uint8Array; readonly cipherText?: Uint8Array }]>([
    ['without a key of the sender', { enc: new Uint8Array(0) }],
    ['with a compressed one', { enc: Buffer.concat([Uint8Array.of(2), message.enc.subarray(1, 33)]) }],
    ['with one of another form', { enc: changed(message.enc, 0) }],
    ['with one that is short', { enc: message.enc.subarray(1) }],
    ['with one that is not on the curve', { enc: changed(message.enc, 64) }],
    ['with infinity', { enc: infinity }],
    ['that is shorter than its tag', { cipherText: message.cipherText.subarray(0, 15) }],
    ['that is empty', { cipherText: new Uint8Array(0) }],
  ])('is malformed %s', async (_, parts) => {
    await expect(openHpke({ ...message, ...parts }, ours, info)).rejects.toThrow(MalformedError)
  })

  it('throws a MalformedError for whatever is sent', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 70 }), fc.uint8Array({ maxLength: 40 }), async (enc, cipherText) => {
        await expect(openHpke({ enc, cipherText }, ours, info)).rejects.toThrow(MalformedError)
      }),
    )
  })
})
