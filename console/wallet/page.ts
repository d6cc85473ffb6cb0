/** The wallet in the page: the reference wallet beside the two services, and a guided walk through both protocols. */
import { listCredentials } from '../../src/wallet/stored-credential.ts'
import { drawError, element, field, introduction, replaceContent } from '../dom.ts'
import type { ShowPage } from '../page.ts'
import { drawCredential, drawSteps } from './drawing.ts'
import { createGuide } from './guide.ts'
import { drawService, LIBRARY, type OpenLink, UNIVERSITY, type WalletPane } from './service-card.ts'
import { openWalletPage, type WalletPage } from './wallet-page.ts'

export const showWallet: ShowPage = async (main, { services, parts, signal }) => {
  const guide = createGuide((walkEvent) => {
    // The first button of the service whose turn it is.
    main.querySelector<HTMLButtonElement>(`[data-walk-event="${walkEvent}"]`)?.click()
  })
  const onEmptied = (): void => {
    guide.report('emptied')
    // An offer or a request stays; what was emptied is refused when it is presented.
    if (pane.querySelector('.paste') !== null) void showHome(pane, page)
  }
  const pane = element('div', { class: 'pane', tabindex: '-1' })
  const page = await openWalletPage(guide, signal, onEmptied)
  const isWhole = services.issuer !== undefined && services.verifier !== undefined
  main.append(
    introduction(
      'Wallet',
      'The reference wallet, in this page: no phone is needed. Its private keys are made in this browser, and cannot be read from it.',
    ),
    isWhole ? guide.drawn : '',
  )
  const walletPane = controlPane(pane, page)
  const columns = element(
    'div',
    { class: 'desk' },
    drawPhone(pane),
    element(
      'div',
      {},
      services.issuer !== undefined && drawService(UNIVERSITY, page, walletPane),
      services.verifier !== undefined && drawService(LIBRARY, page, walletPane),
    ),
  )
  main.append(columns)
  const [link] = parts
  if (link === undefined || link === '') await walletPane.showCards()
  else await walletPane.openLink(link)
}

function drawPhone(pane: HTMLElement): HTMLElement {
  const heading = element('h2', { id: 'the-wallet' }, 'The wallet')
  return element('section', { class: 'card phone', 'aria-labelledby': 'the-wallet' }, heading, pane)
}

function controlPane(pane: HTMLElement, page: WalletPage): WalletPane {
  return {
    openLink: (link) => openInPane(pane, page, link),
    clear: () => pane.replaceChildren(element('p', { class: 'quiet' }, 'The next link is being made.')),
    showCards: () => showHome(pane, page),
  }
}

/**
 * Opens an offer or a request in the pane of the wallet. A link has an element of its own, so that a slow one draws
 * nothing over what the pane has shown since.
 */
async function openInPane(pane: HTMLElement, page: WalletPage, link: string): Promise<void> {
  page.steps.length = 0
  const view = element(
    'div',
    {},
    element('p', { class: 'quiet', role: 'status' }, 'The wallet fetches what the link names …'),
  )
  replaceContent(pane, view)
  const isShown = (): boolean => view.isConnected
  const onEnd = async (...above: readonly HTMLElement[]): Promise<void> => {
    if (!isShown()) return
    await showHome(pane, page, ...above)
    // The button that led here is gone; whoever uses keys goes on from what is said.
    pane.focus({ preventScroll: true })
  }
  try {
    const isRequest = /^(haip-vp|openid4vp):/i.test(link.trim())
    const end = { showCards: onEnd, showOfferAgain: () => openInPane(pane, page, link) }
    if (isRequest) await (await import('./request-view.ts')).showRequest(view, page, link, onEnd)
    else await (await import('./offer-view.ts')).showOffer(view, page, link, end)
    if (isShown()) pane.scrollIntoView({ block: 'start' })
  } catch (error) {
    await onEnd(drawError(error))
  }
}

/** Draws the credentials of the wallet, below what there is to say of its last step. */
async function showHome(pane: HTMLElement, page: WalletPage, ...above: readonly HTMLElement[]): Promise<void> {
  const shownBefore = pane.firstChild
  const { credentials, unreadable } = await listCredentials(page.store)
  // A link that was opened in the meantime stays.
  if (pane.firstChild !== shownBefore) return
  const now = page.wallet.now()
  if (above.length > 0) pane.scrollIntoView({ block: 'start' })
  const empty = async (): Promise<void> => {
    await page.empty()
    page.guide.report('emptied')
    await showHome(pane, page)
  }
  const fail = (error: unknown): void => pane.prepend(drawError(error))
  replaceContent(
    pane,
    ...above,
    page.steps.length > 0 ? drawSteps([...page.steps]) : '',
    credentials.length === 0 ? element('p', { class: 'quiet' }, 'The wallet is empty.') : '',
    ...credentials.map((each) => drawCredential(each, now)),
    ...unreadable.map(({ id, problem }) => drawError(new Error(`The credential ${id} is damaged: ${problem}`))),
    makeLinkForm((link) => openInPane(pane, page, link)),
    credentials.length > 0 || unreadable.length > 0
      ? element(
          'p',
          {},
          element(
            'button',
            { type: 'button', class: 'second', onclick: () => void empty().catch(fail) },
            'Empty the wallet',
          ),
        )
      : '',
  )
}

/** Makes a form for a link of any issuer or verifier that the console may reach. */
function makeLinkForm(open: OpenLink): HTMLElement {
  const input = element('input', {
    type: 'text',
    required: true,
    spellcheck: 'false',
    placeholder: 'haip-vci://… or haip-vp://…',
  })
  const onsubmit = (event: Event): void => {
    event.preventDefault()
    void open(input.value)
  }
  return element(
    'form',
    { class: 'paste', onsubmit },
    field('Link of an offer or a request', input),
    element('button', { type: 'submit', class: 'second' }, 'Open'),
  )
}
