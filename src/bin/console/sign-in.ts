/**
 * Signing in to the console: a code that works once, or a provider that knows the person, opens a session, which a
 * cookie of the browser names.
 */
import { toBase64url } from '../../codec/base64url.ts'
import { digestOf, isSameSecret } from '../../codec/digest.ts'
import { cookieValues } from '../../http/cookies.ts'

const CODE_MS = 10 * 60_000
const SESSION_MS = 12 * 3_600_000
const COOKIE = 'vouchsafe_console'

export interface SignIn {
  /** The code of the link. */
  readonly code: string
  /**
   * The path of the pages, which nobody else knows: a browser sends cookies of a host to all of its ports, of which
   * some may be other people's programs, but those of a path to this path alone.
   */
  readonly path: string
  /**
   * Makes the `Set-Cookie` header of a browser that came with the code; undefined when the code is wrong, used or old.
   */
  redeemCode(code: string): string | undefined
  /** Makes the `Set-Cookie` header of a browser whose person may enter. */
  openSession(): string
  /** Tests whether the `Cookie` header names an open session. */
  isSignedIn(cookies: string | undefined): boolean
}

/** The most sessions at once; a new one takes the place of the oldest. */
const MAX_SESSIONS = 100

/** Makes the sign-in of one console. */
export function createSignIn(random: (bytes: number) => Uint8Array, now: () => Date): SignIn {
  const code = toBase64url(random(24))
  const path = `/${toBase64url(random(24))}/`
  const openedAt = now().getTime()
  let isUsed = false
  /** When each session ends, by the digest of its id. */
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
