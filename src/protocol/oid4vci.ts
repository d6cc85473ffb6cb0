/** Wire objects of OpenID4VCI 1.0, as schemas that validate requests and as types. Names are the specification's. */

import type { Static } from 'typebox'
import * as Type from 'typebox'
import { FORMATS_IN_WORDS } from './format-ids.ts'
import { AUTHORIZATION_CODE_GRANT, PRE_AUTHORIZED_GRANT } from './grant.ts'

/** The schema of a `ClaimPath`, with the longest path that is accepted. */
export const ClaimPathSchema = Type.Array(Type.Union([Type.String(), Type.Integer({ minimum: 0 }), Type.Null()]), {
  minItems: 1,
  maxItems: 32,
})

const Logo = Type.Object({ uri: Type.String(), alt_text: Type.Optional(Type.String()) })

const Display = Type.Object(
  {
    name: Type.String(),
    locale: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    background_color: Type.Optional(Type.String()),
    text_color: Type.Optional(Type.String()),
    logo: Type.Optional(Logo),
    background_image: Type.Optional(Type.Object({ uri: Type.String() })),
  },
  { title: 'CredentialDisplay' },
)

const ClaimDescription = Type.Object(
  {
    path: ClaimPathSchema,
    mandatory: Type.Optional(Type.Boolean()),
    display: Type.Optional(Type.Array(Type.Object({ name: Type.String(), locale: Type.Optional(Type.String()) }))),
  },
  // Unknown members are refused because a misspelt `mandatory` would let a claim be missing.
  { title: 'ClaimDescription', additionalProperties: false },
)

const Levels = Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 20, uniqueItems: true }))

/** ETSI TS 119 472-3 section 4.2.4; ARF 3.0, Annex II, methods A to D. */
const ReusePolicyOption = Type.Object(
  {
    details: Type.Array(
      Type.Union([
        Type.Literal('once_only'),
        Type.Literal('limited_time'),
        Type.Literal('rotating-batch'),
        Type.Literal('per-relying-party'),
      ]),
      { minItems: 1, maxItems: 4, uniqueItems: true },
    ),
    batch_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
    reissue_trigger_unused: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 99, description: 'The wallet asks anew when so many are unused' }),
    ),
    reissue_trigger_lifetime_left: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 3_155_760_000,
        description: 'The wallet asks anew so many seconds before the end',
      }),
    ),
  },
  { title: 'CredentialReusePolicyOption', additionalProperties: false },
)

const ReusePolicy = Type.Object(
  { id: Type.Literal('arf_annex_ii'), options: Type.Array(ReusePolicyOption, { minItems: 1, maxItems: 10 }) },
  {
    title: 'CredentialReusePolicy',
    description: 'ETSI TS 119 472-3: how often the wallet may present a credential, and when it asks for new ones',
    additionalProperties: false,
  },
)
export type ReusePolicy = Static<typeof ReusePolicy>

const CredentialDefinition = Type.Object(
  {
    '@context': Type.Optional(Type.Array(Type.Union([Type.String(), Type.Object({}, { additionalProperties: true })]))),
    type: Type.Array(Type.String(), { minItems: 1 }),
  },
  {
    title: 'CredentialDefinition',
    description: 'OpenID4VCI 1.0, W3C Verifiable Credentials',
    additionalProperties: true,
  },
)

/** The members of every format; `parseMembers` of each format checks the others. */
export const CredentialConfiguration = Type.Object(
  {
    format: Type.String({ description: FORMATS_IN_WORDS }),
    credential_definition: Type.Optional(
      Type.Object({}, { description: 'For W3C formats: type, and @context', 'x-described': CredentialDefinition }),
    ),
    vct: Type.Optional(Type.String({ description: 'For dc+sd-jwt: the type' })),
    aka_vcts: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        minItems: 1,
        maxItems: 20,
        uniqueItems: true,
        description:
          'For dc+sd-jwt: other types that the credential is of as well, such as the general one of a national type',
      }),
    ),
    type_metadata: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description:
            'For dc+sd-jwt: the type metadata that is served at the vct, which has to be {baseUrl}/type-metadata/{name}; credentials have its digest (vct#integrity)',
        },
      ),
    ),
    doctype: Type.Optional(Type.String({ description: 'For mso_mdoc: the type' })),
    credential_metadata: Type.Optional(
      Type.Object({
        display: Type.Optional(Type.Array(Display)),
        claims: Type.Optional(Type.Array(ClaimDescription, { maxItems: 500 })),
        credential_reuse_policy: Type.Optional(ReusePolicy),
      }),
    ),
    scope: Type.Optional(Type.String({ pattern: '^[!#-\\[\\]-~]+$' })),
    selective_disclosure: Type.Optional(
      Type.Union([Type.Literal('all'), Type.Literal('none'), Type.Array(ClaimPathSchema, { maxItems: 500 })], {
        description: 'Which claims the holder may hide: all (the default), none, or those at the given paths',
      }),
    ),
    validity_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 3_155_760_000,
        description: 'Seconds for which a credential is valid; one year when absent',
      }),
    ),
    key_attestations_required: Type.Optional(
      Type.Object(
        { key_storage: Levels, user_authentication: Levels },
        {
          additionalProperties: false,
          description: 'Wallets must attest their keys; of each list that is there, one level has to fit',
        },
      ),
    ),
    batch_size: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100,
        description: 'How many credentials a request may have, each for a key of its own; one when absent',
      }),
    ),
    revocable: Type.Optional(
      Type.Boolean({ description: 'Whether credentials have an entry in a status list; they have when absent' }),
    ),
    status: Type.Optional(
      Type.Literal('bitstring', {
        description: 'For W3C formats: credentialStatus, with entries in Bitstring Status Lists, beside status',
      }),
    ),
  },
  {
    title: 'CredentialConfiguration',
    additionalProperties: false,
    examples: [
      {
        format: 'jwt_vc_json-ld',
        credential_definition: {
          '@context': ['https://www.w3.org/ns/credentials/v2'],
          type: ['VerifiableCredential', 'StudentCard'],
        },
        credential_metadata: {
          display: [{ name: 'Student card', locale: 'en-GB' }],
          claims: [{ path: ['credentialSubject', 'given_name'], mandatory: true }],
        },
      },
    ],
  },
)
export type CredentialConfiguration = Static<typeof CredentialConfiguration>

export const CredentialOffer = Type.Object(
  {
    credential_issuer: Type.String(),
    credential_configuration_ids: Type.Array(Type.String(), { minItems: 1 }),
    grants: Type.Object({
      [AUTHORIZATION_CODE_GRANT]: Type.Optional(Type.Object({ issuer_state: Type.String() })),
      [PRE_AUTHORIZED_GRANT]: Type.Optional(
        Type.Object({
          'pre-authorized_code': Type.String(),
          tx_code: Type.Optional(
            Type.Object({
              input_mode: Type.Union([Type.Literal('numeric'), Type.Literal('text')]),
              length: Type.Optional(Type.Integer()),
              description: Type.Optional(Type.String()),
            }),
          ),
        }),
      ),
    }),
  },
  { title: 'CredentialOffer' },
)
export type CredentialOffer = Static<typeof CredentialOffer>

const JwtProof = Type.Object({ proof_type: Type.Literal('jwt'), jwt: Type.String() }, { title: 'JwtProof' })

const Proofs = Type.Object(
  {
    jwt: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
    attestation: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  },
  { title: 'Proofs', description: 'OpenID4VCI 1.0, Credential Request' },
)

const JwkSchema = Type.Object(
  { kty: Type.String() },
  { title: 'Jwk', description: 'RFC 7517', additionalProperties: true },
)

const ResponseEncryptionKey = Type.Object(
  {
    jwk: JwkSchema,
    alg: Type.Optional(Type.String({ description: 'Up to draft 15' })),
    enc: Type.String(),
    zip: Type.Optional(Type.String()),
  },
  { title: 'CredentialResponseEncryption', description: 'OpenID4VCI 1.0, Encrypted Credential Requests and Responses' },
)

/** The keys of a server. RFC 7517 section 5. */
export const JwkSet = Type.Object({ keys: Type.Array(JwkSchema) }, { title: 'JwkSet' })

const encryption = Type.Optional(
  Type.Unknown({
    description: '{jwk, enc} in an encrypted request; up to draft 15 {jwk, alg, enc} in any',
    'x-described': ResponseEncryptionKey,
  }),
)
const text = (description: string) => Type.Unknown({ 'x-described': Type.String({ description }) })

/**
 * A credential request of any draft. `encryption.ts`, `older-drafts.ts`, `credential-request.ts` and `proofs.ts` of the
 * issuer check its members, and answer each mistake with the error code of the specification.
 */
export const CredentialRequest = Type.Object(
  {
    credential_configuration_id: Type.Optional(text('A configuration of the offer')),
    credential_identifier: Type.Optional(text('From authorization_details of the token response')),
    proof: Type.Optional(
      Type.Unknown({ description: '{proof_type: "jwt", jwt}; or use proofs', 'x-described': JwtProof }),
    ),
    proofs: Type.Optional(
      Type.Unknown({
        description: '{jwt: [a key proof for each credential]} or {attestation: [one key attestation]}; or use proof',
        'x-described': Proofs,
      }),
    ),
    credential_response_encryption: encryption,
    format: Type.Optional(text('Up to draft 14: what is wanted, with one of the next three')),
    credential_definition: Type.Optional(Type.Unknown({ 'x-described': CredentialDefinition })),
    vct: Type.Optional(text('The type, for dc+sd-jwt')),
    doctype: Type.Optional(text('The type, for mso_mdoc')),
  },
  { title: 'CredentialRequest' },
)
export type CredentialRequest = Static<typeof CredentialRequest>

/** The members by which draft 13 gives wallets a nonce; later drafts have the nonce endpoint. */
export const draft13NonceMembers = {
  c_nonce: Type.Optional(Type.String({ description: 'Draft 13 only' })),
  c_nonce_expires_in: Type.Optional(Type.Integer({ description: 'Draft 13 only; seconds' })),
}

export const CredentialResponse = Type.Object(
  {
    credentials: Type.Optional(Type.Array(Type.Object({ credential: Type.String() }))),
    credential: Type.Optional(Type.String({ description: 'Up to draft 14: the first of them' })),
    notification_id: Type.Optional(Type.String({ description: 'For the notification endpoint' })),
    transaction_id: Type.Optional(Type.String({ description: 'For the deferred credential endpoint' })),
    interval: Type.Optional(Type.Integer({ description: 'Seconds to wait before asking there' })),
    ...draft13NonceMembers,
  },
  { title: 'CredentialResponse' },
)
export type CredentialResponse = Static<typeof CredentialResponse>

/** A deferred request, whose members are read with the same care. OpenID4VCI 1.0, Deferred Credential Request. */
export const DeferredCredentialRequest = Type.Object(
  {
    transaction_id: Type.Optional(text('That of the credential response')),
    credential_response_encryption: encryption,
  },
  { title: 'DeferredCredentialRequest' },
)
export type DeferredCredentialRequest = Static<typeof DeferredCredentialRequest>

/** The characters that texts for wallets may have. RFC 6749 section 5.2. */
export const PLAIN_TEXT = '^[ !#-\\[\\]-~]*$'

/** The events of a notification. OpenID4VCI 1.0, Notification Request. */
export const NotificationEvent = Type.Union([
  Type.Literal('credential_accepted'),
  Type.Literal('credential_failure'),
  Type.Literal('credential_deleted'),
])

export const NotificationRequest = Type.Object(
  {
    notification_id: Type.String({ description: 'That of the credential response' }),
    event: NotificationEvent,
    event_description: Type.Optional(Type.String({ maxLength: 500, pattern: PLAIN_TEXT })),
  },
  { title: 'NotificationRequest' },
)
export type NotificationRequest = Static<typeof NotificationRequest>

/** OpenID4VCI 1.0, Using Authorization Details Parameter, as the token response has it. */
export const AuthorizationDetail = Type.Object(
  {
    type: Type.Literal('openid_credential'),
    credential_configuration_id: Type.String(),
    credential_identifiers: Type.Array(Type.String(), { minItems: 1 }),
  },
  { title: 'AuthorizationDetail' },
)
export type AuthorizationDetail = Static<typeof AuthorizationDetail>

const Encryption = {
  enc_values_supported: Type.Array(Type.String()),
  zip_values_supported: Type.Optional(Type.Array(Type.String())),
  encryption_required: Type.Boolean(),
}
const RequestEncryption = Type.Object({
  jwks: Type.Object({ keys: Type.Array(Type.Object({ kid: Type.String(), alg: Type.String() })) }),
  ...Encryption,
})
const ResponseEncryption = Type.Object({ alg_values_supported: Type.Array(Type.String()), ...Encryption })

export const IssuerMetadata = Type.Object(
  {
    credential_issuer: Type.String(),
    authorization_servers: Type.Array(Type.String()),
    credential_endpoint: Type.String(),
    nonce_endpoint: Type.String(),
    deferred_credential_endpoint: Type.String(),
    notification_endpoint: Type.String(),
    batch_credential_issuance: Type.Optional(Type.Object({ batch_size: Type.Integer({ minimum: 2 }) })),
    credential_request_encryption: Type.Optional(RequestEncryption),
    credential_response_encryption: Type.Optional(ResponseEncryption),
    display: Type.Array(Type.Object({ name: Type.String() })),
    issuer_info: Type.Optional(
      Type.Array(Type.Object({ format: Type.String(), data: Type.String() }), {
        description: 'ETSI TS 119 472-3: the registration certificate of the operator',
      }),
    ),
    credential_configurations_supported: Type.Record(Type.String(), Type.Object({}, { additionalProperties: true }), {
      description: 'By the ids that offers name: each as it was posted, and what wallets need beside that',
    }),
  },
  { title: 'CredentialIssuerMetadata' },
)
export type IssuerMetadata = Static<typeof IssuerMetadata>
