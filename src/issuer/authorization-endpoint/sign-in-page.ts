/**
 * The HTML pages for a person who signs in, or whose offer is sufficient alone. Clients are not registered, so the
 * first page shows where the code will be sent. Only the person can tell whether that is their own wallet. RFC 9700
 * section 4.11.
 */
import { SIGN_IN_PATH } from '../../config/authentication.ts'
import { type BrowserPage, escapeHtml } from '../../http/browser-page.ts'
import { isLoopback } from '../../protocol/private-host.ts'
import type { CodeFlowRequest } from '../authorization-request.ts'

export interface SignInPage {
  readonly id: string
  readonly request: CodeFlowRequest
  /** The name of the issuer. */
  readonly issuerName: string
  /** The names of the credentials. */
  readonly credentials: readonly string[]
  /** The host of the OpenID Connect provider; undefined where the person presents another credential. */
  readonly provider: string | undefined
}

/** Returns the page that shows where a wallet is which answers a trusted offer. */
export function walletPage({ redirectUri, clientId }: CodeFlowRequest, address: string): BrowserPage {
  return {
    title: 'Back to your wallet',
    paragraphs: [
      `The link on this page leads to <strong>${escapeHtml(destinationOf(redirectUri))}</strong>.`,
      'Go on only if you have just answered an offer in your own wallet, and this is where your wallet is. If somebody sent you here by a link or a message, close this page.',
      walletParagraph(redirectUri, clientId),
    ],
    links: [{ text: 'Go on to the wallet', address }],
  }
}

/** Returns the first page of a sign-in: it shows the wallet and the credentials, and starts the sign-in. */
export function signInPage({ id, request, issuerName, credentials, provider }: SignInPage): BrowserPage {
  const { redirectUri, clientId } = request
  const query = `?interaction=${encodeURIComponent(id)}`
  return {
    title: `${issuerName}: ${credentials.join(', ')} for your wallet`,
    paragraphs: [
      `A wallet asks for this credential. It will go to <strong>${escapeHtml(destinationOf(redirectUri))}</strong>.`,
      'Go on only if you have just asked for it in your own wallet, and this is where your wallet is. If somebody sent you here by a link or a message, stop: they would get your credential.',
      walletParagraph(redirectUri, clientId),
    ],
    links: [
      {
        text: provider === undefined ? 'Show your credential' : `Sign in at ${provider}`,
        address: `${SIGN_IN_PATH}/start${query}`,
      },
      { text: 'Stop', address: `${SIGN_IN_PATH}/stop${query}` },
    ],
  }
}

/** Returns the page with the link that opens the wallet on this device. */
export function presentationPage(link: string): BrowserPage {
  return {
    title: 'Show your credential',
    paragraphs: [
      'Open your wallet on this device. It says what is asked for, and brings you back to this browser.',
      'If it does not, or if it refuses, begin anew in the wallet that asked for the credential.',
    ],
    links: [
      { text: 'Open the wallet', address: link },
      { text: 'Open another wallet', address: link.replace(/^haip-vp:/, 'openid4vp:') },
    ],
  }
}

/** Returns the page for a person whose account gets no credential. */
export function noCredentialPage(request: CodeFlowRequest, address: string, reason: string): BrowserPage {
  const text = `There is none for you, since ${escapeHtml(reason)}. Whoever issues the credential can tell you more.`
  return backPage(request, address, text)
}

/** Returns the page for a person who stopped, or did not sign in, where the redirect URI is not trusted. */
export function stoppedPage(request: CodeFlowRequest, address: string): BrowserPage {
  return backPage(request, address, 'There is none, since you did not go on. You can close this page.')
}

function backPage({ redirectUri }: CodeFlowRequest, address: string, text: string): BrowserPage {
  const place = `<strong>${escapeHtml(destinationOf(redirectUri))}</strong>`
  return {
    title: 'There is no credential',
    paragraphs: [text, `The link on this page leads to ${place}. Follow it only if this is where your wallet is.`],
    links: [{ text: 'Back to the wallet', address }],
  }
}

function walletParagraph(redirectUri: string, clientId: string): string {
  return `<small>The wallet calls itself <code>${escapeHtml(clientId)}</code>; its address is <code>${escapeHtml(redirectUri)}</code></small>`
}

/** Returns the destination of the code, as text for the person. */
function destinationOf(redirectUri: string): string {
  const { protocol, host, hostname } = new URL(redirectUri)
  if (protocol !== 'https:' && protocol !== 'http:') return `the app ${protocol.slice(0, -1)} on this device`
  return isLoopback(hostname) ? `a program on this device (${host})` : host
}
