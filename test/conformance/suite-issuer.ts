/** An issuer with its own authorization server and without a profile, for the suite's plan for such issuers. */
import { createIssuerClient, type IssuerClient } from '../../sdk/server/index.ts'
import { type Application, type IssuedCredential, startApplication } from './suite-application.ts'
import type { SuitePlan, SuiteTarget } from './suite-client.ts'
import { type DrivenIssuer, issuerPlanConfiguration, startIssuerService } from './suite-issuer-service.ts'

const PORTS = { issuer: 23_077, page: 23_076 }
const TX_CODE = '123456'

const person = { given_name: 'Ada', family_name: 'Lovelace' }
const formats = {
  // Without HAIP the suite looks for the key of a status list as `jwk` in the list's header.
  sd_jwt_vc: {
    configuration: { format: 'dc+sd-jwt', vct: 'urn:example:student-card', revocable: false, batch_size: 5 },
    dataset: person,
  },
  mdoc: {
    configuration: { format: 'mso_mdoc', doctype: 'org.example.student-card', batch_size: 5 },
    dataset: { 'org.example.student-card': person },
  },
}
/** How encrypted credentials are asked for: with key attestations too, so that each module of them has its turn. */
const encryptions = {
  plain: {},
  encrypted: { key_attestations_required: { key_storage: ['iso_18045_high'] } },
}
/**
 * The flows, and the authentication of the wallet. Modules about wallet attestations ask at the endpoint for pushed
 * requests, where no pre-authorized code comes by.
 */
const flows = [
  ['pre_authorization_code', 'issuer_initiated', 'private_key_jwt', 'simple'],
  ...['simple', 'rar'].flatMap((type) => [
    ['authorization_code', 'wallet_initiated', 'client_attestation', type],
    ['authorization_code', 'issuer_initiated', 'client_attestation', type],
  ]),
] as const

/** The parts that all plans of one issuer use. */
interface World {
  readonly issuer: DrivenIssuer
  readonly application: Application
}

/** A credential, and the suite's names of its format and of how it is asked for. */
interface Driven extends IssuedCredential {
  readonly format: string
  readonly encryption: string
}

/** Starts the issuer and its application, for a plan of each format, encryption and flow. */
export async function startIssuer(suite: URL): Promise<SuiteTarget> {
  const issuer = await startIssuerService(suite, PORTS, { profile: undefined })
  const credentials = await declareAll(createIssuerClient(issuer.service))
  const application = startApplication(issuer.service, PORTS.page, credentials)
  const world = { issuer, application }
  return {
    plans: credentials.flatMap((credential) => flows.map((flow) => planOf(world, credential, flow))),
    close: async () => {
      application.close()
      await issuer.service.close()
    },
  }
}

function declareAll(client: IssuerClient): Promise<Driven[]> {
  const each = Object.entries(formats).flatMap(([format, { configuration, dataset }]) =>
    Object.entries(encryptions).map(async ([encryption, more]) => {
      const scope = `student_card_${format}_${encryption}`
      const configurationId = await client.createConfiguration({ ...configuration, ...more, scope })
      return { format, encryption, dataset, configurationId }
    }),
  )
  return Promise.all(each)
}

function planOf(
  world: World,
  credential: Driven,
  [grant, initiator, wallet, request]: (typeof flows)[number],
): SuitePlan {
  const isByCode = grant === 'authorization_code'
  const offered = isByCode ? credential : { ...credential, txCode: TX_CODE }
  return {
    name: 'oid4vci-1_0-issuer-test-plan',
    variant: {
      fapi_profile: 'vci',
      fapi_request_method: 'unsigned',
      sender_constrain: 'dpop',
      credential_format: credential.format,
      vci_credential_encryption: credential.encryption,
      vci_grant_type: grant,
      vci_authorization_code_flow_variant: initiator,
      client_auth_type: wallet,
      authorization_request_type: request,
    },
    configuration: configurationFor(world.issuer, credential.configurationId),
    answer: (run) => world.application.sendOffer(run, offered),
  }
}

/** Returns the configuration of a plan, with the transaction code of its offers. */
function configurationFor(issuer: DrivenIssuer, configurationId: string): object {
  const { vci, ...others } = issuerPlanConfiguration(issuer, configurationId)
  return { ...others, vci: { ...vci, static_tx_code: TX_CODE } }
}
