import { createPrivateKey, type KeyObject } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { makeKey } from '../../test/support/services.ts'
import { deriveSecret } from './file-signer.ts'

describe('the secret of a private key', () => {
  const secretOf = (key: KeyObject, purpose = 'codes') => deriveSecret(key, purpose).export().toString('hex')

  /** Removes the public key from an EC key in PKCS #8, as some programs write it. RFC 5915. */
  function withoutPublicKey(key: KeyObject): KeyObject {
    const scalar = Buffer.from(key.export({ format: 'jwk' }).d ?? '', 'base64url')
    const head = '3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420'
    return createPrivateKey({ key: Buffer.concat([Buffer.from(head, 'hex'), scalar]), format: 'der', type: 'pkcs8' })
  }

  it('is the same whatever form the file of the key has', async () => {
    const key = await makeKey()
    const sec1 = createPrivateKey(key.export({ type: 'sec1', format: 'pem' }))
    const jwk = createPrivateKey({ key: key.export({ format: 'jwk' }), format: 'jwk' })
    const others = [sec1, jwk, withoutPublicKey(key)].map((each) => secretOf(each))
    expect(others).toEqual(Array(3).fill(secretOf(key)))
  })

  it('is another for another purpose and another key', async () => {
    const key = await makeKey()
    expect(new Set([secretOf(key), secretOf(key, 'nonces'), secretOf(await makeKey())]).size).toBe(3)
  })
})
