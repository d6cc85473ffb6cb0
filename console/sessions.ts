/** The sessions of both services, page by page. */
import type { ShowPage } from './app.ts'
import { issuerClient, verifierClient } from './clients.ts'
import { element, field, introduction, localTime } from './dom.ts'
import { drawState, sessionLink } from './session.ts'

const PAGE = 50
const STATES = {
  issuer: ['STARTED', 'SUCCEEDED', 'EXPIRED'],
  verifier: ['STARTED', 'VERIFICATION_SUCCEEDED', 'VERIFICATION_FAILED', 'DECLINED', 'EXPIRED'],
} as const

interface ListedSession {
  readonly session_id: string
  readonly status: string
  readonly created_at: number
  readonly problem?: { readonly error: string }
  readonly failed_checks?: readonly string[]
}

type Filter = { readonly name: 'issuer' | 'verifier'; readonly status: string | undefined }

export const showSessions: ShowPage = (main, { services, parts }) => {
  const names = (['issuer', 'verifier'] as const).filter((each) => services[each] !== undefined)
  const name = names.find((each) => each === parts[0]) ?? names[0] ?? 'issuer'
  const status = STATES[name].find((each) => each === parts[1])
  const rows = element('tbody')
  const more = element('button', { type: 'button' }, 'Show more')
  const sessions = listSessions({ name, status })
  const fill = async (): Promise<void> => {
    more.disabled = true
    const isOver = await addRows(rows, name, sessions)
    more.hidden = isOver
    more.disabled = false
  }
  more.addEventListener('click', () => void fill())
  const heads = ['Session', 'State', 'Started', 'What went wrong'].map((each) => element('th', { scope: 'col' }, each))
  main.append(
    introduction('Sessions', 'The newest first. Choose one to see what happened in it.'),
    drawFilters(names, { name, status }),
    element('table', { class: 'sessions' }, element('thead', {}, element('tr', {}, ...heads)), rows),
    more,
  )
  return fill()
}

function listSessions({ name, status }: Filter): AsyncGenerator<ListedSession, void> {
  // The words of the menu are those of the service.
  const filter = status === undefined ? {} : { status: status as 'STARTED' }
  return name === 'issuer' ? issuerClient.listSessions(filter) : verifierClient.listSessions(filter)
}

/** Adds a page of rows. Resolves with whether there are no more. */
async function addRows(
  rows: HTMLElement,
  name: string,
  sessions: AsyncGenerator<ListedSession, void>,
): Promise<boolean> {
  for (let left = PAGE; left > 0; left -= 1) {
    const next = await sessions.next()
    if (next.done === true) {
      const none = element('tr', {}, element('td', { colspan: '4' }, 'There are none.'))
      if (rows.childElementCount === 0) rows.append(none)
      return true
    }
    rows.append(drawRow(name, next.value))
  }
  return false
}

function drawFilters(names: readonly string[], { name, status }: Filter): HTMLElement {
  const go = (service: string, state: string): void => {
    location.hash = `#/sessions/${service}/${state}`
  }
  const states = ['all', ...STATES[name]]
  const service = choice(names, name, (word) => go(word, ''))
  const state = choice(states, status ?? 'all', (word) => go(name, word === 'all' ? '' : word))
  return element('div', { class: 'filters' }, field('Service', service), field('State', state))
}

function drawRow(service: string, session: ListedSession): HTMLElement {
  const { session_id: id, status, created_at: at, problem, failed_checks: checks = [] } = session
  return element(
    'tr',
    {},
    element('td', {}, sessionLink(service, id)),
    element('td', {}, drawState(status)),
    element('td', {}, localTime(at)),
    element('td', {}, problem?.error ?? checks.join(', ')),
  )
}

/** A menu of words. */
function choice(words: readonly string[], chosen: string, onChoice: (word: string) => void): HTMLSelectElement {
  const select = element('select')
  for (const word of words)
    select.append(
      element('option', { value: word, selected: word === chosen }, word.toLowerCase().replaceAll('_', ' ')),
    )
  select.addEventListener('change', () => onChoice(select.value))
  return select
}
