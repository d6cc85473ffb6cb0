/**
 * A wallet whose maker attests keys receives credentials whose keys have to be attested. OpenID4VCI 1.0, Key
 * Attestation in JWT format.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../test/support/command.ts'
import { mdocConfiguration, mdocDataset } from '../../test/support/mdoc.ts'
import { type Services, startServices } from '../../test/support/services.ts'
import { errorOf, testWallet } from '../../test/support/wallet.ts'
import { declare, startIssuance } from '../../test/support/wire.ts'
import { makeTestProvider, TEST_PROVIDER } from '../bin/init/haip.ts'
import { keyAttesterOf } from '../bin/wallet/test-attestation.ts'
import { readJws } from '../codec/jws.ts'
import type { PublicJwk } from '../keys/jwk.ts'
import { receiveOffer } from './receive.ts'

const COPIES = 3
const LEVELS = { key_storage: ['iso_18045_high', 'iso_18045_moderate'], user_authentication: ['iso_18045_moderate'] }
const formats = [
  { declared: { format: 'dc+sd-jwt', vct: 'urn:example:card' }, dataset: { given_name: 'Ada' } },
  { declared: mdocConfiguration, dataset: mdocDataset },
]

const times = { notBefore: new Date(Date.now() - 1000), notAfter: new Date(Date.now() + 86_400_000) }

/** Makes the directory of a provider on disk. */
function directoryOf(provider: Awaited<ReturnType<typeof makeTestProvider>>): string {
  const root = temporaryDirectory()
  for (const { path, text } of provider) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return join(root, TEST_PROVIDER)
}

describe('a wallet whose maker attests keys', () => {
  let services: Services
  let directory: string
  let provider: Awaited<ReturnType<typeof makeTestProvider>>
  beforeAll(async () => {
    provider = await makeTestProvider(times)
    services = await startServices({
      issuer: { keyAttestationTrustAnchors: 'attesters' },
      files: { 'attesters/ca.pem': provider[0]?.text ?? '' },
    })
    return () => services.close()
  })
  beforeEach(() => {
    directory = directoryOf(provider)
  })
  const offerOf = async (declared: object, dataset: object) => {
    const id = await declare(services, { ...declared, batch_size: COPIES, key_attestations_required: LEVELS })
    return startIssuance(services, { credential_configurations: [id], credential_dataset: dataset })
  }

  it.each(formats)('receives a batch of $declared.format with one proof and one attestation', async (of) => {
    const { link } = await offerOf(of.declared, of.dataset)
    const { wallet, sent } = testWallet(services.fetch, services.clock, { attestKeys: keyAttesterOf(directory) })
    expect(await receiveOffer(wallet, link)).toMatchObject([{ copies: { all: COPIES, unseen: COPIES } }])
    const [{ body } = { body: '' }] = sent.filter(({ to }) => to.endsWith('/credential-request'))
    const { proofs } = JSON.parse(body) as { proofs: { jwt: string[] } }
    expect(proofs.jwt).toHaveLength(1)
    const { header, payload } = readJws(proofs.jwt[0] ?? '')
    const attestation = readJws(header.key_attestation as string)
    expect(attestation.payload).toMatchObject({
      nonce: payload.nonce,
      key_storage: ['iso_18045_high'],
      user_authentication: ['iso_18045_moderate'],
    })
    expect(new Set((attestation.payload.attested_keys as unknown as PublicJwk[]).map(({ x }) => x)).size).toBe(COPIES)
  })

  it('is refused when nobody trusts that maker, and asks for nothing when it has none', async () => {
    const { link } = await offerOf({ format: 'dc+sd-jwt', vct: 'urn:example:card' }, { given_name: 'Ada' })
    const without = testWallet(services.fetch, services.clock)
    expect((await errorOf(receiveOffer(without.wallet, link))).message).toMatch(/this wallet has nobody to attest it/)
    expect(without.sent.filter(({ to }) => to.includes('token'))).toEqual([])
    const attestKeys = keyAttesterOf(directoryOf(await makeTestProvider(times)))
    const refused = await errorOf(receiveOffer(testWallet(services.fetch, services.clock, { attestKeys }).wallet, link))
    expect(refused.server).toMatchObject({ error: 'invalid_proof' })
  })
})
