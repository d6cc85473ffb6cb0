/** Optional members with a typing mistake: told to whoever posts them, and not ignored. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { authorization, call, configuration, dataset, dcqlQuery, declare } from '../support/wire.ts'

let services: Services
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services.close())

async function refusal(url: string, body: unknown): Promise<unknown> {
  const response = await call(services, url, body)
  return response.status === 400
    ? ((await response.json()) as { error_description: string }).error_description
    : response.status
}

const [credential] = dcqlQuery.credentials
const { claims, ...rest } = credential ?? {}
const { credential_metadata: metadata } = configuration

describe('a misspelt member', () => {
  it.each<[string, string, unknown, string | number]>([
    [
      'a query',
      `${VERIFIER_URL}/verification-query/create`,
      { dcql_query: { credentials: [{ ...rest, claim: claims }] } },
      'dcql_query.credentials[0].claim: is unknown; did you mean claims?',
    ],
    [
      'a bare query',
      `${VERIFIER_URL}/dcql-query/create`,
      { credential: dcqlQuery.credentials },
      'dcql_query.credential: is unknown; did you mean credentials?',
    ],
    [
      'a configuration',
      `${ISSUER_URL}/credential-configuration/create`,
      { ...configuration, credential_metadata: { display: metadata.display, claim: metadata.claims } },
      'credential_metadata.claim: is unknown; did you mean claims?',
    ],
    [
      'its display',
      `${ISSUER_URL}/credential-configuration/create`,
      { ...configuration, credential_metadata: { display: [{ name: 'a', backgroundcolor: '#fff' }] } },
      'credential_metadata.display[0].backgroundcolor: is unknown; did you mean background_color?',
    ],
  ])('of %s is refused by name', async (_, url, body, expected) => {
    expect(await refusal(url, body)).toBe(expected)
  })

  it.each<[string, (string | number | null)[][], string | number]>([
    ['of a claim', [['givn_name']], 'selective_disclosure[0]: givn_name is unknown; did you mean given_name?'],
    [
      'of a later claim',
      [['given_name'], ['adress', 'street']],
      'selective_disclosure[1]: adress is unknown; did you mean address?',
    ],
    [
      'inside a claim',
      [['address', 'stret']],
      'selective_disclosure[0]: address.stret is unknown; did you mean address.street?',
    ],
    [
      'inside the elements of a claim',
      [['degrees', 0, 'titel']],
      'selective_disclosure[0]: degrees[0].titel is unknown; did you mean degrees[0].title?',
    ],
    ['beside the right one', [['given_name'], ['given_names']], 201],
    ['that resembles none', [['nickname'], ['address', 'country'], ['address']], 201],
    ['of no claim, as all are right', [['given_name'], ['degrees', null], ['degrees', null, 'title']], 201],
  ])(
    'of selective_disclosure is refused where the claim that it resembles is declared: %s',
    async (_, paths, expected) => {
      const claims = [['given_name'], ['address', 'street'], ['degrees', null, 'title']].map((path) => ({ path }))
      const body = { format: 'dc+sd-jwt', vct: 'urn:a', selective_disclosure: paths }
      const url = `${ISSUER_URL}/credential-configuration/create`
      expect(await refusal(url, { ...body, credential_metadata: { claims } })).toBe(expected)
      expect(await refusal(url, body)).toBe(201)
    },
  )

  it('of selective_disclosure is refused in a W3C format, too', async () => {
    const body = { ...configuration, selective_disclosure: [['credentialSubject', 'givn_name']] }
    expect(await refusal(`${ISSUER_URL}/credential-configuration/create`, body)).toBe(
      'selective_disclosure[0]: credentialSubject.givn_name is unknown; did you mean credentialSubject.given_name?',
    )
  })

  it('of a dataset is refused where the claim that it resembles is declared and missing', async () => {
    const id = await declare(services)
    const session = (credentialSubject: object) => ({
      credential_configurations: [id],
      credential_dataset: { credentialSubject },
    })
    const url = `${ISSUER_URL}/issuance/oid4vci/new-session`
    expect(await refusal(url, session({ givenname: 'Ada' }))).toBe(
      'credential_dataset.credentialSubject.givenname: is unknown; did you mean given_name?',
    )
    expect(await refusal(url, session({ ...dataset.credentialSubject, givenname: 'Ada' }))).toBe(200)
    expect(await refusal(url, session({ nickname: 'Ada' }))).toBe(200)
    const mandatory = { path: ['credentialSubject', 'given_name'], mandatory: true }
    const strict = { ...configuration, credential_metadata: { display: metadata.display, claims: [mandatory] } }
    const made = await call(services, `${ISSUER_URL}/credential-configuration/create`, strict)
    const body = { ...session({ givenname: 'Ada' }), credential_configurations: [await made.text()] }
    expect(await refusal(url, body)).toBe(
      'credential_dataset.credentialSubject.givenname: is unknown; did you mean given_name?',
    )
  })

  it('of a new session that stands for a required one is named', async () => {
    const body = { credential_configuration_ids: [await declare(services)], credential_dataset: dataset }
    expect(await refusal(`${ISSUER_URL}/issuance/oid4vci/new-session`, body)).toBe(
      'credential_configurations: required; is credential_configuration_ids misspelt?',
    )
  })

  it('that resembles nothing is ignored in a query, as the specification wants it', async () => {
    expect(await refusal(`${VERIFIER_URL}/dcql-query/create`, { ...dcqlQuery, purpose: 'a', vendor_hint: 1 })).toBe(201)
  })
})

describe('a member in the wrong place', () => {
  it('of a configuration is refused with its right place', async () => {
    const url = `${ISSUER_URL}/credential-configuration/create`
    for (const [name, value] of Object.entries({ display: metadata.display, claims: metadata.claims })) {
      expect(await refusal(url, { ...configuration, [name]: value })).toBe(
        `${name}: unknown setting or field; does it belong in credential_metadata?`,
      )
    }
  })

  it('is a query in dcql_query, where the query itself is taken', async () => {
    const url = `${VERIFIER_URL}/dcql-query/create`
    const refused = 'dcql_query: this endpoint takes the query itself; send what is in dcql_query'
    expect(await refusal(url, { dcql_query: dcqlQuery })).toBe(refused)
    expect(await refusal(url, { ...dcqlQuery, dcql_query: dcqlQuery })).toBe(201)
  })
})

it.each([
  [`${ISSUER_URL}/credential-configuration/create`, 'application/json'],
  [`${VERIFIER_URL}/verification-query/create`, 'application/json'],
])('another media type is told which one is taken: %s', async (url, type) => {
  const headers = { ...authorization, 'content-type': 'text/plain' }
  const response = await services.fetch(url, { method: 'POST', headers, body: '{}' })
  const { error_description: text } = (await response.json()) as { error_description: string }
  expect([response.status, text]).toEqual([415, `this endpoint takes ${type}; say so in Content-Type`])
})
