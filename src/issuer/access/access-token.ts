/** Makes the access tokens of this service, JWTs by RFC 9068. `open-session.ts` finds the session of a token. */
import { toBase64url } from '../../codec/base64url.ts'
import { digestOf } from '../../codec/digest.ts'
import { writeJws } from '../../codec/jws.ts'
import { epochSeconds } from '../../codec/time.ts'
import type { Signer } from '../../keys/signer.ts'
import type { AccessTokenRecord, AuthorizedClient } from '../issued-tokens.ts'
import type { AccessContext } from './context.ts'

/** The lifetime of every access token. */
export const ACCESS_TOKEN_SECONDS = 300

/** The session that a token is for, the key that the token is bound to, and the client that gets it. */
export interface TokenClaims {
  readonly sessionId: string
  readonly now: Date
  readonly jkt: string | undefined
  readonly client: AuthorizedClient | undefined
}

/** An access token, and the part of it that the session keeps. */
export interface NewAccessToken {
  readonly accessToken: string
  readonly record: AccessTokenRecord
}

/** Makes an access token for `claims`, signed by `signer`. */
export async function makeAccessToken(
  { config, random }: Pick<AccessContext, 'config' | 'random'>,
  signer: Signer,
  { sessionId, now, jkt, client }: TokenClaims,
): Promise<NewAccessToken> {
  const issuedAt = epochSeconds(now)
  const payload = {
    iss: config.baseUrl,
    sub: sessionId,
    aud: config.baseUrl,
    iat: issuedAt,
    exp: issuedAt + ACCESS_TOKEN_SECONDS,
    jti: toBase64url(random(16)),
    ...(client && { client_id: client.id }),
    // RFC 9449 section 6.1: the thumbprint of the DPoP key
    ...(jkt === undefined ? {} : { cnf: { jkt } }),
  }
  const header = { typ: 'at+jwt', alg: signer.alg, kid: signer.kid }
  const accessToken = await writeJws(header, payload, (data) => signer.sign(data))
  const expiresAt = now.getTime() + ACCESS_TOKEN_SECONDS * 1000
  return { accessToken, record: { digest: digestOf(accessToken), expiresAt, ...(jkt === undefined ? {} : { jkt }) } }
}
