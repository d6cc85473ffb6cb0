/**
 * The authorization request of the authorization code flow: data, and the transitions between its steps as functions on
 * it. A request leads to one issuance session, whose `Authorization` begins when the code of the request is redeemed.
 * OpenID4VCI 1.0, Authorization Code Flow; RFC 6749 section 4.1.
 */
import { digestOf, isSameSecret } from '../codec/digest.ts'
import { refuse } from '../protocol/error.ts'

/** The wallet's request: for whom, for which credentials, and bound to which keys. */
export interface CodeFlowRequest {
  readonly clientId: string
  /** The thumbprint of the key of the wallet instance that pushed it, where that has authenticated itself. */
  readonly instance?: string
  readonly redirectUri: string
  readonly state?: string
  /** The SHA-256 of the code_verifier. RFC 7636 section 4.2. */
  readonly codeChallenge: string
  /** The thumbprint of the key that the token has to be bound to. RFC 9449 section 10. */
  readonly jkt?: string
  /** The credential configurations that the wallet asks for. */
  readonly configurationIds: readonly string[]
  /** Whether authorization details named some of them: the token response then has details of all. */
  readonly hasDetails?: true
  /** The scope values that named some of them. */
  readonly scope?: string
  /** The session of the offer that the request answers. */
  readonly offerSessionId?: string
  /** Whether the request came by the endpoints of that session: its identifier is then that of the issuer. */
  readonly isAtSession?: true
}

/** An authorization request that a browser has brought, as it is stored. */
export interface StoredAuthorizationRequest {
  readonly request: CodeFlowRequest
  /** The digest of the cookie of the browser that brought it. */
  readonly browser: string
  readonly step: AuthorizationStep
  /** The session at a verifier that asks the person for another credential, once the person went there. */
  readonly presentation?: { readonly sessionId: string; readonly link: string }
}

/** The step at which an authorization is; times are in milliseconds since the epoch. */
export type AuthorizationStep =
  /** The application asks the person. */
  | { readonly name: 'INTERACTION'; readonly until: number }
  /** The application has decided, and the browser is on its way back; `secret` is the digest of what it brings. */
  | {
      readonly name: 'RETURN'
      readonly until: number
      readonly secret: string
      readonly decision: InteractionDecision
    }
  /** The code is on its way to the wallet, and from there to the token endpoint. */
  | { readonly name: 'CODE'; readonly until: number; readonly sessionId: string }
  | { readonly name: 'REDEEMED'; readonly sessionId: string }
  /** Nothing comes of it any more. */
  | { readonly name: 'OVER' }

/** A request that waits for a decision of the application. */
export type UndecidedRequest = StoredAuthorizationRequest & {
  readonly step: Extract<AuthorizationStep, { readonly name: 'INTERACTION' }>
}

/** The session that the wallet gets a code for, or the words of a refusal. */
export type InteractionDecision =
  | { readonly sessionId: string; readonly denied?: never }
  | { readonly denied: { readonly reason?: string } }

const SECOND = 1000
/** The time for which a pushed request may wait for its browser. */
export const PUSHED_SECONDS = 60
/** The time that a person may take at the application. */
export const INTERACTION_SECONDS = 600
/** The time that a browser may take to come back. */
const RETURN_SECONDS = 300
/** The lifetime of a code. */
const CODE_SECONDS = 60
/** The time for which the end of a request is remembered, so that a code that comes again is known. */
const REMEMBERED_SECONDS = 600

/** Returns when the row of a request can be purged. */
export function endOfRequest({ step }: StoredAuthorizationRequest, now: Date): Date {
  const until = 'until' in step ? step.until : now.getTime()
  return new Date(until + REMEMBERED_SECONDS * SECOND)
}

export function startInteraction(request: CodeFlowRequest, browser: string, now: Date): StoredAuthorizationRequest {
  const step = { name: 'INTERACTION', until: now.getTime() + INTERACTION_SECONDS * SECOND } as const
  return { request, browser: digestOf(browser), step }
}

/** Gives the request its code, which is good once and for a minute, when its person or its offer allows it. */
export function giveCode(
  storedRequest: Omit<StoredAuthorizationRequest, 'step'>,
  sessionId: string,
  now: Date,
): StoredAuthorizationRequest {
  return { ...storedRequest, step: { name: 'CODE', until: now.getTime() + CODE_SECONDS * SECOND, sessionId } }
}

export function endRequest(storedRequest: StoredAuthorizationRequest): StoredAuthorizationRequest {
  return { ...storedRequest, step: { name: 'OVER' } }
}

/** Tests whether the request waits for a decision of the application. */
export function isUndecidedRequest({ step }: StoredAuthorizationRequest, now: Date): boolean {
  return step.name === 'INTERACTION' && now.getTime() < step.until
}

/** Tests whether nothing can come of the request any more, or has come of it. */
export function hasEnded({ step }: StoredAuthorizationRequest, now: Date): boolean {
  return !('until' in step) || now.getTime() >= step.until
}

/** Returns the request. Refuses with `gone` one that waits for no decision of the application. */
export function requireUndecided(storedRequest: StoredAuthorizationRequest, now: Date): UndecidedRequest {
  const { step } = storedRequest
  if (step.name !== 'INTERACTION') refuse('gone', 'this interaction has been completed; the wallet has to begin anew')
  if (now.getTime() >= step.until) refuse('gone', 'this interaction has expired; the wallet has to begin anew')
  return { ...storedRequest, step }
}

/** Records the decision of the application, and the secret with which the person's browser comes back. */
export function recordRequestDecision(
  storedRequest: StoredAuthorizationRequest,
  decision: InteractionDecision,
  { secret, now }: { readonly secret: string; readonly now: Date },
): StoredAuthorizationRequest {
  const until = now.getTime() + RETURN_SECONDS * SECOND
  return { ...storedRequest, step: { name: 'RETURN', until, secret: digestOf(secret), decision } }
}

/**
 * Returns the decision that a browser comes back for. Refuses with `gone` when there is none any more, and with
 * `invalid_request` a browser without the secret that the application was given.
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
