/**
 * Refresh tokens, with rotation: each is used once and replaced by its successor. RFC 6749 section 6. A response may
 * get lost, so the previous token is accepted again, with the same successor, until the wallet has used a token of that
 * response: the successor, or the access token for a credential. An older token that is used again may have been
 * stolen, so all tokens of the authorization are ended. RFC 9700 section 4.14.2.
 */
import type { KeyObject } from 'node:crypto'
import { toBase64url } from '../../codec/base64url.ts'
import { digestOf } from '../../codec/digest.ts'
import { macOfText } from '../../codec/mac-token.ts'
import type { Problem } from '../../codec/malformed.ts'
import { refuse } from '../../protocol/error.ts'
import { refuseOtherInstance } from '../access/client-attestation.ts'
import type { IssuerContext } from '../context.ts'
import { dropRetry, endTokens, grantedIdsOf, type IssuedTokens, type RefreshEnd } from '../issued-tokens.ts'
import type { IssuanceSession, RedeemedSession } from '../session.ts'
import { refuseUnlessValid } from '../status-list/entries.ts'
import { type Grant, type NewRefreshToken, refuseOtherClient, refuseOtherKey } from './grant.ts'
import type { TokenRequest } from './schemas.ts'

const UNKNOWN_REFRESH_TOKEN = 'the refresh token is unknown; ask for a new offer'
const REPLAYED_TOKEN = 'the refresh token has been used, and none of this session is good any more; ask for a new offer'
// Anyone who knows the session id gets this text, so it does not say which of its causes holds.
const ENDED_REFRESH =
  'this cannot be refreshed any more: its time is up, its credentials were revoked, or a used token came again; ask for a new offer'

/** Each cause as a reason, for the log and the status of the session. */
const REFRESH_ENDS: Readonly<Record<RefreshEnd, string>> = {
  revocation: 'the credentials of the session were revoked',
  reuse: 'a used code or refresh token of the session came again, which may be stolen',
  restore: 'a backup was restored, which ends what is open in it',
}

function describeEnd({ expiredAt, erasedAt }: RedeemedSession, endedBy: RefreshEnd | undefined): string {
  if (endedBy !== undefined) return REFRESH_ENDS[endedBy]
  if (erasedAt !== undefined) return 'the personal data of the session is erased'
  return expiredAt === undefined ? 'the time of the refresh is up' : 'the session is closed'
}

/**
 * Makes the first refresh token of a redeemed session; undefined if the session has none. Its lifetime is
 * `refreshSeconds`, which `new-session.ts` sets, and `config/retention.ts` limits.
 */
export function makeFirstRefreshToken(
  { random }: IssuerContext,
  sessionId: string,
  { refreshSeconds }: IssuanceSession,
  now: Date,
): NewRefreshToken | undefined {
  if (refreshSeconds === undefined) return undefined
  const refreshToken = makeToken(sessionId, toBase64url(random(32)))
  const until = now.getTime() + refreshSeconds * 1000
  return { refreshToken, refresh: { until, digest: digestOf(refreshToken), spent: [] } }
}

/** Makes the grant of a refresh token. Refuses with `invalid_request` a missing token. */
export function makeRefreshGrant(context: IssuerContext, form: TokenRequest): Grant {
  const refreshToken =
    form.refresh_token || refuse('invalid_request', 'refresh_token is missing; send that of the last token response')
  return {
    sessionId: sessionIdOfRefreshToken(refreshToken),
    unknownDescription: UNKNOWN_REFRESH_TOKEN,
    decide: async ({ sessionId, session, jkt, client, now }) => {
      if (session.token === undefined) return refuseUnknownRefreshToken()
      // A thief may have bound the tokens to his own key; then the wallet comes with one from before.
      if (isUnboundTokenOfAnother(session, refreshToken, { jkt, instance: client?.instance }))
        return { session: endTokens(session, now, 'reuse'), refusal: REPLAYED_TOKEN }
      refuseOtherRefresher(session, form)
      refuseOtherInstance('refresh token', session.client, client)
      refuseOtherKey('refresh token', refreshKeyOf(session, jkt), jkt)
      const newRefreshToken = makeNextRefreshToken(context, sessionId, session, { refreshToken, now })
      if ('problem' in newRefreshToken)
        return { session: endTokens(session, now, 'reuse'), refusal: newRefreshToken.problem }
      await refuseUnlessValid(context.store, sessionId, 'invalid_grant')
      const isFirstBinding = !isBound(session) && (jkt ?? client?.instance) !== undefined
      return {
        session,
        newRefreshToken: isFirstBinding ? rememberUnboundTokens(newRefreshToken, session) : newRefreshToken,
        authorizedIds: grantedIdsOf(session),
      }
    },
  }
}

/** The proved sender of a refresh token: the thumbprint of its DPoP key, and its wallet instance. */
interface ProvedSender {
  readonly jkt: string | undefined
  readonly instance: string | undefined
}

/**
 * Returns the DPoP key that a refresh has to prove: the key of the access token or, if the refresh token is bound to a
 * wallet instance and the refresh has a proof, the key of that proof. RFC 9449 section 5.
 */
function refreshKeyOf({ token, client }: RedeemedSession, proofKey: string | undefined): string | undefined {
  const isBoundToInstance = client?.instance !== undefined
  return isBoundToInstance && proofKey !== undefined ? proofKey : token.jkt
}

/** Tests whether the token is from before a binding, and its sender is not the one that it was bound to. */
function isUnboundTokenOfAnother(
  session: RedeemedSession,
  refreshToken: string,
  { jkt, instance }: ProvedSender,
): boolean {
  const isOfBoundSender =
    (refreshKeyOf(session, jkt) ?? jkt) === jkt && (session.client?.instance ?? instance) === instance
  return session.refresh?.unbound?.includes(digestOf(refreshToken)) === true && !isOfBoundSender
}

function isBound({ token, client }: RedeemedSession): boolean {
  return token.jkt !== undefined || client?.instance !== undefined
}

/** Keeps the digests of the tokens up to now, which are not bound as the new one is. */
function rememberUnboundTokens(newRefreshToken: NewRefreshToken, { refresh }: RedeemedSession): NewRefreshToken {
  const unbound = refresh === undefined ? [] : [refresh.digest, refresh.retry ?? [], refresh.spent].flat()
  return { ...newRefreshToken, refresh: { ...newRefreshToken.refresh, unbound } }
}

/** Refuses a client other than the one that the refresh token was issued to. RFC 6749 section 6. */
function refuseOtherRefresher({ client }: IssuedTokens, { client_id: id }: TokenRequest): void {
  if (client === undefined) return
  // `refuseOtherInstance` compares an authenticated instance.
  if (!id && client.instance !== undefined) return
  refuseOtherClient('refresh token', client.id, id)
}

/** Returns the session id in a refresh token, without verification. */
function sessionIdOfRefreshToken(token: string): string {
  return token.slice(0, Math.max(0, token.lastIndexOf('.')))
}

/**
 * Returns the successor of a refresh token (the token itself under HAIP), or the problem because of which all tokens
 * are to be ended. Refuses with `invalid_grant` an unknown token, and any token after the refresh time.
 */
function makeNextRefreshToken(
  { secrets, config }: Pick<IssuerContext, 'secrets' | 'config'>,
  sessionId: string,
  session: RedeemedSession,
  request: { readonly refreshToken: string; readonly now: Date },
): NewRefreshToken | Problem {
  const { refresh } = session
  if (refresh === undefined) return refuseUnknownRefreshToken()
  if (request.now.getTime() >= refresh.until || session.expiredAt !== undefined || session.erasedAt !== undefined) {
    refuse('invalid_grant', ENDED_REFRESH, { cause: new Error(describeEnd(session, refresh.endedBy)) })
  }
  const digest = digestOf(request.refreshToken)
  // Digests are not secret, so the comparison need not take constant time.
  const isRetry = refresh.retry === digest
  if (refresh.spent.includes(digest)) {
    // A bound token is useless to a thief, so its reuse is a mistake of the wallet.
    if (!isBound(session)) return { problem: REPLAYED_TOKEN }
    refuse('invalid_grant', 'the refresh token has been used; send the one that came in return')
  }
  if (refresh.digest !== digest && !isRetry) refuseUnknownRefreshToken()
  // FAPI 2.0 Security Profile, Requirements for authorization servers: no rotation of tokens that are bound to keys.
  if (config.profile === 'haip' && !isRetry) return { refreshToken: request.refreshToken, refresh: dropRetry(refresh) }
  const [newest, ...older] = secrets.refresh
  const hasGivenSuccessor = (secret: KeyObject): boolean =>
    isRetry && refresh.digest === digestOf(deriveSuccessor(request.refreshToken, sessionId, secret))
  const refreshToken = deriveSuccessor(request.refreshToken, sessionId, older.find(hasGivenSuccessor) ?? newest)
  const state = isRetry ? refresh : dropRetry(refresh)
  return { refreshToken, refresh: { ...state, digest: digestOf(refreshToken), retry: digest } }
}

function refuseUnknownRefreshToken(): never {
  return refuse('invalid_grant', UNKNOWN_REFRESH_TOKEN)
}

/** Derives the successor of `refreshToken`. The same token always gets the same successor, so none is stored. */
function deriveSuccessor(refreshToken: string, sessionId: string, secret: KeyObject): string {
  return makeToken(sessionId, macOfText(secret, refreshToken))
}

/** Makes a refresh token. It begins with the session id, so that the token endpoint can find the session. */
function makeToken(sessionId: string, secret: string): string {
  return `${sessionId}.${secret}`
}
