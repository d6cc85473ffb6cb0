/** What each operation of the verification service takes and gives: the schemas that validate, and the OpenAPI document. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { answers, byApplication, byWallet, IdempotencyHeader, Seconds, SessionParams } from '../http/answers.ts'
import { MAX_TRANSACTIONS } from '../protocol/transaction-data.ts'

const DcqlQuery = Type.Object({}, { description: 'OpenID4VP 1.0, Digital Credentials Query Language' })

export const NewSession = Type.Object(
  {
    verification_query_id: Type.String(),
    expires_in: Type.Optional(Type.Integer({ minimum: 1, maximum: 604_800, description: 'Seconds' })),
    redirect_uri: Type.Optional(
      Type.String({
        description:
          'Same-device flow: where the wallet sends the person afterwards, with a response_code, without which the status has no result',
      }),
    ),
    transaction_data: Type.Optional(
      Type.Array(
        Type.Object(
          {},
          { description: 'type, credential_ids (one), and the members of the type; OpenID4VP 1.0, Transaction Data' },
        ),
        { minItems: 1, maxItems: MAX_TRANSACTIONS },
      ),
    ),
    request_uri_method: Type.Optional(
      Type.Union([Type.Literal('post'), Type.Literal('get')], {
        description: 'Stands in the link when it is given; with post, a wallet may send a wallet_nonce',
      }),
    ),
  },
  { additionalProperties: false },
)
export type NewSession = Static<typeof NewSession>

/** Why a wallet does not present, which it may say in the clear. */
const WalletErrorMembers = {
  state: Type.Optional(Type.String()),
  error: Type.Optional(Type.String({ description: 'access_denied when the holder declined' })),
  error_description: Type.Optional(Type.String()),
}

/** The form of a response; every member may be missing, and unknown ones are ignored. */
export const ResponseForm = Type.Object({
  vp_token: Type.Optional(Type.String({ description: 'JSON object: credential query id to array of presentations' })),
  ...WalletErrorMembers,
})
export type ResponseForm = Static<typeof ResponseForm>

export const EncryptedResponseForm = Type.Object({
  response: Type.Optional(
    Type.String({ description: 'JWE of an object with vp_token and state, to the key of the request' }),
  ),
  ...WalletErrorMembers,
})
export type EncryptedResponseForm = Static<typeof EncryptedResponseForm>

/** What a wallet may send for its request object; unknown members are ignored. */
export const RequestObjectForm = Type.Object({
  wallet_nonce: Type.Optional(Type.String({ description: 'Comes back in the request object' })),
  wallet_metadata: Type.Optional(Type.String({ description: 'JSON object; its jwks encrypt the request object' })),
})
export type RequestObjectForm = Static<typeof RequestObjectForm>

const Outcome = Type.Union(
  ['passed', 'failed', 'warning', 'not_applicable', 'not_run'].map((outcome) => Type.Literal(outcome)),
)

const Checks = Type.Array(
  Type.Object({
    id: Type.String(),
    asks: Type.String(),
    spec: Type.String(),
    level: Type.Union([Type.Literal('MUST'), Type.Literal('SHOULD')]),
    outcome: Outcome,
    detail: Type.Optional(Type.String()),
  }),
)

const NamedCertificate = {
  subject: Type.String({ description: 'As in CN=Example University, C=DE' }),
  sha256: Type.String({ description: 'Of the certificate, in hexadecimal' }),
}

const CredentialReport = Type.Object({
  format: Type.String(),
  issuer_certificate: Type.Optional(
    Type.Object(
      {
        ...NamedCertificate,
        anchor: Type.Optional(Type.Object(NamedCertificate, { description: 'The trust anchor that it leads to' })),
      },
      { description: 'The verified certificate of the key that signed: who issued it' },
    ),
  ),
  issuer: Type.Optional(
    Type.String({
      description:
        'What the credential says of itself: a canonical https URL, DID or URN. Look at issuer.identifier too',
    }),
  ),
  type: Type.Optional(Type.Array(Type.String())),
  claims: Type.Optional(Type.Object({}, { description: 'Only what was disclosed, and only when all checks hold' })),
  holder_key_thumbprint: Type.Optional(Type.String()),
  valid_from: Type.Optional(Type.String()),
  valid_until: Type.Optional(Type.String()),
  checks: Checks,
})

const Result = Type.Object({
  verified: Type.Boolean(),
  trust: Type.Optional(
    Type.Union([Type.Literal('open'), Type.Literal('anchors')], {
      description:
        '`anchors`: issuers lead to one of issuerTrustAnchors; `open`: none are configured, and anybody may have issued what verifies. Absent in reports of earlier releases',
    }),
  ),
  checks: Checks,
  credentials: Type.Record(Type.String(), Type.Array(CredentialReport)),
})

const statuses = ['STARTED', 'VERIFICATION_SUCCEEDED', 'VERIFICATION_FAILED', 'DECLINED', 'EXPIRED']

const SessionStatus = Type.Object({
  session_id: Type.String(),
  status: Type.Union(statuses.map((status) => Type.Literal(status))),
  verification_query_id: Type.String(),
  created_at: Seconds,
  expires_at: Seconds,
  erased_at: Type.Optional(Seconds),
  result: Type.Optional(Result),
  wallet_error: Type.Optional(Type.Object({ error: Type.String(), error_description: Type.Optional(Type.String()) })),
})

/** A text is a credential as issued, whose format is found out; so is `credential`. `claims` describes one by hand. */
const PostedCredential = Type.Union([
  Type.String({ description: 'A credential as issued' }),
  Type.Object({
    format: Type.Optional(Type.String({ description: 'Required' })),
    credential: Type.Optional(Type.String({ description: 'As issued' })),
    claims: Type.Optional(
      Type.Object({}, { description: 'Rooted as DCQL paths are, of a credential that is not there' }),
    ),
    type: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
    vct: Type.Optional(Type.String()),
    doctype: Type.Optional(Type.String()),
  }),
])
export type PostedCredential = Static<typeof PostedCredential>

const Simulation = Type.Object(
  { dcql_query: DcqlQuery, credentials: Type.Array(PostedCredential, { minItems: 1, maxItems: 100 }) },
  { additionalProperties: false },
)
export type Simulation = Static<typeof Simulation>

const SimulationResult = Type.Object({
  satisfied: Type.Boolean({ description: 'Whether a wallet with all of these credentials could answer' }),
  explanation: Type.Optional(Type.String()),
  credentials: Type.Array(Type.Object({ format: Type.String(), type: Type.Array(Type.String()) }), {
    description: 'What each was read as',
  }),
  credential_queries: Type.Record(
    Type.String(),
    Type.Object({
      matches: Type.Array(
        Type.Object({
          credential: Type.Integer(),
          discloses: Type.Array(Type.Unknown({ description: 'A path of the query' })),
        }),
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
})

export const createQuery = {
  ...byApplication,
  summary: 'Store a DCQL query; the answer is its id',
  body: Type.Object({ dcql_query: DcqlQuery }, { additionalProperties: false }),
  response: answers(201, Type.String(), 'text/plain'),
}

export const simulateQuery = {
  ...byApplication,
  summary: 'Which of some credentials would answer a DCQL query; nothing is verified or stored',
  description:
    'A dry run. Signatures, trust, dates and status are not looked at, and nothing is kept. Reasons name paths, never the values of claims.',
  body: Simulation,
  response: answers(200, SimulationResult),
}

export const createBareQuery = {
  ...byApplication,
  summary: 'Store a DCQL query that is the whole body; the answer is its id',
  body: DcqlQuery,
  response: answers(201, Type.String(), 'text/plain'),
}

export const getQuery = {
  ...byApplication,
  summary: 'A DCQL query as it was posted',
  params: Type.Object({ verification_query_id: Type.String() }),
  response: answers(200, Type.Object({ verification_query_id: Type.String(), dcql_query: DcqlQuery })),
}

export const newSession = {
  ...byApplication,
  summary: 'Start a verification session',
  headers: IdempotencyHeader,
  body: NewSession,
  response: answers(200, Type.Object({ session_id: Type.String(), request_uri: Type.String() })),
}

export const sessionStatus = {
  ...byApplication,
  summary: 'The status of a verification session, with every check',
  params: SessionParams,
  querystring: Type.Object({
    response_code: Type.Optional(
      Type.String({
        description: 'Of the redirect, where the session has a redirect_uri; without it there is no result',
      }),
    ),
  }),
  response: answers(200, SessionStatus),
}

export const requestObject = {
  ...byWallet,
  summary: 'The signed request object',
  params: SessionParams,
  response: answers(200, Type.String(), 'application/oauth-authz-req+jwt'),
}

export const postedRequestObject = {
  ...requestObject,
  summary: 'The signed request object, for this wallet',
  consumes: ['application/x-www-form-urlencoded'],
  body: RequestObjectForm,
}

export const StaticPresentation = Type.Object(
  {
    verification_query_id: Type.Optional(Type.String({ description: 'Either this or dcql_query' })),
    dcql_query: Type.Optional(DcqlQuery),
    vp_token: Type.Object({}, { description: 'Credential query id to array of presentations' }),
    nonce: Type.Optional(Type.String({ minLength: 1, description: 'Not compared when absent' })),
    audience: Type.Optional(
      Type.String({ minLength: 1, description: 'The client_id of the request; not compared when absent' }),
    ),
    response_uri: Type.Optional(
      Type.String({ minLength: 1, description: 'Of the request; an mso_mdoc is signed over it' }),
    ),
    encryption_jwk_thumbprint: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{43}$',
        description: 'RFC 7638, of the key that the response was encrypted to; an mso_mdoc is signed over it',
      }),
    ),
  },
  { additionalProperties: false },
)
export type StaticPresentation = Static<typeof StaticPresentation>

export const staticPresentation = {
  ...byApplication,
  summary: 'Verify a presentation that the application has; nothing of it is kept',
  body: StaticPresentation,
  response: answers(200, Result),
}

const Accepted = Type.Object({
  redirect_uri: Type.Optional(Type.String({ description: 'Where the wallet sends the person' })),
})

export const authorizationResponse = {
  ...byWallet,
  summary: 'Present, or say why not',
  consumes: ['application/x-www-form-urlencoded'],
  params: SessionParams,
  body: ResponseForm,
  response: answers(200, Accepted),
}

export const encryptedAuthorizationResponse = {
  ...authorizationResponse,
  summary: 'Present encrypted, or say why not',
  body: EncryptedResponseForm,
}
