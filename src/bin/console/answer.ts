/** The responses of the console itself: files, JSON, and refusals as pages or JSON. */
import type { ServerResponse } from 'node:http'
import { escapeHtml } from '../../http/browser-page.ts'

export interface ConsoleFile {
  readonly type: string
  readonly body: Uint8Array
}

export interface ConsoleAnswer extends ConsoleFile {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
}

/** A refusal of a request, with advice for the person. */
export interface ConsoleRefusal {
  readonly status: number
  readonly title: string
  readonly message: string
  /** The URL for signing in, if that helps. */
  readonly signIn?: string | undefined
  /** The time after which the request may succeed. */
  readonly retryAfterSeconds?: number
}

const PAGE_TYPE = 'text/html; charset=utf-8'

export function jsonAnswer(value: object, status = 200): ConsoleAnswer {
  return { status, type: 'application/json; charset=utf-8', body: Buffer.from(JSON.stringify(value)) }
}

/** Makes the response for a refusal: a page for a person, and otherwise JSON like the services. */
export function refusalAnswer(refusal: ConsoleRefusal, accepts: string | undefined): ConsoleAnswer {
  const { status, title, message, signIn, retryAfterSeconds } = refusal
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
  if (accepts?.includes('text/html') !== true)
    return { ...jsonAnswer({ error: 'console', error_description: message }, status), headers }
  const link = signIn === undefined ? '' : `<p><a class="button" href="${signIn}">Sign in</a></p>`
  return { ...pageAnswer(`<h1>${title}</h1><p>${escapeHtml(message)}</p>${link}`, status), headers }
}

/**
 * Makes the page after the sign-in, which opens the console. A redirect would not send the cookie if the link was
 * opened from another site.
 */
export function signedInAnswer(path: string, cookie: string): ConsoleAnswer {
  const body = `<h1>You are signed in</h1><p><a href="${path}">Go on to the console.</a></p>`
  const answer = pageAnswer(body, 200, `<meta http-equiv="refresh" content="0; url=${path}">`)
  return { ...answer, headers: { 'set-cookie': cookie } }
}

/** Makes a redirect, optionally with a cookie. */
export function redirectAnswer(location: string, cookie?: string): ConsoleAnswer {
  const headers = { location, ...(cookie !== undefined && { 'set-cookie': cookie }) }
  return { status: 303, type: 'text/plain', body: new Uint8Array(), headers }
}

export function sendAnswer(response: ServerResponse, { status, type, body, headers = {} }: ConsoleAnswer): void {
  response.writeHead(status, { ...headers, 'content-type': type, 'content-length': body.length }).end(body)
}

/** Makes a page outside of the console, with its style sheet. */
function pageAnswer(body: string, status: number, head = ''): ConsoleAnswer {
  const text = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>Vouchsafe console</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css">${head}</head><body><header><p class="brand">Vouchsafe</p></header><main>${body}</main></body></html>`
  return { status, type: PAGE_TYPE, body: Buffer.from(text) }
}
