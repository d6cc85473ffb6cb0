/** An issuer by the profile HAIP, and wallets that know nothing else. */
import type { KeyObject } from 'node:crypto'
import { toPem } from '../../src/keys/make-certificate.ts'
import { SCOPE, startCodeFlow } from './code-flow.ts'
import { type VisitorTerms, visitor } from './code-flow-visitor.ts'
import { type Authority, certify, makeAuthority } from './forge.ts'
import type { ServiceOptions, Services } from './services.ts'
import { type TestWallet, testWallet } from './wallet.ts'
import {
  makeInstance,
  makeProvider,
  trustingProvider,
  type WalletInstance,
  walletAttestation,
} from './wallet-attestation.ts'

export const haipCard = { format: 'dc+sd-jwt', vct: 'urn:example.edu:student-card', scope: SCOPE }

export interface HaipWorld {
  readonly services: Services
  readonly instance: WalletInstance
}

/** Makes the chain of a key by a CA, since the profile refuses self-signed certificates. */
function makeChain(ca: Authority, key: KeyObject): string {
  return toPem(certify(ca, key)) + toPem(ca.der)
}

/** The options of a verifier with the profile. */
export const haipVerifier: ServiceOptions = {
  verifier: { profile: 'haip' },
  verifierCertificates: async (key) => makeChain(await makeAuthority('Example CA'), key),
}

/** Starts services whose issuer has the profile and nothing more than it needs. */
export async function startHaip(
  settings: Record<string, unknown> = {},
  more: Pick<ServiceOptions, 'issuerStore'> = {},
): Promise<HaipWorld> {
  const [provider, ca] = [await makeProvider(), await makeAuthority('Example CA')]
  const { issuer, files } = trustingProvider(provider)
  const { walletProviderTrustAnchors } = issuer as { walletProviderTrustAnchors: string }
  const services = await startCodeFlow(
    { profile: 'haip', walletProviderTrustAnchors, ...settings },
    {
      ...more,
      ...(files && { files }),
      anchors: [toPem(ca.der)],
      issuerCertificates: (key) => Promise.resolve(makeChain(ca, key)),
    },
  )
  return { services, instance: await makeInstance(provider) }
}

/** Makes a reference wallet with an attestation, and the browser of its person. */
export async function haipWallet(
  { services, instance }: HaipWorld,
  terms: VisitorTerms = {},
): Promise<TestWallet & { readonly sessions: () => readonly string[] }> {
  const { browser, sessions } = visitor(services, terms)
  const exp = Math.floor(services.clock.now.getTime() / 1000) + 86_400
  const attestation = {
    jwt: await walletAttestation(instance, services.clock.now, { payload: { exp } }),
    key: instance.key,
  }
  return { ...testWallet(services.fetch, services.clock, { openBrowser: browser, attestation }), sessions }
}
