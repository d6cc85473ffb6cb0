/**
 * Finds the session of an access token, verifies the DPoP proof of a bound token, and changes the session in one batch
 * that also marks proofs and nonces as used. Tokens of this service are JWTs (RFC 9068), so that others can verify
 * them. The service itself compares the digest of the token with the digest that the session stores.
 */
import { isFresh } from '../../async/cache.ts'
import { serialQueueByKey } from '../../async/concurrency.ts'
import { digestOf, isSameSecret } from '../../codec/digest.ts'
import { stringMemberOf } from '../../codec/json.ts'
import { readJwsPayload } from '../../codec/jws.ts'
import { readOrUndefined } from '../../codec/malformed.ts'
import { hasTokenScheme } from '../../http/error-response.ts'
import { networkOf } from '../../http/rate-limit.ts'
import { refuse } from '../../protocol/error.ts'
import type { Attempt } from '../../store/retry.ts'
import type { Change, Row } from '../../store/store.ts'
import type { IssuerCollections } from '../collections.ts'
import type { AccessTokenRecord } from '../issued-tokens.ts'
import { EXPIRED_TOKEN, type IssuanceSession } from '../session.ts'
import type { AccessContext } from './context.ts'
import { type DpopRequest, refuseMissingDpop, refuseMissingToken, verifyDpopProof, withDpopChallenge } from './dpop.ts'
import { requireSessionOfExternalToken, type SessionOfToken } from './external-token.ts'
import { commitWithSingleUses, refuseIfUsed, type SingleUse, type StoredUse } from './single-use.ts'

const TOKEN = /^(Bearer|DPoP) +(\S+)$/i

/** The parts of a request that its authorization needs. */
export interface ProtectedResourceRequest extends DpopRequest {
  /** The value of the header `Authorization`. */
  readonly authorization: string | undefined
  /** The IP address of the client. */
  readonly address: string
}

/** The session of an access token, as it was read for the request. */
export interface OpenSession extends Omit<SessionOfToken, 'jkt'> {
  /**
   * The use of the request's DPoP proof; undefined for a token that was sent as Bearer. Every request that succeeds
   * commits it.
   */
  readonly dpopUse: StoredUse | undefined
  /** When the session was read: with the headers of the request, whose body may take its time. */
  readonly readAt: Date
}

/** The new value of a session, and the changes to commit with it. */
export interface SessionChange {
  readonly value: IssuanceSession
  readonly otherChanges: readonly Change<IssuerCollections>[]
}

/**
 * Returns the session of the request's access token. Refuses with `invalid_token`; for a bound token, also with
 * `invalid_dpop_proof` or `use_dpop_nonce`; for a token of an external server, also like {@link
 * requireSessionOfExternalToken}. RFC 6750 section 3.1, RFC 9449 section 7.1.
 */
export async function requireSessionOfToken(
  context: AccessContext,
  request: ProtectedResourceRequest,
): Promise<OpenSession> {
  const { config } = context
  const [, scheme, token] = TOKEN.exec(request.authorization ?? '') ?? []
  if (scheme === undefined || token === undefined) {
    if (!config.dpopRequired) return refuse('invalid_token', 'send the access token as Authorization: Bearer <token>')
    const message = 'send the access token as Authorization: DPoP <token>, with a proof'
    return hasTokenScheme(request.authorization)
      ? refuseMissingDpop(config, message)
      : refuseMissingToken(config, message)
  }
  const isDpop = scheme.toLowerCase() === 'dpop'
  return withDpopChallenge(config, isDpop, async () => {
    const { jkt, ...session } = await requireSessionOfAnyToken(context, token, request.address)
    const dpopUse = verifyTokenBinding(context, request, { digest: digestOf(token), jkt, isDpop })
    if (dpopUse !== undefined) await refuseIfUsed(context.store, dpopUse)
    return { ...session, dpopUse, readAt: context.now() }
  })
}

/** The maximum number of requests of a session that get tokens or credentials, or wait for them. */
const MAX_QUEUED = 64

/** How long a session counts as it was read while none of its requests runs. A small body comes with its headers. */
const FRESH_MS = 50

/** Creates the queue of the requests of each session. Refuses with `too_many_requests` if too many wait. */
export function createSessionQueue(): AccessContext['queueForSession'] {
  return serialQueueByKey(MAX_QUEUED, () =>
    refuse('too_many_requests', 'too many requests of this session wait; send one after another', {
      retryAfterSeconds: 1,
    }),
  )
}

/**
 * Runs `work` when no other request of the session issues credentials in this process. The session is read again if
 * another one may have changed it, so that a request that is sent many times is refused before anything is signed for
 * it again. Refuses like {@link createSessionQueue} and {@link changeSession}.
 */
export function queueForSession<T>(
  context: Pick<AccessContext, 'store' | 'config' | 'now' | 'queueForSession'>,
  openSession: OpenSession,
  work: (openSession: OpenSession) => Promise<T>,
): Promise<T> {
  return context.queueForSession(openSession.sessionId, async (hasWaited) => {
    const ageMs = context.now().getTime() - openSession.readAt.getTime()
    const isCurrent = !hasWaited && isFresh(ageMs, FRESH_MS)
    return work(isCurrent ? openSession : await readAgain(context, openSession))
  })
}

function readAgain(
  { store, config, now }: Pick<AccessContext, 'store' | 'config' | 'now'>,
  openSession: OpenSession,
): Promise<OpenSession> {
  const { sessionId, dpopUse } = openSession
  return withDpopChallenge(config, dpopUse !== undefined, async () => {
    const row = await store.get('issuance_session', sessionId)
    if (row === undefined) return refuseUnknownToken()
    openSession.refuseUnlessOpen(row.value)
    if (dpopUse !== undefined) await refuseIfUsed(store, dpopUse)
    return { ...openSession, row, readAt: now() }
  })
}

/**
 * Commits in one batch the result of `change`, `singleUse` and the use of the DPoP proof, and returns the stored
 * session. If another request changed the session meanwhile, `change` is called again with the new value, so it must
 * have no side effects. The token is checked against each value that is read, because the session may change before the
 * body of the request arrives. If `change` returns undefined, the session stays as it is, and the DPoP proof is still
 * marked as used (RFC 9449 section 11.1). Refuses with `invalid_token` if the session is gone or the token does not
 * match it, and with `refuseReuse` of a single use that was committed before.
 */
export function changeSession(
  context: Pick<AccessContext, 'store' | 'retryOnConflict' | 'config'>,
  openSession: OpenSession,
  change: (session: IssuanceSession) => SessionChange | undefined | Promise<SessionChange | undefined>,
  singleUse?: SingleUse,
): Promise<IssuanceSession> {
  const id = openSession.sessionId
  const singleUses = [singleUse, openSession.dpopUse].flatMap((each) => each ?? [])
  let row: Row<IssuanceSession> | undefined = openSession.row
  const attempt = async (): Promise<Attempt<IssuanceSession>> => {
    row ??= await context.store.get('issuance_session', id)
    if (row === undefined) return refuseUnknownToken()
    const { value: session, version } = row
    openSession.refuseUnlessOpen(session)
    const sessionChange = await change(session)
    const changes = sessionChange
      ? [
          { update: 'issuance_session', id, version, value: sessionChange.value } as const,
          ...sessionChange.otherChanges,
        ]
      : []
    const conflict = await commitWithSingleUses(context.store, changes, singleUses)
    if (conflict === undefined) return { committed: sessionChange?.value ?? session }
    row = undefined
    return { conflict }
  }
  return withDpopChallenge(context.config, openSession.dpopUse !== undefined, () => context.retryOnConflict(attempt))
}

/**
 * Returns the session id that the access token of a request claims, without verification; undefined for a token of
 * another server, or without such a claim.
 */
export function claimedSessionId(
  { externalAuthorizationServer }: AccessContext,
  authorization: string | undefined,
): string | undefined {
  const [, , token = ''] = TOKEN.exec(authorization ?? '') ?? []
  return externalAuthorizationServer === undefined ? unverifiedSubject(token) : undefined
}

/** Returns the session of a token that this service issued, or the external authorization server. */
function requireSessionOfAnyToken(context: AccessContext, token: string, address: string): Promise<SessionOfToken> {
  const { externalAuthorizationServer } = context
  return externalAuthorizationServer === undefined
    ? requireSessionOfOwnToken(context, token)
    : requireSessionOfExternalToken(context, externalAuthorizationServer, { token, network: networkOf(address) })
}

async function requireSessionOfOwnToken(context: AccessContext, text: string): Promise<SessionOfToken> {
  const sessionId = unverifiedSubject(text)
  const row = sessionId === undefined ? undefined : await context.store.get('issuance_session', sessionId)
  if (sessionId === undefined || row === undefined) return refuseUnknownToken()
  const digest = digestOf(text)
  const requireOpenToken = ({ token }: IssuanceSession): AccessTokenRecord => {
    if (token === undefined || !isSameSecret(token.digest, digest)) return refuseUnknownToken()
    if (context.now().getTime() >= token.expiresAt) refuse('invalid_token', EXPIRED_TOKEN)
    return token
  }
  const { jkt, authorized: authorizedIds } = requireOpenToken(row.value)
  return { sessionId, row, jkt, authorizedIds, refuseUnlessOpen: requireOpenToken }
}

function refuseUnknownToken(): never {
  return refuse('invalid_token', 'the access token is unknown or was replaced; request a new one')
}

/**
 * Verifies that the token was sent as it is bound: with a DPoP proof by its key, whose use is returned, or as Bearer if
 * it is bound to no key, which is refused where DPoP is required. RFC 9449 sections 7.1 and 7.2.
 */
function verifyTokenBinding(
  context: Pick<AccessContext, 'config' | 'dpopNonces' | 'now'>,
  request: ProtectedResourceRequest,
  token: { readonly digest: string; readonly jkt: string | undefined; readonly isDpop: boolean },
): StoredUse | undefined {
  const { config } = context
  if (token.jkt === undefined) {
    if (config.dpopRequired)
      refuseMissingDpop(config, 'the access token is bound to no key; request one with a DPoP proof')
    return token.isDpop ? refuse('invalid_token', 'the access token is bound to no key; send it as Bearer') : undefined
  }
  if (!token.isDpop) refuseMissingDpop(config, 'the access token is bound to a key; send it as DPoP, with a proof')
  const { jkt, singleUse } = verifyDpopProof(context, request, token.digest)
  if (jkt !== token.jkt) {
    refuse(
      'invalid_token',
      'the access token is bound to another key; sign the proof with the key of the token request',
    )
  }
  return singleUse
}

/** Returns the `sub` of the token, without verification. It only selects the session to read. */
function unverifiedSubject(token: string): string | undefined {
  return readOrUndefined(() => stringMemberOf(readJwsPayload(token), 'sub'))
}
