import { expect, it } from 'vitest'
import { holderSigner } from '../../test/support/wire.ts'
import { chooseProofKey, proofHeader } from './proof-key.ts'

it('proves the key of an mdoc as a JWK where the issuer binds by COSE keys alone', async () => {
  const { jwk } = await holderSigner()
  const proofs = { jwt: { proof_signing_alg_values_supported: ['ES256'] } }
  const configuration = { proof_types_supported: proofs, cryptographic_binding_methods_supported: ['cose_key'] }
  expect(proofHeader(chooseProofKey(configuration, false), jwk)).toEqual({ alg: 'ES256', jwk: { ...jwk } })
})

it.each([
  [undefined, 'the issuer takes no key proof, so that anybody who has the credential could present it'],
  [
    { attestation: {} },
    'the issuer takes key proofs of the type attestation, and this wallet makes those of the type jwt',
  ],
])('says what is in the way of the proofs %j', (proof_types_supported, reason) => {
  const configuration = proof_types_supported === undefined ? {} : { proof_types_supported }
  expect(() => chooseProofKey(configuration, false)).toThrow(reason)
})
