/** The two services of the story beside the wallet: what each can start, and the session that it started last. */
import { element, showProblem } from '../dom.ts'
import { watchSession } from '../session.ts'
import type { Desk } from './desk.ts'
import { askForStudentId, offerStudentId } from './story.ts'

export type OpenLink = (link: string) => Promise<void>

interface Started {
  readonly link: string
  readonly sessionId: string
  readonly code?: string | undefined
}

interface Action {
  readonly label: string
  readonly start: () => Promise<Started>
}

interface StoryService {
  readonly service: 'issuer' | 'verifier'
  readonly title: string
  /** The word for the guide about each action. */
  readonly happening: 'offered' | 'asked'
  readonly actions: readonly Action[]
}

export const UNIVERSITY: StoryService = {
  service: 'issuer',
  title: 'The university',
  happening: 'offered',
  actions: [
    { label: 'Offer a student ID', start: () => offer(false) },
    { label: 'Offer one that is valid for five seconds', start: () => offer(true) },
  ],
}

export const LIBRARY: StoryService = {
  service: 'verifier',
  title: 'The library',
  happening: 'asked',
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

async function offer(isShort: boolean): Promise<Started> {
  const { credential_offer_uri: link, session_id: sessionId, tx_code: code } = await offerStudentId(isShort)
  return { link, sessionId, code }
}

export function drawService(
  { service, title, happening, actions }: StoryService,
  desk: Desk,
  openLink: OpenLink,
): HTMLElement {
  const session = element('div')
  const problem = element('p', { class: 'problem', role: 'alert', hidden: true })
  let watching = new AbortController()
  const act = async (start: () => Promise<Started>): Promise<void> => {
    problem.hidden = true
    const { link, sessionId, code } = await start()
    watching.abort()
    watching = new AbortController()
    desk.guide.tell(happening)
    session.replaceChildren(...drawCode(code))
    await openLink(link)
    await watchSession(session, service, sessionId, AbortSignal.any([desk.signal, watching.signal]))
  }
  const buttons = actions.map(({ label, start }, index) =>
    element(
      'button',
      {
        type: 'button',
        'data-happening': happening,
        class: index > 0 ? 'second' : undefined,
        onclick: () => void act(start).catch((error: unknown) => showProblem(problem, error)),
      },
      label,
    ),
  )
  const heading = element('h2', {}, title)
  return element(
    'section',
    { class: 'card' },
    heading,
    element('p', { class: 'buttons' }, ...buttons),
    problem,
    session,
  )
}

function drawCode(code: string | undefined): readonly HTMLElement[] {
  if (code === undefined) return []
  return [element('p', {}, 'The transaction code, sent another way: ', element('strong', { class: 'code' }, code))]
}
