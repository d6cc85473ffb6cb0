/** The guided walk: what to do next, one click at a time. */
import { element } from '../dom.ts'

export type WalkEvent = 'offered' | 'received' | 'coded' | 'asked' | 'presented' | 'chosen' | 'dropped'

interface GuideStep {
  /** The event that ends the step. */
  readonly after: WalkEvent
  readonly text: string
  /** The button of the guide, for what a service does; the wallet has its own buttons. */
  readonly label?: string
}

const STEPS: readonly GuideStep[] = [
  { after: 'offered', text: 'You are the university: offer a student ID.', label: 'Offer it' },
  { after: 'received', text: 'You are the student: look at the offer in the wallet, and receive it.' },
  { after: 'coded', text: 'Type the transaction code, which the university sent you another way.' },
  {
    after: 'asked',
    text: 'You have the card. Now you are the library: ask for two of its six claims.',
    label: 'Ask for them',
  },
  { after: 'presented', text: 'You are the student: see what would leave the wallet, and present it.' },
  {
    after: 'asked',
    text: 'Read the report: every check, and why. Then let the library ask again.',
    label: 'Ask again',
  },
  { after: 'chosen', text: 'Be a thief: choose what the wallet does wrong, such as Wrong nonce.' },
  { after: 'presented', text: 'Present it.' },
  { after: 'asked', text: 'See which check caught it. Then let the library ask a last time.', label: 'Ask once more' },
  { after: 'chosen', text: 'Choose Revoked credential: the university revokes the card before it is presented.' },
  { after: 'presented', text: 'Present it.' },
]
const END = 'That was the walk. Try the other misbehaviours, decline a request, or paste a link of your own.'

export interface Guide {
  readonly drawn: HTMLElement
  /**
   * Shows the next step when the current one waits for `event`. Shows the last step of a service again when the
   * wallet has ended an offer or a request without `event`, since the step then needs a new one.
   */
  report(event: WalkEvent): void
}

/** Makes the guide. `act` does what a service has to do next. */
export function createGuide(act: (event: WalkEvent) => void): Guide {
  let at = 0
  const drawn = element('section', { class: 'guide', 'aria-label': 'Guided walk', 'aria-live': 'polite' })
  const draw = (): void => {
    const step = STEPS[at]
    drawn.replaceChildren(
      element('progress', { max: String(STEPS.length), value: String(at), 'aria-label': 'Steps done' }),
      element(
        'p',
        {},
        element('strong', {}, step ? `Step ${at + 1} of ${STEPS.length}` : 'Done'),
        ` ${step?.text ?? END}`,
      ),
      step?.label === undefined
        ? ''
        : element('button', { type: 'button', onclick: () => act(step.after) }, step.label),
    )
  }
  draw()
  return {
    drawn,
    report: (event) => {
      const step = STEPS[at]
      if (step === undefined) return
      if (step.after === event) at += 1
      else if (event === 'presented' || event === 'dropped') at = lastStepOfService(at)
      else return
      draw()
    },
  }
}

function lastStepOfService(at: number): number {
  return STEPS.findLastIndex(({ label }, index) => index <= at && label !== undefined)
}
