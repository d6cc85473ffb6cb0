/** The execution engines: what each sees of its chain, which contracts it serves, and what their components do. */
import type { ShownEngine } from './clients.ts'
import { drawTerms, drawTime, element, introduction } from './dom.ts'
import { askEngines, type ContractStatus, type EngineStatus, type SeenEngine } from './engine-data.ts'
import type { ShowPage } from './page.ts'
import { keepFresh, updateChildren } from './refresh.ts'
import { drawRow, drawTable } from './table.ts'

const FRESH_MS = 5000
/** Contracts of one engine; those that are not well come first. */
const MAX_CONTRACTS = 100

const STATES: Readonly<Record<ContractStatus['state'], { readonly word: string; readonly look: string }>> = {
  served: { word: 'served', look: 'good' },
  starting: { word: 'starting', look: 'open' },
  reconciling: { word: 'waits for its hook', look: 'bad' },
  failed: { word: 'cannot be run', look: 'bad' },
  'not-this-engine': { word: 'of other engines', look: 'open' },
}
const ORDER = ['failed', 'reconciling', 'starting', 'served', 'not-this-engine'] as const
const HOOKS: Readonly<Record<string, string>> = {
  off_chain_on_http_request: 'answers requests',
  off_chain_on_state_change: 'acts on changes of its contract',
  off_chain_engines: 'says who its engines are',
}

export const showEngines: ShowPage = async (main, { services: { engines }, signal }) => {
  const lead = 'The engines that run the private parts of contracts: whether each sees its chain, and what it serves.'
  main.append(introduction('Engines', lead))
  if (engines.length === 0) {
    main.append(element('p', {}, 'This console has no engine: start it with --engine URL, once for each.'))
    return
  }
  const place = element('div', {}, element('p', { class: 'quiet' }, 'Asking the engines …'))
  main.append(place)
  const draw = async (): Promise<void> => {
    const answers = await askEngines(engines)
    updateChildren(place, element('div', {}, ...answers.map(drawEngine)))
  }
  await draw()
  keepFresh(draw, FRESH_MS, signal)
}

function drawEngine(answer: SeenEngine, at: number): HTMLElement {
  const { engine } = answer
  const heading = element('h2', {}, engine.url)
  const body = 'problem' in answer ? drawUnreached(answer.problem) : drawStatus(answer.status, engine, at)
  return element('section', { class: 'card', id: `engine-${at}` }, heading, ...body)
}

function drawUnreached(problem: string): readonly HTMLElement[] {
  return [
    element('p', {}, element('span', { class: 'state bad' }, 'does not answer')),
    element('p', { class: 'problem' }, problem),
  ]
}

function drawStatus(status: EngineStatus, engine: ShownEngine, at: number): readonly HTMLElement[] {
  const { address, chain, block, stale, contracts } = status
  const chainText = stale ? 'sees nothing new of its chain' : 'sees its chain'
  return [
    element('p', {}, element('span', { class: `state ${stale ? 'bad' : 'good'}` }, chainText)),
    drawTerms('facts', [
      ['Address', element('code', { class: 'long' }, address)],
      ['Chain', chain.id],
      ['Newest block', ...(block === null ? ['none yet'] : drawBlock(block))],
    ]),
    drawContracts(contracts, at),
    ...(engine.has_key
      ? []
      : [
          element(
            'p',
            { class: 'quiet' },
            'The console has no API key of this engine, and shows what everybody may know (VOUCHSAFE_ENGINE_API_KEYS).',
          ),
        ]),
  ]
}

function drawBlock({ number, time }: NonNullable<EngineStatus['block']>): readonly (Node | string)[] {
  return [`${number}, of `, drawTime(Date.parse(time) / 1000)]
}

function drawContracts(contracts: readonly ContractStatus[], at: number): HTMLElement {
  if (contracts.length === 0) {
    return element('p', {}, 'It has found no contract that its contractFilter admits.')
  }
  const heads = ['Contract', 'State', 'Its component']
  const sortedContracts = contracts.toSorted((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state))
  const rows = sortedContracts.slice(0, MAX_CONTRACTS).map((contract) => {
    const cells = [contractLink(at, contract.address), drawContractState(contract), componentWords(contract)]
    return drawRow(heads, cells, { 'data-key': contract.address })
  })
  const hiddenCount = contracts.length - rows.length
  const caption = `Contracts: ${contracts.length}${hiddenCount === 0 ? '' : `, of which ${rows.length} are shown`}`
  return drawTable(caption, heads, element('tbody', {}, ...rows))
}

function contractLink(at: number, address: string): HTMLElement {
  const short = `${address.slice(0, 8)}…${address.slice(-6)}`
  return element('a', { href: `#/contract/${at}/${address}`, title: address }, short)
}

/** Draws the state in a word, and why where it is not well. */
export function drawContractState(contract: ContractStatus): HTMLElement {
  const { word, look } = STATES[contract.state]
  const why = contractProblem(contract)
  return element(
    'span',
    {},
    element('span', { class: `state ${look}` }, word),
    why !== undefined && element('small', { class: 'bad' }, ` ${why}`),
  )
}

/** Returns why a contract is not served as it should be; undefined when it is. */
function contractProblem({ why, state_change: change, state_change_problem: problem }: ContractStatus) {
  if (why !== undefined) return why
  if (problem === undefined) return undefined
  const then = change === 'dead' ? 'given up until the contract changes' : 'it is tried again'
  return `Its state change hook ${describeFailures(problem.attempts)} (${problem.why}); ${then}.`
}

/** Returns the words for a number of failures; 0 when no attempt was the fault of the component. */
function describeFailures(attempts: number): string {
  if (attempts === 0) return 'could not run'
  return attempts === 1 ? 'failed once' : `failed ${attempts} times`
}

/** Says what a component does, by its hooks. */
export function componentWords({ component, hooks }: ContractStatus): string {
  if (component === null) return 'its contract names none'
  const timers = hooks.filter((hook) => hook.startsWith('off_chain_thread')).length
  const words = hooks.flatMap((hook) => HOOKS[hook] ?? [])
  const all = [...words, ...(timers === 0 ? [] : ['runs timers'])]
  return all.length === 0 ? component.slice(0, 12) : all.join(', ')
}
