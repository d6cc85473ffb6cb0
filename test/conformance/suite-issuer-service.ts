/** Issuers for the suite's plans: the service, the wallets that the suite plays, and where its browser goes. */
import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BrowserPlaces, visitsPressing } from './suite-application.ts'
import { type SuiteService, startService } from './suite-service.ts'

const WALLET = 'https://wallet.example'

/** The ports of this machine where the issuer is, and the page at which people decide. */
export interface IssuerPorts {
  readonly issuer: number
  readonly page: number
}

/** An issuer, and the addresses between which the suite's browser goes. */
export interface DrivenIssuer {
  readonly service: SuiteService
  readonly places: BrowserPlaces
}

/**
 * Starts an issuer with its own authorization server. The files of the profile HAIP have a provider of wallets;
 * `settings` may leave the profile itself out.
 */
export async function startIssuerService(suite: URL, ports: IssuerPorts, settings: object = {}): Promise<DrivenIssuer> {
  const page = `http://localhost:${ports.page}/`
  const service = await startService(['issuer', '--profile', 'haip'], ports.issuer, ({ issuer }) => ({
    issuer: { ...issuer, identifier: 'base' },
    authentication: { interactionUrl: page },
    ...settings,
  }))
  return { service, places: { authorizationEndpoint: `${service.url}/auth/authorize`, page, suite: suite.href } }
}

/** Returns the configuration of a plan: the issuer, the wallets that the suite plays, and what its browser does. */
export function issuerPlanConfiguration({ service, places }: DrivenIssuer, configurationId: string) {
  const attester = attesterJwks(service)
  return {
    vci: { credential_issuer_url: service.url, credential_configuration_id: configurationId },
    client: { client_id: WALLET },
    client2: { client_id: `${WALLET}/second` },
    client_attestation: { issuer: WALLET, attester_jwks: attester, key_attestation_jwks: attester },
    browser: visitsPressing('approve', places),
  }
}

/** Returns the key of the test provider, which attests wallets and the keys of credentials. */
function attesterJwks({ directory }: SuiteService): object {
  const file = (name: string) => readFileSync(join(directory, 'test-provider', name), 'utf8')
  const x5c = [file('provider.pem').replaceAll(/-----.*-----|\s/g, '')]
  const jwk = createPrivateKey(file('provider.key')).export({ format: 'jwk' })
  return { keys: [{ ...jwk, alg: 'ES256', use: 'sig', kid: 'provider', x5c }] }
}
