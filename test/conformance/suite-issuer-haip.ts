/** An issuer with its own authorization server by HAIP, for the suite's plan for such issuers. */
import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createIssuerClient } from '../../sdk/server/index.ts'
import { startApplication, visitsLookingFirst, visitsPressing } from './suite-application.ts'
import type { SuiteTarget } from './suite-client.ts'
import { type SuiteService, startService } from './suite-service.ts'

const PORT = 23_079
const ISSUER = `https://localhost:${PORT}`
const PAGE_PORT = 23_078
const PAGE = `http://localhost:${PAGE_PORT}/`
const FLOWS = ['wallet_initiated', 'issuer_initiated']
const USER_REJECTS = 'fapi2-security-profile-final-user-rejects-authentication'
const VISITED_TWICE = 'fapi2-security-profile-final-par-ensure-reused-request-uri-prior-to-auth-completion-succeeds'
const WALLET = 'https://wallet.example'

const common = { batch_size: 5, key_attestations_required: { key_storage: ['iso_18045_high'] } }
const person = { given_name: 'Ada', family_name: 'Lovelace' }
const formats = [
  {
    suiteName: 'sd_jwt_vc',
    configuration: {
      ...common,
      format: 'dc+sd-jwt',
      vct: `${ISSUER}/type-metadata/student-card`,
      type_metadata: { name: 'Student card', claims: [{ path: ['given_name'], sd: 'always', mandatory: true }] },
      scope: 'student_card',
    },
    dataset: person,
  },
  {
    suiteName: 'mdoc',
    configuration: { ...common, format: 'mso_mdoc', doctype: 'org.example.student-card', scope: 'student_card_mdoc' },
    dataset: { 'org.example.student-card': person },
  },
]

/** Starts the issuer and its application, for a plan of each format and flow. */
export async function startIssuerByHaip(suite: URL): Promise<SuiteTarget> {
  const issuer = await startService(['issuer', '--profile', 'haip'], PORT, (settings) => ({
    issuer: { ...settings.issuer, identifier: 'base' },
    authentication: { interactionUrl: PAGE },
  }))
  const client = createIssuerClient(issuer)
  const credentials = await Promise.all(
    formats.map(async ({ suiteName, configuration, dataset }) => {
      return { suiteName, dataset, configurationId: await client.createConfiguration(configuration) }
    }),
  )
  const application = startApplication(issuer, PAGE_PORT, credentials)
  return {
    plans: credentials.flatMap((credential) =>
      FLOWS.map((flow) => ({
        name: 'oid4vci-1_0-issuer-haip-test-plan',
        variant: { credential_format: credential.suiteName, vci_authorization_code_flow_variant: flow },
        configuration: configurationFor(issuer, suite, credential.configurationId),
        answer: (run) => application.sendOffer(run, credential),
      })),
    ),
    close: async () => {
      application.close()
      await issuer.close()
    },
  }
}

/** Returns the configuration of a plan: the issuer, the wallets that the suite plays, and what its browser does. */
function configurationFor(issuer: SuiteService, suite: URL, configurationId: string): object {
  const anchor = readFileSync(join(issuer.directory, 'conf', 'issuer-ca.pem'), 'utf8')
  const attester = attesterJwks(issuer)
  const places = { authorizationEndpoint: `${issuer.url}/auth/authorize`, page: PAGE, suite: suite.href }
  return {
    vci: { credential_issuer_url: issuer.url, credential_configuration_id: configurationId },
    client: { client_id: WALLET },
    client2: { client_id: `${WALLET}/second` },
    client_attestation: { issuer: WALLET, attester_jwks: attester, key_attestation_jwks: attester },
    credential: { trust_anchor_pem: anchor, status_list_trust_anchor_pem: anchor },
    browser: visitsPressing('approve', places),
    override: {
      [USER_REJECTS]: { browser: visitsPressing('deny', places) },
      [VISITED_TWICE]: { browser: visitsLookingFirst(places) },
    },
  }
}

/** Returns the key of the test provider, which attests wallets and the keys of credentials. */
export function attesterJwks({ directory }: SuiteService): object {
  const file = (name: string) => readFileSync(join(directory, 'test-provider', name), 'utf8')
  const x5c = [file('provider.pem').replaceAll(/-----.*-----|\s/g, '')]
  const jwk = createPrivateKey(file('provider.key')).export({ format: 'jwk' })
  return { keys: [{ ...jwk, alg: 'ES256', use: 'sig', kid: 'provider', x5c }] }
}
