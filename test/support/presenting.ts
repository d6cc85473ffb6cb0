/** An issuer that finds out who a person is by another credential, which the verifier beside it asks for. */
import { type Outbound, OutboundError } from '../../src/http/outbound.ts'
import { type VerifierCollections, verifierMigrations } from '../../src/verifier/collections.ts'
import { declareWithScope, SCOPE, startCodeFlow, visit } from './code-flow.ts'
import { API_KEY, outboundBy, type ServiceOptions, type Services, startServices, VERIFIER_URL } from './services.ts'
import { type AtPage, SIGN_IN } from './sign-in.ts'
import { openTestStore } from './store.ts'
import { call, dcqlQuery } from './wire.ts'

export const presentedDatasets = {
  [SCOPE]: {
    claims: { credentialSubject: { given_name: ['card', 'credentialSubject', 'given_name'] } },
    constants: { credentialSubject: { library: 'Example Library' } },
  },
}

export interface Presenting {
  readonly services: Services
  /** The connection from the issuer to the verifier, which a test can change. */
  readonly way: { outbound: Outbound | undefined }
  readonly close: () => Promise<void>
}

/** Starts services whose issuer asks the verifier beside it, with a configuration that wallets can ask for. */
export async function startPresenting(
  options: ServiceOptions = {},
  settings: object = {},
  query: object = dcqlQuery,
): Promise<Presenting> {
  const verifierStore = await openTestStore<VerifierCollections>(verifierMigrations)
  // The query has to be there before the issuer, whose settings name it.
  const first = await startServices({ verifierStore })
  const created = await call(first, `${VERIFIER_URL}/verification-query/create`, { dcql_query: query })
  const verificationQueryId = await created.text()
  const presentation = {
    ...{ verifier: VERIFIER_URL, apiKey: API_KEY, verificationQueryId, datasets: presentedDatasets },
    ...settings,
  }
  const way: Presenting['way'] = { outbound: undefined }
  const direct = { outbound: refuseConnections }
  const outbound: Outbound = (request) => (way.outbound ?? direct.outbound)(request)
  const services = await startCodeFlow({ authentication: { presentation } }, { ...options, verifierStore, outbound })
  direct.outbound = outboundBy(services.fetch)
  await declareWithScope(services)
  const close = async () => {
    await services.close()
    await Promise.all([first.issuer.close(), first.verifier.close(), first.issuerStore.close()])
  }
  return { services, way, close }
}

const refuseConnections: Outbound = () => Promise.reject(new OutboundError('nobody listens yet'))

/** Opens the page with the link for the wallet. */
export function openLinkPage(services: Services, { browser, interaction }: AtPage): Promise<Response> {
  return visit(services, browser, `${SIGN_IN}/start?interaction=${interaction}`)
}
