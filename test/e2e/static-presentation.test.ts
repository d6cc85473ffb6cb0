/** A presentation that the application holds already, verified without a session. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CheckResult } from '../../src/check/check.ts'
import type { JsonObject } from '../../src/codec/json.ts'
import { formatOf } from '../../src/credential/formats.ts'
import type { VerificationReport } from '../../src/verifier/verification.ts'
import { MDL, mdocConfiguration, mdocDataset, NAMESPACE } from '../support/mdoc.ts'
import { profiles, queryFor } from '../support/profiles.ts'
import { type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { bindingTo, call, holderSigner, issueCredential } from '../support/wire.ts'

const URL = `${VERIFIER_URL}/presentation/oid4vp/static-presentation`
const [NONCE, AUDIENCE] = ['a nonce of the application', 'x509_hash:application']

describe('static-presentation', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  const made = async (
    profile = profiles[0] as (typeof profiles)[number],
    at = services.clock.now,
    audience = AUDIENCE,
  ) => {
    const holder = await holderSigner()
    const credential = await issueCredential(services, holder, profile.configuration)
    const places = profile.sdJwt ? [[...profile.root, 'given_name']] : []
    const presentation = await formatOf(profile.format)?.present(
      credential,
      places,
      bindingTo(NONCE, audience, at),
      holder,
    )
    return { dcql_query: { credentials: [queryFor(profile)] }, vp_token: { card: [presentation] } }
  }
  const post = async (body: object) => {
    const response = await call(services, URL, body)
    const answer = (await response.json()) as VerificationReport & { error?: string; error_description?: string }
    return { status: response.status, answer }
  }
  const outcomes = ({ checks, credentials }: VerificationReport): Record<string, CheckResult['outcome']> =>
    Object.fromEntries(
      [...checks, ...Object.values(credentials).flatMap((all) => all.flatMap((one) => one.checks))].map((check) => [
        check.id,
        check.outcome,
      ]),
    )

  it.each(profiles)('gives the report that a session would have, of $format', async (profile) => {
    const { status, answer } = await post({ ...(await made(profile)), nonce: NONCE, audience: AUDIENCE })
    expect([status, answer.verified]).toEqual([200, true])
    expect(JSON.stringify(answer.credentials.card?.[0]?.claims)).toContain('"given_name":"Ada"')
    expect(outcomes(answer)).toMatchObject({
      'presentation.session': 'not_applicable',
      'issuer.trusted': 'passed',
      'holder.signature': 'passed',
      'holder.nonce': 'passed',
      'holder.audience': 'passed',
      'query.complete': 'passed',
    })
  })

  it('says of what it was not told that it was not compared', async () => {
    const { answer } = await post(await made())
    expect(answer.verified).toBe(true)
    const { checks = [] } = answer.credentials.card?.[0] ?? {}
    for (const name of ['nonce', 'audience']) {
      expect(checks.find(({ id }) => id === `holder.${name}`)).toMatchObject({
        outcome: 'not_applicable',
        detail: `no ${name} was given to compare`,
      })
    }
    expect(checks.find(({ id }) => id === 'holder.fresh')?.detail).toMatch(/^without a session/)
  })

  it('takes a stored query, and a presentation of last year', async () => {
    const { dcql_query: query, vp_token: token } = await made(undefined, new Date(0))
    const created = await call(services, `${VERIFIER_URL}/verification-query/create`, { dcql_query: query })
    const id = await created.text()
    const { answer } = await post({ verification_query_id: id, vp_token: token, nonce: NONCE, audience: AUDIENCE })
    expect(answer.verified).toBe(true)
  })

  it.each([
    ['another nonce', { nonce: 'another', audience: AUDIENCE }, 'holder.nonce'],
    ['another audience', { nonce: NONCE, audience: 'somebody else' }, 'holder.audience'],
  ])('fails for %s, and then shows no claims', async (_, told, failed) => {
    const { status, answer } = await post({ ...(await made()), ...told })
    expect([status, answer.verified, outcomes(answer)[failed]]).toEqual([200, false, 'failed'])
    expect(JSON.stringify(answer)).not.toContain('"Ada"')
  })

  it('fails for a presentation from the future, and for what the query does not ask for', async () => {
    const later = new Date(services.clock.now.getTime() + 61_000)
    expect(outcomes((await post(await made(undefined, later))).answer)['holder.fresh']).toBe('failed')
    const good = await made()
    const { answer } = await post({ ...good, vp_token: { ...good.vp_token, other: good.vp_token.card } })
    expect([answer.verified, outcomes(answer)['query.complete']]).toEqual([false, 'failed'])
  })

  it.each<[string, (good: JsonObject) => JsonObject, RegExp]>([
    [
      'no query',
      (good) => ({ ...good, dcql_query: undefined }) as unknown as JsonObject,
      /either verification_query_id or dcql_query/,
    ],
    ['both queries', (good) => ({ ...good, verification_query_id: 'a' }), /either verification_query_id or dcql_query/],
    [
      'a query that cannot be asked',
      (good) => ({ ...good, dcql_query: { credentials: [] } }),
      /^dcql_query|credentials/,
    ],
    ['a vp_token that is a text', (good) => ({ ...good, vp_token: 'a' }), /vp_token/],
    ['a vp_token without arrays', (good) => ({ ...good, vp_token: { card: 'a' } }), /must be an array/],
    ['a presentation that is not text', (good) => ({ ...good, vp_token: { card: [1] } }), /must be a string/],
    ['an empty nonce', (good) => ({ ...good, nonce: '' }), /nonce/],
    ['an unknown member', (good) => ({ ...good, nonse: 'a' }), /nonse/],
    [
      'a thumbprint that is none',
      (good) => ({ ...good, encryption_jwk_thumbprint: `${'A'.repeat(42)}B` }),
      /encryption_jwk_thumbprint/,
    ],
  ])('refuses %s', async (_, change, why) => {
    const { status, answer } = await post(change((await made()) as unknown as JsonObject))
    expect([status, answer.error]).toEqual([400, 'invalid_request'])
    expect(answer.error_description).toMatch(why)
  })

  it('answers 404 for an unknown query and 401 without an API key', async () => {
    expect((await post({ verification_query_id: 'unknown', vp_token: {} })).status).toBe(404)
    const response = await services.fetch(URL, { method: 'POST', body: '{}' })
    expect(response.status).toBe(401)
  })

  it('wants to be told everything that an mdoc is signed over', async () => {
    const holder = await holderSigner()
    const credential = await issueCredential(services, holder, mdocConfiguration, mdocDataset)
    const responseUri = 'https://app.example/response'
    const binding = { ...bindingTo(NONCE, AUDIENCE, services.clock.now), recipient: { responseUri } }
    const presentation = await formatOf('mso_mdoc')?.present(credential, [[NAMESPACE, 'family_name']], binding, holder)
    const claims = [{ path: [NAMESPACE, 'family_name'] }]
    const body = {
      dcql_query: { credentials: [{ id: 'card', format: 'mso_mdoc', meta: { doctype_value: MDL }, claims }] },
      vp_token: { card: [presentation] },
    }
    const refused = await post({ ...body, nonce: NONCE })
    expect([refused.status, refused.answer.error_description]).toEqual([
      400,
      'audience, response_uri: needed for mso_mdoc, whose signature covers it',
    ])
    const told = { nonce: NONCE, audience: AUDIENCE, response_uri: responseUri }
    expect((await post({ ...body, ...told })).answer.verified).toBe(true)
    const { answer } = await post({ ...body, ...told, encryption_jwk_thumbprint: 'A'.repeat(43) })
    expect([answer.verified, outcomes(answer)['holder.signature']]).toEqual([false, 'failed'])
    // A query without holder binding needs nothing that the holder signed.
    const [query] = body.dcql_query.credentials
    const ofAnybody = { credentials: [{ ...query, require_cryptographic_holder_binding: false }] }
    expect((await post({ ...body, dcql_query: ofAnybody })).answer.verified).toBe(true)
  })

  it('takes what came through the browser, by the audience that such presentations have', async () => {
    const holder = await holderSigner()
    const credential = await issueCredential(services, holder, mdocConfiguration, mdocDataset)
    const origin = 'https://app.example'
    const thumbprint = new Uint8Array(32).fill(7)
    const binding = {
      ...bindingTo(NONCE, `origin:${origin}`, services.clock.now),
      recipient: { origin },
      encryptionKeyThumbprint: thumbprint,
    }
    const presentation = await formatOf('mso_mdoc')?.present(credential, [[NAMESPACE, 'family_name']], binding, holder)
    const claims = [{ path: [NAMESPACE, 'family_name'] }]
    const body = {
      dcql_query: { credentials: [{ id: 'card', format: 'mso_mdoc', meta: { doctype_value: MDL }, claims }] },
      vp_token: { card: [presentation] },
      encryption_jwk_thumbprint: Buffer.from(thumbprint).toString('base64url'),
    }
    const told = { nonce: NONCE, audience: `origin:${origin}` }
    expect((await post({ ...body, ...told })).answer.verified).toBe(true)
    for (const other of ['origin:https://other.example', `origin:${origin}/`, 'origin:']) {
      const { answer } = await post({ ...body, ...told, audience: other })
      expect([answer.verified, outcomes(answer)['holder.signature']]).toEqual([false, 'failed'])
    }
    const missing = await post({ ...body, audience: told.audience })
    expect(missing.answer.error_description).toBe('nonce: needed for mso_mdoc, whose signature covers it')
    const addressed = await post({ ...body, ...told, response_uri: 'https://app.example/response' })
    expect([addressed.status, addressed.answer.error_description]).toEqual([
      400,
      'response_uri: a request through the browser, whose audience begins with origin:, has none',
    ])
  })

  it.each(profiles)('says whether a $format through the browser was for this origin', async (profile) => {
    const ofPage = await made(profile, services.clock.now, 'origin:https://app.example')
    const told = { nonce: NONCE, audience: 'origin:https://app.example' }
    expect((await post({ ...ofPage, ...told })).answer.verified).toBe(true)
    const { answer } = await post({ ...ofPage, ...told, audience: 'origin:https://other.example' })
    expect([answer.verified, outcomes(answer)['holder.audience']]).toEqual([false, 'failed'])
    expect((await post({ ...(await made(profile)), ...told })).answer.verified).toBe(false)
  })

  it('wants nothing for an mdoc that the query would take and nobody presented', async () => {
    const { dcql_query: query, vp_token: vpToken } = await made()
    const mdoc = { id: 'licence', format: 'mso_mdoc', meta: { doctype_value: MDL } }
    const dcqlQuery = {
      credentials: [...query.credentials, mdoc],
      credential_sets: [{ options: [['card'], ['licence']] }],
    }
    const { status, answer } = await post({ dcql_query: dcqlQuery, vp_token: vpToken })
    expect([status, answer.verified]).toEqual([200, true])
  })

  it('keeps nothing of it, and says in the log of acts that it was asked', async () => {
    const before = await services.verifierStore.list('verification_session')
    await post(await made())
    expect(await services.verifierStore.list('verification_session')).toEqual(before)
    const events = await services.verifierStore.list('event')
    const recorded = events.map(({ value }) => value).filter(({ type }) => type === 'presentation.verified')
    expect(recorded.map(({ caller }) => caller)).toEqual(recorded.map(() => 'test'))
    expect(new Set(recorded.map(({ outcome }) => outcome))).toEqual(new Set(['succeeded', 'failed']))
    expect(JSON.stringify(events)).not.toContain('"Ada')
  })
})
