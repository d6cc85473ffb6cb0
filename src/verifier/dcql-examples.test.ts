/**
 * The examples of the specification. OpenID4VP 1.0, Claims Path Pointer Example; Digital Credentials Query Language
 * Examples.
 */
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../codec/json.ts'
import { supportedFormats } from '../credential/formats.ts'
import { selectClaims } from '../protocol/claim-path.ts'
import type { ClaimPath } from '../protocol/claim-path-text.ts'
import { type ClaimQuery, type DcqlQuery, readDcqlQuery } from '../protocol/dcql.ts'
import { answerClaims, chooseCredentials, findMissingCredentials } from '../protocol/dcql-match.ts'
import { readNewQuery } from './queries.ts'

const arthur: JsonObject = {
  name: 'Arthur Dent',
  address: { street_address: '42 Market Street', locality: 'Milliways', postal_code: '12345' },
  degrees: [
    { type: 'Bachelor of Science', university: 'University of Betelgeuse' },
    { type: 'Master of Science', university: 'University of Betelgeuse' },
  ],
  nationalities: ['British', 'Betelgeusian'],
}

it.each<[ClaimPath, Json[]]>([
  [['name'], ['Arthur Dent']],
  [['address'], [{ street_address: '42 Market Street', locality: 'Milliways', postal_code: '12345' }]],
  [['address', 'street_address'], ['42 Market Street']],
  [
    ['degrees', null, 'type'],
    ['Bachelor of Science', 'Master of Science'],
  ],
  [['nationalities', 1], ['Betelgeusian']],
])('the path %j', (path, expected) => {
  const selection = selectClaims(arthur, path)
  expect('claims' in selection && selection.claims.map(({ value }) => value)).toEqual(expected)
})

const IDENTITY = 'https://credentials.example.com/identity_credential'
const paths = (...all: ClaimPath[]): ClaimQuery[] => all.map((path) => ({ path }))
const sdJwt = (id: string, vct: string, claims: readonly ClaimQuery[], more: object = {}) => ({
  id,
  format: 'dc+sd-jwt',
  meta: { vct_values: [vct] },
  claims,
  ...more,
})
const mdoc = (id: string, doctype_value: string, claims: readonly ClaimQuery[]) => ({
  id,
  format: 'mso_mdoc',
  meta: { doctype_value },
  claims,
})
const elements = (...names: string[]): ClaimQuery[] =>
  names.map((name) => ({ id: name, path: ['org.iso.18013.5.1', name] }))

const address: ClaimPath = ['address', 'street_address']
const vehicle = paths(['org.iso.7367.1', 'vehicle_holder'], ['org.iso.18013.5.1', 'given_name'])
const person = paths(['given_name'], ['family_name'], address)

/** The examples by the names of their files in the specification's repository. */
const examples = {
  simple: { credentials: [sdJwt('my_credential', IDENTITY, paths(['family_name'], ['given_name'], address))] },
  simple_mdoc: { credentials: [mdoc('my_credential', 'org.iso.7367.1.mVRC', vehicle)] },
  multi_credentials: {
    credentials: [sdJwt('pid', IDENTITY, person), mdoc('mdl', 'org.iso.7367.1.mVRC', vehicle)],
  },
  value_matching_simple: {
    credentials: [
      sdJwt('my_credential', IDENTITY, [
        { path: ['family_name'], values: ['Doe'] },
        { path: ['given_name'] },
        { path: address },
        { path: ['postal_code'], values: ['90210', '90211'] },
      ]),
    ],
  },
  claims_alternatives: {
    credentials: [
      sdJwt(
        'pid',
        IDENTITY,
        ['family_name', 'postal_code', 'locality', 'region', 'date_of_birth'].map((name, i) => ({
          id: 'abcde'.charAt(i),
          path: [name],
        })),
        {
          claim_sets: [
            ['a', 'c', 'd', 'e'],
            ['a', 'b', 'e'],
          ],
        },
      ),
    ],
  },
  credentials_alternatives: {
    credentials: [
      sdJwt('pid', IDENTITY, person),
      sdJwt('other_pid', 'https://othercredentials.example/pid', person),
      sdJwt(
        'pid_reduced_cred_1',
        'https://credentials.example.com/reduced_identity_credential',
        paths(['family_name'], ['given_name']),
      ),
      sdJwt(
        'pid_reduced_cred_2',
        'https://cred.example/residence_credential',
        paths(['postal_code'], ['locality'], ['region']),
      ),
      sdJwt('nice_to_have', 'https://company.example/company_rewards', paths(['rewards_number'])),
    ],
    credential_sets: [
      { options: [['pid'], ['other_pid'], ['pid_reduced_cred_1', 'pid_reduced_cred_2']] },
      { required: false, options: [['nice_to_have']] },
    ],
  },
  complex_mdoc: {
    credentials: [
      mdoc('mdl-id', 'org.iso.18013.5.1.mDL', elements('given_name', 'family_name', 'portrait')),
      mdoc('mdl-address', 'org.iso.18013.5.1.mDL', elements('resident_address', 'resident_country')),
      mdoc('photo_card-id', 'org.iso.23220.photoid.1', elements('given_name', 'family_name', 'portrait')),
      mdoc('photo_card-address', 'org.iso.23220.photoid.1', elements('resident_address', 'resident_country')),
    ],
    credential_sets: [
      { options: [['mdl-id'], ['photo_card-id']] },
      { required: false, options: [['mdl-address'], ['photo_card-address']] },
    ],
  },
} satisfies Record<string, DcqlQuery>

/** The namespace that verifiers of the European wallet ask for, beside that of driving licences. */
const PID = 'eu.europa.ec.eudi.pid.1'
const inUse = {
  'a PID as SD-JWT VC': {
    credentials: [
      {
        id: 'pid',
        format: 'dc+sd-jwt',
        meta: { vct_values: ['urn:eudi:pid:1', 'urn:eudi:pid:de:1'] },
        claims: [
          { path: ['family_name'] },
          { path: ['address', 'locality'] },
          { path: ['address'] },
          { path: ['nationalities', null], values: ['DE', 'FR'] },
          { path: ['nationalities'] },
          { path: ['age_equal_or_over', '18'], values: [true] },
          { path: ['vct'], values: ['urn:eudi:pid:1'] },
        ],
      },
    ],
  },
  'a PID as mdoc': {
    credentials: [mdoc('pid', PID, paths([PID, 'family_name'], [PID, 'birth_date'], [PID, 'nationality']))],
  },
  'a driving licence with what an authority adds': {
    credentials: [
      mdoc('mdl', 'org.iso.18013.5.1.mDL', [
        ...elements('family_name', 'age_over_18', 'driving_privileges'),
        { path: ['org.iso.18013.5.1.aamva', 'DHS_compliance'], values: ['F'] },
      ]),
    ],
  },
  'a PID in either format, and nothing of it': {
    credentials: [
      { id: 'sd-jwt', format: 'dc+sd-jwt', meta: { vct_values: ['urn:eudi:pid:1'] } },
      { id: 'mdoc', format: 'mso_mdoc', meta: { doctype_value: PID } },
    ],
    credential_sets: [{ options: [['sd-jwt'], ['mdoc']] }],
  },
  'a W3C credential by its parts': {
    credentials: [
      {
        id: 'degree',
        format: 'jwt_vc_json',
        meta: { type_values: [['https://www.w3.org/2018/credentials#VerifiableCredential', 'UniversityDegree']] },
        claims: paths(['credentialSubject', 'degree', 'type'], ['issuer', 'id'], ['type', null], ['credentialStatus']),
      },
    ],
  },
} satisfies Record<string, DcqlQuery>

it.each(Object.entries<DcqlQuery>(inUse))('a query in use is taken: %s', (_, query) => {
  expect(readNewQuery(query, { trustLists: [] })).toBe(query)
})

describe('the query', () => {
  it.each(Object.entries<DcqlQuery>(examples))('%s is taken', (_, query) => {
    expect(readDcqlQuery(query)).toBe(query)
    if (query.credentials.every(({ format }) => supportedFormats.includes(format)))
      expect(readNewQuery(query, { trustLists: [] })).toBe(query)
  })

  const answer = (query: DcqlQuery, claims: JsonObject) => {
    const [credential] = query.credentials
    return credential && answerClaims(credential, claims)
  }

  it('simple is answered by the claims that it names, and no others', () => {
    const claims = { given_name: 'Jane', family_name: 'Doe', address: { street_address: '1 Main St', locality: 'X' } }
    expect(answer(examples.simple, claims)?.disclose).toEqual([['family_name'], ['given_name'], address])
    expect(answer(examples.simple, { ...claims, address: {} })?.missing).toBe(
      'address.street_address: there is no address.street_address',
    )
  })

  it('simple_mdoc is answered by elements of both namespaces', () => {
    const namespaces = {
      'org.iso.7367.1': { vehicle_holder: 'Jane' },
      'org.iso.18013.5.1': { given_name: 'Jane', portrait: '' },
    }
    expect(answer(examples.simple_mdoc, namespaces)?.disclose).toEqual(vehicle.map(({ path }) => path))
    expect(answer(examples.simple_mdoc, { 'org.iso.18013.5.1': { given_name: 'Jane' } })?.missing).toBe(
      '["org.iso.7367.1"].vehicle_holder: there is no ["org.iso.7367.1"]',
    )
  })

  it('value_matching_simple is answered by texts, not by numbers, and by any one of its values', () => {
    const claims = { given_name: 'Jane', family_name: 'Doe', address: { street_address: '' }, postal_code: '90211' }
    expect(answer(examples.value_matching_simple, claims)?.disclose).toHaveLength(4)
    expect(answer(examples.value_matching_simple, { ...claims, postal_code: 90211 })?.mismatch).toBe(
      'postal_code: expected one of "90210", "90211"',
    )
  })

  it('claims_alternatives is answered by the first set that is complete', () => {
    const less = { family_name: 'Doe', postal_code: '1', locality: 'X', date_of_birth: '2000-01-01' }
    const all = { ...less, region: 'Y' }
    expect(answer(examples.claims_alternatives, all)?.disclose.flat()).toEqual([
      'family_name',
      'locality',
      'region',
      'date_of_birth',
    ])
    expect(answer(examples.claims_alternatives, less)?.disclose.flat()).toEqual([
      'family_name',
      'postal_code',
      'date_of_birth',
    ])
  })

  it.each<[keyof typeof examples, string[], string[] | undefined]>([
    ['multi_credentials', ['pid', 'mdl'], ['pid', 'mdl']],
    ['multi_credentials', ['pid'], undefined],
    ['credentials_alternatives', ['other_pid', 'nice_to_have'], ['other_pid']],
    [
      'credentials_alternatives',
      ['pid_reduced_cred_1', 'pid_reduced_cred_2'],
      ['pid_reduced_cred_1', 'pid_reduced_cred_2'],
    ],
    ['credentials_alternatives', ['pid_reduced_cred_1', 'nice_to_have'], undefined],
    ['complex_mdoc', ['photo_card-id', 'mdl-address'], ['photo_card-id']],
    ['complex_mdoc', ['mdl-address', 'photo_card-address'], undefined],
  ])('%s with %j', (name, available, chosen) => {
    const query: DcqlQuery = examples[name]
    const choice = chooseCredentials(query, new Set(available))
    expect('ids' in choice ? choice.ids : undefined).toEqual(chosen)
    expect(findMissingCredentials(query, new Set(available)) === undefined).toBe(chosen !== undefined)
  })
})
