/** Checks whether the credential satisfies the query, independently of the wallet. OpenID4VP 1.0, DCQL. */

import { type Check, fail, pass } from '../../check/check.ts'
import type { Evidence } from '../../credential/format.ts'
import { verifiedAuthorityKeyIds } from '../../keys/authority-key-ids.ts'
import { type Certificate, isSignedBy } from '../../keys/certificate.ts'
import type { CredentialQuery } from '../../protocol/dcql.ts'
import { answersAuthorities, namesTrustList } from '../../protocol/dcql-authorities.ts'
import { answerClaims, type ClaimsAnswer } from '../../protocol/dcql-match.ts'
import type { IssuerChain } from '../issuer-path.ts'
import { findListsOfPath } from '../trust-list/anchors.ts'
import { CREDIBILITY_CHECKS, type EvidenceWithChain, type PresentationCheckContext } from './context.ts'

/** The format is checked before the status, which is not looked up for a document of another format. */
export const formatCheck: Check<EvidenceWithChain, PresentationCheckContext> = {
  id: 'query.format',
  asks: 'Is the credential of the format that was asked for?',
  spec: 'OpenID4VP 1.0, Credential Query (format); VCDM 2.0 and 1.1, Contexts, Types, Credential Subject, Issuer',
  level: 'MUST',
  run: ({ formatProblem }, { credentialQuery }) =>
    formatProblem === undefined ? pass() : fail(`the credential is not ${credentialQuery.format}: ${formatProblem}`),
}

export const queryChecks: readonly Check<EvidenceWithChain, PresentationCheckContext>[] = [
  {
    id: 'query.type',
    asks: 'Is the credential of a type that was asked for?',
    spec: 'OpenID4VP 1.0, Parameters in the meta parameter',
    level: 'MUST',
    needs: CREDIBILITY_CHECKS,
    run(evidence, { credentialQuery, format }) {
      return format.matchesMeta(evidence, credentialQuery.meta)
        ? pass()
        : fail('the credential is of none of the types that meta asks for')
    },
  },
  {
    id: 'query.trusted_authorities',
    asks: 'Was the credential issued under an authority that was asked for?',
    spec: 'OpenID4VP 1.0, Trusted Authorities Query',
    level: 'MUST',
    needs: ['issuer.signature', 'issuer.trusted'],
    notApplicableReason: ({ credentialQuery }) =>
      credentialQuery.trusted_authorities === undefined
        ? 'the query names no authorities (trusted_authorities)'
        : undefined,
    run({ issuerChain }, context) {
      const answers = (path: readonly Certificate[]) =>
        answersAuthorities(context.credentialQuery, verifiedAuthorityKeyIds(path, context.trustAnchors ?? [])) ||
        namesTrustList(context.credentialQuery, findListsOfPath(path, context.trustLists))
      if (!answers(verifiedCertificatesOf(issuerChain, answers, context)))
        return fail('no certificate above that of the issuer is one of trusted_authorities')
      return context.trustAnchors !== undefined
        ? pass()
        : pass('its certificates say so; without trust anchors (issuerTrustAnchors) nobody vouches for them')
    },
  },
  {
    id: 'query.claims',
    asks: 'Are the claims there that were asked for?',
    spec: 'OpenID4VP 1.0, Selecting Claims; Claims Path Pointer',
    level: 'MUST',
    needs: [...CREDIBILITY_CHECKS, 'disclosures.valid'],
    run(evidence, { credentialQuery }) {
      const { missing } = answerInEitherPlace(credentialQuery, evidence)
      return missing === undefined ? pass() : fail(missing)
    },
  },
  {
    id: 'query.values',
    asks: 'Do the claims have the values that were asked for?',
    spec: 'OpenID4VP 1.0, Claims Query (values)',
    level: 'MUST',
    needs: ['query.claims'],
    run(evidence, { credentialQuery }) {
      const { mismatch } = answerInEitherPlace(credentialQuery, evidence)
      return mismatch === undefined ? pass() : fail(mismatch)
    },
  },
]

/**
 * Answers the query with the claims as they are disclosed or, if these do not satisfy it, as the issuer signed them. An
 * index counts among the elements of an array that are disclosed, or among all: wallets differ in which they mean.
 */
function answerInEitherPlace(
  query: CredentialQuery,
  { claims, readClaimsInPlace }: Pick<Evidence, 'claims' | 'readClaimsInPlace'>,
): ClaimsAnswer {
  const answer = answerClaims(query, claims)
  if (readClaimsInPlace === undefined || (answer.missing ?? answer.mismatch) === undefined) return answer
  const answerInPlace = answerClaims(query, readClaimsInPlace())
  return answerInPlace.missing === undefined ? answerInPlace : answer
}

/**
 * Returns the certificates of a path to a trust anchor; of several, one for which `answers` returns true, if there is
 * any. Without configured anchors, returns the issuer's certificate and those after it, up to the first that did not
 * sign the one before (RFC 7515 section 4.1.6).
 */
function verifiedCertificatesOf(
  issuerChain: IssuerChain,
  answers: (path: readonly Certificate[]) => boolean,
  { trustAnchors, findIssuerPath }: PresentationCheckContext,
): readonly Certificate[] {
  if (trustAnchors !== undefined) {
    const trustPath = findIssuerPath(issuerChain, answers)
    return 'path' in trustPath ? trustPath.path : []
  }
  const { certificates } = issuerChain
  if ('problem' in certificates) return []
  const end = certificates.findIndex((each, at) => at > 0 && !isSignedBy(certificates[at - 1] ?? each, each))
  return end === -1 ? certificates : certificates.slice(0, end)
}
