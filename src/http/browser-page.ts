/** HTML pages for people whose browsers come to a service: text and links, without scripts and external resources. */
import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { HTTP_STATUS, type ProtocolError } from '../protocol/error.ts'
import { type PageLanguage, type PageReader, readPageReader } from './page-language.ts'
import { REFUSAL_TEXTS } from './refusal-texts.ts'

const STYLE =
  ':root{color-scheme:light dark}body{font:1.05rem/1.55 system-ui,sans-serif;margin:0;background:light-dark(#fff,#14181f);color:light-dark(#171b22,#e8ebf0)}main{max-width:36rem;margin:0 auto;padding:2rem 1.25rem;overflow-wrap:anywhere}h1{font-size:1.45rem;line-height:1.25;text-wrap:balance}strong,code{unicode-bidi:isolate}a,button{color:LinkText;color:light-dark(#1d4fa3,#8ab4ff)}.button{display:inline-block;margin:.25rem .75rem .25rem 0;padding:.6rem 1.1rem;background:none;border:2px solid currentcolor;border-radius:.4rem;font:inherit;font-weight:600;text-decoration:none;cursor:pointer}@media(max-width:30rem){.button{box-sizing:border-box;width:100%;text-align:center}}small{display:block;margin-top:2rem;opacity:.8}'
/** The source of the style of a page, for its content security policy. */
export const PAGE_STYLE_SOURCE = `'sha256-${hash('sha256', STYLE, 'base64')}'`
const HEADERS = {
  'content-security-policy': `default-src 'none'; style-src ${PAGE_STYLE_SOURCE}; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'`,
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
}
const TYPE = 'text/html; charset=utf-8'

/** A page: paragraphs of escaped HTML, and links below them. */
export interface BrowserPage {
  readonly title: string
  /** The title as HTML, where it has more than text. */
  readonly heading?: string
  readonly paragraphs: readonly string[]
  readonly links?: readonly PageLink[]
}

/** Makes a page for its reader. */
export type MakePage = (reader: PageReader) => BrowserPage

export interface PageLink {
  readonly text: string
  readonly address: string
}

/** Escapes a text for HTML. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

/**
 * Makes the response a page in the language of the browser, with the status of the reply, and returns its HTML. The
 * page cannot be framed, against clickjacking.
 */
export function setBrowserPage(reply: FastifyReply, makePage: MakePage): string {
  reply.type(TYPE).headers(HEADERS)
  const reader = readPageReader(reply.request.headers['accept-language'])
  const { title, heading, paragraphs, links = [] } = makePage(reader)
  const buttons = links.map(({ text, address }) => {
    return `<a class="button" href="${escapeHtml(address)}" rel="noreferrer">${escapeHtml(text)}</a>`
  })
  const parts = [...paragraphs.map(paragraphHtml), buttons.length === 0 ? '' : paragraphHtml(buttons.join(''))]
  return pageHtml(title, parts, reader.language, heading)
}

/** Returns the HTML of a page: its heading, and below it `parts`, both of which are HTML. */
export function pageHtml(
  title: string,
  parts: readonly string[],
  language: PageLanguage = 'en',
  heading: string = escapeHtml(title),
): string {
  const body = `<h1>${heading}</h1>${parts.join('')}`
  return `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapeHtml(title)}</title><link rel="icon" href="data:,"><style>${STYLE}</style></head><body><main>${body}</main></body></html>`
}

function paragraphHtml(html: string): string {
  return `<p>${html}</p>`
}

/** Tests whether a person sees the response: the route is for browsers, and the browser accepts HTML. */
export function isForPerson({ routeOptions, headers }: FastifyRequest): boolean {
  return routeOptions.config.isForBrowsers === true && headers.accept?.includes('text/html') === true
}

/**
 * Makes a page for a refusal: what the person can do, and below it, for whoever helps, the error, its sentence, and the
 * id by which the operator finds the request.
 */
export function refusalPage({ code, message }: ProtocolError, { id }: FastifyRequest): MakePage {
  const line = `<small lang="en">${escapeHtml(code)}, ${escapeHtml(message)}. Request ${escapeHtml(id)}</small>`
  const isLater = HTTP_STATUS[code] === 429 || HTTP_STATUS[code] >= 500
  return ({ language }) => {
    const { title, beginAnew, beginLater, tellIssuer } = REFUSAL_TEXTS[language]
    return { title, paragraphs: [escapeHtml(`${isLater ? beginLater : beginAnew} ${tellIssuer}`), line] }
  }
}
