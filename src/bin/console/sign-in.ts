/**
 * Sign-in to the console. A code that works once, or an OpenID Connect provider, opens a session, whose id is in a
 * cookie.
 */
import { toBase64url } from '../../codec/base64url.ts'
import { digestOf, isSameSecret } from '../../codec/digest.ts'
import { cookieValues } from '../../http/cookies.ts'

const CODE_MS = 10 * 60_000
const SESSION_MS = 12 * 3_600_000
const COOKIE = 'vouchsafe_console'

export interface SignIn {
  /** The code in the link. */
  readonly code: string
  /**
   * The secret path of the pages. Browsers send the cookies of a host to all of its ports, which may belong to other
   * users' programs, but those of a path only to this path.
   */
  readonly path: string
  /** Returns the `Set-Cookie` header for a browser with the code; undefined if the code is wrong, used or expired. */
  redeemCode(code: string): string | undefined
  /** Returns the `Set-Cookie` header for a browser whose person may enter. */
  openSession(): string
  /** Tests whether the `Cookie` header has an open session. */
  isSignedIn(cookies: string | undefined): boolean
}

/** The maximum number of sessions. A new one replaces the oldest. */
const MAX_SESSIONS = 100

/** Creates the sign-in of a console. */
export function createSignIn(random: (bytes: number) => Uint8Array, now: () => Date): SignIn {
  const code = toBase64url(random(24))
  const path = `/${toBase64url(random(24))}/`
  const openedAt = now().getTime()
  let isUsed = false
  /** When each session expires, by the digest of its id. */
  const sessions = new Map<string, number>()
  const openSession = (): string => {
    const id = toBase64url(random(24))
    const [oldest] = sessions.keys()
    if (sessions.size >= MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest)
    sessions.set(digestOf(id), now().getTime() + SESSION_MS)
    return `${COOKIE}=${id}; Path=${path}; Max-Age=${SESSION_MS / 1000}; HttpOnly; SameSite=Strict`
  }
  return {
    openSession,
    code,
    path,
    redeemCode: (attempt) => {
      if (isUsed || now().getTime() > openedAt + CODE_MS || !isSameSecret(attempt, code)) return undefined
      isUsed = true
      return openSession()
    },
    isSignedIn: (cookies) => {
      const at = now().getTime()
      return cookieValues(cookies, COOKIE).some((id) => at <= (sessions.get(digestOf(id)) ?? 0))
    },
  }
}
