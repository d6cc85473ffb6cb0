/** The overview of the verification service for operators: its health, and the results of its latest sessions. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { countCallbacks } from '../callback/counts.ts'
import { epochSeconds } from '../codec/time.ts'
import { certificateEnd, listCertificateEnds } from '../config/certificate-end.ts'
import { applicationOperation, jsonResponse, Seconds } from '../http/openapi-responses.ts'
import { countSessions, overviewMembers, type SessionOutcome } from '../operator/overview.ts'
import { problemWords } from '../progress/problem-members.ts'
import type { VerifierContext } from './context.ts'
import { registeredError, type VerificationSession, verificationStatus } from './session.ts'
import { failedChecks } from './verification.ts'

/** The maximum number of trust anchors in the overview, those that expire first. */
const MAX_ANCHORS = 20

const VerifierOverview = Type.Object(
  {
    ...overviewMembers,
    last_success: Type.Object(
      { verified_at: Type.Optional(Seconds) },
      {
        description: 'Among the sessions that were counted',
      },
    ),
    trust_anchors: Type.Optional(
      Type.Object(
        {
          count: Type.Integer(),
          ending_first: Type.Array(Type.Object({ subject: Type.String(), not_after: Seconds }), {
            description: `Up to ${MAX_ANCHORS} of them`,
          }),
        },
        { description: 'Absent where none are configured: then anybody may have issued what is presented' },
      ),
    ),
  },
  { title: 'VerifierOverview' },
)
type VerifierOverview = Static<typeof VerifierOverview>

export const verifierOverviewRoute = {
  ...applicationOperation,
  operationId: 'getOverview',
  summary: 'Whether the service is well, and its sessions of the last 24 hours in numbers',
  response: jsonResponse(200, VerifierOverview),
}

/** Returns the overview. `isReady` says whether the database accepts writes. */
export async function readVerifierOverview(context: VerifierContext, isReady: boolean): Promise<VerifierOverview> {
  const { store, config, now } = context
  const at = now()
  const { sessions, lastSuccessAt } = await countSessions(context, 'verification_session', (id, session) =>
    readOutcome(context, id, session),
  )
  return {
    at: epochSeconds(at),
    ready: isReady,
    certificates: listCertificateEnds(config.keys),
    callbacks: { configured: config.sessionCallback !== undefined, ...(await countCallbacks(store)) },
    sessions,
    last_success: lastSuccessAt === undefined ? {} : { verified_at: lastSuccessAt },
    ...anchorsOf(config),
  }
}

function anchorsOf({ trustAnchors }: VerifierContext['config']): Pick<VerifierOverview, 'trust_anchors'> {
  if (trustAnchors === undefined) return {}
  const ends = trustAnchors.map(certificateEnd).sort((one, other) => one.not_after - other.not_after)
  return { trust_anchors: { count: ends.length, ending_first: ends.slice(0, MAX_ANCHORS) } }
}

async function readOutcome(
  { progress, now }: VerifierContext,
  id: string,
  session: VerificationSession,
): Promise<SessionOutcome> {
  const { outcome, finishedAt } = session
  const status = verificationStatus(session, now())
  if (outcome === undefined) return { status, problems: problemWords(await progress.read(id)) }
  if ('walletError' in outcome) {
    return { status, problems: [`the wallet: ${registeredError(outcome.walletError.error)}`] }
  }
  const succeededAt = status === 'VERIFICATION_SUCCEEDED' ? finishedAt : undefined
  return { status, problems: [...new Set(failedChecks(outcome.report))], succeededAt }
}
