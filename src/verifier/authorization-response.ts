/**
 * Receives the wallet's response: parses it, decides on its outcome, stores the outcome and answers. `response-form.ts`
 * parses the two forms of a response. OpenID4VP 1.0, Response Mode direct_post and direct_post.jwt; appendix A,
 * Response.
 */

import { removeControlCharacters } from '../codec/control-characters.ts'
import { digestOf } from '../codec/digest.ts'
import type { DcqlQuery } from '../protocol/dcql.ts'
import { refuse } from '../protocol/error.ts'
import { ISO_MDOC } from '../protocol/iso-mdoc.ts'
import { ORIGIN_PREFIX, type ResponseMode } from '../protocol/oid4vp.ts'
import { parseTransaction } from '../protocol/transaction-data.ts'
import type { Row } from '../store/store.ts'
import { createOperatorPolicy, requireVerificationSession, type VerifierContext } from './context.ts'
import { isoMdocRecipient, readIsoMdocResponse, requireDocumentsQuery } from './iso-mdoc.ts'
import { makeResponseCode } from './redirect.ts'
import { decryptResponse, responseKeyThumbprint } from './response-encryption.ts'
import { readEncryptedForm, readForm, readVpToken, type WalletResponse } from './response-form.ts'
import type { EncryptedResponseForm, PlainResponseForm, ResponseReceipt } from './schemas.ts'
import {
  erasureDate,
  finishSession,
  makeEndEvent,
  modeOf,
  type ReportedError,
  refuseFinished,
  refuseUnlessOpen,
  registeredError,
  requireEncryptionKey,
  requireSessionQuery,
  responseUriOf,
  type VerificationOutcome,
  type VerificationSession,
  verificationStatus,
} from './session.ts'
import { failedChecks, type VpResponse, verifyVpResponse } from './verification.ts'

const MAX_ERROR_LENGTH = 500

/**
 * The posted form, how it came, with the origin of the session if the browser had the request, and the id of the HTTP
 * request for the log.
 */
export type ReceivedForm = { readonly httpRequestId: string } & (
  | { readonly mode: 'direct_post'; readonly form: PlainResponseForm }
  | { readonly mode: 'direct_post.jwt'; readonly form: EncryptedResponseForm }
  | {
      readonly mode: 'dc_api.jwt' | typeof ISO_MDOC
      readonly origin: string
      readonly form: EncryptedResponseForm
    }
)

/** The session and the query of a response, and the response as it came. */
interface AnsweredRequest {
  readonly receivedForm: ReceivedForm
  readonly sessionId: string
  readonly session: VerificationSession
  readonly query: DcqlQuery
}

/**
 * Returns the row of a session that waits for a response. Refuses with `not_found`, with `gone` if the session has
 * expired, and with `invalid_request` if it has its response already or another response mode.
 */
export async function requireWaitingSession(
  context: Pick<VerifierContext, 'store' | 'now'>,
  sessionId: string,
  mode: ResponseMode,
): Promise<Row<VerificationSession>> {
  const row = await requireVerificationSession(context.store, sessionId)
  refuseUnlessOpen(row.value, context.now())
  refuseOtherMode(row.value, mode)
  return row
}

/**
 * Receives the response of a session. `row` is the result of {@link requireWaitingSession}. Refuses with
 * `invalid_request` a response that cannot be parsed, and the session stays open. A presentation that fails a check
 * ends the session, and the wallet gets no reason. Refuses with `gone` or `invalid_request` if the session has ended
 * meanwhile.
 */
export async function receiveResponse(
  context: VerifierContext,
  sessionId: string,
  { value: session, version }: Row<VerificationSession>,
  receivedForm: ReceivedForm,
): Promise<ResponseReceipt> {
  const query = await requireSessionQuery(context, session)
  const response = await readReceivedForm(context, receivedForm, session, query)
  // A response through the browser has no state. OpenID4VP 1.0, appendix A, Request.
  if (!('origin' in receivedForm)) refuseForeignState(response, session, query)
  const outcome = await decideOutcome(context, { receivedForm, sessionId, session, query }, response)
  const isRefused = 'report' in outcome && !outcome.report.verified
  const redirect =
    isRefused || session.redirectUri === undefined ? undefined : makeResponseCode(session.redirectUri, context.random)
  const code = redirect && { responseCodeDigest: redirect.digest }
  const finishedSession = finishSession(session, { outcome, mode: receivedForm.mode }, context.now())
  const value = { ...finishedSession, ...code, ...unwrittenFetch(context, sessionId) }
  const conflict = await context.store.commit([
    {
      update: 'verification_session',
      id: sessionId,
      version,
      value,
      dueAt: erasureDate(value, context.config.retention),
      erases: true,
    },
    makeEndEvent(context, { sessionId, session: value, now: context.now() }),
  ])
  if (conflict !== undefined) return refuseEndedSession(context, sessionId)
  context.progress.forgetUnwrittenFetch(sessionId)
  const line = {
    event: 'session_finished',
    request: receivedForm.httpRequestId,
    session: digestOf(sessionId),
    status: verificationStatus(value, context.now()),
    failed: 'report' in outcome ? failedChecks(outcome.report) : [],
  }
  context.log.info(line, 'session finished')
  if (isRefused) refuse('invalid_request', 'the presentation was not accepted')
  return redirect ? { redirect_uri: redirect.uri } : {}
}

/** Refuses with `gone` a session that has expired or was voided, and with `invalid_request` a finished one. */
async function refuseEndedSession({ store, now }: VerifierContext, sessionId: string): Promise<never> {
  const { value } = await requireVerificationSession(store, sessionId)
  refuseUnlessOpen(value, now())
  return refuseFinished('invalid_request')
}

/** Returns the time of the fetch of the request object as a member, if it is not written yet. */
function unwrittenFetch({ progress }: VerifierContext, sessionId: string) {
  const { requestFetchedAt } = progress.getUnwritten(sessionId)
  return requestFetchedAt === undefined ? {} : { requestFetchedAt }
}

/** Refuses with `invalid_request` a response in another mode than that of the session. OpenID4VP 1.0, Response Mode. */
function refuseOtherMode(session: VerificationSession, mode: ResponseMode): void {
  if (modeOf(session) !== mode) refuse('invalid_request', `this session takes its response by ${modeOf(session)} only`)
}

function readReceivedForm(
  { config }: VerifierContext,
  received: ReceivedForm,
  session: VerificationSession,
  query: DcqlQuery,
): Promise<WalletResponse> | WalletResponse {
  if (received.mode === 'direct_post') return readForm(received.form)
  const encryptionKey = requireEncryptionKey(session)
  if (received.mode !== ISO_MDOC)
    return readEncryptedForm(received.form, (response) =>
      decryptResponse(response, encryptionKey, config.presentationBytes),
    )
  const documentsQuery = requireDocumentsQuery(query)
  const isoMdocSession = { origin: received.origin, nonce: session.nonce, encryptionKey }
  return readEncryptedForm(received.form, (response) => readIsoMdocResponse(response, isoMdocSession, documentsQuery))
}

/**
 * Refuses with `invalid_request` a `state` that differs from that of the request. Refuses a missing one if the query
 * asks for a credential without holder binding, since then only `state` binds the response to its session. OpenID4VP
 * 1.0, Response Parameters.
 */
function refuseForeignState({ state }: WalletResponse, session: VerificationSession, query: DcqlQuery): void {
  const asksUnbound = query.credentials.some((each) => each.require_cryptographic_holder_binding === false)
  if (!state && asksUnbound) refuse('invalid_request', 'state is missing')
  if (state && state !== session.state) refuse('invalid_request', 'state is not the one of the request')
}

async function decideOutcome(
  context: VerifierContext,
  request: AnsweredRequest,
  response: WalletResponse,
): Promise<VerificationOutcome> {
  if ('error' in response) return { walletError: makeWalletError(response) }
  return verifyVpToken(context, request, {
    vpToken: readVpToken(response.vpToken),
    state: response.state || undefined,
  })
}

/**
 * Makes the wallet's error for the application. An unregistered code is moved to the description, which is erased with
 * the personal data.
 */
function makeWalletError({
  error: sentCode,
  description,
}: {
  readonly error: string
  readonly description?: string | undefined
}): ReportedError {
  const error = registeredError(sentCode)
  const text = error === sentCode ? description : [sentCode, description].filter(Boolean).join(': ')
  return { error, ...(text ? { error_description: makePrintable(text) } : {}) }
}

/**
 * Replaces control characters and lone surrogates, which RFC 6749 section 4.1.2.1 and many databases do not allow, and
 * characters that turn the direction of the words around the text.
 */
function makePrintable(text: string): string {
  return removeControlCharacters(text.slice(0, MAX_ERROR_LENGTH)).replace(/\p{Cs}/gu, '\ufffd')
}

async function verifyVpToken(
  context: VerifierContext,
  request: AnsweredRequest,
  response: VpResponse,
): Promise<VerificationOutcome> {
  const { receivedForm, session, query } = request
  const verificationContext = {
    query,
    state: session.state,
    binding: expectedBinding(context, request),
    transactions: (session.transactionData ?? []).map(parseTransaction),
    sessionStart: new Date(session.createdAt),
    ...createOperatorPolicy(context),
  }
  const runVerification = (): ReturnType<typeof verifyVpResponse> =>
    verifyVpResponse(response, verificationContext, { logger: context.log, requestId: receivedForm.httpRequestId })
  const report = await (context.inSpan?.('check presentation', runVerification) ?? runVerification())
  return { report, checkDescriptions: await context.checkDescriptions.storeCurrent() }
}

/**
 * Returns what must bind the presentations to the request: a response through the browser is for the origin of the
 * page, and any other for the client identifier. OpenID4VP 1.0, Preventing Replay; appendix A, Response.
 */
function expectedBinding({ config }: VerifierContext, { receivedForm, sessionId, session }: AnsweredRequest) {
  const { mode } = receivedForm
  const { nonce, clientId } = session
  const encryptionKey = mode === 'direct_post' ? undefined : requireEncryptionKey(session)
  const encryptionKeyThumbprint = encryptionKey && responseKeyThumbprint(encryptionKey)
  if (!('origin' in receivedForm)) {
    const recipient = { responseUri: responseUriOf(config, sessionId, mode) }
    return { nonce, audience: clientId, recipient, encryptionKeyThumbprint }
  }
  const { origin } = receivedForm
  const recipient =
    mode === ISO_MDOC ? isoMdocRecipient({ origin, nonce, encryptionKey: requireEncryptionKey(session) }) : { origin }
  return { nonce, audience: `${ORIGIN_PREFIX}${origin}`, recipient, encryptionKeyThumbprint }
}
