/** Lists of trusted entities as `@owf/eudi-lote` makes and signs them, and ours as it sees them. */
import { createLoTE, service, signLoTE, trustedEntity, validateLoTE } from '@owf/eudi-lote'
import { expect, it } from 'vitest'
import { toBase64url } from '../../src/codec/base64url.ts'
import { readJwsPayload } from '../../src/codec/jws.ts'
import { toPem } from '../../src/keys/make-certificate.ts'
import { readTrustAnchors } from '../../src/keys/trust-path.ts'
import { readTrustList } from '../../src/verifier/trust-list/read.ts'
import { makeAuthority, signWith } from '../support/forge.ts'
import { LIST_URL, makeListSigner, makeTrustList, PID_LIST } from '../support/trust-list.ts'

const NOW = new Date()
const ISSUANCE = 'http://uri.etsi.org/19602/SvcType/PID/Issuance'

it.each([
  ['with', true],
  ['without', false],
])('a list that it signs is read, %s a certificate in it', async (_, hasCertificate) => {
  const signer = await makeListSigner()
  const provider = await makeAuthority('PID CA')
  const issuance = service().name('Issuance').type(ISSUANCE).addCertificate(provider.der.toString('base64')).build()
  const entity = trustedEntity()
    .name('Example provider')
    .postalAddress({ StreetAddress: 'Main Street 1', Locality: 'Berlin', PostalCode: '10115', Country: 'DE' })
    .email('mailto:a@example.eu')
    .infoUri('https://provider.example.eu')
    .addService(issuance)
    .build()
  const next = new Date(NOW.getTime() + 86_400_000)
  const scheme = { LoTEType: PID_LIST, LoTESequenceNumber: 3, NextUpdate: next.toISOString() }
  const lote = createLoTE({ SchemeOperatorName: [{ lang: 'en', value: 'Operator' }], ...scheme }, [entity])
  const { jws } = await signLoTE({
    lote,
    keyId: 'list-signer',
    ...(hasCertificate && { certificates: [toPem(signer.der)] }),
    signer: async (data) => toBase64url(await signWith(signer.key)(Buffer.from(data))),
  })
  const signerAnchors = readTrustAnchors([{ name: 'operator.pem', text: toPem(signer.der) }])
  const setting = { url: LIST_URL, loteType: PID_LIST, signerAnchors, credentialTypes: undefined }
  const list = readTrustList(jws, setting, { at: new Date(), clockSkewSeconds: 60 })
  expect(list).toMatchObject({ sequenceNumber: 3, nextUpdate: next, certificates: [provider.der] })
})

it('the lists of our tests are lists for it', async () => {
  const provider = await makeAuthority('PID CA')
  const text = await makeTrustList(await makeListSigner(), [provider.der], NOW)
  expect(validateLoTE(readJwsPayload(text) as never)).toMatchObject({ valid: true })
})
