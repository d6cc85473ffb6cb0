/**
 * The authorization request of the authorization code flow: its data, and its state transitions as pure functions. Each
 * request leads to one issuance session. The session has `IssuedTokens` from when the code is redeemed. OpenID4VCI 1.0,
 * Authorization Code Flow; RFC 6749 section 4.1.
 */
import { digestOf, isSameSecret } from '../codec/digest.ts'
import { refuse } from '../protocol/error.ts'

/** The wallet's request: its client, the credentials, and the keys that the code and the token are bound to. */
export interface CodeFlowRequest {
  readonly clientId: string
  /** The JWK thumbprint of the wallet instance that pushed the request, if it authenticated itself. */
  readonly instance?: string
  readonly redirectUri: string
  readonly state?: string
  /** The SHA-256 of the code_verifier. RFC 7636 section 4.2. */
  readonly codeChallenge: string
  /** The JWK thumbprint of the DPoP key that the token will be bound to. RFC 9449 section 10. */
  readonly jkt?: string
  /** The credential configurations that the wallet asks for. */
  readonly configurationIds: readonly string[]
  /** Whether the request has authorization details: the token response then has them too. */
  readonly hasDetails?: true
  /** The scope values that name configurations. */
  readonly scope?: string
  /** The session of the offer, if the request is for an offer. */
  readonly offerSessionId?: string
  /** Whether the request came to the endpoints of that session: `iss` is then the identifier of the session. */
  readonly isAtSession?: true
}

/** A stored authorization request, after a browser has brought it. */
export interface StoredAuthorizationRequest {
  readonly request: CodeFlowRequest
  /** The digest of the browser's cookie. */
  readonly browser: string
  readonly step: AuthorizationStep
  /** The verifier's session that requests another credential from the person, once it was started. */
  readonly presentation?: { readonly sessionId: string; readonly link: string }
  /** The digests of the answers of the provider or the verifier that the browser has brought. */
  readonly answers?: readonly string[]
}

/** An answer that a browser brings from the provider or the verifier. */
export interface BroughtAnswer {
  /** The part of the answer that identifies it. */
  readonly secret: string
  /** Whether the browser can bring the answer again. */
  readonly isRepeatable: boolean
}

/** The state of an authorization request. Times are milliseconds since the epoch. */
export type AuthorizationStep =
  /** The application asks the person. */
  | { readonly name: 'INTERACTION'; readonly until: number }
  /**
   * The application has decided, and the browser has not returned yet. `secret` is the digest of the secret that the
   * browser must send.
   */
  | {
      readonly name: 'RETURN'
      readonly until: number
      readonly secret: string
      readonly decision: InteractionDecision
    }
  /** The code was issued and not redeemed yet. */
  | { readonly name: 'CODE'; readonly until: number; readonly sessionId: string }
  /** The code was redeemed. If it comes again, the tokens of the session end. */
  | { readonly name: 'REDEEMED'; readonly sessionId: string }
  /** The request has ended without a code: it was denied, or came back in another browser. */
  | { readonly name: 'OVER' }

/** A request without a decision of the application. */
export type UndecidedRequest = StoredAuthorizationRequest & {
  readonly step: Extract<AuthorizationStep, { readonly name: 'INTERACTION' }>
}

/** The session that the wallet gets a code for, or the reason of the denial. */
export type InteractionDecision =
  | { readonly sessionId: string; readonly denied?: never }
  | { readonly denied: { readonly reason?: string } }

const SECOND = 1000
/** The lifetime of a request_uri. */
export const PUSHED_SECONDS = 60
/** The time limit for the decision of the application. */
export const INTERACTION_SECONDS = 600
/** The time limit for the return of the browser after the decision. */
const RETURN_SECONDS = 300
/** The lifetime of an authorization code. */
const CODE_SECONDS = 60
/** How long an ended request is stored, so that a repeated code is detected. */
const REMEMBERED_SECONDS = 600
/** The maximum number of answers for one request: each costs the provider or the verifier a request. */
const MAX_ANSWERS = 5

/** Returns when the row of a request can be purged. */
export function purgeTimeOfRequest({ step }: StoredAuthorizationRequest, now: Date): Date {
  const until = 'until' in step ? step.until : now.getTime()
  return new Date(until + REMEMBERED_SECONDS * SECOND)
}

/** Makes the change that stores a request in its new state, until its row can be purged. */
export function makeRequestUpdate(
  { id, version }: { readonly id: string; readonly version: number },
  value: StoredAuthorizationRequest,
  now: Date,
) {
  return { update: 'authorization_request', id, version, value, dueAt: purgeTimeOfRequest(value, now) } as const
}

/** Starts the interaction for a request: the state from which the application decides. */
export function startInteraction(request: CodeFlowRequest, browser: string, now: Date): StoredAuthorizationRequest {
  const step = { name: 'INTERACTION', until: now.getTime() + INTERACTION_SECONDS * SECOND } as const
  return { request, browser: digestOf(browser), step }
}

/** Moves the request to the state in which its code can be redeemed, for one minute. */
export function giveCode(
  storedRequest: Omit<StoredAuthorizationRequest, 'step'>,
  sessionId: string,
  now: Date,
): StoredAuthorizationRequest {
  return { ...storedRequest, step: { name: 'CODE', until: now.getTime() + CODE_SECONDS * SECOND, sessionId } }
}

/** Ends the request, in any state. */
export function endRequest(storedRequest: StoredAuthorizationRequest): StoredAuthorizationRequest {
  return { ...storedRequest, step: { name: 'OVER' } }
}

/** Tests whether the application can still decide on the request. */
export function isUndecidedRequest({ step }: StoredAuthorizationRequest, now: Date): boolean {
  return step.name === 'INTERACTION' && now.getTime() < step.until
}

/** Tests whether the request has ended or its time limit is over. */
export function hasEnded({ step }: StoredAuthorizationRequest, now: Date): boolean {
  return !('until' in step) || now.getTime() >= step.until
}

/** Returns the request. Refuses with `gone` one that was decided or has expired. */
export function requireUndecided(storedRequest: StoredAuthorizationRequest, now: Date): UndecidedRequest {
  const { step } = storedRequest
  if (step.name !== 'INTERACTION') refuse('gone', 'this interaction has been completed; the wallet has to begin anew')
  if (now.getTime() >= step.until) refuse('gone', 'this interaction has expired; the wallet has to begin anew')
  return { ...storedRequest, step }
}

/**
 * Records an answer, before the provider or the verifier is asked about it. Refuses with `invalid_request` a repeated
 * answer that is not repeatable, and with `gone` an answer after {@link MAX_ANSWERS} others.
 */
export function recordAnswer(
  storedRequest: StoredAuthorizationRequest,
  { secret, isRepeatable }: BroughtAnswer,
): StoredAuthorizationRequest {
  const { answers = [] } = storedRequest
  const digest = digestOf(secret)
  if (!isRepeatable && answers.includes(digest)) {
    refuse('invalid_request', 'this answer came before; begin anew in the wallet')
  }
  if (answers.length >= MAX_ANSWERS) {
    refuse('gone', 'too many answers have come for this interaction; begin anew in the wallet')
  }
  return { ...storedRequest, answers: [...answers, digest] }
}

/** Records the decision of the application, and the digest of the secret that the returning browser must send. */
export function recordRequestDecision(
  storedRequest: StoredAuthorizationRequest,
  decision: InteractionDecision,
  { secret, now }: { readonly secret: string; readonly now: Date },
): StoredAuthorizationRequest {
  const until = now.getTime() + RETURN_SECONDS * SECOND
  return { ...storedRequest, step: { name: 'RETURN', until, secret: digestOf(secret), decision } }
}

/**
 * Returns the decision for a returning browser. Refuses with `gone` if the request has ended or expired, and with
 * `invalid_request` if the secret is wrong or there is no decision yet.
 */
export function requireDecision({ step }: StoredAuthorizationRequest, secret: string, now: Date): InteractionDecision {
  if (step.name === 'INTERACTION') refuse('invalid_request', 'the application has not completed this interaction')
  if (step.name !== 'RETURN' || now.getTime() >= step.until) {
    refuse('gone', 'this authorization is over; begin anew in the wallet')
  }
  if (!isSameSecret(step.secret, digestOf(secret))) {
    refuse('invalid_request', 'completion: it is not that of this interaction')
  }
  return step.decision
}

/** Tests whether the browser is the one that brought the request. */
export function isSameBrowser({ browser }: StoredAuthorizationRequest, cookie: string | undefined): boolean {
  return cookie !== undefined && isSameSecret(browser, digestOf(cookie))
}
