/** The schemas of the simulation of a query. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { ClaimPathSchema } from '../protocol/credential-configuration.ts'
import { DcqlQuerySchema } from '../protocol/dcql-schema.ts'
import { Claims } from './report-schemas.ts'

/** A DCQL query. `dcql.ts` validates it. */
export const DcqlQueryBody = Type.Object(
  {},
  { description: 'OpenID4VP 1.0, Digital Credentials Query Language', 'x-described': DcqlQuerySchema },
)

/**
 * A credential for the simulation. A text, and `credential`, are an issued credential, whose format is detected;
 * `claims` describes one without issuing it.
 */
const PostedCredentialSchema = Type.Union([
  Type.String({ description: 'A credential as issued' }),
  Type.Object({
    format: Type.Optional(Type.String({ description: 'Required' })),
    credential: Type.Optional(Type.String({ description: 'The credential as issued' })),
    claims: Type.Optional(
      Type.Object(
        {},
        {
          description: 'The claims of a credential that is not there, rooted as DCQL paths are',
          'x-described': Claims,
        },
      ),
    ),
    type: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
    vct: Type.Optional(Type.String()),
    doctype: Type.Optional(Type.String()),
  }),
])
export type PostedCredential = Static<typeof PostedCredentialSchema>

export const SimulationSchema = Type.Object(
  { dcql_query: DcqlQueryBody, credentials: Type.Array(PostedCredentialSchema, { minItems: 1, maxItems: 100 }) },
  { title: 'Simulation', additionalProperties: false },
)
export type Simulation = Static<typeof SimulationSchema>

export const SimulationResultSchema = Type.Object(
  {
    satisfied: Type.Boolean({ description: 'Whether a wallet with all of these credentials could answer' }),
    explanation: Type.Optional(
      Type.String({ description: 'Why it could not, and which parts of the query never request anything' }),
    ),
    credentials: Type.Array(Type.Object({ format: Type.String(), type: Type.Array(Type.String()) }), {
      description: 'The format and the type that each was read as',
    }),
    credential_queries: Type.Record(
      Type.String(),
      Type.Object({
        matches: Type.Array(
          Type.Object({
            credential: Type.Integer({ description: 'The index of the credential in the request' }),
            discloses: Type.Array(Type.Unknown({ description: 'A path of the query', 'x-described': ClaimPathSchema })),
          }),
          { description: 'The credentials of which a wallet sends one, or several with `multiple`' },
        ),
        others: Type.Array(Type.Object({ credential: Type.Integer(), reason: Type.String() })),
      }),
    ),
    credential_sets: Type.Optional(
      Type.Array(
        Type.Object({
          required: Type.Boolean(),
          satisfied_by: Type.Union([Type.Array(Type.String()), Type.Null()], { description: 'The option' }),
        }),
      ),
    ),
  },
  { title: 'SimulationResult' },
)
export type SimulationResult = Static<typeof SimulationResultSchema>
