/**
 * Access tokens: JWTs that others can verify with our JWKS (RFC 9068), and that we recognise by their digest: a token is
 * good when it is exactly the one its session was given. How one is come by is in token-request.ts.
 */
import { toBase64url } from '../../codec/base64url.ts'
import { digestOf, isSameSecret } from '../../codec/digest.ts'
import { ownString } from '../../codec/json.ts'
import { readJws, writeJws } from '../../codec/jws.ts'
import { orUndefined } from '../../codec/malformed.ts'
import { networkOf } from '../../http/rate-limit.ts'
import { refuse } from '../../protocol/error.ts'
import type { Change } from '../../store/store.ts'
import type { IssuerCollections } from '../collections.ts'
import type { IssuerContext } from '../context.ts'
import type { IssuanceSession } from '../session.ts'
import {
  atResource,
  challengedByDpop,
  type DpopProof,
  isSpent,
  type ProvedRequest,
  refuseBoundToken,
  refuseReplayedProof,
  verifyDpopProof,
} from './dpop.ts'
import { sessionOfExternalToken, type TokenSession } from './external-token.ts'

const TOKEN = /^(Bearer|DPoP) +(\S+)$/i

/** How long a token is good. */
export const TOKEN_SECONDS = 300

/** A request that carries an access token, as far as it matters to whether it may. */
export interface AuthorizedRequest extends ProvedRequest {
  /** The header of that name, as it came. */
  readonly authorization: string | undefined
  /** The address of the caller. */
  readonly address: string
}

/** The session that an access token opened, as it was read. */
export interface OpenSession {
  readonly sessionId: string
  readonly session: IssuanceSession
  readonly version: number
  /** Spends the DPoP proof; {@link commitOpen} has it in the batch. Empty for a Bearer token. */
  readonly spends: readonly Change<IssuerCollections>[]
}

/**
 * Commits the changes of a request to an open session together with its DPoP proof, which is spent by a request that changes
 * nothing, too. Gives the change that conflicted. Refuses with `invalid_dpop_proof` a proof that was used before.
 * RFC 9449 section 11.1.
 */
export async function commitOpen(
  { store }: IssuerContext,
  { spends }: OpenSession,
  changes: readonly Change<IssuerCollections>[],
): Promise<Change<IssuerCollections> | undefined> {
  if (changes.length + spends.length === 0) return undefined
  const conflict = await store.commit([...changes, ...spends])
  return spends.some((spend) => spend === conflict) ? atResource(refuseReplayedProof) : conflict
}

/**
 * The session whose access token the request carries. Refuses with `invalid_token`; for a token that is bound to a key, also
 * with `invalid_dpop_proof` or `use_dpop_nonce`; one of an external server also as {@link sessionOfExternalToken} does.
 * RFC 6750 section 3.1, RFC 9449 section 7.1.
 */
export async function sessionOfToken(context: IssuerContext, request: AuthorizedRequest): Promise<OpenSession> {
  const [, scheme, token] = TOKEN.exec(request.authorization ?? '') ?? []
  if (scheme === undefined || token === undefined) {
    return refuse('invalid_token', 'send the access token as Authorization: Bearer <token>')
  }
  const isDpop = scheme.toLowerCase() === 'dpop'
  const found =
    context.authorizationServer === undefined
      ? sessionOfOwnToken(context, token)
      : sessionOfExternalToken(context, context.authorizationServer, { token, network: networkOf(request.address) })
  const { sessionId, row, jkt } = await (isDpop ? found.catch(challengedByDpop) : found)
  const proof = proofFor(context, request, { digest: digestOf(token), jkt, isDpop })
  // The batch decides; this only saves a replay the work of what it asks for.
  if (proof && (await isSpent(context, proof))) atResource(refuseReplayedProof)
  return { sessionId, session: row.value, version: row.version, spends: proof === undefined ? [] : [proof.spend] }
}

/** The session that the access token of a request says it is for, unverified; empty when the token is of another server, or says nothing. */
export function sessionNamedBy({ authorizationServer }: IssuerContext, authorization: string | undefined): string {
  const [, , token = ''] = TOKEN.exec(authorization ?? '') ?? []
  return authorizationServer === undefined ? (subjectOf(token) ?? '') : ''
}

async function sessionOfOwnToken({ store, now }: IssuerContext, token: string): Promise<TokenSession> {
  const sessionId = subjectOf(token)
  const row = sessionId === undefined ? undefined : await store.get('issuance_session', sessionId)
  const known = row?.value.token
  if (
    sessionId === undefined ||
    row === undefined ||
    known === undefined ||
    !isSameSecret(known.digest, digestOf(token))
  ) {
    return refuse('invalid_token', 'the access token is not one of ours')
  }
  if (now().getTime() >= known.expiresAt) refuse('invalid_token', 'the access token has expired')
  return { sessionId, row, jkt: known.jkt }
}

/** A bound token needs a proof by its key, and no other token may come in that way. RFC 9449 sections 7.1 and 7.2. */
function proofFor(
  context: IssuerContext,
  request: AuthorizedRequest,
  token: { readonly digest: string; readonly jkt: string | undefined; readonly isDpop: boolean },
): DpopProof | undefined {
  if (token.jkt === undefined) {
    return token.isDpop ? refuseBoundToken('the access token is bound to no key; send it as Bearer') : undefined
  }
  if (!token.isDpop) refuseBoundToken('the access token is bound to a key; send it as DPoP, with a proof')
  const proof = atResource(() => verifyDpopProof(context, request, token.digest))
  return proof.jkt === token.jkt ? proof : refuseBoundToken('the access token is bound to another key')
}

/** A new token for the session, and what the session keeps of it. */
export async function makeAccessToken(
  { config, keys, random }: IssuerContext,
  sessionId: string,
  { now, jkt }: { readonly now: Date; readonly jkt: string | undefined },
) {
  const issuedAt = Math.floor(now.getTime() / 1000)
  const payload = {
    iss: config.baseUrl,
    sub: sessionId,
    aud: config.baseUrl,
    iat: issuedAt,
    exp: issuedAt + TOKEN_SECONDS,
    jti: toBase64url(random(16)),
    // RFC 9449 section 6.1
    ...(jkt === undefined ? {} : { cnf: { jkt } }),
  }
  const { accessTokens: signer } = keys
  const header = { typ: 'at+jwt', alg: signer.alg, kid: signer.kid }
  const accessToken = await writeJws(header, payload, (data) => signer.sign(data))
  const expiresAt = now.getTime() + TOKEN_SECONDS * 1000
  return { accessToken, token: { digest: digestOf(accessToken), expiresAt, ...(jkt === undefined ? {} : { jkt }) } }
}

/** What the token says of itself: where to look, and nothing to rely on. */
function subjectOf(token: string): string | undefined {
  return orUndefined(() => ownString(readJws(token).payload, 'sub'))
}
