/**
 * The browser of a person: the cookie by which it is known again when it comes back from the application, so that
 * nobody finishes in one browser what was begun in another; and the redirects.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { toBase64url } from '../../codec/base64url.ts'
import { cookieValues } from '../../http/cookies.ts'
import type { IssuerContext } from '../context.ts'

const NAME = 'vouchsafe-browser'
const VALUE = /^[A-Za-z0-9_-]{43}$/
/** The lifetime of the cookie: longer than a person may take at the application and on the way back. */
const MAX_AGE_SECONDS = 1800

/** Returns the cookie of the browser that sends the request; undefined where it has none, or none of our form. */
export function browserCookieOf(
  context: Pick<IssuerContext, 'config'>,
  { headers }: FastifyRequest,
): string | undefined {
  const values = cookieValues(headers.cookie, cookieName(context)).filter((value) => VALUE.test(value))
  // A second cookie of the name is not ours.
  return values.length === 1 ? values[0] : undefined
}

/** Returns a cookie for a browser that has none. */
export function makeBrowserCookie({ random }: Pick<IssuerContext, 'random'>): string {
  return toBase64url(random(32))
}

/**
 * Has the browser keep the cookie. No script can read the cookie, another site can have it sent only by a link that the
 * person follows, and by `__Host-` no other host can set it where this service has https.
 */
export function setBrowserCookie(context: Pick<IssuerContext, 'config'>, reply: FastifyReply, value: string): void {
  const secure = isHttps(context) ? '; Secure' : ''
  const attributes = `Path=/; Max-Age=${MAX_AGE_SECONDS}; HttpOnly; SameSite=Lax${secure}`
  reply.header('set-cookie', `${cookieName(context)}=${value}; ${attributes}`)
}

/** Sends the browser on, and keeps the address that it comes from, with its parameters, from the next server. */
export function redirectBrowser(reply: FastifyReply, address: string): FastifyReply {
  return reply.code(303).header('location', address).header('referrer-policy', 'no-referrer').send()
}

function cookieName(context: Pick<IssuerContext, 'config'>): string {
  return isHttps(context) ? `__Host-${NAME}` : NAME
}

function isHttps({ config }: Pick<IssuerContext, 'config'>): boolean {
  return config.baseUrl.startsWith('https://')
}
