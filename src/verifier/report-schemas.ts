/** The schemas of the session status and of the verification report. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { Seconds } from '../http/openapi-responses.ts'
import { makeProblemSchemas } from '../progress/problem-members.ts'

export const Claims = Type.Object({}, { title: 'Claims', additionalProperties: true })

const Outcome = Type.Union([
  Type.Literal('passed'),
  Type.Literal('failed'),
  Type.Literal('warning'),
  Type.Literal('not_applicable'),
  Type.Literal('not_run'),
])

export const Checks = Type.Array(
  Type.Object(
    {
      id: Type.String(),
      asks: Type.String(),
      spec: Type.String(),
      level: Type.Union([Type.Literal('MUST'), Type.Literal('SHOULD')]),
      outcome: Outcome,
      detail: Type.Optional(Type.String()),
    },
    { title: 'Check', description: 'docs/checks.md' },
  ),
)

export const NamedCertificate = {
  subject: Type.String({ description: 'The name of its holder, as in CN=Example University, C=DE' }),
  sha256: Type.String({ description: 'The digest of the certificate, in hexadecimal' }),
}

const CredentialReport = Type.Object(
  {
    format: Type.String(),
    issuer_certificate: Type.Optional(
      Type.Object(
        {
          ...NamedCertificate,
          anchor: Type.Optional(
            Type.Object(
              {
                ...NamedCertificate,
                trust_list: Type.Optional(
                  Type.String({ description: 'The url of the trust list that has the anchor' }),
                ),
              },
              { description: 'The trust anchor that it leads to' },
            ),
          ),
        },
        { description: 'The verified certificate of the key that signed: who issued it' },
      ),
    ),
    issuer: Type.Optional(
      Type.String({
        description:
          'The issuer that the credential names: a canonical https URL, DID or URN. Look at issuer.identifier too',
      }),
    ),
    type: Type.Optional(Type.Array(Type.String())),
    claims: Type.Optional(
      Type.Object({}, { description: 'Only what was disclosed, and only when all checks hold', 'x-described': Claims }),
    ),
    holder_key_thumbprint: Type.Optional(Type.String()),
    valid_from: Type.Optional(Type.String()),
    valid_until: Type.Optional(Type.String()),
    checks: Checks,
  },
  { title: 'CredentialReport' },
)

export const VerificationResult = Type.Object(
  {
    verified: Type.Boolean(),
    trust: Type.Optional(
      Type.Union([Type.Literal('open'), Type.Literal('anchors')], {
        description:
          '`anchors`: issuers lead to one of issuerTrustAnchors or trustLists; `open`: none are configured, and anybody may have issued what verifies. Absent in reports of earlier releases',
      }),
    ),
    checks: Checks,
    credentials: Type.Record(Type.String(), Type.Array(CredentialReport)),
  },
  { title: 'VerificationResult' },
)

export const VerificationStatus = Type.Union([
  Type.Literal('STARTED'),
  Type.Literal('VERIFICATION_SUCCEEDED'),
  Type.Literal('VERIFICATION_FAILED'),
  Type.Literal('DECLINED'),
  Type.Literal('EXPIRED'),
])
export type VerificationStatus = Static<typeof VerificationStatus>

/** The members of a session in its status and in the list. */
export const sessionMembers = {
  session_id: Type.String(),
  status: VerificationStatus,
  verification_query_id: Type.String(),
  created_at: Seconds,
  expires_at: Seconds,
  ended_at: Type.Optional(Type.Integer({ description: 'The time when the session came to its final state' })),
}

export const VerificationSessionStatus = Type.Object(
  {
    ...sessionMembers,
    request_fetched_at: Type.Optional(
      Type.Integer({ description: 'When a wallet first fetched the request object, in seconds since the epoch' }),
    ),
    ...makeProblemSchemas('authorization-request, authorization-response'),
    erased_at: Type.Optional(Seconds),
    response_mode: Type.Optional(
      Type.Union(
        [
          Type.Literal('direct_post'),
          Type.Literal('direct_post.jwt'),
          Type.Literal('dc_api.jwt'),
          Type.Literal('org-iso-mdoc'),
        ],
        {
          description:
            'How the response came; with dc_api.jwt and org-iso-mdoc through the browser (Digital Credentials API). Absent while there is none',
        },
      ),
    ),
    result: Type.Optional(VerificationResult),
    wallet_error: Type.Optional(Type.Object({ error: Type.String(), error_description: Type.Optional(Type.String()) })),
  },
  { title: 'VerificationSession' },
)
