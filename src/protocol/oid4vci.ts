/** Wire objects of OpenID4VCI 1.0, as schemas that validate requests and as types. Names are the specification's. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { PRE_AUTHORIZED_GRANT } from './grant.ts'

/** A `ClaimPath` of claim-path.ts, as long as we take it. */
export const ClaimPath = Type.Array(Type.Union([Type.String(), Type.Integer({ minimum: 0 }), Type.Null()]), {
  minItems: 1,
  maxItems: 32,
})

const Logo = Type.Object({ uri: Type.String(), alt_text: Type.Optional(Type.String()) })

const Display = Type.Object({
  name: Type.String(),
  locale: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  background_color: Type.Optional(Type.String()),
  text_color: Type.Optional(Type.String()),
  logo: Type.Optional(Logo),
  background_image: Type.Optional(Type.Object({ uri: Type.String() })),
})

const ClaimDescription = Type.Object(
  {
    path: ClaimPath,
    mandatory: Type.Optional(Type.Boolean()),
    display: Type.Optional(Type.Array(Type.Object({ name: Type.String(), locale: Type.Optional(Type.String()) }))),
  },
  // A misspelt `mandatory` would let a claim be missing.
  { additionalProperties: false },
)

const Levels = Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 20, uniqueItems: true }))

/** What every format declares; what a format adds to it, its own `checkConfiguration` looks at. */
export const CredentialConfiguration = Type.Object(
  {
    format: Type.String({ description: 'jwt_vc_json-ld, vc+sd-jwt, dc+sd-jwt, jwt_vc_json or mso_mdoc' }),
    credential_definition: Type.Optional(Type.Object({}, { description: 'For W3C formats: type, and @context' })),
    vct: Type.Optional(Type.String({ description: 'For dc+sd-jwt: the type' })),
    doctype: Type.Optional(Type.String({ description: 'For mso_mdoc: the type' })),
    credential_metadata: Type.Optional(
      Type.Object({
        display: Type.Optional(Type.Array(Display)),
        claims: Type.Optional(Type.Array(ClaimDescription, { maxItems: 500 })),
      }),
    ),
    scope: Type.Optional(Type.String({ pattern: '^[!#-\\[\\]-~]+$' })),
    selective_disclosure: Type.Optional(
      Type.Union([Type.Literal('all'), Type.Literal('none'), Type.Array(ClaimPath, { maxItems: 500 })], {
        description: 'Which claims the holder may hide: all (the default), none, or those at the given paths',
      }),
    ),
    validity_seconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 3_155_760_000, description: 'One year when absent' }),
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
    batch_size: Type.Optional(Type.Integer({ minimum: 1 })),
    revocable: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)
export type CredentialConfiguration = Static<typeof CredentialConfiguration>

export const CredentialOffer = Type.Object({
  credential_issuer: Type.String(),
  credential_configuration_ids: Type.Array(Type.String(), { minItems: 1 }),
  grants: Type.Object({
    [PRE_AUTHORIZED_GRANT]: Type.Object({ 'pre-authorized_code': Type.String() }),
  }),
})
export type CredentialOffer = Static<typeof CredentialOffer>

/** Read with care by `issuer/credential-request.ts` and `issuer/proofs.ts`, which answer each mistake with the code the specification has. */
export const CredentialRequest = Type.Object({
  credential_configuration_id: Type.Optional(Type.Unknown({ description: 'A configuration of the offer' })),
  credential_identifier: Type.Optional(Type.Unknown()),
  proof: Type.Optional(Type.Unknown({ description: '{proof_type: "jwt", jwt}; or use proofs' })),
  proofs: Type.Optional(
    Type.Unknown({ description: '{jwt: [one key proof]} or {attestation: [one key attestation]}; or use proof' }),
  ),
  credential_response_encryption: Type.Optional(Type.Unknown()),
})
export type CredentialRequest = Static<typeof CredentialRequest>

export const CredentialResponse = Type.Object({ credentials: Type.Array(Type.Object({ credential: Type.String() })) })
export type CredentialResponse = Static<typeof CredentialResponse>

export const IssuerMetadata = Type.Object({
  credential_issuer: Type.String(),
  authorization_servers: Type.Array(Type.String()),
  credential_endpoint: Type.String(),
  nonce_endpoint: Type.String(),
  display: Type.Array(Type.Object({ name: Type.String() })),
  credential_configurations_supported: Type.Record(Type.String(), Type.Object({}), {
    description: 'By the ids that offers name: each as it was posted, and what wallets need beside that',
  }),
})
export type IssuerMetadata = Static<typeof IssuerMetadata>
