/** The callbacks of a service: the events that wait, those that were given up, and delivering these again. */
import type { IssuerSchemas } from '../sdk/server/index.ts'
import type { ClientName } from './clients.ts'
import { drawTime, element, hiddenProblem, introduction, showProblem } from './dom.ts'
import type { ShowPage } from './page.ts'
import { drawPagedTable } from './paged-table.ts'
import { clientOf, drawServiceSections } from './service-sections.ts'
import { makeSessionLink } from './session.ts'

type Waiting = IssuerSchemas['WaitingCallback']
type Dead = IssuerSchemas['DeadCallback']

const AGAIN = 'button.again'

export const showCallbacks: ShowPage = async (main, { services }) => {
  const lead =
    'The events that your application has not been told: those that wait for their delivery, and those that were given up after a day (dead).'
  main.append(introduction('Callbacks', lead))
  await drawServiceSections(main, services, drawCallbacks)
}

async function drawCallbacks(place: HTMLElement, name: ClientName): Promise<void> {
  const client = clientOf(name)
  const status = element('p', { role: 'status' })
  const problem = hiddenProblem()
  const lists = element('div')
  const redraw = async (): Promise<void> => {
    const [waiting, dead] = await Promise.all([drawWaiting(name), drawDead(name, again)])
    lists.replaceChildren(waiting, dead, ...(dead.querySelector(AGAIN) === null ? [] : [allAgain]))
  }
  const section: CallbackSection = { place, status, problem, redraw }
  const again = (dead: Dead): HTMLElement =>
    makeRetryButton(section, 'Deliver again', `: ${dead.type} of the session ${dead.session_id}`, async () => {
      await client.redeliverCallback(dead.callback_id)
      return `${dead.type} waits for its delivery again.`
    })
  const allAgain = makeRetryButton(section, 'Deliver all dead again', '', async () => {
    const count = await client.redeliverDeadCallbacks()
    return count === 1 ? 'One event waits for its delivery again.' : `${count} events wait for their delivery again.`
  })
  await redraw()
  const isEmpty = lists.querySelector('table') === null
  const isConfigured = !isEmpty || (await client.getOverview()).callbacks.configured
  const hint = 'None are configured: the setting sessionCallback of this service says which application is told.'
  place.replaceChildren(...(isConfigured ? [] : [element('p', { class: 'quiet' }, hint)]), status, problem, lists)
}

/** The parts of a section that its buttons change. */
interface CallbackSection {
  readonly place: HTMLElement
  readonly status: HTMLElement
  readonly problem: HTMLElement
  /** Reads the lists anew. */
  readonly redraw: () => Promise<void>
}

/** Makes a button that does something, says what it did, and has the lists read anew. */
function makeRetryButton(
  section: CallbackSection,
  label: string,
  hint: string,
  act: () => Promise<string>,
): HTMLElement {
  const { place, status, problem, redraw } = section
  const button = element('button', { type: 'button', class: 'again', 'aria-label': `${label}${hint}` }, label)
  const press = async (): Promise<void> => {
    const index = [...place.querySelectorAll(AGAIN)].indexOf(button)
    status.textContent = await act()
    await redraw()
    button.disabled = false
    focusNear(place, index)
  }
  button.addEventListener('click', () => {
    button.disabled = true
    problem.hidden = true
    press()
      .catch((error: unknown) => showProblem(problem, error))
      .finally(() => (button.disabled = false))
  })
  return button
}

/** Puts the focus on the button that is now where the pressed one was, or on the heading when there is none. */
function focusNear(place: HTMLElement, index: number): void {
  const buttons = [...place.querySelectorAll<HTMLElement>(AGAIN)]
  const near = buttons[index] ?? buttons.at(-1) ?? place.parentElement?.querySelector('h2')
  near?.focus()
}

function drawWaiting(name: ClientName): Promise<HTMLElement> {
  return drawPagedTable<Waiting>({
    caption: 'Waiting',
    heads: ['Session', 'Event', 'Happened', 'Failed deliveries', 'Next delivery'],
    entries: clientOf(name).listWaitingCallbacks(),
    none: 'there are none.',
    cellsOf: (each) => [
      makeSessionLink(name, each.session_id),
      each.behind === 0 ? each.type : `${each.type}, and ${each.behind} behind it`,
      drawTime(each.occurred_at),
      each.problem === undefined ? String(each.failures) : `${each.failures}: ${each.problem}`,
      each.next_attempt_at === undefined ? 'being delivered' : drawTime(each.next_attempt_at),
    ],
  })
}

function drawDead(name: ClientName, again: (dead: Dead) => HTMLElement): Promise<HTMLElement> {
  return drawPagedTable<Dead>({
    caption: 'Dead',
    heads: ['Session', 'Event', 'Happened', 'Why it was given up', 'Kept until', 'Action'],
    entries: clientOf(name).listDeadCallbacks(),
    none: 'there are none.',
    cellsOf: (each) => [
      makeSessionLink(name, each.session_id),
      each.type,
      drawTime(each.occurred_at),
      each.problem,
      drawTime(each.deleted_at),
      again(each),
    ],
  })
}
