/** The schema of a credential configuration, as the application posts it and as the issuer metadata has it. */

import type { Static } from 'typebox'
import * as Type from 'typebox'
import { MAX_CLAIMS, MAX_STEPS } from './claim-path-text.ts'

/** The format identifiers for the OpenAPI documents. A test compares them with the supported formats. */
export const FORMAT_IDS = ['jwt_vc_json-ld', 'vc+sd-jwt', 'dc+sd-jwt', 'jwt_vc_json', 'mso_mdoc'] as const

/** The format identifiers as a phrase, for descriptions. */
export const FORMATS_IN_WORDS = FORMAT_IDS.join(', ').replace(/, (?=[^,]*$)/, ' or ')

/** The schema of a `ClaimPath`, which limits its length. */
export const ClaimPathSchema = Type.Array(Type.Union([Type.String(), Type.Integer({ minimum: 0 }), Type.Null()]), {
  minItems: 1,
  maxItems: MAX_STEPS,
})

const Name = Type.String({ minLength: 1, maxLength: 500 })
const Logo = Type.Object({ uri: Type.String(), alt_text: Type.Optional(Type.String({ maxLength: 500 })) })
const BackgroundImage = Type.Object({ uri: Type.String() })

const Display = Type.Object(
  {
    name: Name,
    locale: Type.Optional(Type.String()),
    description: Type.Optional(Type.String({ maxLength: 2000 })),
    background_color: Type.Optional(Type.String()),
    text_color: Type.Optional(Type.String()),
    logo: Type.Optional(Logo),
    background_image: Type.Optional(BackgroundImage),
  },
  { title: 'CredentialDisplay' },
)

const ClaimDisplay = Type.Object({ name: Name, locale: Type.Optional(Type.String()) })

const ClaimDescription = Type.Object(
  {
    path: ClaimPathSchema,
    mandatory: Type.Optional(Type.Boolean()),
    display: Type.Optional(Type.Array(ClaimDisplay, { minItems: 1 })),
  },
  // Unknown members are refused, since a misspelt `mandatory` would be ignored.
  { title: 'ClaimDescription', additionalProperties: false },
)

const Levels = Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 20, uniqueItems: true }))

/** An option of the credential reuse policy. ETSI TS 119 472-3 section 4.2.4; ARF 3.0, Annex II, methods A to D. */
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

export const CredentialDefinition = Type.Object(
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

const CredentialMetadata = Type.Object({
  // OpenID4VCI 1.0, Credential Issuer Metadata Parameters: both arrays are non-empty.
  display: Type.Optional(Type.Array(Display, { minItems: 1 })),
  claims: Type.Optional(Type.Array(ClaimDescription, { minItems: 1, maxItems: MAX_CLAIMS })),
  credential_reuse_policy: Type.Optional(ReusePolicy),
})

/** The known members of those objects of a configuration that may have other members. */
export const METADATA_MEMBERS = {
  definition: Object.keys(CredentialDefinition.properties),
  metadata: Object.keys(CredentialMetadata.properties),
  display: Object.keys(Display.properties),
  logo: Object.keys(Logo.properties),
  backgroundImage: Object.keys(BackgroundImage.properties),
  claimDisplay: Object.keys(ClaimDisplay.properties),
} as const

/** The members that the issuer metadata publishes as they were posted. */
const PublicMembers = {
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
  credential_metadata: Type.Optional(CredentialMetadata),
  scope: Type.Optional(Type.String({ pattern: '^[!#-\\[\\]-~]+$' })),
}

/** The members that only the issuer uses, and the issuer metadata leaves out. */
const InternalMembers = {
  selective_disclosure: Type.Optional(
    Type.Union([Type.Literal('all'), Type.Literal('none'), Type.Array(ClaimPathSchema, { maxItems: 500 })], {
      description: 'The claims that the holder may hide: all (the default), none, or those at the given paths',
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
  subject: Type.Optional(
    Type.Literal('holder', {
      description: "For jwt_vc_json: credentialSubject.id is the DID of the holder's key",
    }),
  ),
  status: Type.Optional(
    Type.Literal('bitstring', {
      description: 'For W3C formats: credentialStatus, with entries in Bitstring Status Lists, beside status',
    }),
  ),
}

/** The names of the members that the issuer metadata leaves out. */
export const INTERNAL_MEMBERS: readonly string[] = Object.keys(InternalMembers)

/** The members of all formats; `parseMembers` of each format checks its own. */
export const CredentialConfiguration = Type.Object(
  { ...PublicMembers, ...InternalMembers },
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
