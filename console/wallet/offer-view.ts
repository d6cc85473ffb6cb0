/** An offer in the wallet: what is offered, the transaction code, and what came of it. */
import type { WalletContext } from '../../src/wallet/context.ts'
import { WalletError } from '../../src/wallet/error.ts'
import { fetchIssuerMetadata, readOfferedCredential } from '../../src/wallet/issuer-metadata.ts'
import { readOffer, type TxCodeDescription } from '../../src/wallet/offer.ts'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { drawCard } from '../card.ts'
import { type Display, readIssuerIdentifier } from '../clients.ts'
import { drawError, element, field, sentence } from '../dom.ts'
import { offerSessionOf } from './link-session.ts'
import { type ReceivingMisbehaviour, receivingMisbehaviours } from './receiving-misbehaviour.ts'
import { createSwitches } from './switches.ts'
import { drawVerdict } from './verdict.ts'
import type { WalletPage } from './wallet-page.ts'

/** The two ends of an offer: the wallet shows its cards below a message, or shows the offer again. */
export interface OfferEnd {
  readonly showCards: (...above: readonly HTMLElement[]) => Promise<void>
  readonly showOfferAgain: () => Promise<void>
}

/** Shows the offer of a link in `place`. */
export async function showOffer(place: HTMLElement, page: WalletPage, link: string, end: OfferEnd): Promise<void> {
  const offer = await readOffer(page.wallet, link)
  const issuer = await fetchIssuerMetadata(page.wallet, offer.credentialIssuer)
  const offeredCredentials = offer.configurationIds.map((id) => readOfferedCredential(page.wallet, issuer, id))
  const switches = createSwitches(
    receivingMisbehaviours.map((each) => ({
      ...each,
      problem: undefined,
      expects: `The issuer has to answer ${each.error}.`,
    })),
    () => undefined,
  )
  const take = async (): Promise<void> => {
    page.guide.report('received')
    const wrong = receivingMisbehaviours.find(({ id }) => id === switches.getChosen())
    const { drawn, isReceived } = await receiveAsChosen(place, page, link, wrong)
    page.guide.report(isReceived ? 'coded' : wrong === undefined ? 'unreceived' : 'dropped')
    await (isReceived || wrong !== undefined ? end.showCards(...drawn) : end.showCards(...drawn, drawAgain(page, end)))
  }
  const leave = async (): Promise<void> => {
    page.guide.report('dropped')
    await end.showCards()
  }
  const fail = (error: unknown): Promise<void> => {
    page.guide.report('dropped')
    return end.showCards(drawError(error))
  }
  place.replaceChildren(
    element('h3', {}, sentence`${issuer.name ?? issuer.credentialIssuer} offers`),
    ...offeredCredentials.map(({ name, display }) => drawCard(name, (display ?? {}) as Display)),
    switches.drawn,
    drawButtons(take, leave, fail),
  )
}

/**
 * Draws the buttons of an offer, which are good for one click: a code is spent by the first, and a second one would be
 * refused.
 */
function drawButtons(
  take: () => Promise<void>,
  leave: () => Promise<void>,
  fail: (error: unknown) => Promise<void>,
): HTMLElement {
  const act = (work: () => Promise<void>) => (): void => {
    for (const each of buttons.querySelectorAll('button')) each.disabled = true
    void work().catch(fail)
  }
  const buttons = element(
    'p',
    { class: 'buttons' },
    element('button', { type: 'button', onclick: act(take) }, 'Receive'),
    element('button', { type: 'button', class: 'second', onclick: act(leave) }, 'Not now'),
  )
  return buttons
}

/**
 * Draws a button that opens the offer again, for who mistyped the code: an offer that was not taken is as good as
 * before.
 */
function drawAgain(page: WalletPage, { showOfferAgain }: OfferEnd): HTMLElement {
  const onclick = (): void => {
    page.guide.report('offered')
    void showOfferAgain()
  }
  return element('p', {}, element('button', { type: 'button', onclick }, 'Open the offer again'))
}

interface Receipt {
  readonly drawn: readonly HTMLElement[]
  readonly isReceived: boolean
}

/** Receives an offer as the wallet was told to behave, and returns what is to be said of it. */
async function receiveAsChosen(
  place: HTMLElement,
  page: WalletPage,
  link: string,
  wrong: ReceivingMisbehaviour | undefined,
): Promise<Receipt> {
  const wallet: WalletContext = wrong?.changeWallet(page.wallet) ?? page.wallet
  const askTxCode = (description: TxCodeDescription): Promise<string> => askForCode(place, description)
  try {
    const sessionId = offerSessionOf(link, await readIssuerIdentifier().catch(() => undefined))
    const credentials = await receiveOffer(wallet, link, { askTxCode })
    for (const { id } of credentials) if (sessionId !== undefined) page.sessions.set(id, sessionId)
    const names = credentials.map(({ name }) => name).join(', ')
    const receivedText = element('p', { class: 'good', role: 'status' }, sentence`Received: ${names}.`)
    const verdict = wrong === undefined ? [] : [drawVerdict(wrong.error, undefined, 'issuer')]
    return { drawn: [receivedText, ...verdict], isReceived: true }
  } catch (error) {
    if (!(error instanceof WalletError)) throw error
    const verdict = wrong === undefined ? [] : [drawVerdict(wrong.error, error.server, 'issuer')]
    return { drawn: [drawError(error), ...verdict], isReceived: false }
  }
}

/** Asks the holder for the transaction code. */
function askForCode(place: HTMLElement, { length, inputMode, description }: TxCodeDescription): Promise<string> {
  return new Promise((resolve) => {
    const input = element('input', {
      type: 'text',
      required: true,
      autocomplete: 'one-time-code',
      inputmode: inputMode === 'numeric' ? 'numeric' : 'text',
    })
    const onsubmit = (event: Event): void => {
      event.preventDefault()
      resolve(input.value)
    }
    const note = description ?? (length === undefined ? undefined : `${length} characters`)
    place.replaceChildren(
      element(
        'form',
        { onsubmit },
        element('h3', {}, 'The issuer wants a code'),
        field('Transaction code', input, note),
        element('button', { type: 'submit' }, 'Go on'),
      ),
    )
    input.focus()
  })
}
