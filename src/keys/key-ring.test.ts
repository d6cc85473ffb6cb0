import { createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parseCertificate } from './certificate.ts'
import { readPrivateKey } from './file-signer.ts'
import { decryptJwe, encryptJwe } from './jwe.ts'
import { createKeyRing } from './key-ring.ts'
import { makeSelfSignedCertificate } from './make-certificate.ts'
import { SIGNING_KEY } from './secrets.ts'

const generate = promisify(generateKeyPair)
/** Returns the decryption key of a service that derives its secrets from the signing key. */
const decryptionKeyOf = (privateKey: KeyObject) => {
  const certificate = makeSelfSignedCertificate({
    privateKey,
    publicKey: createPublicKey(privateKey),
    commonName: 'Issuer',
    serial: Buffer.from('01', 'hex'),
    notBefore: new Date('2026-06-01'),
    notAfter: new Date('2027-06-01'),
  })
  const signing = { key: privateKey, chain: [parseCertificate(certificate)] as const, previous: [] }
  return createKeyRing({ signing, secrets: [SIGNING_KEY] }).deriveDecryptionKeys()[0]
}
const signingKey = async (crv?: string) =>
  (crv === undefined ? await generate('ed25519') : await generate('ec', { namedCurve: crv })).privateKey

describe('the key that wallets encrypt to', () => {
  it.each([['P-256'], ['P-384'], ['P-521'], [undefined]])(
    'is the same for who reads the same signing key on %s again, and for nobody else',
    async (crv) => {
      const key = await signingKey(crv)
      const again = readPrivateKey(key.export({ type: 'pkcs8', format: 'pem' }) as string)
      const [first, second] = [decryptionKeyOf(key), decryptionKeyOf(again)]
      expect([first.jwk, first.kid]).toEqual([second.jwk, second.kid])
      expect(first.jwk.crv).toBe('P-256')
      expect(decryptionKeyOf(await signingKey(crv)).kid).not.toBe(first.kid)
      const text = await encryptJwe('{"a":1}', { jwk: first.jwk, alg: 'ECDH-ES', enc: 'A128GCM', kid: first.kid })
      const decryption = {
        keys: [{ key: second.privateKey, kid: second.kid }],
        encs: ['A128GCM'],
        maxBytes: 1000,
      } as const
      expect(await decryptJwe(text, decryption)).toEqual({ a: 1 })
    },
  )

  it('is not the signing key', async () => {
    const key = await signingKey('P-256')
    expect(decryptionKeyOf(key).jwk.x).not.toBe(key.export({ format: 'jwk' }).x)
  })
})
