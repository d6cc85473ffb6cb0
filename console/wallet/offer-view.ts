/** An offer in the wallet: what is offered, the transaction code, and what came of it. */
import type { WalletContext } from '../../src/wallet/context.ts'
import { WalletError } from '../../src/wallet/error.ts'
import { fetchIssuerMetadata, readOfferedCredential } from '../../src/wallet/issuer-metadata.ts'
import { readOffer, type TxCodeDescription } from '../../src/wallet/offer.ts'
import { receive } from '../../src/wallet/receive.ts'
import { drawCard } from '../card.ts'
import type { Display } from '../clients.ts'
import { element, field } from '../dom.ts'
import { type Desk, sessionOf } from './desk.ts'
import { type Misreceipt, misreceipts } from './misreceive.ts'
import { createSwitches } from './switches.ts'
import { drawProblem, drawVerdict } from './verdict.ts'

/** The ways on from an offer: the cards of the wallet below what there is to say, or the offer once more. */
export interface OfferEnd {
  readonly show: (...above: readonly HTMLElement[]) => Promise<void>
  readonly again: () => Promise<void>
}

/** Shows the offer of a link in `place`. */
export async function showOffer(place: HTMLElement, desk: Desk, link: string, end: OfferEnd): Promise<void> {
  const offer = await readOffer(desk.wallet, link)
  const issuer = await fetchIssuerMetadata(desk.wallet, offer.credentialIssuer)
  const offered = offer.configurationIds.map((id) => readOfferedCredential(desk.wallet, issuer, id))
  const switches = createSwitches(
    misreceipts.map((each) => ({ ...each, problem: undefined, expects: `The issuer has to answer ${each.error}.` })),
    () => undefined,
  )
  const take = async (): Promise<void> => {
    desk.guide.tell('received')
    const wrong = misreceipts.find(({ id }) => id === switches.chosen())
    const { drawn, isReceived } = await receiveOffer(place, desk, link, wrong)
    desk.guide.tell(isReceived ? 'coded' : 'dropped')
    await (isReceived || wrong !== undefined ? end.show(...drawn) : end.show(...drawn, drawAgain(desk, end)))
  }
  const leave = (): void => {
    desk.guide.tell('dropped')
    void end.show()
  }
  place.replaceChildren(
    element('h3', {}, `${issuer.name ?? issuer.credentialIssuer} offers`),
    ...offered.map(({ name, display }) => drawCard(name, (display ?? {}) as Display)),
    switches.drawn,
    element(
      'p',
      { class: 'buttons' },
      element('button', { type: 'button', onclick: () => void take() }, 'Receive'),
      element('button', { type: 'button', class: 'second', onclick: leave }, 'Not now'),
    ),
  )
}

/**
 * Draws a button that opens the offer again, for who mistyped the code: an offer that was not taken is as good as
 * before.
 */
function drawAgain(desk: Desk, { again }: OfferEnd): HTMLElement {
  const onclick = (): void => {
    desk.guide.tell('offered')
    void again()
  }
  return element('p', {}, element('button', { type: 'button', onclick }, 'Open the offer again'))
}

interface Receipt {
  readonly drawn: readonly HTMLElement[]
  readonly isReceived: boolean
}

/** Receives an offer as the wallet was told to behave, and returns what is to be said of it. */
async function receiveOffer(
  place: HTMLElement,
  desk: Desk,
  link: string,
  wrong: Misreceipt | undefined,
): Promise<Receipt> {
  const wallet: WalletContext = wrong?.change(desk.wallet) ?? desk.wallet
  const askTxCode = (description: TxCodeDescription): Promise<string> => askForCode(place, description)
  try {
    const stored = await receive(wallet, link, { askTxCode })
    const sessionId = sessionOf(link)
    for (const { id } of stored) if (sessionId !== undefined) desk.sessions.set(id, sessionId)
    const names = stored.map(({ name }) => name).join(', ')
    const received = element('p', { class: 'good', role: 'status' }, `Received: ${names}.`)
    const verdict = wrong === undefined ? [] : [drawVerdict(wrong.error, undefined, 'issuer')]
    return { drawn: [received, ...verdict], isReceived: true }
  } catch (error) {
    if (!(error instanceof WalletError)) throw error
    const verdict = wrong === undefined ? [] : [drawVerdict(wrong.error, error.server, 'issuer')]
    return { drawn: [drawProblem(error), ...verdict], isReceived: false }
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
