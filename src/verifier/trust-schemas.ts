/** The schemas of the list of trust anchors, and of the test of a chain. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { applicationOperation, jsonResponse, Seconds } from '../http/openapi-responses.ts'
import { Checks, NamedCertificate } from './report-schemas.ts'

/** The maximum length of a PEM chain. */
const MAX_PEM = 65_536

const Trust = Type.Union([Type.Literal('open'), Type.Literal('anchors')], {
  description: '`anchors`: issuers have to lead to an anchor; `open`: none are configured, and any certificate will do',
})

const TestedCertificate = Type.Object(
  {
    ...NamedCertificate,
    issuer: Type.String({ description: 'The name of who signed the certificate' }),
    not_before: Seconds,
    not_after: Seconds,
  },
  { title: 'TestedCertificate' },
)

const TrustListEntry = Type.Object(
  {
    url: Type.String(),
    credential_types: Type.Optional(
      Type.Array(Type.String(), { description: 'The types that it is for; absent for all' }),
    ),
    sequence_number: Type.Optional(
      Type.Integer({ description: 'The number of the newest list; absent before the first' }),
    ),
    issued_at: Type.Optional(Seconds),
    next_update: Type.Optional(Type.Integer({ description: 'Until when the newest list counts, in seconds' })),
    certificates: Type.Integer({ description: 'How many certificates of it are anchors now' }),
    problem: Type.Optional(Type.String({ description: 'Why it does not count now, or why no newer one was fetched' })),
  },
  { title: 'TrustList' },
)

const TrustAnchorEntry = Type.Object(
  {
    ...TestedCertificate.properties,
    file: Type.String({ description: 'The name of its file in issuerTrustAnchors' }),
    problem: Type.Optional(Type.String({ description: 'Why nothing leads to it now, such as that it has expired' })),
  },
  { title: 'TrustAnchor' },
)

export const TrustAnchorList = Type.Object(
  {
    trust: Trust,
    anchors: Type.Array(TrustAnchorEntry, { description: 'The certificates of issuerTrustAnchors' }),
    trust_lists: Type.Array(TrustListEntry, {
      description: 'The lists of trustLists, whose certificates are anchors too',
    }),
  },
  { title: 'TrustAnchorList' },
)

export const ChainTest = Type.Object(
  {
    certificates: Type.String({
      maxLength: MAX_PEM,
      description: 'PEM: the certificate of an issuer, then those between it and an anchor in any order; ten at most',
    }),
  },
  { title: 'ChainTest', additionalProperties: false },
)
export type ChainTest = Static<typeof ChainTest>

export const ChainTestResult = Type.Object(
  {
    trusted: Type.Boolean({
      description: 'Whether a credential that the first certificate signed now would be trusted',
    }),
    trust: Trust,
    checks: Checks,
    certificates: Type.Array(TestedCertificate, { description: 'The certificates that were sent, in their order' }),
    path: Type.Optional(
      Type.Array(TestedCertificate, {
        description: 'The certificates from the first to the anchor, where there is a path',
      }),
    ),
    anchor: Type.Optional(TrustAnchorEntry),
    trust_list: Type.Optional(Type.String({ description: 'The url of the trust list that has the anchor' })),
    valid_until: Type.Optional(
      Type.Integer({
        description: 'The time when the first certificate of the path expires, in seconds since the epoch',
      }),
    ),
  },
  { title: 'ChainTestResult' },
)

export const trustAnchorsRoute = {
  ...applicationOperation,
  operationId: 'listTrustAnchors',
  summary: 'The trust anchors as last read, and the trust lists',
  response: jsonResponse(200, TrustAnchorList),
}

export const chainTestRoute = {
  ...applicationOperation,
  operationId: 'testChain',
  summary: 'Whether a certificate would be trusted as an issuer, by which anchor, until when, and why not',
  body: ChainTest,
  response: jsonResponse(200, ChainTestResult),
}
