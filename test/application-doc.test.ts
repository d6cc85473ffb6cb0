/**
 * Tests that what docs/issuing.md, docs/verifying.md and the page on external-authorization-server.md let an
 * application send is taken.
 */
import { afterEach, expect, it } from 'vitest'
import { snippetWith } from './support/documents.ts'
import { ISSUER_URL, type Services, startServices, VERIFIER_URL } from './support/services.ts'
import {
  call,
  codeOf,
  configuration,
  dcqlQuery,
  declare,
  GRANT,
  holderSigner,
  issueCredential,
  postForm,
  presentationOf,
  startIssuance,
  startVerification,
  statusOf,
} from './support/wire.ts'

const ISSUING = 'docs/issuing.md'
const VERIFYING = 'docs/verifying.md'

let services: Services
afterEach(() => services.close())

const json = (page: string, text: string) => JSON.parse(snippetWith(page, text)) as Record<string, unknown>

const mdoc = {
  format: 'mso_mdoc',
  doctype: 'org.iso.18013.5.1.mDL',
  credential_metadata: { claims: [{ path: ['org.iso.18013.5.1', 'family_name'] }] },
}
const sdJwt = { format: 'dc+sd-jwt', vct: 'urn:example.edu:student-card' }

it('a dataset of an mdoc is taken', async () => {
  services = await startServices()
  const dataset = json(ISSUING, 'driving_privileges')
  await startIssuance(services, {
    credential_configurations: [await declare(services, mdoc)],
    credential_dataset: dataset,
  })
})

it('one dataset fills every format at once', async () => {
  services = await startServices()
  const ids = await Promise.all([configuration, mdoc, sdJwt].map((posted) => declare(services, posted)))
  const dataset = json(ISSUING, '"credentialSubject": { "given_name": "Ada", "family_name": "Lovelace" },')
  await startIssuance(services, { credential_configurations: ids, credential_dataset: dataset })
})

it('the data of a deferred session comes later', async () => {
  services = await startServices()
  const { sessionId } = await startIssuance(services, { deferred: true, credential_dataset: undefined })
  const data = json(ISSUING, '{ "credential_dataset": {')
  const response = await call(services, `${ISSUER_URL}/issuance/oid4vci/complete/${sessionId}`, data)
  expect(response.status).toBe(200)
  expect(await statusOf(services, ISSUER_URL, sessionId)).toMatchObject({ deferred: { state: 'COMPLETED' } })
})

it('a configuration asks for attested keys', async () => {
  services = await startServices({ issuer: { keyAttestationTrustAnchors: 'anchors' } })
  await declare(services, { ...configuration, ...json(ISSUING, 'key_attestations_required') })
})

it('the status of a session has the last refusal of a wallet', async () => {
  services = await startServices()
  const { sessionId } = await startIssuance(services, { tx_code: {} })
  const code = await codeOf(services, sessionId)
  const form = { grant_type: GRANT, 'pre-authorized_code': code, tx_code: '00000a' }
  for (let attempt = 0; attempt < 2; attempt++) {
    await postForm(services, `${ISSUER_URL}/auth/token-endpoint/${sessionId}`, form)
  }
  await services.runTasks()
  const { problem } = await statusOf(services, ISSUER_URL, sessionId)
  expect({ ...(problem as object), at: 1_767_225_600 }).toEqual(json(ISSUING, '"endpoint": "token"'))
})

it('a code of another authorization server goes into the offer', async () => {
  const page = 'docs/how-to/external-authorization-server.md'
  const { authorizationServer, issuer } = json(page, '"authorizationServer"')
  services = await startServices({ issuer: { authorizationServer, issuer: { ...(issuer as object), id: ISSUER_URL } } })
  const body = json(page, '"pre-authorized_code": "Leh8')
  await startIssuance(services, { ...body, credential_configurations: [await declare(services)] })
})

it('a verification has transactions', async () => {
  services = await startServices()
  const { transaction_data } = json(VERIFYING, '"transaction_data"')
  const { request } = await startVerification(services, dcqlQuery, { transaction_data })
  expect(request.transaction_data).toHaveLength(1)
})

it('a report says who issued a credential, with the members that the page shows', async () => {
  services = await startServices()
  const holder = await holderSigner()
  const credential = await issueCredential(services, holder)
  const { sessionId, request } = await startVerification(services)
  const presentation = await presentationOf(credential, holder, request, services.clock)
  const form = { vp_token: JSON.stringify({ card: [presentation] }), state: request.state }
  await postForm(services, request.response_uri, form)
  const { result } = (await statusOf(services, VERIFIER_URL, sessionId)) as unknown as {
    readonly result: { readonly credentials: { readonly card: readonly Record<string, Record<string, object>>[] } }
  }
  const [report = {}] = result.credentials.card
  const shown = json(VERIFYING, '"issuer_certificate"') as Record<string, Record<string, object>>
  const membersOf = ({ issuer_certificate: { anchor = {}, ...own } = {} }: typeof shown) => [
    Object.keys(own),
    Object.keys(anchor),
  ]
  expect(membersOf(report)).toEqual(membersOf(shown))
})
