/**
 * The values that the schemas of OpenID4VCI and of its tokens take: an example with every member, and each member in
 * turn wrong or missing.
 */
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../codec/json.ts'
import { CredentialConfiguration } from './credential-configuration.ts'
import { PRE_AUTHORIZED_GRANT } from './grant-types.ts'
import { compileSchema } from './json-schema.ts'
import { AuthorizationServerMetadata, TokenResponse } from './oauth.ts'
import * as schemas from './oid4vci.ts'

type Path = readonly (string | number)[]

const accepts = (schema: object, value: unknown): boolean => compileSchema(schema, { all: false })(value)

const configuration = {
  format: 'dc+sd-jwt',
  credential_definition: {},
  vct: 'urn:x',
  doctype: 'org.example',
  credential_metadata: {
    display: [
      {
        ...{ name: 'Card', locale: 'en', description: 'A card', background_color: '#fff', text_color: '#000' },
        logo: { uri: 'https://issuer.example/logo', alt_text: 'Logo' },
        background_image: { uri: 'https://issuer.example/image' },
      },
    ],
    claims: [{ path: ['a', 0, null], mandatory: true, display: [{ name: 'A', locale: 'en' }] }],
  },
  scope: 'card',
  selective_disclosure: [['a', 0, null]],
  validity_seconds: 60,
  key_attestations_required: { key_storage: ['iso_18045_high'], user_authentication: ['iso_18045_high'] },
  batch_size: 1,
  revocable: false,
  status: 'bitstring',
}

const encryption = { enc_values_supported: ['A128GCM'], zip_values_supported: ['DEF'], encryption_required: true }
const metadata = {
  credential_issuer: 'https://issuer.example',
  authorization_servers: ['https://issuer.example'],
  credential_endpoint: 'https://issuer.example/credential',
  nonce_endpoint: 'https://issuer.example/nonce',
  deferred_credential_endpoint: 'https://issuer.example/deferred',
  notification_endpoint: 'https://issuer.example/notification',
  batch_credential_issuance: { batch_size: 2 },
  credential_request_encryption: { jwks: { keys: [{ kid: 'k', alg: 'ECDH-ES' }] }, ...encryption },
  credential_response_encryption: { alg_values_supported: ['ECDH-ES'], ...encryption },
  display: [{ name: 'Issuer', locale: 'en' }],
  credential_configurations_supported: { card: {} },
}

const nonce = { c_nonce: 'n', c_nonce_expires_in: 60 }
const detail = { type: 'openid_credential', credential_configuration_id: 'card', credential_identifiers: ['x'] }

/** The example, and which of its members may be missing. */
const examples: readonly (readonly [string, object, JsonObject, readonly string[]])[] = [
  [
    'a credential configuration',
    CredentialConfiguration,
    configuration,
    [
      ...['credential_definition', 'vct', 'doctype', 'credential_metadata', 'credential_metadata.display'],
      ...['locale', 'description', 'background_color', 'text_color', 'logo', 'logo.alt_text', 'background_image'].map(
        (name) => `credential_metadata.display.0.${name}`,
      ),
      ...['', '.0.mandatory', '.0.display', '.0.display.0.locale'].map((name) => `credential_metadata.claims${name}`),
      ...['scope', 'selective_disclosure', 'validity_seconds', 'key_attestations_required'],
      ...['key_attestations_required.key_storage', 'key_attestations_required.user_authentication'],
      ...['batch_size', 'revocable', 'status'],
    ],
  ],
  [
    'an offer',
    schemas.CredentialOffer,
    {
      credential_issuer: 'https://issuer.example',
      credential_configuration_ids: ['card'],
      grants: {
        [PRE_AUTHORIZED_GRANT]: {
          'pre-authorized_code': 'code',
          tx_code: { input_mode: 'text', length: 4, description: 'By mail' },
        },
      },
    },
    ['', '.tx_code', '.tx_code.length', '.tx_code.description'].map((name) => `grants.${PRE_AUTHORIZED_GRANT}${name}`),
  ],
  [
    'a credential response',
    schemas.CredentialResponse,
    {
      ...{ credentials: [{ credential: 'x' }], credential: 'x', notification_id: 'n', transaction_id: 't' },
      ...{ interval: 5, ...nonce },
    },
    [
      ...['credentials', 'credential', 'notification_id', 'transaction_id', 'interval'],
      ...['c_nonce', 'c_nonce_expires_in'],
    ],
  ],
  [
    'a notification',
    schemas.NotificationRequest,
    { notification_id: 'n', event: 'credential_accepted', event_description: 'It is there' },
    ['event_description'],
  ],
  ['authorization details', schemas.AuthorizationDetail, detail, []],
  [
    'the metadata of an issuer',
    schemas.IssuerMetadata,
    metadata,
    [
      ...['batch_credential_issuance', 'display.0.locale'],
      ...['credential_request_encryption', 'credential_response_encryption'].flatMap((name) => [
        name,
        `${name}.zip_values_supported`,
      ]),
    ],
  ],
  [
    'a token response',
    TokenResponse,
    {
      ...{ access_token: 'x', token_type: 'Bearer', expires_in: 60, refresh_token: 'r' },
      ...{ authorization_details: [detail], ...nonce },
    },
    ['refresh_token', 'authorization_details', 'c_nonce', 'c_nonce_expires_in'],
  ],
  [
    'the metadata of an authorization server',
    AuthorizationServerMetadata,
    {
      issuer: 'https://issuer.example',
      token_endpoint: 'https://issuer.example/token',
      jwks_uri: 'https://issuer.example/jwks',
      grant_types_supported: [PRE_AUTHORIZED_GRANT],
      'pre-authorized_grant_anonymous_access_supported': true,
      token_endpoint_auth_methods_supported: ['none'],
      authorization_details_types_supported: ['openid_credential'],
      dpop_signing_alg_values_supported: ['ES256'],
    },
    [],
  ],
]

describe.each(examples)('%s', (_, schema, example, optional) => {
  const paths = pathsOf(example)

  it('is taken with every member', () => {
    expect(accepts(schema, example)).toBe(true)
  })

  it('is refused when any member is something else', () => {
    const taken = paths.filter((path) => accepts(schema, withValue(example, path, true)))
    const booleans = paths.filter((path) => typeof path.reduce<unknown>(at, example) === 'boolean')
    expect(taken).toEqual(booleans)
    expect(booleans.filter((path) => accepts(schema, withValue(example, path, 'true')))).toEqual([])
  })

  it('is refused without any member that is required', () => {
    const members = paths.filter((path) => typeof path.at(-1) === 'string')
    // The one of these that may have any names.
    const named = members.filter((path) => path.join('.') !== 'credential_configurations_supported.card')
    const taken = named.filter((path) => accepts(schema, withValue(example, path, undefined)))
    expect(taken.map((path) => path.join('.')).sort()).toEqual([...optional].sort())
  })
})

describe('of a credential configuration', () => {
  const path = (steps: number): Json[] => Array.from({ length: steps }, (_, i) => `s${i}`)
  const paths = (count: number): Json[] => Array.from({ length: count }, (_, i) => [`p${i}`])
  const levels = (count: number): Json => ({ key_storage: Array.from({ length: count }, (_, i) => `l${i}`) })
  const claims = (...list: Json[]): Json => ({ claims: list })

  it.each<[string, Json, boolean]>([
    ['a path of 32 steps', { credential_metadata: claims({ path: path(32) }) }, true],
    ['a path of 33 steps', { credential_metadata: claims({ path: path(33) }) }, false],
    ['a path of one step', { credential_metadata: claims({ path: path(1) }) }, true],
    ['a path of no steps', { credential_metadata: claims({ path: [] }) }, false],
    ['a negative index', { credential_metadata: claims({ path: ['a', -1] }) }, false],
    ['half an index', { credential_metadata: claims({ path: ['a', 0.5] }) }, false],
    ['a misspelt member of a claim', { credential_metadata: claims({ path: ['a'], mandatroy: true }) }, false],
    ['no display', { credential_metadata: { display: [] } }, false],
    ['no claims', { credential_metadata: claims() }, false],
    ['no display of a claim', { credential_metadata: claims({ path: ['a'], display: [] }) }, false],
    ['a display without a name', { credential_metadata: { display: [{ name: '' }] } }, false],
    ['a claim without a name', { credential_metadata: claims({ path: ['a'], display: [{ name: '' }] }) }, false],
    ['500 claims', { credential_metadata: claims(...paths(500).map((each) => ({ path: each }))) }, true],
    ['501 claims', { credential_metadata: claims(...paths(501).map((each) => ({ path: each }))) }, false],
    ['500 disclosed claims', { selective_disclosure: paths(500) }, true],
    ['501 disclosed claims', { selective_disclosure: paths(501) }, false],
    ['all disclosed claims', { selective_disclosure: 'all' }, true],
    ['no disclosed claims', { selective_disclosure: 'none' }, true],
    ['other disclosed claims', { selective_disclosure: '' }, false],
    ['one second', { validity_seconds: 1 }, true],
    ['no second', { validity_seconds: 0 }, false],
    ['a hundred years', { validity_seconds: 3_155_760_000 }, true],
    ['more than a hundred years', { validity_seconds: 3_155_760_001 }, false],
    ['no level', { key_attestations_required: levels(0) }, false],
    ['one level', { key_attestations_required: levels(1) }, true],
    ['20 levels', { key_attestations_required: levels(20) }, true],
    ['21 levels', { key_attestations_required: levels(21) }, false],
    ['a level twice', { key_attestations_required: { key_storage: ['a', 'a'] } }, false],
    ['an unknown demand on keys', { key_attestations_required: { certification: ['a'] } }, false],
    ['a batch of 100', { batch_size: 100 }, true],
    ['a batch of 101', { batch_size: 101 }, false],
    ['a batch of none', { batch_size: 0 }, false],
    ['an empty scope', { scope: '' }, false],
    ['a scope of two words', { scope: 'a b' }, false],
    ['a scope of all characters', { scope: '!#[]~' }, true],
    ['a scope with quotes', { scope: 'a"' }, false],
    ['another status', { status: '' }, false],
    ['an unknown member', { formats: [] }, false],
  ])('%s: %#', (_, change, expected) => {
    const changed = { format: 'dc+sd-jwt', ...(change as JsonObject) }
    expect(accepts(CredentialConfiguration, changed)).toBe(expected)
  })
})

it.each<[string, object, Path, Json, boolean]>([
  ['an offer of nothing', schemas.CredentialOffer, ['credential_configuration_ids'], [], false],
  ['authorization for nothing', schemas.AuthorizationDetail, ['credential_identifiers'], [], false],
  ['batches of one', schemas.IssuerMetadata, ['batch_credential_issuance', 'batch_size'], 1, false],
  ['a failure', schemas.NotificationRequest, ['event'], 'credential_failure', true],
  ['a deletion', schemas.NotificationRequest, ['event'], 'credential_deleted', true],
  ['no event', schemas.NotificationRequest, ['event'], '', false],
  ['500 characters', schemas.NotificationRequest, ['event_description'], 'a'.repeat(500), true],
  ['no characters', schemas.NotificationRequest, ['event_description'], '', true],
  ['any characters', schemas.NotificationRequest, ['event_description'], 'ä"', true],
  ['no description', schemas.NotificationRequest, ['event_description'], null, true],
  ['a description that is a number', schemas.NotificationRequest, ['event_description'], 7, false],
  ['a transaction code of digits', schemas.CredentialOffer, txCode('input_mode'), 'numeric', true],
  ['a transaction code of nothing', schemas.CredentialOffer, txCode('input_mode'), '', false],
  ['a bound token', TokenResponse, ['token_type'], 'DPoP', true],
  ['a token of no type', TokenResponse, ['token_type'], '', false],
])('%s: %#', (_, schema, path, value, expected) => {
  const [, , example = {}] = examples.find((each) => each[1] === schema) ?? []
  expect(accepts(schema, withValue(example, path, value))).toBe(expected)
})

it('what is read with care may be anything, and is named for the API description', () => {
  const named = (schema: { readonly properties: object }) => Object.keys(schema.properties)
  expect(named(schemas.CredentialRequest)).toEqual([
    ...['credential_configuration_id', 'credential_identifier', 'proof', 'proofs', 'credential_response_encryption'],
    ...['format', 'credential_definition', 'vct', 'doctype'],
  ])
  expect(named(schemas.DeferredCredentialRequest)).toEqual(['transaction_id', 'credential_response_encryption'])
})

function txCode(member: string): Path {
  return ['grants', PRE_AUTHORIZED_GRANT, 'tx_code', member]
}

function at(value: unknown, step: string | number): unknown {
  return (value as Record<string | number, unknown>)[step]
}

/** Returns the paths of everything inside, at any depth. */
function pathsOf(value: Json): readonly Path[] {
  if (typeof value !== 'object' || value === null) return []
  const steps = Array.isArray(value) ? [...value.keys()] : Object.keys(value)
  return steps.flatMap((step) => [[step], ...pathsOf(at(value, step) as Json).map((path) => [step, ...path])])
}

function withValue(example: Json, path: Path, value: Json | undefined): Json {
  const changed = structuredClone(example)
  const [last = '', ...before] = [...path].reverse()
  const parent = before.reverse().reduce<unknown>(at, changed) as Record<string | number, Json>
  if (value === undefined) Reflect.deleteProperty(parent, last)
  else parent[last] = value
  return changed
}
