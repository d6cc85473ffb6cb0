import { createPublicKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { makeKey } from '../../../test/support/services.ts'
import { holderSigner, keyProof } from '../../../test/support/wire.ts'
import type { JsonObject } from '../../codec/json.ts'
import { didUrlOf, toDidJwk, toDidKey } from '../../keys/did.ts'
import { createSigner } from '../../keys/file-signer.ts'
import { makeSelfSignedCertificate } from '../../keys/make-certificate.ts'
import { joseAlgorithms } from '../../keys/signature.ts'
import { readKeyProof, refuseUnlessSigned } from './proofs.ts'

const now = new Date('2026-06-01T12:00:00Z')
const clock = { now, clockSkewSeconds: 60 }
const policy = {
  ...clock,
  algorithms: joseAlgorithms,
  audiences: ['https://a.example'],
}

/** Returns the key and the nonce that the proof has shown. */
function shownBy(text: string): JsonObject {
  const proof = readKeyProof(text, policy)
  if (proof.headerKey === undefined) throw new Error('the proof has no key in its header')
  refuseUnlessSigned(proof, proof.headerKey)
  return { key: { ...proof.headerKey }, nonce: proof.nonce }
}

describe('what a key proof has shown', () => {
  it.each(['ES256', 'EdDSA'] as const)(
    'is its key and its nonce, however the key is named, by %s',
    async (algorithm) => {
      const holder = await holderSigner(algorithm)
      const [didJwk, didKey] = [toDidJwk(holder.jwk), toDidKey(holder.jwk)]
      const headers: readonly JsonObject[] = [
        { kid: didJwk },
        { kid: didUrlOf(didJwk) },
        { kid: didKey },
        { kid: didUrlOf(didKey) },
        { kid: undefined as never, jwk: { ...holder.jwk } },
      ]
      for (const header of headers) {
        const proof = await keyProof({ holder, nonce: 'n', audience: 'https://a.example', header }, now)
        expect(shownBy(proof)).toEqual({ key: holder.jwk, nonce: 'n' })
      }
    },
  )

  it('is the key of its certificate', async () => {
    const key = await makeKey()
    const der = makeSelfSignedCertificate({
      privateKey: key,
      publicKey: createPublicKey(key),
      commonName: 'Holder',
      serial: Buffer.of(1),
      notBefore: new Date('2026-01-01T00:00:00Z'),
      notAfter: new Date('2027-01-01T00:00:00Z'),
    })
    const holder = createSigner(key, [])
    const header = { kid: undefined as never, x5c: [der.toString('base64')] }
    const proof = await keyProof({ holder, nonce: 'n', audience: 'https://a.example', header }, now)
    expect(shownBy(proof)).toEqual({ key: holder.jwk, nonce: 'n' })
  })
})
