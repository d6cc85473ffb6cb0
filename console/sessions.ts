/** The sessions of both services, page by page. */
import type { ShowPage } from './app.ts'
import { issuerClient, verifierClient } from './clients.ts'
import { drawTime, element, field, introduction } from './dom.ts'
import { drawPagedTable } from './paged-table.ts'
import { drawState, makeSessionLink } from './session.ts'

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

export const showSessions: ShowPage = async (main, { services, parts }) => {
  const names = (['issuer', 'verifier'] as const).filter((each) => services[each] !== undefined)
  const name = names.find((each) => each === parts[0]) ?? names[0] ?? 'issuer'
  const status = STATES[name].find((each) => each === parts[1])
  main.append(
    introduction('Sessions', 'The newest first. Choose one to see what happened in it.'),
    drawFilters(names, { name, status }),
  )
  main.append(
    await drawPagedTable<ListedSession>({
      caption: name === 'issuer' ? 'Sessions of the issuer' : 'Sessions of the verifier',
      heads: ['Session', 'State', 'Started', 'What went wrong'],
      entries: listSessions({ name, status }),
      none: 'there are none.',
      cellsOf: ({ session_id: id, status: state, created_at: at, problem, failed_checks: checks = [] }) => [
        makeSessionLink(name, id),
        drawState(state),
        drawTime(at),
        problem?.error ?? checks.join(', '),
      ],
    }),
  )
}

function listSessions({ name, status }: Filter): AsyncGenerator<ListedSession, void> {
  // The words of the menu are those of the service.
  const filter = status === undefined ? {} : { status: status as 'STARTED' }
  return name === 'issuer' ? issuerClient.listSessions(filter) : verifierClient.listSessions(filter)
}

function drawFilters(names: readonly string[], { name, status }: Filter): HTMLElement {
  const go = (service: string, state: string): void => {
    location.hash = `#/sessions/${service}/${state}`
  }
  const states = ['all', ...STATES[name]]
  const service = makeMenu(names, name, (word) => go(word, ''))
  const state = makeMenu(states, status ?? 'all', (word) => go(name, word === 'all' ? '' : word))
  return element('div', { class: 'filters' }, field('Service', service), field('State', state))
}

/** Makes a menu of words. */
function makeMenu(words: readonly string[], chosen: string, onChoice: (word: string) => void): HTMLSelectElement {
  const select = element('select')
  for (const word of words)
    select.append(
      element('option', { value: word, selected: word === chosen }, word.toLowerCase().replaceAll('_', ' ')),
    )
  select.addEventListener('change', () => onChoice(select.value))
  return select
}
