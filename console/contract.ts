/** A contract at one engine: its component, what it has there, and its latest calls with what it logged. */
import { drawTerms, drawTime, element, type Term } from './dom.ts'
import { askEngines, type ContractDetails, type EngineCall, readContract } from './engine-data.ts'
import { componentWords, drawContractState } from './engines.ts'
import type { ShowPage } from './page.ts'
import { keepFresh, updateChildren } from './refresh.ts'
import { drawRow, drawTable } from './table.ts'

const FRESH_MS = 3000
const KINDS: Readonly<Record<EngineCall['hook'], string>> = {
  http: 'a request',
  'state-change': 'its contract changed',
  timer: 'a timer',
  engines: 'who its engines are',
}
const ENDS: Readonly<Record<string, string>> = {
  done: 'done',
  trap: 'failed',
  'bad-response': 'no valid response',
  deadline: 'took too long',
  quota: 'beyond a limit',
  overloaded: 'too many calls',
  unavailable: 'was not served',
  reconciling: 'waits for its hook',
  'stale-chain': 'the chain could not be asked',
  abandoned: 'the client left',
}

export const showContract: ShowPage = async (main, { services: { engines }, parts, signal }) => {
  const [index = '', address = ''] = parts
  const at = Number(index)
  const engine = engines[at]
  main.append(element('p', {}, element('a', { href: '#/engines' }, 'All engines')), element('h1', {}, 'Contract'))
  if (engine === undefined) {
    main.append(element('p', {}, 'This console has no such engine.'))
    return
  }
  main.append(element('p', { class: 'lead' }, element('code', { class: 'long' }, address), ` at ${engine.url}`))
  if (!engine.has_key) {
    main.append(await drawPublic(at, address, engines))
    return
  }
  const place = element('div', {}, element('p', { class: 'quiet' }, 'Asking the engine …'))
  main.append(place)
  const draw = async (): Promise<void> => {
    const details = await readContract(at, address)
    updateChildren(place, element('div', {}, drawFacts(details), drawCalls(details.calls)))
  }
  await draw()
  keepFresh(draw, FRESH_MS, signal)
}

/** Draws what everybody may know of a contract, for a console without a key. */
async function drawPublic(at: number, address: string, engines: Parameters<typeof askEngines>[0]) {
  const answer = (await askEngines(engines))[at]
  if (answer === undefined || 'problem' in answer) throw new Error(answer?.problem ?? 'there is no such engine')
  const contract = answer.status.contracts.find((each) => each.address === address)
  if (contract === undefined) throw new Error('the engine serves no contract with that address')
  const note =
    'Its calls and logs are for the operator of the engine: give the console an API key of its integrations.authentication, by VOUCHSAFE_ENGINE_API_KEYS.'
  return element(
    'section',
    { class: 'card' },
    element('p', {}, drawContractState(contract), ` ${componentWords(contract)}`),
    element('p', { class: 'quiet' }, note),
  )
}

function drawFacts(details: ContractDetails): HTMLElement {
  const { component, component_uri: uri, engines, timers, transactions, storage_bytes: bytes } = details
  const engineItems = engines?.map(({ address, endpoint }) => element('li', {}, endpoint === '' ? address : endpoint))
  const facts: readonly Term[] = [
    ['State', drawContractState(details)],
    ['Component', element('code', { class: 'long' }, component ?? 'none')],
    ...(uri === null || uri === '' ? [] : [['From', uri] as const]),
    ['What it does', componentWords(details)],
    [
      'Its engines',
      engineItems === undefined ? 'named by the component' : element('ul', { class: 'plain' }, ...engineItems),
    ],
    ['Stored', `${bytes.toLocaleString()} bytes`],
    ['Transactions', `${transactions.waiting} wait for the chain; ${transactions.today} today`],
    ['Timers', timers.length === 0 ? 'none' : timers.map(({ id, status }) => `${id} (${status})`).join(', ')],
    ...(details.waiting_calls === 0 ? [] : [['Waiting calls', String(details.waiting_calls)] as const]),
  ]
  return element('section', { class: 'card' }, element('h2', {}, 'As it stands'), drawTerms('facts', facts))
}

function drawCalls(calls: readonly EngineCall[]): HTMLElement {
  const lead = 'Since the engine was started, at most fifty; the whole log is where the engine writes it.'
  const heads = ['Time', 'Asked', 'Ended', 'Logged']
  const rows = calls.map((call) => {
    const cells = [drawTime(Date.parse(call.at) / 1000), call.asked ?? KINDS[call.hook], drawEnd(call), drawLog(call)]
    return drawRow(heads, cells, { 'data-key': [call.at, call.request, call.hook].join(' ') })
  })
  const table = drawTable('Calls, the latest first', heads, element('tbody', {}, ...rows))
  return element(
    'section',
    { class: 'card' },
    element('h2', {}, 'What it did'),
    element('p', { class: 'quiet' }, lead),
    calls.length === 0 ? element('p', {}, 'Nothing was asked of it yet.') : table,
  )
}

function drawEnd({ outcome, status, why, milliseconds, request }: EngineCall): HTMLElement {
  const word = ENDS[outcome] ?? outcome
  // A component that says no has done what it should, and its caller has not got what it wanted.
  const look = outcome !== 'done' ? 'bad' : (status ?? 0) >= 400 ? 'open' : 'good'
  return element(
    'span',
    {},
    element('span', { class: `state ${look}` }, status === undefined ? word : `${word}: ${status}`),
    element('small', {}, ` ${milliseconds} ms`),
    why !== undefined && element('small', { class: 'bad' }, ` ${why}`),
    request !== undefined && outcome !== 'done' && element('small', {}, ` request ${request}`),
  )
}

function drawLog({ log }: EngineCall): Node | string {
  if (log.length === 0) return ''
  const lines = element('pre', { class: 'log' }, log.join('\n'))
  const summary = element('summary', {}, log.length === 1 ? 'one line' : `${log.length} lines`)
  return element('details', { open: log.length <= 3 }, summary, lines)
}
