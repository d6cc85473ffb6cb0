/** A mobile document through both services and the wallet, over HTTP. */
import { createPublicKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/codec/json.ts'
import { makeSelfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'
import type { VerificationReport } from '../../src/verifier/verification.ts'
import { planPresentation, sendPresentation } from '../../src/wallet/present.ts'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { MDL, mdocConfiguration, mdocDataset, mdocQuery, NAMESPACE, OTHER_NAMESPACE } from '../support/mdoc.ts'
import { ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { changing, errorOf, testWallet } from '../support/wallet.ts'
import { call, declare, startIssuance, startVerification, statusOf } from '../support/wire.ts'

describe('a mobile document', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  const issued = async (fetch = services.fetch) => {
    const id = await declare(services, mdocConfiguration)
    const { link } = await startIssuance(services, {
      credential_configurations: [id],
      credential_dataset: mdocDataset,
    })
    const made = testWallet(fetch, services.clock)
    return { ...made, id, link }
  }
  const [usual] = mdocQuery.credentials
  const asked = async (wallet: Parameters<typeof planPresentation>[0], query: object = {}) => {
    const { sessionId, link } = await startVerification(services, { credentials: [{ ...usual, ...query }] })
    return { sessionId, plan: await planPresentation(wallet, link) }
  }

  it('is described to wallets with its type, in the words of COSE', async () => {
    const { id } = await issued()
    const response = await services.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer`)
    const { credential_configurations_supported: all } = (await response.json()) as Record<string, JsonObject>
    expect(all?.[id]).toMatchObject({
      format: 'mso_mdoc',
      doctype: MDL,
      credential_signing_alg_values_supported: [-7],
      cryptographic_binding_methods_supported: expect.arrayContaining(['cose_key']) as string[],
    })
  })

  it('goes from the issuer to the wallet and from there to the verifier, with what was asked for and no more', async () => {
    const { wallet, link } = await issued()
    const [stored] = await receiveOffer(wallet, link)
    expect(stored).toMatchObject({ format: 'mso_mdoc', name: 'Driving licence', types: [MDL] })
    expect(stored?.disclosable).toHaveLength(8)
    const claims = [
      { path: [NAMESPACE, 'family_name'], values: ['Lovelace'] },
      { path: [NAMESPACE, 'birth_date'], values: ['1815-12-10'] },
      { path: [NAMESPACE, 'driving_privileges'], intent_to_retain: true },
      { path: [OTHER_NAMESPACE, 'height'] },
    ]
    const { sessionId, plan } = await asked(wallet, { claims })
    await sendPresentation(wallet, plan)
    const { status, result } = await statusOf(services, VERIFIER_URL, sessionId)
    expect(status).toBe('VERIFICATION_SUCCEEDED')
    expect((result as VerificationReport).credentials.licence?.[0]).toMatchObject({
      format: 'mso_mdoc',
      issuer_certificate: { subject: 'CN=issuer.localhost', anchor: { subject: 'CN=issuer.localhost' } },
      type: [MDL],
      holder_key_thumbprint: expect.stringMatching(/^[\w-]{43}$/) as string,
      valid_from: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      valid_until: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    })
    expect((result as VerificationReport).credentials.licence?.[0]?.claims).toEqual({
      [NAMESPACE]: {
        family_name: 'Lovelace',
        birth_date: '1815-12-10',
        driving_privileges: mdocDataset[NAMESPACE].driving_privileges,
      },
      [OTHER_NAMESPACE]: { height: 1.67 },
    })
  })

  it('is shown without any element where none was asked for', async () => {
    const { wallet, link } = await issued()
    await receiveOffer(wallet, link)
    const { sessionId, plan } = await asked(wallet, { claims: undefined })
    await sendPresentation(wallet, plan)
    const { status, result } = await statusOf(services, VERIFIER_URL, sessionId)
    expect(status).toBe('VERIFICATION_SUCCEEDED')
    expect((result as VerificationReport).credentials.licence?.[0]?.claims).toEqual({})
  })

  it('does not answer a query for another type, or for an element that it lacks', async () => {
    const { wallet, link } = await issued()
    await receiveOffer(wallet, link)
    const other = await errorOf(asked(wallet, { meta: { doctype_value: 'org.example.other' } }).then(send))
    expect(other.code).toBe('cannot_answer')
    const element = await errorOf(asked(wallet, { claims: [{ path: [NAMESPACE, 'weight'] }] }).then(send))
    expect(element.code).toBe('cannot_answer')

    function send({ plan }: Awaited<ReturnType<typeof asked>>) {
      return sendPresentation(wallet, plan)
    }
  })

  it('is not said to be bound by a signature that nobody asked for', async () => {
    const { wallet, link } = await issued()
    await receiveOffer(wallet, link)
    const { sessionId, plan } = await asked(wallet, { require_cryptographic_holder_binding: false })
    await sendPresentation(wallet, plan)
    const { result } = await statusOf(services, VERIFIER_URL, sessionId)
    const holder = (result as VerificationReport).credentials.licence?.[0]?.checks.filter(({ id }) =>
      /^holder\.[bsnaf]/.test(id),
    )
    expect(holder?.map(({ outcome, detail }) => [outcome, detail])).toEqual(
      Array(6).fill(['not_applicable', 'the query does not require holder binding']),
    )
  })

  it('is not kept when it is not of the type that was offered', async () => {
    const lying = changing(services.fetch, '/.well-known/openid-credential-issuer', async (response) => {
      const text = await response.text()
      return new Response(text.replaceAll(MDL, 'org.example.other'), response)
    })
    const { wallet, link, texts } = await issued(lying)
    const error = await errorOf(receiveOffer(wallet, link))
    expect([error.code, error.message]).toEqual([
      'invalid_credential',
      expect.stringMatching(/not of the type org\.example\.other/) as string,
    ])
    expect(texts.size).toBe(0)
  })

  it.each([[['family_name']], [[NAMESPACE]], [[NAMESPACE, 0]], [[null, 'family_name']]])(
    'is not declared with a claim at %j',
    async (path) => {
      const response = await call(services, `${ISSUER_URL}/credential-configuration/create`, {
        ...mdocConfiguration,
        credential_metadata: { claims: [{ path }] },
      })
      expect([response.status, await response.text()]).toEqual([
        400,
        expect.stringContaining('credential_metadata.claims[0].path: must begin with two strings') as string,
      ])
    },
  )

  it.each<[string, unknown]>([
    ['credential_dataset', {}],
    [`credential_dataset["${NAMESPACE}"]`, { [NAMESPACE]: {} }],
    [`credential_dataset["${NAMESPACE}"]`, { [NAMESPACE]: 'Ada' }],
    [`credential_dataset["${NAMESPACE}"].birth_date`, { [NAMESPACE]: { birth_date: '10.12.1815' } }],
    [`credential_dataset["${NAMESPACE}"].birth_date`, { [NAMESPACE]: { birth_date: '2026-02-30' } }],
    [`credential_dataset["${NAMESPACE}"].portrait`, { [NAMESPACE]: { portrait: 'a picture of Ada' } }],
    [
      `credential_dataset["${NAMESPACE}"].driving_privileges[0].issue_date`,
      { [NAMESPACE]: { driving_privileges: [{ issue_date: 'soon' }] } },
    ],
    [`credential_dataset.${NAMESPACE}.name`, { [NAMESPACE]: { name: '\ud800' } }],
    ['credential_dataset.a.b.__proto__', { a: { b: JSON.parse('{"__proto__":1}') as unknown } }],
    ['family_name', { [NAMESPACE]: { given_name: 'Ada' } }],
  ])('is not issued from a dataset that is wrong at %s', async (path, dataset) => {
    const id = await declare(services, mdocConfiguration)
    const response = await call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, {
      credential_dataset: dataset,
      credential_configurations: [id],
    })
    const { error_description: why } = (await response.json()) as { error_description: string }
    expect([response.status, why]).toEqual([400, expect.stringContaining(path.replaceAll('"', "'")) as string])
  })
})

describe('with a certificate of this hour', () => {
  let services: Services
  afterAll(() => services.close())

  it('a mobile document is not dated before it, although its times are rounded', async () => {
    const hour = 3_600_000
    const notBefore = new Date((Math.floor(Date.now() / hour) - 24) * hour + hour / 2)
    services = await startServices({
      issuerCertificates: (privateKey) =>
        Promise.resolve(
          toPem(
            makeSelfSignedCertificate({
              privateKey,
              publicKey: createPublicKey(privateKey),
              commonName: 'issuer.localhost',
              uris: [ISSUER_URL],
              notBefore,
              notAfter: new Date(Date.now() + 24 * hour),
              serial: Buffer.of(7),
            }),
          ),
        ),
    })
    services.clock.now = new Date(notBefore.getTime() + 60_000)
    const id = await declare(services, mdocConfiguration)
    const { link } = await startIssuance(services, {
      credential_configurations: [id],
      credential_dataset: mdocDataset,
    })
    const { wallet } = testWallet(services.fetch, services.clock)
    await receiveOffer(wallet, link)
    const { sessionId, link: request } = await startVerification(services, mdocQuery)
    await sendPresentation(wallet, await planPresentation(wallet, request))
    expect((await statusOf(services, VERIFIER_URL, sessionId)).status).toBe('VERIFICATION_SUCCEEDED')
  })
})
