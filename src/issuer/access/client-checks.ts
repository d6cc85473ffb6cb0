/**
 * The checks of client authentication by wallet attestation, in the order of their report. Expensive checks
 * come last: the status list is fetched only for an attestation that passes every other check.
 */
import { type Check, fail, pass, type Verdict } from '../../check/check.ts'
import type { StatusPolicy } from '../../check/status/status-list-loader.ts'
import { fetchStatusVerdict } from '../../check/status/verdict.ts'
import { isObject, memberOf, stringMemberOf } from '../../codec/json.ts'
import { type Certificate, parseCertificate } from '../../keys/certificate.ts'
import { isJwsSignedBy } from '../../keys/signature.ts'
import { findTrustPath, type TrustPath } from '../../keys/trust-path.ts'
import { CLIENT_ATTESTATION, TOKEN_STATUS_LIST } from '../../protocol/specifications.ts'
import { attesterProblem } from './attester.ts'
import type { ClientEvidence, ClientReading } from './client-headers.ts'
import {
  algorithmProblem,
  jwtTimeProblem,
  MAX_PROOF_AGE_SECONDS,
  PROOF_TIMES,
  type TimeRule,
  typeProblem,
} from './jwt-checks.ts'
import type { ReusableNonces } from './reusable-nonce.ts'

/** The operator's policy, and what the request must match. Nothing here comes from the two JWTs. */
export interface ClientCheckContext {
  readonly now: Date
  readonly clockSkewSeconds: number
  /** With `haip`, FAPI 2.0 Security Profile applies. */
  readonly profile: 'haip' | undefined
  /** The accepted signature algorithms. */
  readonly algorithms: readonly string[]
  /** The trust anchors of wallet providers. */
  readonly anchors: readonly Certificate[]
  /** The parameter `client_id`, if present. */
  readonly clientId: string | undefined
  readonly audiences: readonly string[]
  readonly challenges: ReusableNonces
  /** Whether a proof without a challenge is refused. */
  readonly challengeRequired: boolean
  readonly status: StatusPolicy
}

type ClientCheck = Check<ClientEvidence, ClientCheckContext>

const ATTESTATION_TYPE = 'oauth-client-attestation+jwt'
const POP_TYPE = 'oauth-client-attestation-pop+jwt'
const ATTESTATION_TIMES: TimeRule = { requires: ['exp'] }
const MAX_SUBJECT = 512
const ATTESTATION = `${CLIENT_ATTESTATION}, Client Attestation JWT`
const POP = `${CLIENT_ATTESTATION}, Client Attestation PoP JWT`
const HAIP = 'HAIP 1.0, Wallet Attestation'

export const clientReadingChecks: readonly Check<ClientReading, ClientCheckContext>[] = [
  {
    id: 'attestation.well_formed',
    asks: 'Are there exactly one wallet attestation and one proof of possession, and can both be read?',
    spec: `${CLIENT_ATTESTATION}, Verification and Processing`,
    level: 'MUST',
    run: (reading) => ('problem' in reading ? fail(reading.problem, reading.cause) : pass()),
  },
]

const attestationChecks: readonly ClientCheck[] = [
  {
    id: 'attestation.type',
    asks: `Is the type of the attestation ${ATTESTATION_TYPE}?`,
    spec: ATTESTATION,
    level: 'MUST',
    run: ({ attestation }) => passUnless(typeProblem(attestation.header, ATTESTATION_TYPE)),
  },
  {
    id: 'attestation.algorithm',
    asks: 'Is the attestation signed by an algorithm that is taken here?',
    spec: ATTESTATION,
    level: 'MUST',
    run: ({ attestation }, { algorithms }) => passUnless(algorithmProblem(attestation.header, algorithms)),
  },
  {
    id: 'attestation.validity',
    asks: 'Is the attestation valid now?',
    spec: ATTESTATION,
    level: 'MUST',
    run: ({ attestation }, context) => passUnless(jwtTimeProblem(attestation.payload, ATTESTATION_TIMES, context)),
  },
  {
    id: 'attestation.client',
    asks: 'Does the attestation name a client, and the one that the request names?',
    spec: `${ATTESTATION}; ${HAIP}`,
    level: 'MUST',
    run: ({ subject }, { clientId }) => {
      if (!subject || subject.length > MAX_SUBJECT) return fail(`sub must be a text of 1 to ${MAX_SUBJECT} characters`)
      return clientId === undefined || clientId === subject ? pass() : fail('sub is not the client_id of the request')
    },
  },
  {
    id: 'attestation.signer',
    asks: 'Does the certificate of the attestation lead to a trusted provider of wallets, and may it sign attestations?',
    spec: `${HAIP}; RFC 5280 section 6`,
    level: 'MUST',
    needs: ['attestation.type', 'attestation.algorithm', 'attestation.validity'],
    run: ({ readChain }, context) => passUnless(attesterProblem(readChain(), context.anchors, context)),
  },
  {
    id: 'attestation.signature',
    asks: 'Is the attestation signed by the key of its certificate?',
    spec: ATTESTATION,
    level: 'MUST',
    needs: ['attestation.signer'],
    run: ({ attestation, readChain }) =>
      isJwsSignedBy(attestation, readChain()[0].publicKey)
        ? pass()
        : fail('the signature is not by the key of the certificate'),
  },
  {
    id: 'attestation.key',
    asks: 'Does the attestation name a public key of the wallet instance?',
    spec: ATTESTATION,
    level: 'MUST',
    needs: ['attestation.signature'],
    run: ({ readInstanceKey }) => {
      readInstanceKey()
      return pass()
    },
  },
]

const popChecks: readonly ClientCheck[] = [
  {
    id: 'pop.type',
    asks: `Is the type of the proof ${POP_TYPE}?`,
    spec: POP,
    level: 'MUST',
    run: ({ pop }) => passUnless(typeProblem(pop.header, POP_TYPE)),
  },
  {
    id: 'pop.algorithm',
    asks: 'Is the proof signed by an algorithm that is taken here?',
    spec: POP,
    level: 'MUST',
    run: ({ pop }, { algorithms }) => passUnless(algorithmProblem(pop.header, algorithms)),
  },
  {
    id: 'pop.audience',
    asks: 'Is the proof for this issuer and no other?',
    spec: POP,
    level: 'MUST',
    run: ({ pop }, { audiences, profile }) => {
      const aud = memberOf(pop.payload, 'aud')
      // FAPI 2.0 Security Profile, Requirements for authorization servers: aud is a string.
      const [audience, ...others] = Array.isArray(aud) && profile === undefined ? aud : [aud]
      const isOurs = others.length === 0 && audiences.some((each) => each === audience)
      return isOurs ? pass() : fail('aud must be the issuer of the authorization server metadata, and nothing else')
    },
  },
  {
    id: 'pop.fresh',
    asks: `Was the proof made within the last ${MAX_PROOF_AGE_SECONDS / 60} minutes?`,
    spec: POP,
    level: 'MUST',
    run: ({ pop }, context) => passUnless(jwtTimeProblem(pop.payload, PROOF_TIMES, context)),
  },
  {
    id: 'pop.id',
    asks: 'Has the proof a name of its own, by which a second use is known?',
    spec: POP,
    level: 'MUST',
    run: ({ popId }) => (popId ? pass() : fail('jti is missing')),
  },
  {
    id: 'pop.challenge',
    asks: 'Does the proof answer a challenge of this issuer of the last minutes, where it has or needs one?',
    spec: `${CLIENT_ATTESTATION}, Challenges`,
    level: 'MUST',
    run: ({ pop }, { challenges, challengeRequired, now }) => {
      if (!challengeRequired && memberOf(pop.payload, 'challenge') === undefined) return pass()
      const challenge = stringMemberOf(pop.payload, 'challenge')
      if (challenge === undefined) return fail('challenge is missing')
      return challenges.isValid(challenge, now) ? pass() : fail('challenge is not one of the last minutes')
    },
  },
  {
    id: 'pop.signature',
    asks: 'Is the proof signed by the key that the attestation names?',
    spec: POP,
    level: 'MUST',
    needs: ['attestation.key', 'pop.type', 'pop.algorithm'],
    run: ({ pop, readInstanceKey }) =>
      isJwsSignedBy(pop, readInstanceKey().key)
        ? pass()
        : fail('the signature is not by the key in cnf of the attestation'),
  },
]

const statusCheck: ClientCheck = {
  id: 'attestation.status',
  asks: 'Has the provider neither revoked nor suspended the attestation?',
  spec: `${TOKEN_STATUS_LIST}, Validation Rules`,
  level: 'MUST',
  // Fetches the status list only if every other check passed.
  needs: [...attestationChecks, ...popChecks].map(({ id }) => id),
  run: ({ attestation, readChain }, context) => {
    const statusClaim = memberOf(attestation.payload, 'status')
    if (statusClaim === undefined) return pass('the attestation carries no status')
    if (!isObject(statusClaim)) return fail('status must be an object')
    const certificates = readChain()
    return fetchStatusVerdict(
      { listType: 'jwt', identifiers: [], certificates, status: statusClaim },
      {
        ...context,
        trustAnchors: context.anchors,
        parseCertificate,
        acceptTlsServerCertificates: false,
        findIssuerPath: (accepts) => trustPathOf(certificates, context, accepts),
      },
    )
  },
}

export const clientChecks: readonly ClientCheck[] = [...attestationChecks, ...popChecks, statusCheck]

function passUnless(problem: string | undefined): Verdict {
  return problem === undefined ? pass() : fail(problem)
}

function trustPathOf(
  chain: readonly Certificate[],
  { anchors, now, clockSkewSeconds }: ClientCheckContext,
  accepts: (path: readonly Certificate[]) => boolean = () => true,
): TrustPath {
  return findTrustPath(chain, anchors, { now, clockSkewSeconds, accepts })
}
