/** Lets the browser ask its wallets for the response to a session: the Digital Credentials API. */
import { askWallet, type DigitalMessage, fetchDigitalRequests } from '../sdk/element/digital-credentials.ts'
import { element, oneAtATime } from './dom.ts'

/** Draws the place of the button, which is there once the browser allows one of the requests of the session. */
export function drawBrowserWallet(uri: string, signal: AbortSignal): HTMLElement {
  const place = element('div')
  const url = new URL(uri)
  // The call of the browser has to follow the click at once, so the requests are there before it.
  void fetchDigitalRequests(url, signal).then((requests = []) => {
    if (requests.length > 0) place.append(drawButton(url, requests, signal))
  })
  return place
}

function drawButton(url: URL, requests: readonly DigitalMessage[], signal: AbortSignal): HTMLElement {
  const problem = element(
    'p',
    { class: 'problem', role: 'alert', hidden: true },
    'That was not completed; the developer tools of the browser say why.',
  )
  const onclick = oneAtATime(async () => {
    problem.hidden = true
    problem.hidden = (await askWallet(url, requests, signal)) !== undefined
  })
  return element('div', {}, element('button', { type: 'button', onclick }, 'Let the browser find a wallet'), problem)
}
