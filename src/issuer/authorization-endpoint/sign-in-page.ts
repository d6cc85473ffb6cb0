/**
 * The HTML pages for a person who signs in, or whose offer is sufficient alone. Clients are not registered, so the
 * first page shows where the code will be sent. Only the person can tell whether that is their own wallet. RFC 9700
 * section 4.11.
 */
import { SIGN_IN_PATH } from '../../config/authentication.ts'
import { type BrowserPage, escapeHtml, type MakePage } from '../../http/browser-page.ts'
import type { PageReader } from '../../http/page-language.ts'
import { chooseDisplay, type LocalizedName } from '../../protocol/display-language.ts'
import { isLoopback } from '../../protocol/private-host.ts'
import type { CodeFlowRequest } from '../authorization-request.ts'
import { SIGN_IN_TEXTS, type SignInTexts } from './sign-in-texts.ts'

export interface SignInPage {
  readonly id: string
  readonly request: CodeFlowRequest
  /** The names of the issuer by language. */
  readonly issuerNames: readonly LocalizedName[]
  /** The names of each credential by language. */
  readonly credentialNames: readonly (readonly LocalizedName[])[]
  /** The host of the OpenID Connect provider; undefined where the person presents another credential. */
  readonly provider: string | undefined
}

/** Returns the page that shows where a wallet is which answers a trusted offer. */
export function walletPage(request: CodeFlowRequest, address: string): MakePage {
  return inLanguage((texts) => ({
    title: texts.walletTitle,
    paragraphs: [texts.leadsTo(destinationOf(request, texts)), texts.afterOffer, walletParagraph(request, texts)],
    links: [{ text: texts.goOn, address }],
  }))
}

/** Returns the first page of a sign-in: it shows the wallet and the credentials, and starts the sign-in. */
export function signInPage(page: SignInPage): MakePage {
  const { id, request, provider } = page
  const query = `?interaction=${encodeURIComponent(id)}`
  return inLanguage((texts, reader) => ({
    title: signInTitle(page, texts, reader, ({ name }) => name),
    heading: signInTitle(page, texts, reader, nameHtml),
    paragraphs: [texts.asks(destinationOf(request, texts)), texts.afterRequest, walletParagraph(request, texts)],
    links: [
      {
        text: provider === undefined ? texts.show : texts.signInAt(provider),
        address: `${SIGN_IN_PATH}/start${query}`,
      },
      { text: texts.stop, address: `${SIGN_IN_PATH}/stop${query}` },
    ],
  }))
}

/** Returns the title of the first page, with the names in the language of the reader, as `write` writes them. */
function signInTitle(
  { issuerNames, credentialNames }: SignInPage,
  texts: SignInTexts,
  { language, languages }: PageReader,
  write: (name: LocalizedName) => string,
): string {
  const nameOf = (names: readonly LocalizedName[]): string => {
    const name = chooseDisplay(names, languages)
    return name === undefined ? '' : write(name)
  }
  return texts.signInTitle(nameOf(issuerNames), new Intl.ListFormat(language).format(credentialNames.map(nameOf)))
}

/** Returns a name as HTML, whose direction and language need not be those of the page. */
function nameHtml({ name, locale }: LocalizedName): string {
  return `<bdi${locale === undefined ? '' : ` lang="${escapeHtml(locale)}"`}>${escapeHtml(name)}</bdi>`
}

/** Returns the page with the link that opens the wallet on this device. */
export function presentationPage(link: string): MakePage {
  return inLanguage((texts) => ({
    title: texts.show,
    paragraphs: [texts.openHere, texts.beginAnew],
    links: [
      { text: texts.open, address: link },
      { text: texts.openOther, address: link.replace(/^haip-vp:/, 'openid4vp:') },
    ],
  }))
}

/** Returns the page for a person whose account gets no credential. The reason is for whoever issues the credential. */
export function noCredentialPage(request: CodeFlowRequest, address: string, reason: string): MakePage {
  const line = `<small lang="en">${escapeHtml(reason)}</small>`
  return inLanguage((texts) => backPage(request, texts, { text: texts.noneForYou, address, line }))
}

/** Returns the page for a person who stopped, or did not sign in, where the redirect URI is not trusted. */
export function stoppedPage(request: CodeFlowRequest, address: string): MakePage {
  return inLanguage((texts) => backPage(request, texts, { text: texts.stopped, address }))
}

function inLanguage(makePage: (texts: SignInTexts, reader: PageReader) => BrowserPage): MakePage {
  return (reader) => makePage(SIGN_IN_TEXTS[reader.language], reader)
}

function backPage(
  request: CodeFlowRequest,
  texts: SignInTexts,
  { text, address, line }: { readonly text: string; readonly address: string; readonly line?: string },
): BrowserPage {
  const linkText = `${texts.leadsTo(destinationOf(request, texts))} ${texts.follow}`
  return {
    title: texts.noneTitle,
    paragraphs: [text, linkText, ...(line === undefined ? [] : [line])],
    links: [{ text: texts.back, address }],
  }
}

function walletParagraph({ redirectUri, clientId }: CodeFlowRequest, { wallet }: SignInTexts): string {
  return `<small>${wallet(`<code>${escapeHtml(clientId)}</code>`, `<code>${escapeHtml(redirectUri)}</code>`)}</small>`
}

/** Returns the destination of the code, as HTML for the person. */
function destinationOf({ redirectUri }: CodeFlowRequest, { app, program }: SignInTexts): string {
  const { protocol, host, hostname } = new URL(redirectUri)
  const isApp = protocol !== 'https:' && protocol !== 'http:'
  const destination = isApp ? app(protocol.slice(0, -1)) : isLoopback(hostname) ? program(host) : host
  return `<strong>${escapeHtml(destination)}</strong>`
}
