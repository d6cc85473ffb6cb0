/** The messages of OpenID4VCI 1.0, as schemas and types, with the names of the specification. */

import type { Static } from 'typebox'
import * as Type from 'typebox'
import { CredentialDefinition } from './credential-configuration.ts'
import { AUTHORIZATION_CODE_GRANT, PRE_AUTHORIZED_GRANT } from './grant-types.ts'

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

/** A JWK Set. RFC 7517 section 5. */
export const JwkSet = Type.Object({ keys: Type.Array(JwkSchema) }, { title: 'JwkSet' })

const encryption = Type.Optional(
  Type.Unknown({
    description: '{jwk, enc} in an encrypted request; up to draft 15 {jwk, alg, enc} in any',
    'x-described': ResponseEncryptionKey,
  }),
)
const text = (description: string) => Type.Unknown({ 'x-described': Type.String({ description }) })

/**
 * A credential request of any draft. The schema is loose: `encryption.ts`, `older-drafts.ts`, `credential-request.ts`
 * and `proofs.ts` of the issuer check the members, and refuse with the specified error codes.
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

/** The members for the nonce of the next request, which wallets of the final specification get from an endpoint. */
export const nonceMembers = {
  c_nonce: Type.Optional(
    Type.String({ description: 'For wallets that look for it here: a nonce for the next request' }),
  ),
  c_nonce_expires_in: Type.Optional(Type.Integer({ description: 'Seconds for which c_nonce is good' })),
}

export const CredentialResponse = Type.Object(
  {
    credentials: Type.Optional(Type.Array(Type.Object({ credential: Type.String() }))),
    credential: Type.Optional(Type.String({ description: 'Up to draft 14: the first of them' })),
    notification_id: Type.Optional(Type.String({ description: 'For the notification endpoint' })),
    transaction_id: Type.Optional(Type.String({ description: 'For the deferred credential endpoint' })),
    interval: Type.Optional(Type.Integer({ description: 'Seconds to wait before asking there' })),
    ...nonceMembers,
  },
  { title: 'CredentialResponse' },
)
export type CredentialResponse = Static<typeof CredentialResponse>

/** A deferred credential request, with an equally loose schema. OpenID4VCI 1.0, Deferred Credential Request. */
export const DeferredCredentialRequest = Type.Object(
  {
    transaction_id: Type.Optional(text('That of the credential response')),
    credential_response_encryption: encryption,
  },
  { title: 'DeferredCredentialRequest' },
)
export type DeferredCredentialRequest = Static<typeof DeferredCredentialRequest>

/** The characters allowed in texts for wallets. RFC 6749 section 5.2. */
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
    // Phones write it in their own language, with letters that OpenID4VCI 1.0 does not allow here, or write null.
    event_description: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  },
  { title: 'NotificationRequest' },
)
export type NotificationRequest = Static<typeof NotificationRequest>

/**
 * An element of `authorization_details` in the token response. OpenID4VCI 1.0, Using Authorization Details Parameter.
 */
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
    display: Type.Array(Type.Object({ name: Type.String(), locale: Type.Optional(Type.String()) })),
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
