/** Credo (`@credo-ts/*`) as a wallet, and the rows it takes. */
import assert from 'node:assert/strict'
import { ORIGIN } from '../support/digital-credentials.ts'
import type { Services } from '../support/services.ts'
import { type CredoAgent, core, type StoredCredential, startAgent } from './credo/agent.ts'
import { answerPages, BY_BROWSER } from './pages.ts'
import type { Row, Step } from './rows.ts'
import { assertVerified, offerOf, requestOf } from './samples.ts'

/** Proves a key by itself where Credo can, and by a DID where its format wants one. */
async function bind(agent: CredoAgent, format: string): Promise<object> {
  const createKey = { type: { kty: 'EC', crv: 'P-256' } }
  if (format === 'dc+sd-jwt' || format === 'mso_mdoc') {
    const { publicJwk } = await agent.kms.createKey(createKey)
    return { method: 'jwk', keys: [core.Kms.PublicJwk.fromPublicJwk(publicJwk)] }
  }
  const { didState } = await agent.dids.create({ method: 'jwk', options: { createKey } })
  return { method: 'did', didUrls: [`${didState.did}#0`] }
}

async function receive(agent: CredoAgent, link: string, format: string, step: Step): Promise<StoredCredential> {
  const { holder } = agent.openid4vc
  const resolvedCredentialOffer = await step('offer', () => holder.resolveCredentialOffer(link))
  // The wallet binds its token wherever the metadata names algorithms for that.
  const { accessToken, cNonce, dpop } = await step('token', () => holder.requestToken({ resolvedCredentialOffer }))
  return step('credential', async () => {
    const { credentials } = await holder.requestCredentials({
      resolvedCredentialOffer,
      accessToken,
      ...(dpop && { dpop }),
      ...(cNonce === undefined ? {} : { cNonce }),
      credentialBindingResolver: () => bind(agent, format),
    })
    return credentials[0]?.record ?? assert.fail('no credential')
  })
}

function store(agent: CredoAgent, record: StoredCredential): Promise<object> {
  const stores: Readonly<Record<string, { store(options: object): Promise<object> }>> = {
    SdJwtVcRecord: agent.sdJwtVc,
    MdocRecord: agent.mdoc,
    W3cCredentialRecord: agent.w3cCredentials,
    W3cV2CredentialRecord: agent.w3cV2Credentials,
  }
  return stores[record.type]?.store({ record }) ?? assert.fail(`no store for ${record.type}`)
}

/** Answers a request: by its link, or as the browser hands it over with the origin of the page. */
async function accept(
  agent: CredoAgent,
  request: string | object,
  step: Step,
  options: { readonly origin?: string } = {},
) {
  const { holder } = agent.openid4vc
  const resolved = await step('request', () => holder.resolveOpenId4VpAuthorizationRequest(request, options))
  const credentials = await step('choice', () => {
    const queryResult = resolved.dcql?.queryResult ?? assert.fail('no DCQL query')
    assert.equal(queryResult.can_be_satisfied, true, JSON.stringify(queryResult))
    return holder.selectCredentialsForDcqlRequest(queryResult)
  })
  const { authorizationRequestPayload } = resolved
  return step('presentation', () =>
    holder.acceptOpenId4VpAuthorizationRequest({ authorizationRequestPayload, dcql: { credentials }, ...options }),
  )
}

/** Presents the credential of a format to the verifier, one way or the other. */
type Present = (services: Services, format: string, agent: CredoAgent, step: Step) => Promise<void>

const presentByLink: Present = async (services, format, agent, step) => {
  const { sessionId, link } = await requestOf(services, format)
  const { serverResponse } = await accept(agent, link, step)
  assert.deepEqual([serverResponse?.status, serverResponse?.body], [200, {}])
  await step('verification', () => assertVerified(services, format, sessionId))
}

const presentToPages: Present = (services, format, agent, step) =>
  answerPages(services, format, step, async (request) => {
    const { authorizationResponse } = await accept(agent, request, step, { origin: ORIGIN })
    return authorizationResponse
  })

async function receiveAndPresent(services: Services, format: string, present: Present, step: Step): Promise<void> {
  const trusted = ['anchors/0.pem', 'verifier.pem'].map((name) => services.files.get(name) ?? '')
  const agent = await startAgent(services.fetch, trusted)
  try {
    const { link } = await offerOf(services, format)
    const record = await receive(agent, link, format, step)
    await step('storage', () => store(agent, record))
    await present(services, format, agent, step)
  } finally {
    await agent.shutdown()
  }
}

function row(format: string, fails?: Row['fails'], present: Present = presentByLink): Row {
  return {
    packages: ['@credo-ts/openid4vc', '@credo-ts/core'],
    role: 'wallet',
    specification: present === presentByLink ? 'OpenID4VCI 1.0, OpenID4VP 1.0' : BY_BROWSER,
    format,
    ...(fails ? { fails } : {}),
    run: (services, step) => receiveAndPresent(services, format, present, step),
  }
}

const WANTS_DID = {
  at: 'credential',
  error: /Unable to resolve did document for did 'http:/,
  because: 'Credo takes W3C credentials of issuers that are DIDs only; ours are named by a certificate',
}

/** Every format that Credo knows and we issue. */
export const credoRows: readonly Row[] = [
  row('dc+sd-jwt'),
  row('mso_mdoc'),
  row('dc+sd-jwt', undefined, presentToPages),
  row('mso_mdoc', undefined, presentToPages),
  row('jwt_vc_json', WANTS_DID),
  row('vc+sd-jwt', WANTS_DID),
  row('jwt_vc_json-ld', {
    at: 'credential',
    error: /does not match JWT regex/,
    because: 'Credo reads a plain JWT here; we issue an SD-JWT ([why](divergences/credential-formats.md#departures))',
  }),
]
