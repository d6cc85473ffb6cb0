/** The sessions of both services: found by an id, or page by page through a filter. */
import type { ShowPage } from './app.ts'
import { configurationName } from './card.ts'
import { issuerClient, readConfigurations, verifierClient } from './clients.ts'
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

interface Filter {
  readonly name: 'issuer' | 'verifier'
  readonly status: string | undefined
  /** The id of a credential configuration, of the issuer alone. */
  readonly configuration: string | undefined
}

/** A choice of a menu: the value, and the words for it. */
type Choice = readonly [value: string, words: string]

export const showSessions: ShowPage = async (main, { services, parts }) => {
  const names = (['issuer', 'verifier'] as const).filter((each) => services[each] !== undefined)
  const name = names.find((each) => each === parts[0]) ?? names[0] ?? 'issuer'
  const status = STATES[name].find((each) => each === parts[1])
  const configuration = name === 'issuer' && parts[2] !== undefined && parts[2] !== '' ? parts[2] : undefined
  const filter = { name, status, configuration }
  const configurations = name === 'issuer' ? [...(await readConfigurations())] : []
  main.append(
    introduction('Sessions', 'The newest first. Choose one to see what happened in it.'),
    drawFilters(
      filter,
      names,
      configurations.map(([id, each]) => [id, configurationName(id, each)]),
    ),
    drawSearch(name),
  )
  main.append(
    await drawPagedTable<ListedSession>({
      caption: name === 'issuer' ? 'Sessions of the issuer' : 'Sessions of the verifier',
      heads: ['Session', 'State', 'Started', 'What went wrong'],
      entries: listSessions(filter),
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

function listSessions({ name, status, configuration }: Filter): AsyncGenerator<ListedSession, void> {
  // The words of the menu are those of the service.
  const filter = status === undefined ? {} : { status: status as 'STARTED' }
  if (name === 'verifier') return verifierClient.listSessions(filter)
  return issuerClient.listSessions({
    ...filter,
    ...(configuration !== undefined && { credential_configuration_id: configuration }),
  })
}

function drawFilters(
  { name, status = '', configuration = '' }: Filter,
  names: readonly string[],
  configurations: readonly Choice[],
): HTMLElement {
  const go = (...parts: readonly string[]): void => {
    location.hash = `#/sessions/${parts.map(encodeURIComponent).join('/')}`
  }
  const services = names.map((each): Choice => [each, each])
  const states = STATES[name].map((each): Choice => [each, each.toLowerCase().replaceAll('_', ' ')])
  const all: Choice = ['', 'all']
  const service = makeMenu(services, name, (value) => go(value))
  const state = makeMenu([all, ...states], status, (value) => go(name, value, configuration))
  const credential = makeMenu([all, ...configurations], configuration, (value) => go(name, status, value))
  return element(
    'div',
    { class: 'filters' },
    field('Service', service),
    field('State', state),
    configurations.length > 0 && field('Credential', credential),
  )
}

/** Draws the field for the id of a session, such as one in the log of an application. */
function drawSearch(name: string): HTMLElement {
  const input = element('input', { type: 'text', required: true, size: '32', spellcheck: 'false', autocomplete: 'off' })
  const onsubmit = (event: Event): void => {
    event.preventDefault()
    location.hash = `#/session/${name}/${encodeURIComponent(input.value.trim())}`
  }
  return element(
    'form',
    { class: 'filters', role: 'search', onsubmit },
    field('Session id', input),
    element('button', { type: 'submit', class: 'second' }, 'Find'),
  )
}

/** Makes a menu of choices. */
function makeMenu(choices: readonly Choice[], chosen: string, onChoice: (value: string) => void): HTMLSelectElement {
  const select = element('select')
  for (const [value, words] of choices) select.append(element('option', { value, selected: value === chosen }, words))
  select.addEventListener('change', () => onChoice(select.value))
  return select
}
