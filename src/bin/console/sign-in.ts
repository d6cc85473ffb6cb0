/** Signing in to the console: a code that works once opens a session, which a cookie of the browser names. */
import { timingSafeEqual } from 'node:crypto'
import { toBase64url } from '../../codec/base64url.ts'
import { digestOf } from '../../codec/digest.ts'

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
  /** The `Set-Cookie` header of a browser that came with the code; undefined when the code is wrong, used or old. */
  redeem(code: string): string | undefined
  /** Whether the `Cookie` header names an open session. */
  isSignedIn(cookies: string | undefined): boolean
}

/** Makes the sign-in of one console. There is one code, so there is one session. */
export function createSignIn(random: (bytes: number) => Uint8Array, now: () => Date): SignIn {
  const code = toBase64url(random(24))
  const path = `/${toBase64url(random(24))}/`
  const openedAt = now().getTime()
  let isUsed = false
  let session: { readonly digest: string; readonly until: number } | undefined
  return {
    code,
    path,
    redeem: (attempt) => {
      if (isUsed || now().getTime() > openedAt + CODE_MS || !isEqual(attempt, code)) return undefined
      isUsed = true
      const id = toBase64url(random(24))
      session = { digest: digestOf(id), until: now().getTime() + SESSION_MS }
      return `${COOKIE}=${id}; Path=${path}; Max-Age=${SESSION_MS / 1000}; HttpOnly; SameSite=Strict`
    },
    isSignedIn: (cookies = '') => {
      if (session === undefined || now().getTime() > session.until) return false
      const { digest } = session
      // Programs at other ports may have set cookies of this name.
      const ids = cookies.split('; ').filter((cookie) => cookie.startsWith(`${COOKIE}=`))
      return ids.some((cookie) => isEqual(digestOf(cookie.slice(COOKIE.length + 1)), digest))
    },
  }
}

/** Compares in a time that says nothing of where the texts differ. */
function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(digestOf(one)), Buffer.from(digestOf(other))]
  return timingSafeEqual(a, b)
}
