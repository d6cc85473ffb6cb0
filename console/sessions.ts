/** The sessions of both services: found by an id, or page by page through a filter. */
import { issuerClient, verifierClient } from './clients.ts'
import { drawTime, element, field, introduction } from './dom.ts'
import { nameConfigurations } from './labels.ts'
import type { ShowPage } from './page.ts'
import { drawPagedTable } from './paged-table.ts'
import { drawState, makeQueryLink, makeSessionLink, readConfigurationsIfAny, readNames, stateWord } from './session.ts'

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
  readonly verification_query_id?: string
  readonly credential_configurations?: readonly string[]
}

interface Filter {
  readonly name: 'issuer' | 'verifier'
  readonly status: string | undefined
  /** The id of what the sessions are about: a credential configuration of the issuer, or a query of the verifier. */
  readonly subject: string | undefined
}

/** A choice of a menu: the value, and the words for it. */
type Choice = readonly [value: string, words: string]

export const showSessions: ShowPage = async (main, { services, parts }) => {
  const names = (['issuer', 'verifier'] as const).filter((each) => services[each] !== undefined)
  const name = names.find((each) => each === parts[0]) ?? names[0] ?? 'issuer'
  const status = STATES[name].find((each) => each === parts[1])
  const subject = parts[2] === '' ? undefined : parts[2]
  const filter = { name, status, subject }
  main.append(introduction('Sessions', 'The newest first. Choose one to see what happened in it.'))
  // The menu leads to the other service, also from one that does not answer.
  main.append(drawFilters(filter, names, await readSubjects(filter)), drawSearch(name))
  const isIssuer = name === 'issuer'
  const namesOf = isIssuer ? await readNames() : undefined
  main.append(
    await drawPagedTable<ListedSession>({
      caption: isIssuer ? 'Sessions of the issuer' : 'Sessions of the verifier',
      heads: ['Session', 'State', isIssuer ? 'Credential' : 'Query', 'Started', 'What went wrong'],
      entries: listSessions(filter),
      none: 'there are none.',
      cellsOf: ({ session_id: id, status: state, created_at: at, problem, failed_checks: checks = [], ...rest }) => [
        makeSessionLink(name, id),
        drawState(state),
        namesOf === undefined
          ? makeQueryLink(rest.verification_query_id ?? '', status)
          : element('span', { class: 'long' }, namesOf(rest.credential_configurations ?? [])),
        drawTime(at),
        // A refusal after the credential was issued, such as that of a second scan, ended nothing.
        state === 'SUCCEEDED' ? '' : (problem?.error ?? checks.join(', ')),
      ],
    }),
  )
}

function listSessions({ name, status, subject }: Filter): AsyncGenerator<ListedSession, void> {
  // The words of the menu are those of the service.
  const filter = status === undefined ? {} : { status: status as 'STARTED' }
  if (subject === undefined)
    return name === 'issuer' ? issuerClient.listSessions(filter) : verifierClient.listSessions(filter)
  if (name === 'issuer') return issuerClient.listSessions({ ...filter, credential_configuration_id: subject })
  return verifierClient.listSessions({ ...filter, verification_query_id: subject })
}

/** Reads what sessions can be about: the issuer's configurations, and of the verifier's queries that of the filter. */
async function readSubjects({ name, subject }: Filter): Promise<readonly Choice[]> {
  if (name === 'verifier') return subject === undefined ? [] : [[subject, subject]]
  return nameConfigurations(await readConfigurationsIfAny())
}

function hashOf(...parts: readonly string[]): string {
  return `#/sessions/${parts.map(encodeURIComponent).join('/')}`
}

function drawFilters(
  { name, status = '', subject = '' }: Filter,
  names: readonly string[],
  subjects: readonly Choice[],
): HTMLElement {
  const go = (...parts: readonly string[]): void => {
    location.hash = hashOf(...parts)
  }
  const services = names.map((each): Choice => [each, each])
  const states = STATES[name].map((each): Choice => [each, stateWord(each)])
  const all: Choice = ['', 'all']
  const service = makeMenu(services, name, (value) => go(value))
  const state = makeMenu([all, ...states], status, (value) => go(name, value, subject))
  const about = makeMenu([all, ...subjects], subject, (value) => go(name, status, value))
  return element(
    'div',
    { class: 'filters' },
    field('Service', service),
    field('State', state),
    subjects.length > 0 && field(name === 'issuer' ? 'Credential' : 'Query', about),
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
function makeMenu(
  choices: readonly Choice[],
  chosenValue: string,
  onChoice: (value: string) => void,
): HTMLSelectElement {
  const select = element('select')
  for (const [value, words] of choices)
    select.append(element('option', { value, selected: value === chosenValue }, words))
  select.addEventListener('change', () => onChoice(select.value))
  return select
}
