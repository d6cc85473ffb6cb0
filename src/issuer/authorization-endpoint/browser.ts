/**
 * The cookie by which a browser is recognized when it returns from the application, so that an authorization ends in
 * the browser that started it; and redirects.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { toBase64url } from '../../codec/base64url.ts'
import { type MakePage, setBrowserPage } from '../../http/browser-page.ts'
import { cookieValues } from '../../http/cookies.ts'
import { refuse } from '../../protocol/error.ts'
import type { IssuerContext } from '../context.ts'

const NAME = 'vouchsafe-browser'
const VALUE = /^[A-Za-z0-9_-]{43}$/
/** The lifetime of the cookie. It is longer than the time limits of the interaction and of the return together. */
const MAX_AGE_SECONDS = 1800

/** Returns the cookie of the request's browser; undefined if there is none, or none in the expected form. */
export function browserCookieOf(
  context: Pick<IssuerContext, 'config'>,
  { headers }: FastifyRequest,
): string | undefined {
  const values = cookieValues(headers.cookie, cookieName(context)).filter((value) => VALUE.test(value))
  // If the name occurs twice, another host may have set one of them, so none is accepted.
  return values.length === 1 ? values[0] : undefined
}

/** Makes a cookie value for a browser without a cookie. */
export function makeBrowserCookie({ random }: Pick<IssuerContext, 'random'>): string {
  return toBase64url(random(32))
}

/**
 * Sets the cookie. It is `HttpOnly`, other sites cause it to be sent only by top-level navigation (`SameSite=Lax`), and
 * over https the prefix `__Host-` prevents other hosts from setting it.
 */
export function setBrowserCookie(context: Pick<IssuerContext, 'config'>, reply: FastifyReply, value: string): void {
  const secure = isHttps(context) ? '; Secure' : ''
  const attributes = `Path=/; Max-Age=${MAX_AGE_SECONDS}; HttpOnly; SameSite=Lax${secure}`
  reply.header('set-cookie', `${cookieName(context)}=${value}; ${attributes}`)
}

/** Redirects the browser without a `Referer`, so that the next server does not get the parameters of this URL. */
export function redirectBrowser(reply: FastifyReply, address: string): FastifyReply {
  return reply.code(303).header('location', address).header('referrer-policy', 'no-referrer').send()
}

/** The next step of a browser: it is redirected, or it shows a page. */
export type BrowserStep = { readonly address: string } | { readonly page: MakePage }

/** Sends a browser on to its next step. */
export function sendBrowserStep(reply: FastifyReply, step: BrowserStep): FastifyReply {
  return 'page' in step ? reply.send(setBrowserPage(reply, step.page)) : redirectBrowser(reply, step.address)
}

function cookieName(context: Pick<IssuerContext, 'config'>): string {
  return isHttps(context) ? `__Host-${NAME}` : NAME
}

function isHttps({ config }: Pick<IssuerContext, 'config'>): boolean {
  return config.baseUrl.startsWith('https://')
}

/** Refuses a browser that does not have the cookie of the request. */
export function refuseOtherBrowser(): never {
  return refuse(
    'invalid_request',
    'this is another browser than the one that the wallet opened, or two windows of it began at once; begin anew in the wallet',
  )
}
