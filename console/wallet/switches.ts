/** A row of switches, of which one is on: how the wallet behaves. */
import { element } from '../dom.ts'

/** A behaviour that can be chosen. */
export interface Behaviour {
  readonly id: string
  readonly title: string
  readonly does: string
  /** The expected answer in a sentence. */
  readonly expects: string
  /** Why it cannot be chosen; undefined when it can. */
  readonly problem: string | undefined
}

export interface Switches {
  readonly drawn: HTMLElement
  /** Returns the id of the behaviour that is chosen. */
  getChosen(): string
}

export const HONEST: Behaviour = {
  id: 'honest',
  title: 'Honest',
  does: 'The wallet does what the specification says.',
  expects: '',
  problem: undefined,
}

export function createSwitches(behaviours: readonly Behaviour[], onChoice: (id: string) => void): Switches {
  const say = element('p', { class: 'quiet', 'aria-live': 'polite' })
  const inputs = [HONEST, ...behaviours].map((behaviour) => {
    const input = element('input', {
      type: 'radio',
      name: 'behaviour',
      value: behaviour.id,
      checked: behaviour === HONEST,
      disabled: behaviour.problem !== undefined,
    })
    input.addEventListener('change', () => {
      say.textContent = `${behaviour.does} ${behaviour.expects}`
      onChoice(behaviour.id)
    })
    return { input, behaviour }
  })
  const labels = inputs.map(({ input, behaviour }) =>
    element('label', { class: 'switch', title: behaviour.problem ?? behaviour.does }, input, ` ${behaviour.title}`),
  )
  const unsuitedBehaviours = behaviours.filter(({ problem }) => problem !== undefined)
  const reasons = unsuitedBehaviours.map(({ title, problem = '' }) => element('li', {}, `${title}: ${problem}.`))
  return {
    drawn: element(
      'fieldset',
      { class: 'switches' },
      element('legend', {}, 'How the wallet behaves'),
      ...labels,
      say,
      reasons.length > 0 &&
        element('details', {}, element('summary', {}, 'Why some cannot be chosen'), element('ul', {}, ...reasons)),
    ),
    getChosen: () => inputs.find(({ input }) => input.checked)?.behaviour.id ?? HONEST.id,
  }
}
