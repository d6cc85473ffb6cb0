/** The two services of the story beside the wallet: what each can start, and the session that it started last. */
import { element, hiddenProblem, showProblem } from '../dom.ts'
import { watchSession } from '../session.ts'
import { askForStudentId, offerStudentId } from './story.ts'
import type { WalletPage } from './wallet-page.ts'

export type OpenLink = (link: string) => Promise<void>

/** The pane that shows what the wallet does. */
export interface WalletPane {
  readonly openLink: OpenLink
  readonly clear: () => void
  readonly showCards: () => Promise<void>
}

interface StartedSession {
  readonly link: string
  readonly sessionId: string
  readonly code?: string | undefined
}

interface Action {
  readonly label: string
  readonly start: () => Promise<StartedSession>
}

interface StoryService {
  readonly service: 'issuer' | 'verifier'
  readonly title: string
  /** The word for the guide about each action. */
  readonly walkEvent: 'offered' | 'asked'
  readonly actions: readonly Action[]
}

export const UNIVERSITY: StoryService = {
  service: 'issuer',
  title: 'The university',
  walkEvent: 'offered',
  actions: [
    { label: 'Offer a student ID', start: () => offer(false) },
    { label: 'Offer one that is valid for five seconds', start: () => offer(true) },
  ],
}

export const LIBRARY: StoryService = {
  service: 'verifier',
  title: 'The library',
  walkEvent: 'asked',
  actions: [
    {
      label: 'Ask for given name and programme',
      start: async () => {
        const { request_uri: link, session_id: sessionId } = await askForStudentId()
        return { link, sessionId }
      },
    },
  ],
}

async function offer(isShort: boolean): Promise<StartedSession> {
  const { credential_offer_uri: link, session_id: sessionId, tx_code: code } = await offerStudentId(isShort)
  return { link, sessionId, code }
}

export function drawService(
  { service, title, walkEvent, actions }: StoryService,
  page: WalletPage,
  { openLink, clear, showCards }: WalletPane,
): HTMLElement {
  const session = element('div')
  const problem = hiddenProblem()
  let watching = new AbortController()
  const begin = async (start: () => Promise<StartedSession>): Promise<void> => {
    problem.hidden = true
    // The pane shows the session before, on which nobody is to act while the next one starts.
    clear()
    watching.abort()
    watching = new AbortController()
    const { signal } = watching
    const { link, sessionId, code } = await start()
    if (signal.aborted) return
    page.guide.report(walkEvent)
    session.replaceChildren(...drawCode(code))
    moveToTop(card)
    await openLink(link)
    // An older session that can be followed no more takes nothing away that is shown since.
    await watchSession(session, service, sessionId, AbortSignal.any([page.signal, signal])).catch((error: unknown) => {
      if (!signal.aborted) showProblem(problem, error)
    })
  }
  const fail = (error: unknown): Promise<void> => {
    showProblem(problem, error)
    return showCards()
  }
  const buttons = actions.map(({ label, start }, index) => {
    const onclick = (): void => void begin(start).catch(fail)
    const look = index > 0 ? 'second' : undefined
    return element('button', { type: 'button', 'data-walk-event': walkEvent, class: look, onclick }, label)
  })
  const row = element('p', { class: 'buttons' }, ...buttons)
  const card = element('section', { class: 'card' }, element('h2', {}, title), row, problem, session)
  return card
}

/**
 * Moves the card of the service whose turn it is beside the wallet, so that its report is not below what the other
 * says.
 */
function moveToTop(card: HTMLElement): void {
  const column = card.parentElement
  if (column === null || column.firstElementChild === card) return
  const focusedElement = card.contains(document.activeElement) ? document.activeElement : null
  column.prepend(card)
  if (focusedElement instanceof HTMLElement) focusedElement.focus({ preventScroll: true })
}

function drawCode(code: string | undefined): readonly HTMLElement[] {
  if (code === undefined) return []
  return [element('p', {}, 'The transaction code, sent another way: ', element('strong', { class: 'code' }, code))]
}
