/** An issuer with its own authorization server by HAIP, for the suite's plan for such issuers. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createIssuerClient } from '../../sdk/server/index.ts'
import { startApplication, visitsLookingFirst, visitsPressing } from './suite-application.ts'
import type { SuiteTarget } from './suite-client.ts'
import { type DrivenIssuer, issuerPlanConfiguration, startIssuerService } from './suite-issuer-service.ts'

const PORTS = { issuer: 23_079, page: 23_078 }
const FLOWS = ['wallet_initiated', 'issuer_initiated']
const USER_REJECTS = 'fapi2-security-profile-final-user-rejects-authentication'
const VISITED_TWICE = 'fapi2-security-profile-final-par-ensure-reused-request-uri-prior-to-auth-completion-succeeds'

const common = { batch_size: 5, key_attestations_required: { key_storage: ['iso_18045_high'] } }
const person = { given_name: 'Ada', family_name: 'Lovelace' }
const formats = [
  {
    suiteName: 'sd_jwt_vc',
    configuration: {
      ...common,
      format: 'dc+sd-jwt',
      vct: `https://localhost:${PORTS.issuer}/type-metadata/student-card`,
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
  const issuer = await startIssuerService(suite, PORTS)
  const client = createIssuerClient(issuer.service)
  const credentials = await Promise.all(
    formats.map(async ({ suiteName, configuration, dataset }) => {
      return { suiteName, dataset, configurationId: await client.createConfiguration(configuration) }
    }),
  )
  const application = startApplication(issuer.service, PORTS.page, credentials)
  return {
    plans: credentials.flatMap((credential) =>
      FLOWS.map((flow) => ({
        name: 'oid4vci-1_0-issuer-haip-test-plan',
        variant: { credential_format: credential.suiteName, vci_authorization_code_flow_variant: flow },
        configuration: configurationFor(issuer, credential.configurationId),
        answer: (run) => application.sendOffer(run, credential),
      })),
    ),
    close: async () => {
      application.close()
      await issuer.service.close()
    },
  }
}

/** Returns the configuration of a plan, with the anchor of credentials, and the modules that press otherwise. */
function configurationFor(issuer: DrivenIssuer, configurationId: string): object {
  const { service, places } = issuer
  const anchor = readFileSync(join(service.directory, 'conf', 'issuer-ca.pem'), 'utf8')
  return {
    ...issuerPlanConfiguration(issuer, configurationId),
    credential: { trust_anchor_pem: anchor, status_list_trust_anchor_pem: anchor },
    override: {
      [USER_REJECTS]: { browser: visitsPressing('deny', places) },
      [VISITED_TWICE]: { browser: visitsLookingFirst(places) },
    },
  }
}
