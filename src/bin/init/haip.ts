/** Makes what `vouchsafe init --profile haip` writes beside the files of each service, and explains it. */
import { TEST_PROVIDER_NAME } from '../../config/client-authentication.ts'
import { privateKeyPem } from '../../keys/file-signer.ts'
import { toPem } from '../../keys/make-certificate.ts'
import { PRIVATE } from '../files/directory.ts'
import type { CredentialServiceName } from '../service/credential-services.ts'
import { commandName, shellWord } from '../terminal/command-line.ts'
import { PROVIDER_CERTIFICATE, PROVIDER_KEY } from '../wallet/test-attestation.ts'
import { isInImage, startStep } from './image-texts.ts'
import { type CertificateTimes, certifyByTestCa, makeKeyPair } from './test-ca.ts'

export const TEST_PROVIDER = 'test-provider'
const PROVIDERS = 'conf/wallet-providers'
const PAGE = 'http://localhost:8078/wallet'

export const haipSettings: Readonly<Record<CredentialServiceName, object>> = {
  issuer: {
    profile: 'haip',
    authentication: { interactionUrl: PAGE, offers: 'trusted' },
    walletProviderTrustAnchors: PROVIDERS,
    keyAttestationTrustAnchors: PROVIDERS,
  },
  verifier: { profile: 'haip' },
}

/** Makes a test wallet provider, and the trust anchor for it. */
export async function makeTestProvider(validity: CertificateTimes) {
  const pair = await makeKeyPair()
  const { certificate, ca } = await certifyByTestCa(pair, { commonName: TEST_PROVIDER_NAME, validity })
  return [
    { path: `${PROVIDERS}/${TEST_PROVIDER}.pem`, text: toPem(ca), mode: 0o644 },
    { path: `${TEST_PROVIDER}/${PROVIDER_KEY}`, text: privateKeyPem(pair.privateKey), mode: PRIVATE },
    { path: `${TEST_PROVIDER}/${PROVIDER_CERTIFICATE}`, text: toPem(certificate), mode: 0o644 },
  ]
}

export const providerFilesText = `  ${PROVIDERS}/
  ${''.padEnd(20)}  the certificates of the providers of wallets you trust
  ${`${TEST_PROVIDER}/`.padEnd(20)}  one that attests any wallet, for tests: take it and
  ${''.padEnd(20)}  its certificate out before others use this issuer
`

export const haipSettingsText: Readonly<Record<CredentialServiceName, string>> = {
  issuer: `  profile               haip: the authorization code flow with pushed requests,
                        DPoP and wallet attestations, and nothing else
  authentication        interactionUrl: the page where your application asks
                        people. offers: trusted lets whoever has an offer take
                        it unasked; take that out once the page is there
`,
  verifier: `  profile               haip: every response is encrypted
`,
}

/** Returns the next steps with an issuer, up to a credential in the wallet. */
export function haipNext({ directory, port, apiKey }: { directory: string; port: number; apiKey: string }): string {
  const api = `http://localhost:${port}`
  return `Next:

  1. ${startStep('issuer', directory)}
  2. In another terminal, attest the wallet of this machine, and declare what is
     issued; the answer is the id of the configuration:

       cd ${isInImage() ? 'ISSUER-DIR' : shellWord(directory)}
       ${commandName()} wallet attest ${TEST_PROVIDER}
       curl ${api}/credential-configuration/create \\
         -H 'Authorization: Bearer ${apiKey}' \\
         -H 'Content-Type: application/json' \\
         -d '{"format": "dc+sd-jwt", "vct": "urn:example:student-card",
              "scope": "student_card", "batch_size": 10}'

  3. Offer it, and receive it with the credential_offer_uri of the answer:

       curl ${api}/issuance/oid4vci/new-session \\
         -H 'Authorization: Bearer ${apiKey}' \\
         -H 'Content-Type: application/json' \\
         -d '{"credential_configurations": ["ID"], "refresh_seconds": 86400,
              "credential_dataset": {"given_name": "Ada"}}'
       ${commandName()} wallet receive 'haip-vci://…'
`
}
