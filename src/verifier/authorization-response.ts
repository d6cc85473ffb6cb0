/** The wallet's response: parse, decide, store, answer. OpenID4VP 1.0, Response Mode direct_post. */
import { parseJsonObject } from '../codec/json.ts'
import { MalformedError } from '../codec/malformed.ts'
import type { DcqlQuery } from '../protocol/dcql.ts'
import { refuse } from '../protocol/error.ts'
import { findSession } from './collections.ts'
import type { VerifierContext } from './context.ts'
import { getQuery } from './queries.ts'
import { responseUriOf } from './request-object.ts'
import type { ResponseForm } from './schemas.ts'
import {
  finish,
  type Outcome,
  refuseFinished,
  refuseUnlessOpen,
  statusOf,
  type VerificationSession,
  type WalletError,
} from './session.ts'
import { checksOf, type VpResponse, verify } from './verification.ts'

/** For one credential query that takes several. Each costs some signatures to verify, whoever sent it. */
const MAX_PRESENTATIONS = 20
const MAX_ERROR_LENGTH = 500

/**
 * Takes the one response of a session. What cannot be read is refused and leaves the session open; a presentation that
 * fails ends it, and the wallet learns only that it was refused. Refuses with `not_found`, `gone` or `invalid_request`.
 */
export async function receiveResponse(context: VerifierContext, sessionId: string, form: ResponseForm): Promise<void> {
  const { value: session, version } = await findSession(context.store, sessionId)
  refuseUnlessOpen(session, context.now())
  const query = await getQuery(context, session.queryId)
  refuseForeignState(form, session, query)
  const outcome = form.error
    ? walletOutcome(form, form.error)
    : verifiedOutcome(context, { sessionId, session, query }, readVpToken(form))
  const value = finish(session, outcome, context.now())
  const failed = await context.store.commit([{ update: 'verification_session', id: sessionId, version, value }])
  // A session changes once, so that whoever was faster has finished it.
  if (failed !== undefined) refuseFinished()
  context.log.info(
    { event: 'session_finished', status: statusOf(value, context.now()), failed: failedChecks(outcome) },
    'session finished',
  )
  if ('report' in outcome && !outcome.report.verified) refuse('invalid_request', 'the presentation was not accepted')
}

/** OpenID4VP 1.0, Response Parameters: without holder binding, the state is all that ties a response to its session. */
function refuseForeignState({ state }: ResponseForm, session: VerificationSession, query: DcqlQuery): void {
  const unbound = query.credentials.some((each) => each.require_cryptographic_holder_binding === false)
  if (!state && unbound) refuse('invalid_request', 'state is missing')
  if (state && state !== session.state) refuse('invalid_request', 'state is not the one of the request')
}

function readVpToken({ vp_token: text, state }: ResponseForm): VpResponse {
  if (!text) return refuse('invalid_request', 'the response has neither vp_token nor error')
  const token = parseToken(text)
  const entries = Object.entries(token).map(([id, presentations]) => {
    if (!Array.isArray(presentations)) return refuse('invalid_request', 'each member of vp_token must be an array')
    if (presentations.length > MAX_PRESENTATIONS) {
      refuse('invalid_request', `a member of vp_token has more than ${MAX_PRESENTATIONS} presentations`)
    }
    return [id, presentations.map(textOrRefuse)] as const
  })
  return { vpToken: new Map(entries), state: state || undefined }
}

function parseToken(text: string) {
  try {
    return parseJsonObject(text)
  } catch (error) {
    if (error instanceof MalformedError) return refuse('invalid_request', `vp_token: ${error.message}`)
    throw error
  }
}

function textOrRefuse(presentation: unknown): string {
  return typeof presentation === 'string'
    ? presentation
    : refuse('invalid_request', 'each presentation must be a string')
}

function walletOutcome({ error_description: description }: ResponseForm, error: string): Outcome {
  const walletError: WalletError = {
    error: error.slice(0, MAX_ERROR_LENGTH),
    ...(description ? { error_description: description.slice(0, MAX_ERROR_LENGTH) } : {}),
  }
  return { walletError }
}

function verifiedOutcome(
  context: VerifierContext,
  asked: { readonly sessionId: string; readonly session: VerificationSession; readonly query: DcqlQuery },
  response: VpResponse,
): Outcome {
  const { sessionId, session, query } = asked
  const report = verify(response, {
    query,
    state: session.state,
    binding: {
      nonce: session.nonce,
      audience: session.clientId,
      responseUri: responseUriOf(context.config, sessionId),
      encryptionKeyThumbprint: undefined,
      transactionData: [],
    },
    sessionStart: new Date(session.createdAt),
    now: context.now(),
    clockSkewSeconds: context.config.clockSkewSeconds,
    trustAnchors: context.config.trustAnchors,
    parseCertificate: context.parseCertificate,
  })
  return { report }
}

/** For the log: which checks failed, and nothing of what was presented. */
function failedChecks(outcome: Outcome): readonly string[] {
  if (!('report' in outcome)) return []
  return checksOf(outcome.report)
    .filter((check) => check.outcome === 'failed')
    .map(({ id }) => id)
}
