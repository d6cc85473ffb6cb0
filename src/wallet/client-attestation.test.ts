/** A wallet with an attestation of its provider receives from an issuer that takes no other wallets. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Attester } from '../../test/support/attestation.ts'
import { ISSUER_URL, type Services, startServices } from '../../test/support/services.ts'
import { errorOf, testWallet } from '../../test/support/wallet.ts'
import {
  makeInstance,
  makeProvider,
  trustingProvider,
  WALLET,
  walletAttestation,
} from '../../test/support/wallet-attestation.ts'
import { startIssuance } from '../../test/support/wire.ts'
import { readJws } from '../codec/jws.ts'
import { makeAttestationHeaders } from './client-attestation.ts'
import { receiveOffer } from './receive.ts'

let services: Services
let provider: Attester
beforeAll(async () => {
  provider = await makeProvider()
  services = await startServices(trustingProvider(provider))
})
afterAll(() => services.close())

async function attested(by = provider) {
  const instance = await makeInstance(by)
  return { jwt: await walletAttestation(instance, services.clock.now), key: instance.key }
}

describe('a wallet with an attestation', () => {
  it('receives from an issuer that takes no other wallets', async () => {
    const { wallet, steps } = testWallet(services.fetch, services.clock, { attestation: await attested() })
    const { link } = await startIssuance(services)
    expect(await receiveOffer(wallet, link)).toHaveLength(1)
    expect(steps.map(({ what }) => what)).toContain('fetched a challenge')
  })

  it('names itself as the issuer of its proof, as draft 7 has it, which HAIP 1.0 names', async () => {
    const { wallet } = testWallet(services.fetch, services.clock, { attestation: await attested() })
    const issuer = { issuer: ISSUER_URL, token_endpoint_auth_methods_supported: ['attest_jwt_client_auth'] }
    const { 'oauth-client-attestation-pop': pop = '' } = await makeAttestationHeaders(wallet, issuer)
    expect(readJws(pop).payload).toMatchObject({ iss: WALLET, aud: ISSUER_URL })
  })

  it('is told why when the issuer does not trust its provider, and so is one without', async () => {
    const { link } = await startIssuance(services)
    const stranger = testWallet(services.fetch, services.clock, { attestation: await attested(await makeProvider()) })
    const refused = await errorOf(receiveOffer(stranger.wallet, link))
    expect([refused.code, refused.server?.error]).toEqual(['refused', 'invalid_client_attestation'])
    const without = await errorOf(receiveOffer(testWallet(services.fetch, services.clock).wallet, link))
    expect([without.code, without.server?.error]).toEqual(['refused', 'invalid_client'])
  })

  it('keeps it to itself where the issuer takes none', async () => {
    const plain = await startServices()
    const { wallet, steps } = testWallet(plain.fetch, plain.clock, { attestation: await attested() })
    const { link } = await startIssuance(plain)
    expect(await receiveOffer(wallet, link)).toHaveLength(1)
    expect(steps.map(({ what }) => what)).not.toContain('fetched a challenge')
    await plain.close()
  })
})
