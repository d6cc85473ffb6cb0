/**
 * The session that an access token opens: found by the token, proved by the key that the token is bound to, and changed
 * in one batch with what the request spends. Tokens of this service are JWTs that others can verify with our JWKS (RFC
 * 9068) and that we recognise by their digest: a token is good when it is exactly the one that its session was given.
 */
import { digestOf, isSameSecret } from '../../codec/digest.ts'
import { ownString } from '../../codec/json.ts'
import { readJws } from '../../codec/jws.ts'
import { orUndefined } from '../../codec/malformed.ts'
import { networkOf } from '../../http/rate-limit.ts'
import { refuse } from '../../protocol/error.ts'
import type { Change, Row } from '../../store/store.ts'
import type { AccessTokenRecord } from '../authorization.ts'
import type { IssuerCollections } from '../collections.ts'
import type { IssuanceSession } from '../session.ts'
import type { AccessContext } from './context.ts'
import { type DpopRequest, refuseBoundToken, rethrowWithChallenge, runWithChallenge, verifyDpopProof } from './dpop.ts'
import { findSessionOfExternalToken, type SessionOfToken } from './external-token.ts'
import { commitWithSingleUses, refuseIfUsed, type SingleUse } from './single-use.ts'

const TOKEN = /^(Bearer|DPoP) +(\S+)$/i

/** A request that carries an access token, as far as it matters to whether it may. */
export interface AuthorizedRequest extends DpopRequest {
  /** The header of that name, as it came. */
  readonly authorization: string | undefined
  /** The address of the caller. */
  readonly address: string
}

/** The session that an access token opened, as it was read. */
export interface OpenSession extends Omit<SessionOfToken, 'jkt'> {
  /** The DPoP proof of the request, spent with every request that is not refused; none for a Bearer token. */
  readonly singleUses: readonly SingleUse[]
}

/** The session as it is to be, and the changes that go with that. */
export interface SessionChange {
  readonly value: IssuanceSession
  readonly extraChanges: readonly Change<IssuerCollections>[]
}

/**
 * Returns the session whose access token the request carries. Refuses with `invalid_token`; for a token that is bound
 * to a key, also with `invalid_dpop_proof` or `use_dpop_nonce`; one of an external server also as {@link
 * findSessionOfExternalToken} does. RFC 6750 section 3.1, RFC 9449 section 7.1.
 */
export async function findSessionOfToken(context: AccessContext, request: AuthorizedRequest): Promise<OpenSession> {
  const [, scheme, token] = TOKEN.exec(request.authorization ?? '') ?? []
  if (scheme === undefined || token === undefined) {
    const { config } = context
    if (config.dpopRequired)
      refuseBoundToken(config, 'send the access token as Authorization: DPoP <token>, with a proof')
    return refuse('invalid_token', 'send the access token as Authorization: Bearer <token>')
  }
  const isDpop = scheme.toLowerCase() === 'dpop'
  const sessionPromise =
    context.externalAuthorizationServer === undefined
      ? findSessionOfOwnToken(context, token)
      : findSessionOfExternalToken(context, context.externalAuthorizationServer, {
          token,
          network: networkOf(request.address),
        })
  const { jkt, ...session } = await (isDpop
    ? sessionPromise.catch((error: unknown) => rethrowWithChallenge(context.config, error))
    : sessionPromise)
  const singleUses = verifyProof(context, request, { digest: digestOf(token), jkt, isDpop })
  for (const singleUse of singleUses) await refuseIfUsed(context.store, singleUse)
  const { refuseUnlessOpen } = session
  return {
    ...session,
    singleUses,
    refuseUnlessOpen: isDpop ? wrapWithChallenge(context, refuseUnlessOpen) : refuseUnlessOpen,
  }
}

/**
 * Commits in one transaction what `change` returns for the session, the `singleUses` and the DPoP proof. When another
 * request has changed the session meanwhile, the whole is repeated with the new row; so `change` must have no effects
 * of its own, and may refuse. The token is checked against each row that is read, since the body of a request arrives
 * after its headers, and the session may have changed in between. Where `change` returns undefined, the session stays
 * as it is and the DPoP proof is spent (RFC 9449 section 11.1). Returns the session as it is stored then. Refuses with
 * `invalid_token` when the session is gone or the token does not open it, and by `refuseReuse` of a single use that had
 * been spent before.
 */
export function changeSession(
  context: Pick<AccessContext, 'store' | 'retryOnConflict'>,
  openSession: OpenSession,
  change: (session: IssuanceSession) => SessionChange | undefined | Promise<SessionChange | undefined>,
  singleUses: readonly SingleUse[] = [],
): Promise<IssuanceSession> {
  const id = openSession.sessionId
  let row: Row<IssuanceSession> | undefined = openSession.row
  return context.retryOnConflict<IssuanceSession>(async () => {
    row ??= await context.store.get('issuance_session', id)
    if (row === undefined) return refuse('invalid_token', 'the session of this access token is gone')
    const { value: session, version } = row
    openSession.refuseUnlessOpen(session)
    const sessionChange = await change(session)
    const changes = sessionChange
      ? [
          { update: 'issuance_session', id, version, value: sessionChange.value } as const,
          ...sessionChange.extraChanges,
        ]
      : []
    const conflict = await commitWithSingleUses(context.store, changes, [...singleUses, ...openSession.singleUses])
    if (conflict === undefined) return { committed: sessionChange?.value ?? session }
    row = undefined
    return { conflict }
  })
}

/**
 * Returns the session that the access token of a request says it is for, unverified; empty when the token is of another
 * server, or says nothing.
 */
export function claimedSessionId(
  { externalAuthorizationServer }: AccessContext,
  authorization: string | undefined,
): string {
  const [, , token = ''] = TOKEN.exec(authorization ?? '') ?? []
  return externalAuthorizationServer === undefined ? (subjectOf(token) ?? '') : ''
}

async function findSessionOfOwnToken(context: AccessContext, text: string): Promise<SessionOfToken> {
  const sessionId = subjectOf(text)
  const row = sessionId === undefined ? undefined : await context.store.get('issuance_session', sessionId)
  if (sessionId === undefined || row === undefined) return refuseUnknown()
  const digest = digestOf(text)
  const requireOpenToken = ({ token }: IssuanceSession): AccessTokenRecord => {
    if (token === undefined || !isSameSecret(token.digest, digest)) return refuseUnknown()
    if (context.now().getTime() >= token.expiresAt) refuse('invalid_token', 'the access token has expired')
    return token
  }
  const { jkt, authorized: authorizedIds } = requireOpenToken(row.value)
  return { sessionId, row, jkt, authorizedIds, refuseUnlessOpen: requireOpenToken }
}

/** Wraps `refuseUnlessOpen` so that its refusals have the challenge of DPoP. */
function wrapWithChallenge(
  { config }: Pick<AccessContext, 'config'>,
  refuseUnlessOpen: OpenSession['refuseUnlessOpen'],
): OpenSession['refuseUnlessOpen'] {
  return (session) => {
    try {
      refuseUnlessOpen(session)
    } catch (error) {
      rethrowWithChallenge(config, error)
    }
  }
}

function refuseUnknown(): never {
  return refuse('invalid_token', 'the access token is not one of ours')
}

/**
 * Verifies the DPoP proof that a bound token needs, and returns its single use. Refuses a token without a key that was
 * sent as DPoP. RFC 9449 sections 7.1 and 7.2.
 */
function verifyProof(
  context: Pick<AccessContext, 'config' | 'dpopNonces' | 'now'>,
  request: AuthorizedRequest,
  token: { readonly digest: string; readonly jkt: string | undefined; readonly isDpop: boolean },
): readonly SingleUse[] {
  if (token.jkt === undefined) {
    if (context.config.dpopRequired)
      refuseBoundToken(context.config, 'the access token is bound to no key, and has to be here')
    return token.isDpop
      ? refuseBoundToken(context.config, 'the access token is bound to no key; send it as Bearer')
      : []
  }
  if (!token.isDpop)
    refuseBoundToken(context.config, 'the access token is bound to a key; send it as DPoP, with a proof')
  const { jkt, singleUse } = runWithChallenge(context.config, () => verifyDpopProof(context, request, token.digest))
  if (jkt !== token.jkt) refuseBoundToken(context.config, 'the access token is bound to another key')
  return [{ ...singleUse, refuseReuse: () => runWithChallenge(context.config, singleUse.refuseReuse) }]
}

/** Returns the subject that the token states, unverified: it only tells which session to look up. */
function subjectOf(token: string): string | undefined {
  return orUndefined(() => ownString(readJws(token).payload, 'sub'))
}
