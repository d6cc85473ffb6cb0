/**
 * Each format through both services and the wallet, over HTTP: what is issued can be held, and presented, and is
 * verified.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { formatDetails } from '../../src/bin/wallet/text.ts'
import type { Json, JsonObject } from '../../src/codec/json.ts'
import { readJws, writeJws } from '../../src/codec/jws.ts'
import { createSigner } from '../../src/keys/file-signer.ts'
import type { VerificationReport } from '../../src/verifier/verification.ts'
import { decline, planPresentation, sendPresentation } from '../../src/wallet/present.ts'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { profiles, queryFor } from '../support/profiles.ts'
import { ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { changing, errorOf, testWallet } from '../support/wallet.ts'
import { call, dataset, declare, startIssuance, startVerification, statusOf } from '../support/wire.ts'

describe.each(profiles)('a credential of the format $format', (profile) => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  const { root } = profile
  const issued = async (more: JsonObject = {}, data: unknown = dataset) => {
    const id = await declare(services, { ...profile.configuration, ...more })
    const { link } = await startIssuance(services, { credential_configurations: [id], credential_dataset: data })
    const made = testWallet(services.fetch, services.clock)
    return { ...made, id, stored: await receiveOffer(made.wallet, link) }
  }
  const verified = async (wallet: Awaited<ReturnType<typeof issued>>['wallet'], query: JsonObject) => {
    const { sessionId, link } = await startVerification(services, { credentials: [query] })
    const plan = await planPresentation(wallet, link)
    await sendPresentation(wallet, plan)
    const { status, result } = await statusOf(services, VERIFIER_URL, sessionId)
    expect(status).toBe('VERIFICATION_SUCCEEDED')
    return (result as VerificationReport).credentials.card?.[0]
  }
  /** Returns the claims of a report that a query below the root has to find. */
  const below = (claims: unknown) => root.reduce((inner: unknown, name) => (inner as JsonObject)[name], claims)

  it('goes from the issuer to the wallet and from there to the verifier', async () => {
    const { wallet, stored } = await issued()
    expect(stored).toMatchObject([{ format: profile.format, issuer: ISSUER_URL, claims: {} }])
    const shown = await verified(wallet, queryFor(profile))
    expect(shown).toMatchObject({
      format: profile.format,
      issuer_certificate: { subject: 'CN=issuer.localhost', anchor: { subject: 'CN=issuer.localhost' } },
    })
    expect(below(shown?.claims)).toEqual(profile.sdJwt ? { given_name: 'Ada' } : dataset.credentialSubject)
  })

  it('is shown by the wallet with its claims, and without what is there to secure it', async () => {
    const { stored } = await issued()
    const [credential] = stored
    if (credential === undefined) throw new Error('nothing was stored')
    const text = formatDetails(credential)
    for (const shown of ['Lovelace', 'London', 'MSc', profile.format, ISSUER_URL]) expect(text).toContain(shown)
    expect(text).not.toMatch(/\b(cnf|kty|_sd\w*|exp|iss)\b/)
  })

  it('answers a query for nested claims and for elements', async () => {
    const { wallet } = await issued()
    const claims = [
      { path: [...root, 'address', 'city'], values: ['London'] },
      { path: [...root, 'degrees', 1] },
      { path: [...root, 'degrees', null] },
    ]
    const shown = await verified(wallet, { ...(queryFor(profile) as unknown as JsonObject), claims })
    const { address, degrees } = dataset.credentialSubject
    expect(below(shown?.claims)).toMatchObject({ address, degrees })
  })

  it('is called by its type where the issuer gives it no name, and by the name otherwise', async () => {
    const types = (Object.values(profile.meta)[0] as Json[]).flat()
    const bare = await issued({ credential_metadata: {} })
    expect(types).toContain(bare.stored[0]?.name)
    const named = await issued({ credential_metadata: { display: [{ name: 'Card of Ada' }] } })
    expect(named.stored[0]?.name).toBe('Card of Ada')
  })

  it('is not kept when it is not of the type that was offered', async () => {
    const id = await declare(services, profile.configuration)
    const { link } = await startIssuance(services, { credential_configurations: [id] })
    const other = JSON.parse(
      JSON.stringify(profile.configuration).replaceAll(/StudentCard|student-card/g, 'Ticket'),
    ) as Json
    const lying = changing(services.fetch, '/.well-known/openid-credential-issuer', async (response) => {
      const metadata = (await response.json()) as JsonObject
      const { [id]: ours } = metadata.credential_configurations_supported as Record<string, JsonObject>
      return Response.json({
        ...metadata,
        credential_configurations_supported: { [id]: { ...ours, ...(other as JsonObject) } },
      })
    })
    const { wallet, texts } = testWallet(lying, services.clock)
    const error = await errorOf(receiveOffer(wallet, link))
    expect([error.code, error.message]).toEqual([
      'invalid_credential',
      expect.stringMatching(/not of the type .*Ticket/),
    ])
    expect(texts.size).toBe(0)
  })

  it('does not answer a query for another type, and the wallet says what it has not', async () => {
    const { wallet } = await issued()
    const meta = JSON.parse(
      JSON.stringify(profile.meta).replaceAll(/StudentCard|student-card/g, 'Ticket'),
    ) as JsonObject
    const { link } = await startVerification(services, { credentials: [{ ...queryFor(profile), meta }] })
    const plan = await planPresentation(wallet, link)
    expect(plan.problem).toMatch(/no credential of the type .*Ticket/)
    await decline(wallet, plan)
  })

  it('is not issued without a claim that is mandatory', async () => {
    const claims = [{ path: [...root, 'student_number'], mandatory: true }]
    const id = await declare(services, { ...profile.configuration, credential_metadata: { claims } })
    const response = await call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, {
      credential_dataset: dataset,
      credential_configurations: [id],
    })
    expect([response.status, await response.json()]).toEqual([
      400,
      {
        error: 'invalid_request',
        error_description: expect.stringMatching(/student_number: this claim is mandatory/) as string,
      },
    ])
    const complete = { credentialSubject: { ...dataset.credentialSubject, student_number: '1' } }
    expect((await issued({ credential_metadata: { claims } }, complete)).stored).toHaveLength(1)
  })

  it('is not taken under the type of another format', async () => {
    const foreign = { vct: 'urn:a', doctype: 'a', credential_definition: { type: ['VerifiableCredential'] } }
    for (const [member, value] of Object.entries(foreign)) {
      if (Object.hasOwn(profile.configuration, member)) continue
      const posted = { ...profile.configuration, [member]: value }
      const response = await call(services, `${ISSUER_URL}/credential-configuration/create`, posted)
      expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(`${member}: `)])
    }
  })
})

it('an SD-JWT VC without iss is kept under the name of its certificate', async () => {
  const services = await startServices()
  const profile = profiles.find(({ format }) => format === 'dc+sd-jwt')
  const id = await declare(services, profile?.configuration)
  const { link } = await startIssuance(services, { credential_configurations: [id] })
  const signer = createSigner(services.issuerKey, [])
  const unnamed = changing(services.fetch, '/credential-request', async (response) => {
    const { credentials } = (await response.json()) as { credentials: { credential: string }[] }
    const [jwt = '', ...disclosures] = (credentials[0]?.credential ?? '').split('~')
    const { header, payload } = readJws(jwt)
    Reflect.deleteProperty(payload, 'iss')
    const signed = await writeJws(header, payload, (data) => signer.sign(data))
    return Response.json({ credentials: [{ credential: [signed, ...disclosures].join('~') }] })
  })
  const [stored] = await receiveOffer(testWallet(unnamed, services.clock).wallet, link)
  expect(stored?.issuer).toBe('CN=issuer.localhost')
  await services.close()
})
