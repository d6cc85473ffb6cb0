/** Checks of the credential itself: disclosures, document type, validity period, status (`src/check/status/`). */
import { type Check, fail, notRun, pass } from '../../check/check.ts'
import { fetchStatusVerdict } from '../../check/status/verdict.ts'
import { findTimeProblem } from '../../credential/evidence.ts'
import type { Validity } from '../../credential/evidence-parts.ts'
import { TOKEN_STATUS_LIST } from '../../protocol/specifications.ts'
import type { EvidenceWithChain, PresentationCheckContext } from './context.ts'

/**
 * The checks that must hold before a status list is fetched: the status of an invalid credential must not be looked up.
 * Token Status List, Validation Rules.
 */
const STATUS_NEEDS = [
  'issuer.trusted',
  'issuer.identifier',
  'holder.signature',
  'holder.nonce',
  'query.format',
  'disclosures.valid',
  'credential.doc_type',
  'validity.not_before',
  'validity.not_expired',
]

export const credentialChecks: readonly Check<EvidenceWithChain, PresentationCheckContext>[] = [
  {
    id: 'disclosures.valid',
    asks: 'Does every disclosure belong to the credential, once and in its place?',
    spec: 'RFC 9901, Verification of the SD-JWT; ISO/IEC 18013-5 section 9.3.1',
    level: 'MUST',
    run: ({ disclosuresProblem }) => (disclosuresProblem === undefined ? pass() : fail(disclosuresProblem)),
  },
  {
    id: 'credential.doc_type',
    asks: 'Is the document of the type that the issuer signed?',
    spec: 'ISO/IEC 18013-5 section 9.3.1',
    level: 'MUST',
    run: ({ statedTypes = [], types }) =>
      statedTypes.every((type) => types.includes(type))
        ? pass()
        : fail('the docType of the document is not the one that the issuer signed'),
  },
  {
    id: 'validity.not_before',
    asks: 'Is the credential valid already?',
    spec: 'RFC 7519 section 4.1.5; RFC 9901 section 7.1; VCDM 2.0, Validity Period; ISO/IEC 18013-5 section 9.3.1',
    level: 'MUST',
    run: ({ validity: { notBefore } }, context) => timeVerdict({ notBefore, notAfter: [] }, context),
  },
  {
    id: 'validity.not_expired',
    asks: 'Is the credential valid still?',
    spec: 'RFC 7519 section 4.1.4; VCDM 2.0, Validity Period; ISO/IEC 18013-5 section 9.3.1',
    level: 'MUST',
    run: ({ validity: { notAfter } }, context) => timeVerdict({ notBefore: [], notAfter }, context),
  },
  {
    id: 'status.valid',
    asks: 'Has the issuer neither revoked nor suspended the credential?',
    spec: `${TOKEN_STATUS_LIST}, Validation Rules; Bitstring Status List 1.0, Validate Algorithm; ISO/IEC 18013-5, second edition, 12.3.6`,
    level: 'MUST',
    needs: STATUS_NEEDS,
    notApplicableReason: ({ trustAnchors }) =>
      trustAnchors === undefined ? 'no trust anchors are configured, so that no status is fetched' : undefined,
    run: statusVerdict,
  },
]

function statusVerdict({ issuerChain, ...evidence }: EvidenceWithChain, context: PresentationCheckContext) {
  const { certificates } = issuerChain
  if ('problem' in certificates) return notRun('the certificates of the issuer could not be read')
  return fetchStatusVerdict(
    { ...evidence, listType: context.format.statusListType, identifiers: evidence.issuer.identifiers, certificates },
    { ...context, findIssuerPath: (accepts) => context.findIssuerPath(issuerChain, accepts) },
  )
}

function timeVerdict(limits: Validity, { now, clockSkewSeconds }: PresentationCheckContext) {
  const problem = findTimeProblem(limits, now, clockSkewSeconds)
  if (problem === undefined) {
    const hasLimit = limits.notBefore.length + limits.notAfter.length > 0
    return pass(hasLimit ? undefined : 'the credential sets no such limit')
  }
  const { member, at, isEarly } = problem
  if (at === undefined) return fail(`${member} is not a time`)
  return fail(`the credential ${isEarly ? 'is not valid before' : 'expired on'} ${at.toISOString()} (${member})`)
}
