/** The second walk of the demo: a wallet requests the card without an offer, by the authorization code flow. */
import type { BrowserVisit } from '../../wallet/context.ts'
import { receiveWalletInitiated } from '../../wallet/receive.ts'
import type { ApiResult } from './calls.ts'
import { CLAIM_COUNT } from './data.ts'
import type { Narrator, ShownStep } from './narrator.ts'
import type { Portal } from './portal.ts'
import type { Cast, DeclaredIds } from './walk.ts'

/** A redirect URI at which nothing listens; the simulated browser stops before it. */
const REDIRECT_URI = 'http://127.0.0.1/callback'
const LIMIT_MS = 10_000
const MAX_PAGES = 5

/** Performs all steps. Throws if one fails. */
export async function walkWithoutOffer(
  { issuer, wallet, narrator }: Cast,
  { configurationId }: DeclaredIds,
  portal: Portal,
): Promise<void> {
  narrator.beginPart('The wallet asks for another card, which nobody has offered')
  portal.onCall = (result) => narrator.tellStep(stepOfPortal(result))
  try {
    const ask = { credentialIssuer: issuer.baseUrl, credential: { configurationId } }
    await receiveWalletInitiated({ ...wallet, openBrowser: () => Promise.resolve(openBrowser(narrator)) }, ask)
  } finally {
    delete portal.onCall
  }
}

function stepOfPortal({ method, url, status }: ApiResult): ShownStep {
  const who = 'The university'
  if (method === 'GET') {
    const means = 'Its page shows it to the person. In the demo everybody is Ada, without a password, and agrees.'
    return { who, what: 'asked what the wallet wants', means, request: { method, url }, status }
  }
  const sent = `the ${CLAIM_COUNT} claims about Ada Lovelace`
  const means = 'The answer is where the browser goes next. Nobody can take the link to another browser.'
  return { who, what: 'decided', means, request: { method, url, sent }, status }
}

/** Makes a simulated browser whose person continues on every page. */
function openBrowser(narrator: Narrator): BrowserVisit {
  return {
    redirectUri: REDIRECT_URI,
    sendPerson: (address) => followPages(narrator, address),
    close: () => Promise.resolve(),
  }
}

/** Follows the pages from `address` to the redirect URI, and returns its query. */
async function followPages(narrator: Narrator, address: string): Promise<string> {
  let [url, method, cookie] = [address, 'GET', '']
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const signal = AbortSignal.timeout(LIMIT_MS)
    const { status, headers } = await fetch(url, { method, headers: { cookie }, redirect: 'manual', signal })
    const location = headers.get('location')
    if (new URL(url).pathname.startsWith('/auth/')) narrator.tellStep(stepOfBrowser(url, status))
    cookie = headers.getSetCookie()[0]?.split(';')[0] ?? cookie
    if (location?.startsWith(REDIRECT_URI)) return location.slice(REDIRECT_URI.length + 1)
    if (status >= 400)
      throw new Error(`the browser got ${status} at ${new URL(url).pathname}`)
      // A page without a redirect has a button, which is pressed.
    ;[url, method] = location === null ? [url, 'POST'] : [new URL(location, url).href, 'GET']
  }
  throw new Error('the browser was sent from page to page and never back to the wallet')
}

function stepOfBrowser(url: string, status: number): ShownStep {
  const isFirst = url.includes('/auth/authorize')
  return {
    who: 'The browser',
    what: isFirst ? 'came to the issuer, which sent it on to the university' : 'came back to the issuer',
    means: isFirst
      ? 'The issuer marks the browser by a cookie, so that only the one that began can end it.'
      : 'It is the browser that began, so the issuer sends it on to the wallet, with a code.',
    request: { method: 'GET', url },
    status,
  }
}
