/** The schema of a query for the OpenAPI document. `dcql.ts` validates queries. */

import * as Type from 'typebox'
import { ClaimPathSchema, FORMATS_IN_WORDS } from './credential-configuration.ts'
import { ID_PATTERN, MAX_LIST_ELEMENTS } from './dcql-parts.ts'

const list = { minItems: 1, maxItems: MAX_LIST_ELEMENTS }
const Id = Type.String({ pattern: ID_PATTERN })
const References = Type.Array(Id, list)

const ClaimsQuery = Type.Object(
  {
    id: Type.Optional(Id),
    path: ClaimPathSchema,
    values: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Integer(), Type.Boolean()]), list)),
    intent_to_retain: Type.Optional(
      Type.Boolean({ description: 'For mso_mdoc: whether you keep the element for longer than you verify it' }),
    ),
  },
  { title: 'ClaimsQuery', description: 'OpenID4VP 1.0, Claims Query' },
)

const Meta = Type.Object(
  {
    type_values: Type.Optional(
      Type.Array(Type.Array(Type.String(), list), {
        ...list,
        description: 'The wanted sets of types, for W3C formats',
      }),
    ),
    vct_values: Type.Optional(Type.Array(Type.String(), { ...list, description: 'The wanted types, for dc+sd-jwt' })),
    doctype_value: Type.Optional(Type.String({ description: 'The wanted type, for mso_mdoc' })),
  },
  { title: 'CredentialQueryMeta', description: 'The types that are wanted; any type where it is empty' },
)

const TrustedAuthoritiesQuery = Type.Object(
  {
    type: Type.String({ description: 'aki, or etsi_tl with the url of one of trustLists' }),
    values: Type.Array(Type.String(), list),
  },
  { title: 'TrustedAuthoritiesQuery', description: 'OpenID4VP 1.0, Trusted Authorities Query' },
)

const CredentialQuery = Type.Object(
  {
    id: Id,
    format: Type.String({ description: FORMATS_IN_WORDS }),
    meta: Meta,
    multiple: Type.Optional(Type.Boolean({ description: 'False when absent' })),
    claims: Type.Optional(Type.Array(ClaimsQuery, list)),
    claim_sets: Type.Optional(Type.Array(References, { ...list, description: 'Ids of claims, best first' })),
    require_cryptographic_holder_binding: Type.Optional(Type.Boolean({ description: 'True when absent' })),
    trusted_authorities: Type.Optional(Type.Array(TrustedAuthoritiesQuery, list)),
  },
  { title: 'CredentialQuery', description: 'OpenID4VP 1.0, Credential Query' },
)

const CredentialSetQuery = Type.Object(
  { options: Type.Array(References, list), required: Type.Optional(Type.Boolean({ description: 'True when absent' })) },
  { title: 'CredentialSetQuery', description: 'OpenID4VP 1.0, Credential Set Query' },
)

export const DcqlQuerySchema = Type.Object(
  {
    credentials: Type.Array(CredentialQuery, list),
    credential_sets: Type.Optional(Type.Array(CredentialSetQuery, list)),
  },
  {
    title: 'DcqlQuery',
    description: 'OpenID4VP 1.0, Digital Credentials Query Language',
    examples: [
      {
        credentials: [
          {
            id: 'card',
            format: 'jwt_vc_json-ld',
            meta: { type_values: [['StudentCard']] },
            claims: [{ path: ['credentialSubject', 'given_name'] }],
          },
        ],
      },
    ],
  },
)

/** The specified members of each object of a query. */
export const QUERY_MEMBERS = {
  query: Object.keys(DcqlQuerySchema.properties),
  credential: Object.keys(CredentialQuery.properties),
  claim: Object.keys(ClaimsQuery.properties),
  authority: Object.keys(TrustedAuthoritiesQuery.properties),
  credentialSet: Object.keys(CredentialSetQuery.properties),
} as const
